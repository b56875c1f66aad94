package optim

// inner is the optimiser that another goes around, nil for one that updates by itself.
func inner(o Optimizer) Optimizer {
	switch o := o.(type) {
	case *Clip:
		return o.Optimizer
	case *EMA:
		return o.Optimizer
	case *LossScale:
		return o.Optimizer
	}
	return nil
}

// RateOf is the rate of an optimiser's last update, for logs: of one within Clip, EMA or LossScale that one's, of Groups the largest
// rate: a group that is frozen does not hide the others.
// An optimiser of the user's own has a method Rate. It is 0 before the first update, and where there is none.
func RateOf(o Optimizer) float64 {
	if missing(o) {
		return 0
	}
	for in := inner(o); !missing(in); in = inner(o) {
		o = in
	}
	switch o := o.(type) {
	case interface{ Rate() float64 }:
		return o.Rate()
	case Groups:
		rate := 0.0
		for _, g := range o {
			rate = max(rate, RateOf(g.Optimizer))
		}
		return rate
	}
	return 0
}

// AverageOf is the EMA within an optimiser, or nil if there is none.
func AverageOf(o Optimizer) *EMA {
	for ; !missing(o); o = inner(o) {
		if e, ok := o.(*EMA); ok {
			return e
		}
	}
	return nil
}
