package contract

import (
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Dropout keeps its bits under a metric with dropout of its own, under elimination of common subexpressions, in a segment and on another
// device, and it never recompiles.
func Test02Dropout(t *testing.T) {
	onEach(t, 2, func(r *rig) {
		w := ops.NewVariable("w", f64(1, 2, 3, 4, 5, 6, 7, 8))
		trace := func(variant string) (all []float64) {
			tape := r.tape()
			compiles := 0
			for s := range 4 {
				p := tape.Var(w)
				if variant == "metric before" {
					tape.Scope("metric", func() { ops.Dropout(p, 0.3) })
				}
				layer := func() (y ops.Value) {
					tape.Scope("model", func() {
						a := ops.Dropout(p, 0.5)
						y = a.Mul(a).Add(ops.Dropout(p, 0.5).Mul(p))
						if variant == "eliminated" {
							y = y.Add(a.Mul(a)).Sub(a.Mul(a)) // one node
						}
					})
					return y
				}
				var y ops.Value
				switch variant {
				case "segment":
					y = tape.Checkpoint(layer)
				case "pinned":
					tape.On("d1", func() { y = layer() })
				default:
					y = layer()
				}
				outs := []ops.Value{y, tape.Grad(y.Sum(), p)[0]}
				if variant == "metric after" {
					tape.Scope("metric", func() { outs = append(outs, ops.Dropout(y, 0.9).Sum()) })
				}
				x := r.step(tape, outs...)
				all = append(all, x[:16]...)
				if s == 0 {
					compiles = r.compiles()
				}
			}
			if c := r.compiles(); c != compiles {
				r.Errorf("%s: %d compiles after the first step", variant, c-compiles)
			}
			return all
		}
		want := trace("plain")
		r.equal("plain again", trace("plain"), want)
		for _, variant := range []string{"metric before", "metric after", "eliminated", "segment", "pinned"} {
			got := trace(variant)
			if variant == "eliminated" { // its gradient has another sum
				for s := range 4 {
					r.near(variant, got[16*s:16*s+8], want[16*s:16*s+8], 1e-12)
				}
				continue
			}
			r.equal(variant, got, want)
		}
		same := 0
		for s := range 3 {
			for i := range 8 {
				if want[16*s+i] == want[16*s+16+i] {
					same++
				}
			}
		}
		if same == 24 {
			r.Error("all steps have the same mask")
		}
	})
}

// Two dropouts of one value are two masks; one node asked for twice is one; another seed and another step are other masks.
func TestStreams(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		x := formula(tensor.F64, 1, 64)
		mask := func() []float64 {
			v := tape.Input("x", x)
			a, b := ops.Dropout(v, 0.5), ops.Dropout(v, 0.5)
			return r.step(tape, a, b, a)
		}
		differ := func(what string, a, b []float64) {
			r.Helper()
			same := 0
			for i := range a {
				if a[i] == b[i] {
					same++
				}
			}
			if same < 16 || same > 48 {
				r.Errorf("%s agree in %d places of 64", what, same)
			}
		}
		first := mask()
		differ("two dropouts of one value", first[:64], first[64:128])
		r.equal("one node", first[:64], first[128:])
		differ("two steps", first[:64], mask()[:64])
		tape.SetStep(0)
		r.equal("step 0 once more", mask(), first)
	})
}
