package cpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// The neighbours of what users of other engines have met: whole kinds of values and lengths, forwards and backwards, on every level against the reference.

// neighbours runs a program everywhere.
type neighbours struct {
	*testing.T
	devices []*cpu.Device
	engines []*sched.Engine
	ref     *sched.Engine
}

func newNeighbours(t *testing.T) *neighbours {
	n := &neighbours{T: t, devices: open(t)}
	for _, d := range n.devices {
		eng, err := sched.New(d)
		if err != nil {
			t.Fatal(err)
		}
		eng.NoFallback = true
		n.engines = append(n.engines, eng)
	}
	dev := acceltest.Reference("ref:0")
	t.Cleanup(func() { dev.Close() })
	var err error
	if n.ref, err = sched.New(dev); err != nil {
		t.Fatal(err)
	}
	return n
}

// mixed is numbers between -1 and 1, every seventh or so of which is one of special.
func mixed(seed int, special []float64, dims ...int) tensor.Tensor {
	t := tensor.New(tensor.SpecOf(tensor.F32, dims...))
	x := uint64(seed*7919 + 13)
	for i := range t.Len() {
		x = x*6364136223846793005 + 1442695040888963407
		t.Set(i, float64(int32(x>>33))/(1<<30)-1)
		if len(special) > 0 && (x>>20)%7 == 0 {
			t.Set(i, special[(x>>50)%uint64(len(special))])
		}
	}
	return t
}

// same holds outputs, and gradients with regard to all floats, against the reference, in memory that was full of NaN. The tolerance is relative to the largest
// element; NaN and infinities stand in the same places.
func (n *neighbours) same(name string, tolerance float64, args []tensor.Tensor, f func(t *autograd.Tape, in []ops.Value) []ops.Value) {
	n.Helper()
	eval := func(eng *sched.Engine) []tensor.Tensor {
		tape := autograd.New(eng)
		var in, wrt []ops.Value
		for i, x := range args {
			in = append(in, tape.Input(fmt.Sprint("x", i), x))
			if x.DType().Float() {
				wrt = append(wrt, in[i])
			}
		}
		out := f(tape, in)
		loss := tape.Scalar("loss", tensor.F32, 0)
		for k, y := range out {
			if y.DType() == tensor.F32 {
				loss = loss.Add(y.Mul(tape.Input(fmt.Sprint("dy", k), mixed(k+100, nil, y.Shape().Dims()...))).Sum())
				if k == len(out)-1 {
					out = append(out[:len(out):len(out)], tape.Grad(loss, wrt...)...)
				}
			}
		}
		got, err := tape.Eval(context.Background(), out...)
		if err != nil {
			n.Fatalf("%s: %v", name, err)
		}
		return got
	}
	want := eval(n.ref)
	for l, eng := range n.engines {
		n.devices[l].Spoil()
		for k, got := range eval(eng) {
			size := 1.0
			for i := range want[k].Len() {
				if x := math.Abs(want[k].At(i)); x <= math.MaxFloat64 {
					size = max(size, x)
				}
			}
			for i := range want[k].Len() {
				if g, w := got.At(i), want[k].At(i); g != w && !(g != g && w != w) && (math.IsInf(w, 0) || !(math.Abs(g-w) <= tolerance*size)) {
					n.Errorf("%s, %s: element %d of result %d is %v, want %v", name, n.devices[l].Info().ISA, i, k, g, w)
					break
				}
			}
		}
	}
}

var (
	lengths = []int{1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 70}
	odd     = [][]float64{nil, {math.NaN()}, {math.Inf(-1)}, {math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1), 3, -5, -8, 20, -20, 1e30}}
)

// someLengths are all, or with -short, which is for emulators and the race detector, two that have full vectors and tails.
func someLengths() []int {
	if testing.Short() {
		return []int{7, 33}
	}
	return lengths
}

