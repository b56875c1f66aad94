package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/internal/scalar"
	"github.com/cortado-ml/cortado/tensor"
)

// model is what an operation means, in float64.
func model(op Op, a, b float64) float64 {
	truth := func(c bool) float64 {
		if c {
			return 1
		}
		return 0
	}
	switch op {
	case Sign:
		return scalar.Sign(a)
	case FloorDiv:
		return scalar.FloorDiv(a, b)
	case Rem:
		return scalar.Rem(a, b)
	case Pow:
		return math.Pow(a, b)
	case Expm1, Log1p, Sin, Cos, Erf, Floor, Ceil, Trunc, Round, Softplus, SiLU, SiLUGrad, GELU, GELUGrad, GELUTanh, GELUTanhGrad:
		return functions[op](a)
	case Neg:
		return -a
	case Abs:
		return math.Abs(a)
	case ReLU:
		if a < 0 {
			return 0
		}
		return a
	case Sqrt:
		return math.Sqrt(a)
	case Rsqrt:
		return 1 / math.Sqrt(a)
	case Exp:
		return math.Exp(a)
	case Log:
		return math.Log(a)
	case Tanh:
		return math.Tanh(a)
	case Sigmoid:
		return scalar.Sigmoid(a)
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case Div:
		return a / b
	case Min:
		return min(a, b)
	case Max:
		return max(a, b)
	case ReLUGrad:
		switch {
		case a > 0:
			return b
		case a == a:
			return 0
		}
		return a
	case Lt:
		return truth(a < b)
	case Le:
		return truth(a <= b)
	case Gt:
		return truth(a > b)
	case Ge:
		return truth(a >= b)
	case Eq:
		return truth(a == b)
	}
	return truth(a != b)
}

// bounds are the errors of float32 functions, in ULP, that program.go and the kernels state.
var bounds = map[Op]float64{Rsqrt: 1.5, Exp: 1.1, Log: 0.9, Tanh: 1.5, Sigmoid: 2.5, SiLU: 3, SiLUGrad: 6, GELU: 8, GELUGrad: 9, GELUTanh: 4, GELUTanhGrad: 6,
	Erf: 3, Expm1: 2, Log1p: 2, Softplus: 3, Sin: 2, Cos: 2}

// floor is the least result whose last place counts at x: where a function crosses zero, it is what its terms lose.
func floor(op Op, x float64) float64 {
	if (op == SiLUGrad || op == GELUGrad || op == GELUTanhGrad) && -3 < x && x < 0 {
		return 0.125
	}
	return 0
}

// pairs has all pairs of special values, and some more.
func pairs() (a, b []float64) {
	r := source()
	for _, x := range special {
		for _, y := range special {
			a, b = append(a, float64(float32(x))), append(b, float64(float32(y)))
		}
	}
	for range 200 {
		x := float64(float32(r.NormFloat64() * 10))
		a, b = append(a, x), append(b, float64(float32(r.NormFloat64())))
	}
	return a, b
}

// TestOperations compares float operations with float64's, on all pairs of special values.
func TestOperations(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for op := Neg; op <= Ne; op++ {
			operationCase[float32](t, l, op)
			operationCase[float64](t, l, op)
		}
	})
}

func operationCase[T interface {
	float
	tensor.Elem
}](t *testing.T, l isa.Level, op Op) {
	t.Helper()
	a, b := pairs()
	x, y := make([]T, len(a)), make([]T, len(a))
	want := make([]float64, len(a))
	for i := range a {
		x[i], y[i] = T(a[i]), T(b[i])
		want[i] = model(op, a[i], b[i])
	}
	d := dtype[T]()
	what := fmt.Sprintf("%v of %v", op, d)
	in := [][]byte{memory(x), memory(y)}[:ops[op].args]
	c := compile(t, l, single(op, len(x), []tensor.DType{d, d}[:len(in)]...))
	if ops[op].kind == comparison {
		got := make([]uint8, len(x))
		run(t, c, in, [][]byte{got})
		for i, g := range got {
			if float64(g) != want[i] {
				t.Fatalf("%s: %g and %g give %d", what, a[i], b[i], g)
			}
		}
		return
	}
	got := make([]T, len(x))
	run(t, c, in, [][]byte{memory(got)})
	bound := bounds[op]
	if bound == 0 || d == tensor.F64 && op != Rsqrt {
		exactly(t, what, got, want)
		return
	}
	for i, g := range got {
		if d == tensor.F32 && !(ulps(float32(g), want[i], floor(op, a[i])) <= bound) || d == tensor.F64 && g != g != (want[i] != want[i]) {
			t.Fatalf("%s: of %g it is %g, want %g", what, a[i], g, want[i])
		}
	}
}

// ulps is the error of x in units of the last place of the exact result, or of floor if that is larger.
func ulps(x float32, want, floor float64) float64 {
	w := float32(want)
	switch {
	case w != w && x != x, x == w:
		return 0
	case x != x || w != w || math.IsInf(float64(w), 0) || math.IsInf(float64(x), 0):
		return math.Inf(1)
	}
	_, e := math.Frexp(max(math.Abs(want), floor))
	return math.Abs(float64(x)-want) / math.Ldexp(1, max(e-24, -149))
}

