package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// ints64 are the elements of an integer or bool tensor.
func ints64(t tensor.Tensor) (x []int64) {
	for i := range t.Len() {
		x = append(x, t.Int(i))
	}
	return x
}

// TestIntegers: sums and products wrap around, a division by zero is 0, no element goes by way of float64.
func TestIntegers(t *testing.T) {
	const big = 1<<53 + 1 // no float64
	i32 := func(x ...int32) tensor.Tensor { return arr(d(len(x)), x...) }
	u8 := func(x ...uint8) tensor.Tensor { return arr(d(len(x)), x...) }
	i64 := func(x ...int64) tensor.Tensor { return arr(d(len(x)), x...) }
	yes := arr(d(2), true, false)
	of := func(ts ...tensor.Tensor) []tensor.Tensor { return ts }
	for _, c := range []struct {
		f    func(in []Value) Value
		in   []tensor.Tensor
		want []int64
	}{
		{func(in []Value) Value { return in[0].Add(in[1]) }, of(i64(math.MaxInt64, big), i64(1, 1)), i64s(math.MinInt64, big+1)},
		{func(in []Value) Value { return in[0].Add(in[1]) }, of(i32(math.MaxInt32, 5), i32(1, -7)), i64s(math.MinInt32, -2)},
		{func(in []Value) Value { return in[0].Add(in[1]) }, of(u8(200, 5), u8(100, 6)), i64s(44, 11)},
		{func(in []Value) Value { return in[0].Sub(in[1]) }, of(u8(3), u8(5)), i64s(254)},
		{func(in []Value) Value { return in[0].Mul(in[1]) }, of(i32(1<<16, 3), i32(1<<16, -4)), i64s(0, -12)},
		{func(in []Value) Value { return in[0].Div(in[1]) }, of(i64(7, -7, 7, math.MinInt64), i64(2, 2, 0, -1)), i64s(3, -3, 0, math.MinInt64)},
		{func(in []Value) Value { return in[0].Maximum(in[1]) }, of(i64(big, -3), i64(big-1, 3)), i64s(big, 3)},
		{func(in []Value) Value { return in[0].Minimum(in[1]) }, of(i64(big, -3), i64(big-1, 3)), i64s(big-1, -3)},
		{func(in []Value) Value { return in[0].Neg() }, of(i32(3, math.MinInt32)), i64s(-3, math.MinInt32)},
		{func(in []Value) Value { return in[0].ReLU() }, of(i64(-3, 0, big)), i64s(0, 0, big)},
		{func(in []Value) Value { return in[0].Identity() }, of(i64(big)), i64s(big)},
		{func(in []Value) Value { return in[0].StopGradient() }, of(i64(big)), i64s(big)},
		{func(in []Value) Value { return in[0].Sum() }, of(i64(big, 1, -2)), i64s(big - 1)},
		{func(in []Value) Value { return in[0].Sum() }, of(u8(200, 100)), i64s(44)},
		{func(in []Value) Value { return in[0].Sum() }, of(i32(math.MaxInt32, 1)), i64s(math.MinInt32)},
		{func(in []Value) Value { return in[0].Max() }, of(i64(big-1, big, -5)), i64s(big)},
		{func(in []Value) Value { return in[0].Max() }, of(i64(-7, -5)), i64s(-5)},
		{func(in []Value) Value { return in[0].Min() }, of(i64(big, big-1, big)), i64s(big - 1)},
		{func(in []Value) Value { return in[0].Min() }, of(i64(7, 5)), i64s(5)},
		{func(in []Value) Value { return in[0].ArgMax(0) }, of(i64(big-1, big, big)), i64s(1)},
		{func(in []Value) Value { return in[0].Greater(in[1]) }, of(i64(big, 1), i64(big-1, 1)), i64s(1, 0)},
		{func(in []Value) Value { return in[0].GreaterEqual(in[1]) }, of(i64(big-1, 1), i64(big, 1)), i64s(0, 1)},
		{func(in []Value) Value { return in[0].Less(in[1]) }, of(i64(big-1, 1), i64(big, 1)), i64s(1, 0)},
		{func(in []Value) Value { return in[0].LessEqual(in[1]) }, of(i64(big, 1), i64(big-1, 1)), i64s(0, 1)},
		{func(in []Value) Value { return in[0].Equal(in[1]) }, of(i64(big, 1), i64(big-1, 1)), i64s(0, 1)},
		{func(in []Value) Value { return in[0].NotEqual(in[1]) }, of(yes, arr(d(2), true, true)), i64s(0, 1)},
		{func(in []Value) Value { return Where(in[0], in[1], in[2]) }, of(yes, i64(big, 1), i64(2, big)), i64s(big, big)},
		{func(in []Value) Value { return in[0].Cast(tensor.I32) }, of(i64(big, -big, 7)), i64s(math.MaxInt32, math.MinInt32, 7)},
		{func(in []Value) Value { return in[0].Cast(tensor.U8) }, of(i64(big, -1, 7)), i64s(255, 0, 7)},
		{func(in []Value) Value { return in[0].Cast(tensor.Bool) }, of(i64(big, 0, -1)), i64s(1, 0, 1)},
		{func(in []Value) Value { return in[0].Cast(tensor.I64) }, of(yes), i64s(1, 0)},
		{func(in []Value) Value { return OneHot(in[0], 2, tensor.U8) }, of(i64(1, 2, 0)), i64s(0, 1, 0, 0, 1, 0)},
		{func(in []Value) Value { return Apply(BarrierOp{}, in[0], in[1]) }, of(i64(big), i64(1)), i64s(big)},
		{func(in []Value) Value { return Full(in[0].Recorder(), tensor.SpecOf(tensor.U8, 2), 300) }, of(i64(1)), i64s(255, 255)},
	} {
		y := values(t, c.f, c.in...)
		if got := ints64(y); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v gives %v, want %v", c.in, got, c.want)
		}
	}
	f32 := values(t, func(in []Value) Value { return in[0].Cast(tensor.F32) }, i64(1<<24+1<<30+1))
	if f32.At(0) != float64(float32(1<<24+1<<30+1)) {
		t.Errorf("%v", f32)
	}
}

