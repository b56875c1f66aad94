package optim_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/optim"
)

// TestSchedules has PyTorch's rates, from CosineAnnealingLR and OneCycleLR.
func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		s    optim.Schedule
		from int
		want []float64
	}{
		"constant":      {optim.Constant{LR: 0.5}, 0, []float64{0.5, 0.5}},
		"cosine":        {optim.Cosine{LR: 1, Min: 0.1, Steps: 5}, 0, []float64{1, 0.9140576474687263, 0.6890576474687263, 0.41094235253127365, 0.1859423525312737, 0.1, 0.1}},
		"cosine of 3":   {optim.Cosine{LR: 1, Steps: 3}, 0, []float64{1, 0.75, 0.25, 0, 0}},
		"one cycle":     {optim.OneCycle{Max: 0.1, Steps: 10}, 0, []float64{0.004, 0.052, 0.1, 0.09504846320134738, 0.0811745653949763, 0.06112620219362893, 0.03887419780637107, 0.0188258346050237, 0.004951936798652629, 4e-07, 4e-07}},
		"all its parts": {optim.OneCycle{Max: 2, Steps: 7, Rise: 0.5, Div: 10, FinalDiv: 100}, 0, []float64{0.2, 0.8218847050625473, 1.8281152949374526, 1.9010678990345167, 1.223298413022358, 0.37813368794312524, 0.002, 0.002}},
		"past the end":  {optim.OneCycle{Max: 1, Steps: 50}, 47, []float64{0.008039173559862363, 0.0020168449509684566, 4e-06, 4e-06, 4e-06}},
	} {
		for range 2 { // asked again, the answer is the same
			for i := len(c.want) - 1; i >= 0; i-- { // and backwards too
				if got := c.s.Rate(c.from + i); math.Abs(got-c.want[i]) > 1e-15 {
					t.Errorf("%s: update %d has %v, want %v", name, c.from+i, got, c.want[i])
				}
			}
		}
	}
}

// TestScheduleEdges: rates are finite and no larger than the highest, whatever the fields; they never rise after the end.
func TestScheduleEdges(t *testing.T) {
	const most = 1 << 53
	for _, s := range []optim.Schedule{
		optim.Cosine{LR: 1, Warmup: 10, Steps: 10}, optim.Cosine{LR: 1, Steps: 10}, optim.Cosine{LR: 1, Warmup: 20, Steps: 10}, optim.Cosine{LR: 1},
		optim.Cosine{LR: 1, Warmup: 1, Steps: 1}, optim.Cosine{LR: 1, Warmup: 5}, optim.Cosine{LR: 1, Warmup: -3, Steps: -3},
		optim.OneCycle{Max: 1}, optim.OneCycle{Max: 1, Steps: 1}, optim.OneCycle{Max: 1, Steps: 2}, optim.OneCycle{Max: 1, Steps: 3}, optim.OneCycle{Max: 1, Steps: 10, Rise: 0.1},
		optim.OneCycle{Max: 1, Steps: 10, Rise: 1}, optim.OneCycle{Max: 1, Steps: 10, Rise: 7}, optim.OneCycle{Max: 1, Steps: -1},
	} {
		for _, step := range []int{0, 1, 2, 3, 9, 10, 11, 19, 20, 21, 50, 1e9, most} {
			if r := s.Rate(step); !(r >= 0 && r <= 1+1e-15) {
				t.Errorf("%+v: update %d has %v", s, step, r)
			}
		}
		if a, b := s.Rate(30), s.Rate(most); a != b {
			t.Errorf("%+v: it goes on from %v to %v", s, a, b)
		}
	}
	for _, c := range []struct {
		s    optim.Cosine
		step int
		want float64
	}{
		{optim.Cosine{LR: 1, Warmup: 10, Steps: 10}, 0, 0.1}, // the first update is not wasted
		{optim.Cosine{LR: 1, Warmup: 10, Steps: 10}, 9, 1},
		{optim.Cosine{LR: 1, Warmup: 10, Steps: 10}, 10, 0},
		{optim.Cosine{LR: 1, Steps: 10}, 0, 1},
		{optim.Cosine{LR: 1, Warmup: 20, Steps: 10}, 9, 0.5},
		{optim.Cosine{LR: 1, Warmup: 20, Steps: 10}, 10, 0},
		{optim.Cosine{LR: 1, Warmup: 4, Steps: 8}, 4, 1},
		{optim.Cosine{LR: 1, Warmup: 4, Steps: 8}, 6, 0.5},
		{optim.Cosine{LR: 1, Warmup: 2}, 100, 1},
	} {
		if got := c.s.Rate(c.step); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v: update %d has %v, want %v", c.s, c.step, got, c.want)
		}
	}
}

