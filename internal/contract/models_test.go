package contract

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// A recurrent cell in plain Go, unrolled 64 times, against back-propagation through time by hand.
func Test06Recurrent(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		const steps, rate = 64, 0.1
		tape := r.tape()
		w, u := ops.NewVariable("w", f64(0.7)), ops.NewVariable("u", f64(0.4))
		wantW, wantU := 0.7, 0.4
		xs := formula(tensor.F64, 5, steps)
		for range 4 {
			pw, pu := tape.Var(w), tape.Var(u)
			h := tape.Input("h", f64(0.1))
			x := tape.Input("x", xs)
			for i := range steps {
				tape.Scope("cell", func() { h = h.Mul(pw).Add(x.Slice(0, i, i+1).Mul(pu)).Tanh() })
			}
			loss := h.Mul(h).Sum()
			g := tape.Grad(loss, pw, pu)
			tape.Assign(w, pw.Sub(g[0].Scale(rate)))
			tape.Assign(u, pu.Sub(g[1].Scale(rate)))
			got := r.step(tape, loss)

			hs := []float64{0.1}
			for i := range steps {
				hs = append(hs, math.Tanh(hs[i]*wantW+xs.At(i)*wantU))
			}
			r.near("loss", got, []float64{hs[steps] * hs[steps]}, 1e-12)
			dw, du, dh := 0.0, 0.0, 2*hs[steps]
			for i := steps - 1; i >= 0; i-- {
				dz := dh * (1 - hs[i+1]*hs[i+1])
				dw, du, dh = dw+dz*hs[i], du+dz*xs.At(i), dz*wantW
			}
			wantW, wantU = wantW-rate*dw, wantU-rate*du
			r.near("weights", append(r.value(w), r.value(u)...), []float64{wantW, wantU}, 1e-12)
		}
		if c := r.compiles(); c != 1 {
			r.Errorf("%d compiles", c)
		}
	})
}

// A mixture of experts in which each expert takes its best tokens, as many as it has room for, by gather and scatter-add; against a dense
// sum over all experts with a mask that the host computes.
func Test07Experts(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		const tokens, width, experts, room = 12, 6, 3, 3
		x := formula(tensor.F64, 1, tokens, width)
		router := ops.NewVariable("router", formula(tensor.F64, 2, width, experts))
		weight := ops.NewVariable("weight", formula(tensor.F64, 3, experts, width, width))
		score := func(tape *autograd.Tape) ops.Value { // experts by tokens
			return tape.Input("x", x).MatMul(tape.Var(router)).Softmax(1).Transpose()
		}
		sparse := func(tape *autograd.Tape) ops.Value {
			s := score(tape)
			best, at := ops.TopK(s, room)
			in := tape.Input("tokens", x).Gather(0, at)
			out := in.MatMul(tape.Var(weight)).Tanh().Mul(best.Reshape(experts, room, 1))
			return ops.ScatterAdd(out, 0, at, tokens)
		}
		dense := func(tape *autograd.Tape, mask tensor.Tensor) ops.Value {
			s := score(tape).Mul(tape.Input("mask", mask))
			in := tape.Input("tokens", x).Reshape(1, tokens, width).Expand(experts, tokens, width)
			return in.MatMul(tape.Var(weight)).Tanh().Mul(s.Reshape(experts, tokens, 1)).Sum(0)
		}
		all := func(tape *autograd.Tape, y ops.Value) []ops.Value {
			loss := y.Mul(y).Mul(tape.Input("target", formula(tensor.F64, 4, tokens, width))).Sum()
			return append([]ops.Value{y, loss}, tape.Grad(loss, tape.Var(router), tape.Var(weight))...)
		}
		tape := r.tape()
		scores := r.eval(tape, score(tape))
		tape.Discard()
		mask := tensor.New(tensor.SpecOf(tensor.F64, experts, tokens))
		dropped := 0
		for n := range tokens {
			taken := false
			for e := range experts {
				better := 0
				for m := range tokens {
					if scores[e*tokens+m] > scores[e*tokens+n] {
						better++
					}
				}
				if better < room {
					mask.Set(e*tokens+n, 1)
					taken = true
				}
			}
			if !taken {
				dropped++
			}
		}
		if dropped == 0 {
			r.Error("the test has room for all tokens")
		}
		got := r.step(tape, all(tape, sparse(tape))...)
		r.near("outputs, loss and gradients", got, r.step(tape, all(tape, dense(tape, mask))...), 1e-12)
	})
}

