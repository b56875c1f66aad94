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
