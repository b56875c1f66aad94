package contract

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Defects that users of other engines met, and whose subject is the tape, the engine or a driver.

// An operand used twice is not overwritten; a diamond adds up; a constant factor is on the tape; each gradient is counted once.
func TestRepeatedOperands(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(2, -3))
		for range 2 {
			x := tape.Var(w)
			y := x.Mul(x)
			r.equal("x times itself, and x", r.step(tape, y, x, tape.Grad(y.Sum(), x)[0]), []float64{4, 9, 2, -3, 4, -6})
			x = tape.Var(w)
			left, right := x.Scale(3), x.Shift(1)
			y = left.Mul(right).Add(x).Sub(x)
			r.equal("a diamond", r.step(tape, y, tape.Grad(y.Sum(), x)[0]), []float64{18, 18, 15, -15})
			x = tape.Var(w)
			r.equal("x minus itself, x over itself", r.step(tape, x.Sub(x), x.Div(x), x.Add(x).Add(x)), []float64{0, 0, 1, 1, 6, -9})
			x = tape.Var(w)
			r.equal("the gradient of a gradient's input", r.step(tape, tape.Grad(x.Sum(), x)[0], tape.Grad(x.Mean(), x)[0]), []float64{1, 1, 0.5, 0.5})
		}
		r.equal("the variable", r.value(w), []float64{2, -3})
	})
}

// Transposes of slices, slices of transposes, of square matrices and others, are what they say.
func TestTransposes(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		for _, n := range []int{1, 2, 5, 8, 17} {
			for _, m := range []int{n, 3, 16} {
				x := formula(tensor.F32, n, n, m)
				v := tape.Input("x", x)
				rows, columns := (n+1)/2, (m+2)/3
				got := r.step(tape, v.Transpose(), v.Slice(0, 0, rows).Transpose(), v.Slice(1, 0, columns).Transpose(), v.Transpose().Slice(0, 0, columns), v.Transpose().Transpose())
				var want []float64
				transpose := func(rows, columns int) {
					for j := range columns {
						for i := range rows {
							want = append(want, x.At(i*m+j))
						}
					}
				}
				transpose(n, m)
				transpose(rows, m)
				transpose(n, columns)
				transpose(n, columns)
				want = append(want, x.Floats()...)
				r.equal(fmt.Sprint(n, " by ", m), got, want)

				v = tape.Input("x", x) // a matmul of transposed slices
				s := v.Slice(1, 0, columns)
				r.near("gram matrix", r.step(tape, s.Transpose().MatMul(s)), r.step(tape, ops.MatMulT(tape.Input("x", x).Slice(1, 0, columns), tape.Input("y", x).Slice(1, 0, columns), true, false)), 1e-6)
			}
		}
	})
}

// Zero times NaN is NaN, and zero times infinity: zeros are not skipped, in a matmul, its gradients, a convolution, a sum.
func TestZeroTimesNaN(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
				for _, k := range []int{1, 3, 8, 33} {
					zeros, y := tensor.New(tensor.SpecOf(dt, 4, k)), formula(dt, 1, k, 5)
					y.Set((k-1)*5+2, bad)
					a, b := tape.Input("zeros", zeros), tape.Input("y", y)
					product := a.MatMul(b)
					da := tape.Grad(product.Mul(product.StopGradient()).Sum(), a)[0]
					out := r.step(tape, product, product.ReLU(), a.Mul(b.Transpose().Slice(0, 0, 4)), da)
					for i := range 4 {
						for j := range 5 {
							if isNaN := math.IsNaN(out[5*i+j]); isNaN != (j == 2) || math.IsNaN(out[20+5*i+j]) != isNaN {
								r.Errorf("%v, %v, %d terms: row %d, column %d is %v, rectified %v", dt, bad, k, i, j, out[5*i+j], out[20+5*i+j])
							}
						}
						if x := out[40+k*2+k-1]; !math.IsNaN(x) {
							r.Errorf("%v: 0 times %v is %v", dt, bad, x)
						}
						if x := out[40+4*k+i*k+k-1]; !math.IsNaN(x) {
							r.Errorf("%v: the gradient's 0 times %v is %v", dt, bad, x)
						}
					}
				}
			}
		}
	})
}

