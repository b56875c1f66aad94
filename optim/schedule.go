package optim

import "math"

// Schedule is the rate of each update, a pure function of its number. Those of this package are finite for any step, where their fields are;
// a step below 0 counts as 0.
type Schedule interface {
	// Rate is the rate of update number step, counted from 0.
	Rate(step int) float64
}

// Constant is the same rate for ever.
type Constant struct{ LR float64 }

// Rate is LR.
func (s Constant) Rate(int) float64 { return s.LR }

// Cosine falls from LR to Min along half a cosine, and stays there from update Steps on. During the first Warmup updates it rises in equal
// steps, the first of which is LR/Warmup and the last LR; the cosine has the rest. Without Steps it never falls. Without Warmup it is
// PyTorch's CosineAnnealingLR with T_max = Steps. Source: I. Loshchilov and F. Hutter, "SGDR", 2017.
type Cosine struct {
	LR     float64 // the highest rate
	Min    float64 // the last rate
	Steps  int     // updates until it is reached
	Warmup int     // updates until LR is reached; 0 means that the first has it
}

// Rate is finite for all fields and steps: a warm-up that is longer than Steps is cut off there.
func (s Cosine) Rate(step int) float64 {
	switch step = max(step, 0); {
	case s.Steps > 0 && step >= s.Steps:
		return s.Min
	case step < s.Warmup:
		return s.LR * (float64(step+1) / float64(s.Warmup))
	case s.Steps <= 0:
		return s.LR
	}
	part := float64(step-s.Warmup) / float64(s.Steps-s.Warmup)
	return halfCosine(s.LR, s.Min, part)
}

// halfCosine goes from a, at 0, to b, at 1.
func halfCosine(a, b, part float64) float64 { return between(b, a, (1+math.Cos(math.Pi*part))/2) }

// between is a and b mixed, from a, at 0, to b, at 1. It is never beyond either, however large they are.
func between(a, b, part float64) float64 {
	return max(min(a, b), min(a*(1-part)+b*part, max(a, b)))
}

// OneCycle rises from Max/Div along half a cosine to Max, and falls along another to Max/Div/FinalDiv at update Steps-1, where it stays.
// Without Steps it is Max for ever. It is PyTorch's OneCycleLR without its cycling of momentum. Source: L. N. Smith and N. Topin, "Super-convergence", 2018.
type OneCycle struct {
	Max      float64 // the highest rate
	Steps    int     // updates of the cycle
	Rise     float64 // the part of Steps after which Max is reached; 0 means 0.3
	Div      float64 // 0 means 25
	FinalDiv float64 // 0 means 1e4
}

// Rate never rises after the end.
func (s OneCycle) Rate(step int) float64 {
	low := finite(s.Max / orDefault(s.Div, 25))
	last := finite(low / orDefault(s.FinalDiv, 1e4))
	end := float64(s.Steps - 1)
	peak := finite(orDefault(s.Rise, 0.3)*float64(s.Steps)) - 1
	switch x := float64(max(step, 0)); {
	case s.Steps <= 0:
		return s.Max
	case x >= end:
		return last
	case x <= peak && peak > 0:
		return halfCosine(low, s.Max, x/peak)
	default:
		return halfCosine(s.Max, last, (x-peak)/(end-peak))
	}
}