// TestHostileSchedules: rates are finite whatever the fields, 0 or more where the highest is, and no step panics.
func TestHostileSchedules(t *testing.T) {
	numbers := []float64{0, 1, -1, 0.5, 2, 1e300, -1e300}
	counts := []int{0, 1, 2, 10, -3, math.MaxInt, math.MinInt}
	steps := []int{0, 1, 2, 9, 10, 11, 1e9, 1 << 53, math.MaxInt, -1, math.MinInt}
	check := func(s optim.Schedule) {
		t.Helper()
		for _, step := range steps {
			calm(t, "a schedule", func() {
				if r := s.Rate(step); r-r != 0 || r < 0 {
					t.Errorf("%+v: update %d has %v", s, step, r)
				}
			})
		}
	}
	one := optim.Constant{LR: 1}
	for _, n := range counts {
		for _, x := range numbers {
			check(optim.Step{LR: 1, Every: n, Factor: x})
			check(optim.MultiStep{LR: 1, At: []int{n, 3, 3, -n}, Factor: x})
			check(optim.Exp{LR: 1, Factor: x})
			check(optim.Poly{LR: 1, Steps: n, Power: x})
			check(optim.Linear{From: 1, To: 0.5, Steps: n})
			check(optim.Cosine{LR: 1, Steps: n, Warmup: n / 2})
			check(optim.Cosine{LR: 1, Steps: 7, Warmup: n})
			check(optim.OneCycle{Max: 1, Steps: n, Rise: max(x, 0)})
			check(optim.Warmup{Steps: n, Then: optim.Scaled{By: 0.5, Of: one}})
			for _, y := range numbers {
				check(optim.Inv{LR: 1, Gamma: x, Power: y})
				check(optim.Hill{LR: 1, Warmup: n, Gamma: x, Power: y})
			}
			for _, m := range counts {
				check(optim.Alter{Active: n, Inactive: m, InactiveFirst: x > 0, Of: one})
				check(optim.Chain{{n, one}, {m, optim.Cosine{LR: 1, Steps: 3}}, {n, one}})
			}
		}
	}
	for _, s := range []optim.Schedule{optim.Warmup{Steps: 2}, optim.Warmup{Steps: 2, Constant: true}, optim.Scaled{By: 1}, optim.Alter{}, optim.Chain{}, optim.Chain{{Steps: 1}}} {
		calm(t, "a missing schedule", func() {
			if r := s.Rate(0); r == r {
				t.Errorf("%+v has the rate %v", s, r)
			}
		})
	}
}

