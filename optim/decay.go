package optim

import "math"

// Step multiplies the rate by Factor after every so many updates. It is PyTorch's StepLR.
type Step struct {
	LR     float64 // the first rate
	Every  int     // updates between two falls; none below 1
	Factor float64 // 0 means 0.1; below 0 counts as 0
}

// Rate is LR Factor^(step/Every), rounded down.
func (s Step) Rate(step int) float64 {
	falls := 0
	if s.Every > 0 {
		falls = max(step, 0) / s.Every
	}
	return grown(s.LR, orDefault(s.Factor, 0.1), float64(falls))
}

// MultiStep multiplies the rate by Factor at given updates. It is PyTorch's MultiStepLR.
type MultiStep struct {
	LR     float64 // the first rate
	At     []int   // the first updates that have a smaller rate, in any order
	Factor float64 // 0 means 0.1; below 0 counts as 0
}

// Rate is LR Factor^k, where k counts the elements of At up to step.
func (s MultiStep) Rate(step int) float64 {
	falls := 0
	for _, at := range s.At {
		if at <= max(step, 0) {
			falls++
		}
	}
	return grown(s.LR, orDefault(s.Factor, 0.1), float64(falls))
}

// Exp multiplies the rate by Factor after each update. It is PyTorch's ExponentialLR.
type Exp struct {
	LR     float64 // the first rate
	Factor float64 // 0 means 1; below 0 counts as 0
}

// Rate is LR Factor^step.
func (s Exp) Rate(step int) float64 {
	return grown(s.LR, orDefault(s.Factor, 1), float64(max(step, 0)))
}

// Inv falls with a power of the number of the update. Source: Caffe's policy "inv".
type Inv struct {
	LR    float64 // the first rate
	Gamma float64 // below 0 counts as 0, with which the rate stays
	Power float64 // 0 means 1
}

// Rate is LR (1 + Gamma step)^-Power.
func (s Inv) Rate(step int) float64 {
	return grown(s.LR, finite(1+max(s.Gamma, 0)*float64(max(step, 0))), -orDefault(s.Power, 1))
}

// Poly falls from LR to Min, where it stays from update Steps on. Without Steps it never falls. Where Min is 0 it is PyTorch's PolynomialLR.
type Poly struct {
	LR    float64 // the first rate
	Min   float64 // the last rate
	Steps int     // updates until it is reached
	Power float64 // 0 means 1, a straight line
}

// Rate is Min + (LR-Min) (1 - step/Steps)^Power.
func (s Poly) Rate(step int) float64 {
	switch {
	case s.Steps <= 0:
		return s.LR
	case step >= s.Steps:
		return s.Min
	}
	return finite(s.Min + grown(finite(s.LR-s.Min), 1-float64(max(step, 0))/float64(s.Steps), orDefault(s.Power, 1)))
}

// Linear goes from one rate to another in equal steps, and stays there from update Steps on: up or down. It is PyTorch's LinearLR.
type Linear struct {
	From, To float64
	Steps    int // updates until To is reached; without any it is To from the first
}

// Rate is From + (To-From) step/Steps.
func (s Linear) Rate(step int) float64 {
	step = max(step, 0)
	if step >= s.Steps {
		return s.To
	}
	return between(s.From, s.To, float64(step)/float64(s.Steps))
}

// Hill rises to LR in the first Warmup updates, as [Warmup] does, and then falls as [Inv] does, but not below Min. It is Caffe2's policy
// "hill" whose num_iter is Warmup-1.
type Hill struct {
	LR     float64 // the highest rate
	Min    float64 // the lowest rate of the fall
	Warmup int     // updates until LR is reached; 0 means that the first has it
	From   float64 // the part of LR that the first update has; 0 means 1/Warmup
	Gamma  float64 // below 0 counts as 0, with which the rate stays
	Power  float64 // 0 means 1
}

// Rate rises, falls and stays.
func (s Hill) Rate(step int) float64 {
	step = max(step, 0)
	if step < s.Warmup {
		return finite(s.LR * rise(step, s.Warmup, s.From))
	}
	return max(s.Min, Inv{LR: s.LR, Gamma: s.Gamma, Power: s.Power}.Rate(step-max(s.Warmup-1, 0)))
}

// grown is lr factor^n, finite where its arguments are.
func grown(lr, factor, n float64) float64 {
	return finite(lr * finite(math.Pow(max(factor, 0), n)))
}

// finite is x, or the largest number of its sign. NaN stays.
func finite(x float64) float64 { return max(-math.MaxFloat64, min(x, math.MaxFloat64)) }
