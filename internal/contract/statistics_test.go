package contract

import (
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Batch-norm used twice in one step: the running statistics chain, also where both uses see the same batch.
func Test01BatchNormTwice(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		gamma, beta := ops.NewVariable("gamma", f64(1, 1)), ops.NewVariable("beta", f64(0, 0))
		mean, variance := ops.NewVariable("mean", f64(0, 0)), ops.NewVariable("variance", f64(1, 1))
		half := func(v *ops.Variable, x ops.Value) { tape.Assign(v, tape.Var(v).Scale(0.5).Add(x.Scale(0.5))) }
		norm := func(x ops.Value) ops.Value {
			y, m, v := ops.BatchNorm(x, tape.Var(gamma), tape.Var(beta), 1e-5)
			half(mean, m)
			half(variance, v.Scale(2)) // n/(n-1) of two rows
			return y
		}
		wantMean, wantVar := []float64{0, 0}, []float64{1, 1}
		chain := func(m0, m1, v0, v1 float64) {
			wantMean = []float64{wantMean[0]/2 + m0/2, wantMean[1]/2 + m1/2}
			wantVar = []float64{wantVar[0]/2 + v0, wantVar[1]/2 + v1}
		}
		var compiles int
		for i := range 4 {
			x, y := tape.Input("x", mat(2, 1, 2, 3, 4)), tape.Input("y", mat(2, 10, 20, 30, 40))
			chain(2, 3, 1, 1)
			if i < 3 {
				chain(20, 30, 100, 100)
				r.step(tape, norm(x).Add(norm(y)).Sum())
			} else {
				chain(2, 3, 1, 1)
				r.step(tape, norm(x).Add(norm(x)).Sum())
			}
			r.equal("running mean", r.value(mean), wantMean)
			r.equal("running variance", r.value(variance), wantVar)
			if i == 0 {
				compiles = r.compiles()
			}
		}
		if c := r.compiles(); c != compiles+1 {
			r.Errorf("%d compiles, want %d", c, compiles+1)
		}
		// Inference reads the statistics and leaves them.
		x := tape.Input("x", mat(1, 1, 2))
		r.step(tape, ops.BatchNormInfer(x, tape.Var(gamma), tape.Var(beta), tape.Var(mean), tape.Var(variance), 1e-5))
		r.equal("after inference", append(r.value(mean), r.value(variance)...), append(wantMean, wantVar...))
	})
}

// A checkpointed segment with dropout and batch-norm: the same bits, measurably less memory, statistics updated once.
func Test05Checkpoint(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		run := func(segment bool) (out []float64, peak, nodes int) {
			r := newRig(r.TB, r.kind, 1)
			tape := r.tape()
			const c = 12
			w := ops.NewVariable("w", formula(tensor.F64, 1, c, c))
			g, b := ops.NewVariable("g", formula(tensor.F64, 2, c)), ops.NewVariable("b", formula(tensor.F64, 3, c))
			mean := ops.NewVariable("mean", formula(tensor.F64, 4, c))
			for range 2 {
				x := tape.Input("x", formula(tensor.F64, 5, 24, c))
				p := tape.Var(w)
				for range 6 {
					block := func() ops.Value {
						h := x
						for range 3 {
							var m ops.Value
							h, m, _ = ops.BatchNorm(h.MatMul(p).ReLU(), tape.Var(g), tape.Var(b), 1e-5)
							h = ops.Dropout(h, 0.25).Tanh()
							tape.Assign(mean, tape.Var(mean).Scale(0.9).Add(m.Scale(0.1)))
						}
						return h
					}
					if segment {
						x = tape.Checkpoint(block)
					} else {
						x = block()
					}
				}
				loss := x.Mul(x).Mean()
				dw := tape.Grad(loss, p, tape.Var(g))
				tape.Assign(w, p.Sub(dw[0].Scale(1e-3)))
				tape.Assign(g, tape.Var(g).Sub(dw[1].Scale(1e-3)))
				nodes = tape.Len()
				out = append(out, r.step(tape, loss)...)
			}
			if c := r.compiles(); c != 1 {
				r.Errorf("%d compiles", c)
			}
			for _, v := range []*ops.Variable{w, g, mean} {
				out = append(out, r.value(v)...)
			}
			return out, r.eng.Plans()[0].Memory(), nodes
		}
		want, full, once := run(false)
		got, less, again := run(true)
		r.equal("losses, weights and statistics", got, want)
		r.Logf("%d bytes between parameters and outputs, %d with segments", full, less)
		if less*10 > full*7 {
			r.Errorf("%d bytes, with segments %d", full, less)
		}
		if again > 2*once { // each node is computed once more at most
			r.Errorf("%d nodes, with segments %d", once, again)
		}
	})
}

// A segment within a segment, one whose value is not used, one that is used twice, and one around a user's operation.
func TestSegments(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		w := ops.NewVariable("w", f64(0.5, -0.25, 0.75))
		run := func(segment func(f func() ops.Value) ops.Value) []float64 {
			tape := r.tape()
			if segment == nil {
				segment = tape.Checkpoint
			}
			x := tape.Var(w)
			a := segment(func() ops.Value {
				return segment(func() ops.Value { return ops.Dropout(x.Tanh(), 0.5).Mul(x) }).Exp()
			})
			segment(func() ops.Value { return x.Exp() })
			b := segment(func() ops.Value { return ops.Apply(square{}, a.Mul(x)) })
			loss := b.Mul(a).Add(b).Sum()
			return r.step(tape, loss, tape.Grad(loss, x)[0])
		}
		plain := run(func(f func() ops.Value) ops.Value { return f() })
		r.equal("loss and gradient", run(nil), plain)
	})
}