// TestNeighboursOfOne: functions of one vector.
func TestNeighboursOfOne(t *testing.T) {
	n := newNeighbours(t)
	for name, f := range map[string]func(x ops.Value) ops.Value{
		"gelu": ops.Value.GELU, "gelu tanh": ops.Value.GELUTanh, "silu": ops.Value.SiLU, "relu": ops.Value.ReLU, "softplus": ops.Value.Softplus,
		"log-sigmoid": ops.Value.LogSigmoid, "abs": ops.Value.Abs, "sign": ops.Value.Sign, "round": ops.Value.Round, "log1p": ops.Value.Log1p,
		"clip": func(x ops.Value) ops.Value { return x.Clip(-0.5, 0.5) }, "clip by NaN": func(x ops.Value) ops.Value { return x.Clip(math.NaN(), 0.5) },
		"log-sum-exp": func(x ops.Value) ops.Value { return x.LogSumExp() }, "log-softmax": func(x ops.Value) ops.Value { return x.LogSoftmax(0) },
		"softmax": func(x ops.Value) ops.Value { return x.Softmax(0) }, "max": func(x ops.Value) ops.Value { return x.Max() },
		"min": func(x ops.Value) ops.Value { return x.Min() }, "std": func(x ops.Value) ops.Value { return x.Std(1) },
		"i32": func(x ops.Value) ops.Value { return x.Scale(3e9).Cast(tensor.I32) }, "i64": func(x ops.Value) ops.Value { return x.Scale(1e19).Cast(tensor.I64) },
		"u8": func(x ops.Value) ops.Value { return x.Scale(400).Cast(tensor.U8) }, "f16": func(x ops.Value) ops.Value { return x.Scale(7e4).Cast(tensor.F16).Cast(tensor.F32) },
		"dropout": func(x ops.Value) ops.Value { return ops.Dropout(x, 0.5) }, "dropout of all": func(x ops.Value) ops.Value { return ops.Dropout(x, 1) },
	} {
		for _, size := range someLengths() {
			for i, special := range odd {
				n.same(fmt.Sprint(name, size, special), 1e-5, []tensor.Tensor{mixed(size+i, special, size)}, func(_ *autograd.Tape, in []ops.Value) []ops.Value {
					return []ops.Value{f(in[0])}
				})
			}
		}
	}
}

// TestNeighboursOfTwo: functions of two vectors.
func TestNeighboursOfTwo(t *testing.T) {
	n := newNeighbours(t)
	for name, f := range map[string]func(x, y ops.Value) ops.Value{
		"maximum": ops.Value.Maximum, "minimum": ops.Value.Minimum, "pow": ops.Value.Pow, "rem": ops.Value.Rem, "huber": func(x, y ops.Value) ops.Value { return ops.Huber(x, y, 0.7) },
		"x log y": func(x, y ops.Value) ops.Value { return ops.XLogY(x.Abs(), y.Abs()) }, "kl": func(x, y ops.Value) ops.Value { return ops.KLDivergence(x.Abs().Log(), y.Abs()) },
		"kl log":          func(x, y ops.Value) ops.Value { return ops.KLDivergenceLog(x.Abs().Log(), y.Abs().Log()) },
		"bce":             func(x, y ops.Value) ops.Value { return ops.BinaryCrossEntropy(x.Abs().Clip(0, 1), y.Abs()) },
		"bce with logits": func(x, y ops.Value) ops.Value { return ops.BCEWithLogits(x.Scale(200), y) },
	} {
		for _, size := range someLengths() {
			for i, special := range [][]float64{nil, {math.NaN()}, {1, 0}, {math.Inf(-1), math.Inf(1), math.NaN(), 0}} {
				args := []tensor.Tensor{mixed(size+i, special, size), mixed(size+i+1000, special, size)}
				n.same(fmt.Sprint(name, size, special), 2e-5, args, func(_ *autograd.Tape, in []ops.Value) []ops.Value { return []ops.Value{f(in[0], in[1])} })
			}
		}
	}
}

// TestNeighboursOfProducts: products and convolutions with what is fused behind them, and normalisations of large means.
func TestNeighboursOfProducts(t *testing.T) {
	n := newNeighbours(t)
	nan := []float64{math.NaN()}
	for _, special := range [][]float64{nil, nan} {
		for _, m := range []int{1, 7, 17, 33} {
			for _, k := range []int{0, 1, 17, 33} {
				args := []tensor.Tensor{mixed(1, nil, m, k), mixed(2, special, k, 33), mixed(3, nil, 33)}
				n.same(fmt.Sprint("product ", m, k, special), 1e-5, args, func(_ *autograd.Tape, in []ops.Value) []ops.Value {
					return []ops.Value{in[0].MatMul(in[1]).Add(in[2]).ReLU()}
				})
			}
		}
		for _, width := range []int{3, 8, 17, 33} {
			args := []tensor.Tensor{mixed(1, special, 2, 3, 5, width), mixed(2, nil, 5, 3, 3, 3), mixed(3, nil, 5)}
			n.same(fmt.Sprint("convolution ", width, special), 1e-5, args, func(_ *autograd.Tape, in []ops.Value) []ops.Value {
				return []ops.Value{ops.Conv2D(in[0], in[1], ops.Conv{Padding: 1}).Add(in[2].Reshape(1, 5, 1, 1)).ReLU()}
			})
		}
	}
	for _, size := range someLengths() {
		for _, mean := range []float64{0, 100, 1e4} {
			x := mixed(size, nil, 1, 3, size)
			for i := range x.Len() {
				x.Set(i, mean+4*x.At(i))
			}
			args := []tensor.Tensor{x, mixed(2, nil, size), mixed(3, nil, size), mixed(4, nil, 3), mixed(5, nil, 3)}
			n.same(fmt.Sprint("norms ", size, mean), 2e-5, args, func(_ *autograd.Tape, in []ops.Value) []ops.Value {
				return []ops.Value{ops.LayerNorm(in[0], in[1], in[2], 1, 1e-5), ops.RMSNorm(in[0], in[1], 1, 1e-5), ops.GroupNorm(in[0], in[3], in[4], 1, 1e-5)}
			})
		}
	}
}

