package optim_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/internal/goldens"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
)

// golden are the optimisers of the file, made anew for each use.
var golden = map[string]func() optim.Optimizer{
	"SGD":     func() optim.Optimizer { return &optim.SGD{LR: 0.01} },
	"SGD all": func() optim.Optimizer { return &optim.SGD{LR: 0.01, Momentum: 0.9, Nesterov: true, WeightDecay: 0.1} },
	"Adam":    func() optim.Optimizer { return &optim.Adam{} },
	"Adam all": func() optim.Optimizer {
		return &optim.Adam{LR: 0.1, Beta1: 0.5, Beta2: 0.7, Eps: 1e-3, WeightDecay: 0.2}
	},
	"AdamW": func() optim.Optimizer { return &optim.AdamW{} },
	"AdamW all": func() optim.Optimizer {
		return &optim.AdamW{LR: 7, Schedule: optim.Constant{LR: 0.1}, Beta1: 0.5, Beta2: 0.7, Eps: 1e-3, WeightDecay: 0.2}
	},
	"RMSProp": func() optim.Optimizer { return &optim.RMSProp{} },
	"RMSProp momentum": func() optim.Optimizer {
		return &optim.RMSProp{LR: 0.02, Alpha: 0.8, Eps: 1e-3, Momentum: 0.7, WeightDecay: 0.1}
	},
	"RMSProp centered": func() optim.Optimizer { return &optim.RMSProp{LR: 0.02, Alpha: 0.8, Centered: true} },
	"RMSProp all": func() optim.Optimizer {
		return &optim.RMSProp{LR: 0.02, Alpha: 0.8, Eps: 1e-3, Momentum: 0.7, Centered: true, WeightDecay: 0.1}
	},
	"Adagrad": func() optim.Optimizer { return &optim.Adagrad{} },
	"Adagrad all": func() optim.Optimizer {
		return &optim.Adagrad{LR: 0.2, RateDecay: 0.3, Initial: 0.5, Eps: 1e-3, WeightDecay: 0.1}
	},
	"FTRL":       func() optim.Optimizer { return &optim.FTRL{} },
	"FTRL all":   func() optim.Optimizer { return &optim.FTRL{LR: 0.3, Beta: 0.5, L1: 1.5, L2: 0.25, Initial: 0.1} },
	"LARS":       func() optim.Optimizer { return &optim.LARS{} },
	"LARS all":   func() optim.Optimizer { return &optim.LARS{LR: 3, Trust: 0.02, Momentum: 0.9, WeightDecay: 0.1} },
	"EMA":        func() optim.Optimizer { return &optim.EMA{Optimizer: &optim.SGD{LR: 0.01}} },
	"EMA warm":   func() optim.Optimizer { return &optim.EMA{Optimizer: &optim.SGD{LR: 0.01}, Decay: 0.6, Warmup: true} },
	"Clip norm":  func() optim.Optimizer { return &optim.Clip{Optimizer: &optim.SGD{LR: 0.05}, Norm: 2.5} },
	"Clip value": func() optim.Optimizer { return &optim.Clip{Optimizer: &optim.SGD{LR: 0.05}, Value: 1.5} },
	"Clip both":  func() optim.Optimizer { return &optim.Clip{Optimizer: &optim.SGD{LR: 0.05}, Norm: 1.5, Value: 1.25} },
}

