package ops_test

import (
	"testing"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// square is a user's op in the user's package.
type square struct{ A, B int }

func (square) Name() string                                  { return "square" }
func (square) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return []tensor.Spec{in[0]}, nil }
func (square) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Elementwise(1, in, out) }
func (square) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		out[0].Set(i, in[0].At(i)*in[0].At(i))
	}
	return nil
}
func (square) Grad(b *ops.Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, dy.Mul(b.In(0)).Scale(2))
}

// plain has the memory shape of an op of the engine: its Apply is instantiated there, out of sight of this package's escape analysis.
type plain struct{}

func (plain) Name() string                                  { return "plain" }
func (plain) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return []tensor.Spec{in[0]}, nil }
func (plain) Cost(in, out []tensor.Spec) ops.Cost           { return ops.Traffic(in, out) }
func (plain) Ref(out, in []tensor.Tensor) error             { out[0].CopyFrom(in[0]); return nil }
func (plain) Grad(b *ops.Backward)                          { b.Set(0, b.DyOrZero(0)) }

// TestReplayAllocs: a hit touches no heap, whichever package the builder is called from. It stands outside of package ops, where users
// stand: inlined there, a builder's variadic argument would escape.
func TestReplayAllocs(t *testing.T) {
	r := ops.NewRecorder()
	x := tensor.Must(tensor.From([]float32{1, 2, 3, 4}, 2, 2))
	index := tensor.Must(tensor.From([]int64{1, 0}))
	starts := tensor.Must(tensor.From([]int64{0, 1}))
	image := tensor.New(tensor.SpecOf(tensor.F32, 1, 2, 4, 4))
	w, rate := ops.NewVariable("w", x), tensor.Scalar(float32(0.1))
	var idx, corner, img ops.Value
	for name, f := range map[string]func(v ops.Value) ops.Value{
		"arithmetic": func(v ops.Value) ops.Value { return v.Add(v).Sub(v).Mul(v).Div(v).Maximum(v).Minimum(v) },
		"functions": func(v ops.Value) ops.Value {
			return v.Neg().Exp().Log().Tanh().Sigmoid().ReLU().Sqrt().Rsqrt().Identity()
		},
		"constants": func(v ops.Value) ops.Value { return v.Scale(2).Shift(3) },
		"compare":   func(v ops.Value) ops.Value { return ops.Where(v.Less(v), v, v).Cast(tensor.F64).Cast(tensor.F32) },
		"more compare": func(v ops.Value) ops.Value {
			v.LessEqual(v)
			v.Greater(v)
			v.GreaterEqual(v)
			v.Equal(v)
			return v.NotEqual(v)
		},
		"stop": func(v ops.Value) ops.Value { return v.StopGradient() },
		"sum":  func(v ops.Value) ops.Value { return v.Sum(0).Sum(-1).Sum() },
		"reductions": func(v ops.Value) ops.Value {
			v.MeanKeep(0)
			v.MaxKeep(1)
			v.Min()
			v.SumKeep(0, 1)
			v.ArgMax(0)
			return v.Mean(0, 1)
		},
		"max":           func(v ops.Value) ops.Value { return v.Max(1).SumTo(tensor.Of(1)) },
		"matmul":        func(v ops.Value) ops.Value { return ops.Linear(ops.MatMulT(v, v.MatMul(v), true, false), v, v.Sum(0)) },
		"softmax":       func(v ops.Value) ops.Value { return v.Softmax(-1) },
		"cross-entropy": func(v ops.Value) ops.Value { return ops.CrossEntropy(v, idx) },
		"constant": func(v ops.Value) ops.Value {
			ops.OneHot(idx, 3, tensor.F32)
			return ops.Full(r, v.Spec(), 2).Add(ops.Zeros(r, v.Spec()))
		},
		"shape": func(v ops.Value) ops.Value {
			return v.Reshape(-1, 1).Transpose().Transpose(1, 0).Expand(3, 4, 2).Flatten()
		},
		"parts": func(v ops.Value) ops.Value {
			return ops.Concat(1, v, v).Slice(1, 0, 3).Pad(0, 1, 1, 0).Split(0, 2).Output(1)
		},
		"slice":       func(v ops.Value) ops.Value { ops.SliceStep(v, 0, 0, 2, 2); return ops.DynamicSlice(v, corner, 1, 1) },
		"index":       func(v ops.Value) ops.Value { return ops.Embedding(ops.ScatterAdd(v.Gather(1, idx), 0, idx, 2), idx) },
		"top":         func(v ops.Value) ops.Value { y, i := ops.TopK(v, 2); y.TakeAlong(1, i); return y },
		"convolution": func(ops.Value) ops.Value { return ops.Conv2D(img, img, ops.Conv{Stride: 1, Padding: 1}) },
		"pool": func(ops.Value) ops.Value {
			return ops.AvgPool2D(ops.MaxPool2D(img, ops.Pool{Size: 2}), ops.Pool{Size: 2})
		},
		"batch-norm": func(v ops.Value) ops.Value {
			s := v.Sum(0)
			y, m, q := ops.BatchNorm(v, s, s, 1e-5)
			return ops.BatchNormInfer(y, s, s, m, q, 1e-5)
		},
		"random": func(v ops.Value) ops.Value {
			return ops.Dropout(v, 0.5).Add(ops.Uniform(r, v.Spec(), 0, 1)).Add(ops.Normal(r, v.Spec(), 0, 1))
		},
		"user's op":       func(v ops.Value) ops.Value { return ops.Apply(square{}, v) },
		"empty user's op": func(v ops.Value) ops.Value { return ops.Apply(plain{}, v) },
		"user's op of 4":  func(v ops.Value) ops.Value { return ops.Apply(square{A: 1}, v, v, v, v) },
		"op by hand":      func(v ops.Value) ops.Value { return ops.Apply(ops.SoftmaxOp{Axis: 1}, v) },
		"fill by hand":    func(v ops.Value) ops.Value { return ops.ApplyIn(r, ops.FillOp{Spec: v.Spec()}) },
		"gradient":        func(v ops.Value) ops.Value { return r.Grad(v.Mul(v).Sum(), ops.Value{}, v)[0] },
		"variable": func(v ops.Value) ops.Value {
			r.Assign(w, r.Var(w).Sub(v).Mul(r.Scalar("rate", rate)))
			r.Watch(v, func(tensor.Tensor) {})
			return r.Var(w)
		},
		"scope and pin": func(v ops.Value) ops.Value {
			r.Scope("a", func() { r.On("d", func() { v = v.Neg() }) })
			return v
		},
		"segment": func(v ops.Value) ops.Value {
			y := v
			r.Segment(func() { y = v.Exp().Tanh() })
			return r.Grad(y.Sum(), ops.Value{}, v)[0]
		},
	} {
		record := func() (*ops.Graph, error) {
			r.Begin()
			v := r.Input("x", x, -1)
			idx, corner, img = r.Input("index", index, -1), r.Input("starts", starts, -1), r.Input("image", image, 0)
			return r.Graph(true, f(v))
		}
		first, err := record()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		misses := r.Misses()
		n := testing.AllocsPerRun(100, func() {
			if g, _ := record(); g != first {
				t.Errorf("%s: another graph", name)
			}
		})
		if n != 0 || r.Misses() != misses {
			t.Errorf("%s: %v allocations and %d misses at replay", name, n, r.Misses()-misses)
		}
	}
}