// Memory that held NaN is used again without a trace: after a step whose values are all NaN come clean ones of all shapes, those without
// elements and products over no terms among them.
func TestStaleMemory(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		nan := tensor.Full(tensor.SpecOf(tensor.F32, 1600, 1), math.NaN()) // more than any of the others
		sizes := []int{0, 1, 7, 17, 33}
		for _, m := range sizes {
			for _, n := range sizes {
				for _, k := range sizes {
					for _, fused := range []bool{false, true} {
						x := tape.Input("nan", nan)
						r.step(tape, x.MatMul(x.Slice(0, 0, 1)).ReLU(), x.Add(x), x.Tanh().Sum(0))

						a, b := tape.Input("a", tensor.Full(tensor.SpecOf(tensor.F32, m, k), 1)), tape.Input("b", tensor.Full(tensor.SpecOf(tensor.F32, k, n), 2))
						y, want := a.MatMul(b), float64(2*k)
						if fused {
							y, want = y.Add(tape.Input("bias", tensor.Full(tensor.SpecOf(tensor.F32, n), 0.5))).ReLU(), want+0.5
						}
						for i, got := range r.step(tape, y) {
							if got != want {
								r.Fatalf("%dx%d times %dx%d, fused %v: element %d is %v, want %v", m, k, k, n, fused, i, got, want)
							}
						}
					}
				}
			}
		}
	})
}

// Programs of many sizes take turns with a training run whose memory they share: its bits are those of a run alone, optimiser's state
// and all.
func TestArenaIsShared(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		train := func(between func(i int)) (out []float64) {
			n := newNet(tensor.F32, 4, 8, 3)
			n.drop = 0.25
			tape := r.tape()
			for i := range 12 {
				out = append(out, r.step(tape, n.train(tape, formula(tensor.F32, 1, 6, 4), classes(6), 1e-2))...)
				between(i)
			}
			for _, v := range n.state() {
				out = append(out, r.value(v)...)
			}
			return out
		}
		want := train(func(int) {})
		other := r.tape()
		var kept []float64
		keep, err := other.Step(ctx, other.Input("x", f64(1, 2, 3)).Neg())
		if err != nil {
			r.Fatal(err)
		}
		got := train(func(i int) {
			x := other.Input("x", tensor.Full(tensor.SpecOf(tensor.F32, 3+5*i, 40-3*i), math.Inf(1)))
			res, err := other.Step(ctx, x.Sub(x).MatMul(x.Transpose()), x.Neg())
			if err != nil {
				r.Fatal(err)
			}
			if i%2 == 0 {
				res.Release()
			}
		})
		r.equal("the training run", got, want)
		x, err := keep.Tensor(ctx, 0)
		if err != nil {
			r.Fatal(err)
		}
		r.equal("a result that is kept", append(kept, x.Floats()...), []float64{-1, -2, -3})
	})
}

// A table that is looked up is on the tape, also where an index repeats; a scalar's gradient is counted.
func TestEverythingIsOnTheTape(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		table, s := ops.NewVariable("table", mat(3, 1, 2, 3, 4, 5, 6)), ops.NewVariable("s", tensor.Scalar(2.0))
		y := ops.Embedding(tape.Var(table), tape.Input("at", i64(2, 0, 2))).Mul(tape.Var(s)).Sum()
		g := tape.Grad(y, tape.Var(table), tape.Var(s))
		r.equal("gradients", r.step(tape, g...), []float64{2, 2, 0, 0, 4, 4, 25})
	})
}

// An error of the update is not ignored: a step whose update fails says so, and what was not learned is not reported as learned.
func TestUpdateErrorIsTold(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		tape := r.tape()
		w := ops.NewVariable("w", f64(3))
		loss := tape.Var(w).Mul(tape.Var(w)).Sum()
		tape.Assign(w, ops.Apply(bad{At: refError}, tape.Var(w)).Sub(tape.Grad(loss, tape.Var(w))[0]))
		_, err := try(tape, loss)
		r.fails(err, errTooLarge, "bad", "defects_test.go")
		tape.Assign(w, tape.Input("x", f64(1, 2)))
		_, err = tape.Step(ctx)
		r.fails(err, nil, "variable w is f64[1] and cannot hold the value", "defects_test.go")
		r.equal("the variable", r.value(w), []float64{3})
	})
}

// The same program and seed give the same bits at any GOMAXPROCS.
func TestBitsDoNotDependOnProcessors(t *testing.T) {
	onEach(t, 1, func(r *rig) {
		var want []float64
		for _, p := range []int{1, 2, 7} {
			procs(r, p)
			r := newRig(r.TB, r.kind, 1) // opened with so many processors
			n := newNet(tensor.F32, r.width(), r.width(), 3)
			n.drop = 0.5
			tape := r.tape()
			var got []float64
			for i := range 5 {
				got = append(got, r.step(tape, n.train(tape, formula(tensor.F32, i, 33, r.width()), classes(33), 1e-2))...)
			}
			for _, v := range n.state() {
				got = append(got, r.value(v)...)
			}
			if want == nil {
				want = got
			}
			r.equal(fmt.Sprint("at GOMAXPROCS ", p), got, want)
		}
	})
}
