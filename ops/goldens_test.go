package ops

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/internal/goldens"
	"github.com/cortado-ml/cortado/tensor"
)

// golden are the attributes of the cases, by the names that they have there.
type golden struct {
	Axes, Low, High, Shape, Sizes, Start, Stop, Step, Stride, Padding, Window []int
	Axis, K                                                                   int
	Keep, Largest                                                             bool
	TransA                                                                    bool `json:"transpose_a"`
	TransB                                                                    bool `json:"transpose_b"`
	CountPad                                                                  bool `json:"include_pad"`
	To                                                                        string
	Value, Eps, Momentum                                                      float64
	Reduction                                                                 string
	Blank                                                                     int
	ZeroInfinity                                                              bool `json:"zero_infinity"`
}

// goldenOps say what PyTorch ran in this package's words.
var goldenOps = map[string]func(a golden, in []Value) []Value{
	"add":     method2(Value.Add),
	"sub":     method2(Value.Sub),
	"mul":     method2(Value.Mul),
	"div":     method2(Value.Div),
	"maximum": method2(Value.Maximum),
	"minimum": method2(Value.Minimum),
	"lt":      method2(Value.Less),
	"le":      method2(Value.LessEqual),
	"gt":      method2(Value.Greater),
	"ge":      method2(Value.GreaterEqual),
	"eq":      method2(Value.Equal),
	"ne":      method2(Value.NotEqual),
	"neg":     method1(Value.Neg),
	"exp":     method1(Value.Exp),
	"log":     method1(Value.Log),
	"tanh":    method1(Value.Tanh),
	"sigmoid": method1(Value.Sigmoid),
	"relu":    method1(Value.ReLU),
	"sqrt":    method1(Value.Sqrt),
	"rsqrt":   method1(Value.Rsqrt),
	"where":   func(_ golden, in []Value) []Value { return one(Where(in[0], in[1], in[2])) },
	"cast":    func(a golden, in []Value) []Value { return one(in[0].Cast(dtypeOf(a.To))) },
	"sum":     reduction(Value.Sum, Value.SumKeep),
	"mean":    reduction(Value.Mean, Value.MeanKeep),
	"max":     reduction(Value.Max, Value.MaxKeep),
	"argmax": func(a golden, in []Value) []Value {
		return one(Apply(ArgMaxOp{Axis: int8(a.Axis), Keep: a.Keep}, in[0]))
	},
	"matmul":        func(a golden, in []Value) []Value { return one(MatMulT(in[0], in[1], a.TransA, a.TransB)) },
	"abs":           method1(Value.Abs),
	"log_softmax":   func(a golden, in []Value) []Value { return one(in[0].LogSoftmax(a.Axis)) },
	"softmax":       func(a golden, in []Value) []Value { return one(in[0].Softmax(a.Axis)) },
	"cross_entropy": func(_ golden, in []Value) []Value { return one(CrossEntropy(in[0], in[1])) },
	"conv2d": func(a golden, in []Value) []Value {
		y := Apply(Conv2DOp{Stride: [2]int(a.Stride), Pad: [4]int(a.Padding)}, in[0], in[1])
		if len(in) == 3 {
			y = y.Add(in[2].Reshape(1, in[2].Dim(0), 1, 1))
		}
		return one(y)
	},
	"max_pool": func(a golden, in []Value) []Value {
		return one(Apply(MaxPool2DOp{Size: [2]int(a.Window), Stride: [2]int(a.Stride), Pad: [4]int(a.Padding)}, in[0]))
	},
	"avg_pool": func(a golden, in []Value) []Value {
		return one(Apply(AvgPool2DOp{Size: [2]int(a.Window), Stride: [2]int(a.Stride), Pad: [4]int(a.Padding), CountPad: a.CountPad}, in[0]))
	},
	"batch_norm_train": func(a golden, in []Value) []Value {
		y, mean, variance := BatchNorm(in[0], in[1], in[2], a.Eps)
		n := float64(in[0].Shape().Size() / mean.Dim(0))
		running := func(old, now Value) Value { return old.Scale(1 - a.Momentum).Add(now.Scale(a.Momentum)) }
		return []Value{y, mean, variance, running(in[3], mean), running(in[4], variance.Scale(n/(n-1)))}
	},
	"batch_norm_eval": func(a golden, in []Value) []Value {
		return one(BatchNormInfer(in[0], in[1], in[2], in[3].StopGradient(), in[4].StopGradient(), a.Eps))
	},
	"take":      func(a golden, in []Value) []Value { return one(in[0].Gather(a.Axis, in[1])) },
	"gather":    func(a golden, in []Value) []Value { return one(in[0].TakeAlong(a.Axis, in[1])) },
	"embedding": func(_ golden, in []Value) []Value { return one(Embedding(in[0], in[1])) },
	"index_add": func(a golden, in []Value) []Value {
		return one(in[0].Add(ScatterAdd(in[2], a.Axis, in[1], in[0].Dim(a.Axis))))
	},
	"scatter_add": func(a golden, in []Value) []Value {
		return one(in[0].Add(Apply(AddAlongOp{Axis: int8(a.Axis), Size: in[0].Dim(a.Axis)}, in[2], in[1])))
	},
	"pad": func(a golden, in []Value) []Value {
		x := in[0]
		for i := range a.Low {
			x = x.Pad(i, a.Low[i], a.High[i], a.Value)
		}
		return one(x)
	},
	"topk": func(a golden, in []Value) []Value { // ours is along the last axis
		x := in[0]
		if a.Axis == 0 {
			x = x.Transpose()
		}
		y := Apply(TopKOp{K: a.K, Axis: int8(x.Rank() - 1), Smallest: !a.Largest}, x)
		if a.Axis == 0 {
			return []Value{y.Transpose(), y.Output(1).Transpose()}
		}
		return []Value{y, y.Output(1)}
	},
	"transpose": func(a golden, in []Value) []Value { return one(in[0].Transpose(a.Axes...)) },
	"expand":    func(a golden, in []Value) []Value { return one(in[0].Expand(a.Shape...)) },
	"concat":    func(a golden, in []Value) []Value { return one(Concat(a.Axis, in...)) },
	"split": func(a golden, in []Value) (parts []Value) {
		at := 0
		for _, n := range a.Sizes {
			parts = append(parts, in[0].Slice(a.Axis, at, at+n))
			at += n
		}
		return parts
	},
	"ctc_loss": func(a golden, in []Value) []Value {
		c := CTC{Steps: in[2], Labels: in[3], Blank: a.Blank, ZeroInfinity: a.ZeroInfinity}
		switch logp := in[0].LogSoftmax(2); a.Reduction {
		case "none":
			return one(CTCRows(logp, in[1], c))
		case "sum":
			return one(CTCRows(logp, in[1], c).Sum())
		default:
			return one(CTCLoss(logp, in[1], c))
		}
	},
	"slice": func(a golden, in []Value) []Value {
		x := in[0]
		for i := range a.Start {
			x = SliceStep(x, i, a.Start[i], a.Stop[i], a.Step[i])
		}
		return one(x)
	},
}