// TestGoldens: twelve updates from the same start are PyTorch's, or those of the formula in plain Python where it has none.
func TestGoldens(t *testing.T) {
	want, err := goldens.LoadOptim()
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range want.Optimizers {
		fresh := golden[name]
		if fresh == nil {
			t.Errorf("no optimiser for %q", name)
			continue
		}
		for around, opt := range map[string]optim.Optimizer{
			"": fresh(), "within a group": optim.Groups{{Optimizer: fresh()}}, "within a loss scale": &optim.LossScale{Optimizer: fresh()},
		} {
			tape := newTape(t)
			p := ops.NewVariable("p", f64(1, -2, 3, 0.5))
			shown := p
			for step, row := range rows {
				loss := cubic(tape, p, step)
				opt.Update(tape, loss, p)
				commit(t, tape, loss)
				if strings.HasPrefix(name, "EMA") {
					shown = named(t, opt, "p.ema")
				}
				for i, got := range values(t, shown) {
					if math.Abs(got-row[i]) > 1e-12*max(1, math.Abs(row[i])) {
						t.Errorf("%s %s: after update %d element %d is %v, want %v", name, around, step, i, got, row[i])
					}
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		if want.Optimizers[name] == nil {
			t.Errorf("the file has no %q", name)
		}
	}
}

// named is a variable of an optimiser's state.
func named(t *testing.T, o optim.Optimizer, name string) *ops.Variable {
	t.Helper()
	for _, v := range o.State() {
		if v.Name() == name {
			return v
		}
	}
	t.Fatalf("%T keeps no %s", o, name)
	return nil
}

// TestScheduleGoldens are PyTorch's rates, or Caffe's from their formula. They are asked for twice, forwards and backwards.
func TestScheduleGoldens(t *testing.T) {
	want, err := goldens.LoadOptim()
	if err != nil {
		t.Fatal(err)
	}
	half := optim.Step{LR: 0.4, Every: 2, Factor: 0.5}
	all := map[string]optim.Schedule{
		"step":             optim.Step{LR: 0.4, Every: 3, Factor: 0.5},
		"multi-step":       optim.MultiStep{LR: 0.4, At: []int{5, 9, 2}, Factor: 0.3},
		"exp":              optim.Exp{LR: 0.4, Factor: 0.8},
		"poly":             optim.Poly{LR: 0.4, Steps: 10, Power: 2.5},
		"line":             optim.Poly{LR: 0.4, Steps: 10},
		"linear":           optim.Linear{From: 0.1, To: 0.4, Steps: 8},
		"linear down":      optim.Linear{From: 0.4, To: 0.04, Steps: 5},
		"inv":              optim.Inv{LR: 0.4, Gamma: 0.3, Power: 0.75},
		"cosine":           optim.Cosine{LR: 0.4, Min: 0.02, Steps: 13},
		"one cycle":        optim.OneCycle{Max: 0.4, Steps: 15},
		"warm-up":          optim.Warmup{Steps: 4, Then: optim.Cosine{LR: 0.4, Steps: 9}},
		"warm-up from":     optim.Warmup{Steps: 5, From: 0.6, Then: half},
		"constant warm-up": optim.Warmup{Steps: 4, From: 0.3, Constant: true, Then: optim.Exp{LR: 0.4, Factor: 0.9}},
		"chain":            optim.Chain{{3, optim.Constant{LR: 0.2}}, {5, half}, {0, optim.Scaled{By: 0.5, Of: optim.Exp{LR: 0.8, Factor: 0.7}}}},
		"hill":             optim.Hill{LR: 0.4, Min: 0.12, Warmup: 4, From: 0.2, Gamma: 0.5, Power: 1.5},
		"alter":            optim.Alter{Active: 3, Inactive: 2, Of: optim.Constant{LR: 0.4}},

		"alter, inactive first": optim.Alter{Active: 3, Inactive: 2, InactiveFirst: true, Of: optim.Constant{LR: 0.4}},
	}
	for name, rates := range want.Schedules {
		s := all[name]
		if s == nil {
			t.Errorf("no schedule for %q", name)
			continue
		}
		for pass := range 2 {
			for i := range rates {
				if pass == 1 {
					i = len(rates) - 1 - i
				}
				if got := s.Rate(i); math.Abs(got-rates[i]) > 1e-15 {
					t.Errorf("%s: update %d has %v, want %v", name, i, got, rates[i])
				}
			}
		}
	}
	if len(all) != len(want.Schedules) {
		t.Errorf("%d schedules, the file has %d", len(all), len(want.Schedules))
	}
}
