package optim

import "math"

// rateOf is the rate of a schedule within another. One that is missing has the rate NaN, which an optimiser refuses.
func rateOf(s Schedule, step int) float64 {
	if s == nil {
		return math.NaN()
	}
	return s.Rate(step)
}

// Warmup has smaller rates in the first Steps updates: parts of Then's first rate that rise in equal steps, from From to 1 in the last of
// them. Then begins after them. With Constant all are From. Source: P. Goyal and others, "Accurate, large minibatch SGD", 2017.
type Warmup struct {
	Steps    int
	From     float64 // the part that the first update has; 0 means 1/Steps
	Constant bool    // does not rise
	Then     Schedule
}

// Rate is never 0 where Then's is not.
func (s Warmup) Rate(step int) float64 {
	switch step = max(step, 0); {
	case step >= s.Steps:
		return rateOf(s.Then, step-max(s.Steps, 0))
	case s.Constant:
		return finite(rateOf(s.Then, 0) * orDefault(s.From, 1/float64(s.Steps)))
	}
	return finite(rateOf(s.Then, 0) * rise(step, s.Steps, s.From))
}

// rise goes from from, at 0, to 1, at steps-1.
func rise(step, steps int, from float64) float64 {
	from = orDefault(from, 1/float64(steps))
	if step >= steps-1 {
		return 1
	}
	return between(from, 1, float64(step)/float64(steps-1))
}

// Chain is schedules one after the other, each counting from its own first update. The last goes on for ever.
type Chain []Stage

// Stage is a part of a Chain.
type Stage struct {
	Steps    int // how many updates it has; below 0 counts as 0, and the last has all that are left
	Schedule Schedule
}

// Rate is that of the stage in which the update is.
func (s Chain) Rate(step int) float64 {
	step = max(step, 0)
	for i, p := range s {
		if n := max(p.Steps, 0); step >= n && i < len(s)-1 {
			step -= n
			continue
		}
		return rateOf(p.Schedule, step)
	}
	return math.NaN()
}

// Scaled is another schedule times By, such as a smaller rate for some parameters.
type Scaled struct {
	By float64
	Of Schedule
}

// Rate is By times the rate.
func (s Scaled) Rate(step int) float64 { return finite(s.By * rateOf(s.Of, step)) }

// Alter is another schedule for Active updates, then 0 for Inactive ones, and so on, for parameters that take turns. It is Caffe2's policy
// "alter".
type Alter struct {
	Active, Inactive int // below 0 counts as 0; with neither it is always active
	InactiveFirst    bool
	Of               Schedule
}

// Rate is 0 or that of the schedule, which goes on meanwhile.
func (s Alter) Rate(step int) float64 {
	on, off := uint64(max(s.Active, 0)), uint64(max(s.Inactive, 0))
	if on+off == 0 {
		return rateOf(s.Of, step)
	}
	at := uint64(max(step, 0)) % (on + off)
	if s.InactiveFirst && at >= off || !s.InactiveFirst && at < on {
		return rateOf(s.Of, step)
	}
	return 0
}