// TestPosition puts each special value at each index of each length: the result has the bits that it has at length 1.
func TestPosition(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for op := Neg; op <= Ne; op++ {
			var alone [70]*Chain
			for n := range alone {
				alone[n] = compile(t, l, single(op, n+1, []tensor.DType{tensor.F32, tensor.F32}[:ops[op].args]...))
			}
			for k, v := range special {
				other := float32(special[(k*5+3)%len(special)])
				one := make([]float32, 1)
				if err := alone[0].Run(pool, [][]byte{memory([]float32{float32(v)}), memory([]float32{other})}[:ops[op].args], [][]byte{memory(one)}); err != nil {
					t.Fatal(err)
				}
				positions(t, op, alone[:], float32(v), other, one[0])
			}
		}
	})
}

func positions(t *testing.T, op Op, chains []*Chain, v, other, want float32) {
	t.Helper()
	size, every := ops[op].size(), 1
	if quick() {
		every = 9
	}
	for n := 1; n <= len(chains); n += every {
		x, y := values[float32](source(), n, 2), values[float32](source(), n, 2)
		got := make([]float32, n+16)
		for i := range n {
			oldX, oldY := x[i], y[i]
			x[i], y[i] = v, other
			got[n*size/4] = 42 // nothing may be written past the end
			b := memory(got)
			copy(b[n*size:], "end")
			if err := chains[n-1].Run(pool, [][]byte{memory(x), memory(y)}[:ops[op].args], [][]byte{b}); err != nil {
				t.Fatal(err)
			}
			if string(b[i*size:][:size]) != string(memory([]float32{want})[:size]) && !(size == 4 && want != want && got[i] != got[i]) {
				t.Fatalf("%v of %g and %g differs at index %d of %d", op, v, other, i, n)
			}
			if string(b[n*size:][:3]) != "end" {
				t.Fatalf("%v of %d elements writes past the end", op, n)
			}
			x[i], y[i] = oldX, oldY
		}
	}
}

// size is the size of a float32 operation's result.
func (k opInfo) size() int {
	if k.kind == comparison {
		return 1
	}
	return 4
}

// TestIntegers wraps around and divides by zero.
func TestIntegers(t *testing.T) {
	x := []int32{math.MinInt32, math.MaxInt32, 7, -7, 0}
	y := []int32{-1, 1, 0, 2, 3}
	for op, want := range map[Op][]int32{
		Add: {math.MaxInt32, math.MinInt32, 7, -5, 3}, Mul: {math.MinInt32, math.MaxInt32, 0, -14, 0}, Div: {math.MinInt32, math.MaxInt32, 0, -3, 0},
		Min: {math.MinInt32, 1, 0, -7, 0}, Max: {-1, math.MaxInt32, 7, 2, 3},
	} {
		got := make([]int32, len(x))
		run(t, compile(t, isa.Generic, single(op, len(x), tensor.I32, tensor.I32)), [][]byte{memory(x), memory(y)}, [][]byte{memory(got)})
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", op, got, want)
		}
	}
	got := make([]uint8, 3)
	run(t, compile(t, isa.Generic, single(Sub, 3, tensor.U8, tensor.U8)), [][]byte{{1, 2, 255}, {2, 2, 0}}, [][]byte{got})
	if !slices.Equal(got, []uint8{255, 0, 255}) {
		t.Errorf("u8: %v", got)
	}
}

// TestCast compares every conversion with tensor's.
func TestCast(t *testing.T) {
	a, _ := pairs()
	for _, x := range []float64{3e9, -3e9, 2147483648, 9.3e18, -9.3e18, 300, -1, 255.9, 65520, 65504, 1.5, 0x1.01p0, 0x1.008p0, 0x1.0080000001p0, 0x1p-25} {
		a = append(a, x, -x)
	}
	levels(t, func(t *testing.T, l isa.Level) {
		for _, from := range tensor.DTypes {
			src := tensor.New(tensor.SpecOf(from, len(a)))
			for i, x := range a {
				src.Set(i, x)
			}
			for _, to := range tensor.DTypes {
				castCase(t, l, src, to)
			}
		}
	})
}

func castCase(t *testing.T, l isa.Level, src tensor.Tensor, to tensor.DType) {
	t.Helper()
	from, n := src.DType(), src.Len()
	want, got := tensor.New(tensor.SpecOf(to, n)), tensor.New(tensor.SpecOf(to, n))
	for i := range n {
		if from.Float() {
			want.Set(i, src.At(i))
		} else {
			want.SetInt(i, src.Int(i))
		}
	}
	p := &Program{Shape: tensor.Of(n)}
	p.Outputs = []Reg{p.Cast(p.Input(from, p.Shape), to)}
	run(t, compile(t, l, p), [][]byte{src.Bytes()}, [][]byte{got.Bytes()})
	for i := range n {
		if g, w := got.At(i), want.At(i); g != w && !(g != g && w != w) || !to.Float() && got.Int(i) != want.Int(i) {
			t.Fatalf("%v to %v: %g is %g, want %g", from, to, src.At(i), g, w)
		}
	}
}
