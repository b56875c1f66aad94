package ops

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestCTCByAlignments: the loss is that of all alignments, named one by one.
func TestCTCByAlignments(t *testing.T) {
	const classes = 3
	for steps := range 6 {
		logp := ramp(steps, steps, 1, classes)
		for _, target := range [][]int64{{}, {1}, {1, 2}, {2, 2}, {1, 1, 2}, {1, 2, 1, 2}} {
			sum, path := 0.0, make([]int64, steps)
			var all func(step int, log float64)
			all = func(step int, log float64) {
				if step == steps {
					said := slices.DeleteFunc(slices.Compact(slices.Clone(path)), func(c int64) bool { return c == 0 })
					if slices.Equal(said, target) {
						sum += math.Exp(log)
					}
					return
				}
				for c := range classes {
					path[step] = int64(c)
					all(step+1, log+logp.At(step*classes+c))
				}
			}
			all(0, 0)
			got := values(t, func(in []Value) Value { return CTCRows(in[0], in[1], CTC{}) }, logp, iarr(d(1, len(target)), target...))
			if want := -math.Log(sum); math.Abs(got.At(0)-want) > 1e-12*max(1, want) && got.At(0) != want {
				t.Errorf("%v in %d steps: %v, want %v", target, steps, got.At(0), want)
			}
		}
	}
}

// TestCTCImpossible: one sequence that cannot be said does not touch the weights by way of another: its gradient is 0, whether its loss is +inf or counts as 0.
func TestCTCImpossible(t *testing.T) {
	logits, targets := ramp(1, 3, 2, 4), iarr(d(2, 3), 1, 1, 2, 1, 2, 3)
	alone := gradient(t, func(r *Recorder, x Value) Value {
		return CTCRows(x.LogSoftmax(2).Narrow(1, 1, 1), r.Input("targets", iarr(d(1, 3), 1, 2, 3), -1), CTC{}).Sum()
	}, logits)
	for _, zero := range []bool{false, true} {
		c := CTC{ZeroInfinity: zero}
		loss := values(t, func(in []Value) Value { return CTCRows(in[0].LogSoftmax(2), in[1], c) }, logits, targets)
		if want := map[bool]float64{false: math.Inf(1), true: 0}[zero]; loss.At(0) != want || !(loss.At(1) > 0 && loss.At(1) < 100) {
			t.Errorf("ZeroInfinity %v: losses %v", zero, loss)
		}
		got := gradient(t, func(r *Recorder, x Value) Value {
			return CTCRows(x.LogSoftmax(2), r.Input("targets", targets, -1), c).Sum()
		}, logits)
		if err := near(got, alone, 1e-12); err != nil {
			t.Errorf("ZeroInfinity %v: gradient %v", zero, err)
		}
	}
}

func ExampleCTCLoss() {
	r := NewRecorder()
	logits := r.Input("logits", tensor.New(tensor.SpecOf(tensor.F32, 10, 2, 4)), -1)                                  // [steps, n, classes]
	targets := r.Input("targets", tensor.Must(tensor.Must(tensor.From([]int64{1, 2, 3, 3, 0, 0})).Reshape(2, 3)), -1) // [n, longest]
	labels := r.Input("labels", tensor.Must(tensor.From([]int64{3, 1})), -1)
	loss := CTCLoss(logits.LogSoftmax(2), targets, CTC{Labels: labels})
	fmt.Println(loss.Spec(), r.Err())
	// Output: f32[] <nil>
}