// TestLargeRates: schedules of the largest numbers are finite at any step, and those that go from one rate to another stay between them.
func TestLargeRates(t *testing.T) {
	const most, least = math.MaxFloat64, math.SmallestNonzeroFloat64
	numbers := []float64{0, 1, least, -least, 1e308, -1e308, most, -most}
	counts := []int{1, 2, 3, 7, 100, math.MaxInt}
	check := func(s optim.Schedule, low, high float64) {
		t.Helper()
		for _, step := range []int{0, 1, 2, 3, 5, 6, 49, 98, 99, 1 << 53, math.MaxInt} {
			if r := s.Rate(step); !(r >= low && r <= high) {
				t.Errorf("%+v: update %d has %v", s, step, r)
			}
		}
	}
	for _, n := range counts {
		for _, x := range numbers {
			check(optim.Cosine{LR: most, Steps: n, Warmup: n / 2}, 0, most)
			for _, y := range numbers {
				low, high := min(x, y), max(x, y)
				check(optim.Cosine{LR: x, Min: y, Steps: n}, low, high)
				check(optim.Cosine{LR: x, Min: y, Steps: n, Warmup: n / 3}, min(low, 0), max(high, 0))
				check(optim.Linear{From: x, To: y, Steps: n}, low, high)
				check(optim.Poly{LR: x, Min: y, Steps: n, Power: 700}, -most, most)
				check(optim.Warmup{Steps: n, From: y, Then: optim.Constant{LR: x}}, -most, most)
				check(optim.Hill{LR: x, Min: y, Warmup: n, From: y, Gamma: most}, -most, most)
				for _, div := range numbers {
					check(optim.OneCycle{Max: x, Steps: n, Rise: y, Div: div, FinalDiv: y}, -most, most)
				}
			}
		}
	}
}

// TestWarmups: as long as the run, longer, of no or one update; the first has a rate above 0 and the last the full one.
func TestWarmups(t *testing.T) {
	for _, c := range []struct {
		s    optim.Schedule
		step int
		want float64
	}{
		{optim.Warmup{Steps: 10, Then: optim.Constant{LR: 1}}, 0, 0.1},
		{optim.Warmup{Steps: 10, Then: optim.Constant{LR: 1}}, 9, 1},
		{optim.Warmup{Steps: 10, Then: optim.Cosine{LR: 1, Steps: 10}}, 10, 1},
		{optim.Warmup{Steps: 10, Then: optim.Cosine{LR: 1, Steps: 10}}, 15, 0.5},
		{optim.Warmup{Steps: 10, Then: optim.Cosine{LR: 1, Steps: 10}}, 1e9, 0},
		{optim.Warmup{Steps: 0, Then: optim.Constant{LR: 1}}, 0, 1},
		{optim.Warmup{Steps: 1, Then: optim.Constant{LR: 1}}, 0, 1},
		{optim.Warmup{Steps: 2, From: 0.5, Then: optim.Constant{LR: 1}}, 0, 0.5},
		{optim.Warmup{Steps: 5, Constant: true, Then: optim.Constant{LR: 1}}, 4, 0.2},
		{optim.Warmup{Steps: 5, Constant: true, Then: optim.Constant{LR: 1}}, 5, 1},
		{optim.Hill{LR: 1, Warmup: 4}, 0, 0.25},
		{optim.Hill{LR: 1, Warmup: 4, Gamma: 1}, 3, 1},
		{optim.Hill{LR: 1, Warmup: 4, Gamma: 1}, 4, 0.5},
		{optim.Hill{LR: 1, Min: 0.1, Gamma: 1}, 1 << 53, 0.1},
		{optim.Hill{LR: 1, Gamma: 1}, 0, 1},
		{optim.Poly{LR: 1, Min: 0.25, Steps: 4}, 2, 0.625},
		{optim.Poly{LR: 1, Min: 0.25, Steps: 4}, 4, 0.25},
		{optim.Linear{From: 1, To: 3, Steps: 4}, 1, 1.5},
		{optim.Linear{From: 1, To: 3}, 0, 3},
		{optim.Step{LR: 1}, 1e9, 1},
		{optim.Chain{{-5, optim.Constant{LR: 7}}, {2, optim.Constant{LR: 1}}, {0, optim.Constant{LR: 2}}}, 2, 2},
	} {
		if got := c.s.Rate(c.step); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%+v: update %d has %v, want %v", c.s, c.step, got, c.want)
		}
	}
}