func i64s(x ...int64) []int64 { return x }

// TestConstants: what is filled, and that -0 stays.
func TestConstants(t *testing.T) {
	r := NewRecorder()
	s := tensor.SpecOf(tensor.F32, 2)
	out := eval(t, r, Zeros(r, s), Full(r, s, 0.1), Full(r, s, math.Copysign(0, -1)))
	check(t, "zeros", out[0], 0, 0)
	check(t, "rounded", out[1], float64(float32(0.1)), float64(float32(0.1)))
	if !math.Signbit(out[2].At(1)) {
		t.Error("-0 became 0")
	}
	x := arr(d(2), float32(3), float32(1<<24))
	check(t, "scale rounds its constant", values(t, func(in []Value) Value { return in[0].Scale(0.1) }, x), float64(float32(3*float64(float32(0.1)))), float64(float32(1<<24*float64(float32(0.1)))))
	check(t, "shift rounds its constant", values(t, func(in []Value) Value { return in[0].Shift(1 + 1e-9) }, x), 4, 1<<24)
}

// TestCost: the operations that a placement weighs.
func TestCost(t *testing.T) {
	f := func(dims ...int) tensor.Spec { return tensor.SpecOf(tensor.F32, dims...) }
	for name, c := range map[string]struct {
		op           Op
		in           []tensor.Spec
		flops, bytes float64
	}{
		"add":             {BinaryOp{F: Add}, []tensor.Spec{f(2, 3), f(3)}, 6, 4 * (6 + 3 + 6)},
		"relu":            {UnaryOp{F: ReLU}, []tensor.Spec{f(5)}, 5, 40},
		"exp":             {UnaryOp{F: Exp}, []tensor.Spec{f(5)}, 50, 40},
		"copy":            {UnaryOp{F: Identity}, []tensor.Spec{f(5)}, 0, 40},
		"relu gradient":   {ReLUGradOp{}, []tensor.Spec{f(5), f(5)}, 5, 60},
		"scale":           {ScaleOp{}, []tensor.Spec{f(5)}, 5, 40},
		"shift":           {ShiftOp{}, []tensor.Spec{f(5)}, 5, 40},
		"less":            {CompareOp{}, []tensor.Spec{f(5), f(5)}, 5, 45},
		"cast":            {CastOp{To: tensor.F64}, []tensor.Spec{f(5)}, 0, 60},
		"sum":             {ReduceOp{Axes: 1}, []tensor.Spec{f(5, 2)}, 10, 48},
		"argmax":          {ArgMaxOp{}, []tensor.Spec{f(5, 2)}, 10, 56},
		"matmul":          {MatMulOp{}, []tensor.Spec{f(2, 3), f(3, 4)}, 2 * 24, 4 * (6 + 12 + 8)},
		"matmul, flags":   {MatMulOp{TransA: true, TransB: true}, []tensor.Spec{f(3, 2), f(4, 3)}, 2 * 24, 4 * (6 + 12 + 8)},
		"matmul, batched": {MatMulOp{}, []tensor.Spec{f(5, 2, 3), f(3, 4)}, 5 * 2 * 24, 4 * (30 + 12 + 40)},
		"fill":            {FillOp{Spec: f(3)}, nil, 0, 12},
		"barrier":         {BarrierOp{}, []tensor.Spec{f(3), f(100)}, 0, 24},
		"conv": {Conv2DOp{Stride: [2]int{1, 1}}, []tensor.Spec{f(2, 3, 4, 5), f(7, 3, 2, 2)}, 2 * 2 * 7 * 3 * 4 * (3 * 3) * (4. / 3),
			4 * (2*3*4*5 + 7*3*2*2 + 2*7*3*4)},
	} {
		out, err := c.op.Infer(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.op.Cost(c.in, out); got.FLOPs != c.flops || got.Bytes != c.bytes {
			t.Errorf("%s: %+v, want %v and %v", name, got, c.flops, c.bytes)
		}
	}
}