// TestNeighboursOfSequences: recurrent layers whose padding is NaN, and attention with queries that see nothing.
func TestNeighboursOfSequences(t *testing.T) {
	n := newNeighbours(t)
	for _, hidden := range []int{1, 8, 17} {
		for _, lens := range [][]int64{{2, 5, 0}, {0, 0, 0}, {1, 0, 4}} {
			x := mixed(hidden, nil, 3, 5, 4)
			for i, l := range lens {
				for k := i*20 + int(l)*4; k < i*20+20; k++ {
					x.Set(k, math.NaN())
				}
			}
			weights := func(gates int) []tensor.Tensor {
				return []tensor.Tensor{x, mixed(1, nil, gates*hidden, 4), mixed(2, nil, gates*hidden, hidden), mixed(3, nil, gates*hidden), mixed(4, nil, gates*hidden), mixed(5, nil, 3, hidden), mixed(6, nil, 3, hidden)}
			}
			for _, back := range []bool{false, true} {
				sequence := func(t *autograd.Tape, in []ops.Value) (ops.Gates, ops.Sequence) {
					return ops.Gates{Input: in[1], Hidden: in[2], InputBias: in[3], HiddenBias: in[4]}, ops.Sequence{Lengths: t.Input("lengths", tensor.Must(tensor.From(lens))), H: in[5], C: in[6], Reverse: back}
				}
				n.same(fmt.Sprint("lstm ", hidden, lens, back), 1e-5, weights(4), func(t *autograd.Tape, in []ops.Value) []ops.Value {
					g, s := sequence(t, in)
					y, h, c := ops.LSTM(in[0], g, s)
					return []ops.Value{y, h, c}
				})
				n.same(fmt.Sprint("gru ", hidden, lens, back), 1e-5, weights(3)[:6], func(t *autograd.Tape, in []ops.Value) []ops.Value {
					g, s := sequence(t, append(in[:6:6], in[5]))
					y, h := ops.GRU(in[0], g, s)
					return []ops.Value{y, h}
				})
			}
		}
	}
	for _, size := range []int{1, 4, 9, 17} {
		mask := tensor.New(tensor.SpecOf(tensor.Bool, size, size))
		for i := range mask.Len() {
			if i%size < size/2 && i/size != size/3 {
				mask.SetInt(i, 1)
			}
		}
		args := []tensor.Tensor{mixed(1, nil, 2, 2, size, 8), mixed(2, nil, 2, 2, size, 8), mixed(3, nil, 2, 2, size, 8)}
		n.same(fmt.Sprint("attention ", size), 1e-5, args, func(t *autograd.Tape, in []ops.Value) []ops.Value {
			return []ops.Value{ops.Attention(in[0], in[1], in[2], ops.Attend{Mask: t.Input("mask", mask)}), ops.Attention(in[0], in[1], in[2], ops.Attend{Causal: true})}
		})
	}
}

// TestNeighboursOfMoves: padding up to the limit, resizing to and from one point, slices of any step and bounds.
func TestNeighboursOfMoves(t *testing.T) {
	n := newNeighbours(t)
	for size := 1; size <= 6; size++ {
		x := []tensor.Tensor{mixed(size, nil, 2, size)}
		for lo := range size {
			n.same(fmt.Sprint("pads ", size, lo), 1e-6, x, func(_ *autograd.Tape, in []ops.Value) (out []ops.Value) {
				for _, mode := range []ops.PadMode{ops.Reflect, ops.Replicate, ops.Circular} {
					out = append(out, in[0].PadWith(mode, 1, lo, size-1-lo))
				}
				return out
			})
		}
		for to := 1; to <= 7; to += 2 {
			n.same(fmt.Sprint("resize ", size, to), 1e-5, []tensor.Tensor{mixed(size, nil, 1, 2, size)}, func(_ *autograd.Tape, in []ops.Value) (out []ops.Value) {
				for _, mode := range []ops.ResizeMode{ops.Nearest, ops.NearestExact, ops.Bilinear, ops.Bicubic, ops.Area} {
					out = append(out, ops.Resize(in[0], ops.Scaling{Mode: mode, Size: []int{to}, Align: mode == ops.Bilinear && to%3 == 1}))
				}
				return out
			})
		}
		for _, step := range []int{-3, -1, 1, 2} {
			n.same(fmt.Sprint("slices ", size, step), 0, x, func(_ *autograd.Tape, in []ops.Value) (out []ops.Value) {
				for start := -size - 1; start <= size+1; start++ {
					for _, stop := range []int{math.MinInt64, -1, 0, 2, math.MaxInt64} {
						out = append(out, ops.SliceStep(in[0], 1, start, stop, step))
					}
				}
				return out
			})
		}
	}
}