func one(v Value) []Value { return []Value{v} }

func method1(f func(Value) Value) func(golden, []Value) []Value {
	return func(_ golden, in []Value) []Value { return one(f(in[0])) }
}

func method2(f func(Value, Value) Value) func(golden, []Value) []Value {
	return func(_ golden, in []Value) []Value { return one(f(in[0], in[1])) }
}

func reduction(f, keep func(Value, ...int) Value) func(golden, []Value) []Value {
	return func(a golden, in []Value) []Value {
		if a.Keep {
			return one(keep(in[0], a.Axes...))
		}
		return one(f(in[0], a.Axes...))
	}
}

func dtypeOf(name string) tensor.DType {
	i := slices.IndexFunc(tensor.DTypes[:], func(d tensor.DType) bool { return d.String() == name })
	return tensor.DTypes[i]
}

// tensorOf is a golden array.
func tensorOf(g goldens.Tensor) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(dtypeOf(g.DType), g.Shape...))
	for i, x := range g.Data {
		t.Set(i, x)
	}
	return t
}

// TestAgainstPyTorch compares values and gradients with PyTorch's, in float64, special values included.
func TestAgainstPyTorch(t *testing.T) {
	cases, err := goldens.Ops()
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for name := range goldenOps {
		unused[name] = true
	}
	for _, c := range cases {
		f, ok := goldenOps[c.Op]
		if !ok {
			t.Errorf("no operation for %s", c.Op)
			continue
		}
		delete(unused, c.Op)
		t.Run(c.Op+"/"+c.Name, func(t *testing.T) { againstPyTorch(t, c, f) })
	}
	if len(unused) > 0 {
		t.Errorf("no cases of %v", unused)
	}
}

func againstPyTorch(t *testing.T, c goldens.Case, f func(golden, []Value) []Value) {
	var a golden
	if err := json.Unmarshal(c.Attrs, &a); err != nil {
		t.Fatal(err)
	}
	tol := 1e-12
	if c.Name == "large mean" {
		tol = 1e-8 // 10,000 at unit variance costs eight digits
	}
	r := NewRecorder()
	var operands []tensor.Tensor
	for _, x := range c.In {
		operands = append(operands, tensorOf(x))
	}
	in := inputs(r, operands...)
	out := f(a, in)
	for j, y := range eval(t, r, out...) {
		if err := near(y, tensorOf(c.Out[j]), tol); err != nil {
			t.Errorf("output %d: %v", j, err)
		}
	}
	var ys, dys, wrt []Value
	for j, dy := range c.Dy {
		if dy != nil {
			ys = append(ys, out[j])
			dys = append(dys, r.Input(fmt.Sprint("dy", j), tensorOf(*dy), -1))
		}
	}
	var want []tensor.Tensor
	for i, dx := range c.Dx {
		if dx != nil {
			wrt, want = append(wrt, in[i]), append(want, tensorOf(*dx))
			if c.Op == "relu" || c.Op == "abs" { // PyTorch passes dy, or 0, at NaN; here NaN stays visible
				keepNaN(want[len(want)-1], operands[i])
			}
		}
	}
	if len(wrt) == 0 {
		return
	}
	for i, dx := range eval(t, r, r.Grad(dot(ys, dys), Value{}, wrt...)...) {
		if err := near(dx, want[i], tol); err != nil {
			t.Errorf("gradient %d: %v", i, err)
		}
	}
}

// keepNaN makes y NaN where x is.
func keepNaN(y, x tensor.Tensor) {
	for i := range x.Len() {
		if math.IsNaN(x.At(i)) {
			y.Set(i, math.NaN())
		}
	}
}