// Second order: gradients, and gradients of gradients, against central differences, also through segments, a fused operation's
// decomposition and a user's operation. The last is a gradient penalty as critics have it.
func Test12SecondOrder(t *testing.T) {
	labels := i64(0, 2, 1)
	for name, f := range map[string]func(t *autograd.Tape, x ops.Value) ops.Value{
		"arithmetic": func(t *autograd.Tape, x ops.Value) ops.Value {
			return x.Mul(x).Sub(x.Exp()).Div(x.Exp().Sum()).Neg().Sum()
		},
		"matmul": func(t *autograd.Tape, x ops.Value) ops.Value {
			return x.MatMul(ops.MatMulT(x, x, false, true)).Exp().Mean()
		},
		"softmax": func(t *autograd.Tape, x ops.Value) ops.Value { s := x.Softmax(1); return s.Mul(s).Sum() },
		"cross-entropy": func(t *autograd.Tape, x ops.Value) ops.Value {
			return ops.CrossEntropy(x, t.Input("labels", labels))
		},
		"batch-norm": func(t *autograd.Tape, x ops.Value) ops.Value {
			y, _, v := ops.BatchNorm(x, t.Input("scale", f64(1, 2, 3)), t.Input("bias", f64(0, 1, 0)), 0.1)
			return y.Mul(y).Mul(y).Sum().Add(v.Sum())
		},
		"dropout": func(t *autograd.Tape, x ops.Value) ops.Value { d := ops.Dropout(x, 0.4); return d.Mul(d).Mul(d).Sum() },
		"gather": func(t *autograd.Tape, x ops.Value) ops.Value {
			g := x.Gather(0, t.Input("i", i64(1, 1, 0)))
			return g.Mul(g).Mul(x).Sum()
		},
		"split": func(t *autograd.Tape, x ops.Value) ops.Value {
			s := x.Split(0, 3)
			return s.Mul(s.Output(1)).Exp().Sum()
		},
		"convolution": func(t *autograd.Tape, x ops.Value) ops.Value {
			y := ops.Conv2D(x.Reshape(1, 1, 3, 3), t.Input("w", formula(tensor.F64, 4, 2, 1, 2, 2)), ops.Conv{Padding: 1})
			return y.Mul(y).Mul(y).Sum()
		},
		"segment": func(t *autograd.Tape, x ops.Value) ops.Value {
			return t.Checkpoint(func() ops.Value { return x.Mul(x).Exp() }).Softmax(1).Mul(x).Sum()
		},
		"user": func(t *autograd.Tape, x ops.Value) ops.Value { s := ops.Apply(square{}, x); return s.Mul(s).Sum() },
		"penalty": func(t *autograd.Tape, x ops.Value) ops.Value {
			in := t.Input("in", formula(tensor.F64, 5, 4, 3))
			score := in.MatMul(x).Tanh().MatMul(t.Input("v", formula(tensor.F64, 6, 3, 1))).Sum()
			g := t.Grad(score, in)[0]
			norm := g.Mul(g).Sum(1).Shift(1e-3).Sqrt()
			return norm.Shift(-1).Mul(norm.Shift(-1)).Mean()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, 1, func(r *rig) {
				tape := r.tape()
				at := formula(tensor.F64, 11, 3, 3)
				second := func(x ops.Value) ops.Value {
					g := tape.Grad(f(tape, x), x)[0]
					return g.Mul(g).Sum()
				}
				for order, fn := range []func(ops.Value) ops.Value{func(x ops.Value) ops.Value { return f(tape, x) }, second} {
					eval := func(grad bool) []float64 {
						x := tape.Input("x", at)
						y := fn(x)
						if grad {
							y = tape.Grad(y, x)[0]
						}
						defer tape.Discard()
						return r.eval(tape, y)
					}
					got := eval(true)
					for i := range at.Len() {
						const h = 1e-5
						x := at.At(i)
						at.Set(i, x+h)
						hi := eval(false)[0]
						at.Set(i, x-h)
						lo := eval(false)[0]
						at.Set(i, x)
						if want := (hi - lo) / (2 * h); math.Abs(got[i]-want) > 2e-6*(1+math.Abs(want)) {
							r.Errorf("order %d, element %d: %v, want %v", order+1, i, got[i], want)
						}
					}
				}
				if c := r.compiles(); c != 4 {
					r.Errorf("%d compiles for 4 programs", c)
				}
			})
		})
	}
}
