package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/internal/scalar"
	"github.com/cortado-ml/cortado/tensor"
)

// compile is Compile, of what must compile.
func compile(t testing.TB, l isa.Level, p *Program) *Chain {
	t.Helper()
	c, err := Compile(l, p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// single is the program of one operation on dense operands of n elements.
func single(op Op, n int, types ...tensor.DType) *Program {
	p := &Program{Shape: tensor.Of(n)}
	var args []Reg
	for _, d := range types {
		args = append(args, p.Input(d, p.Shape))
	}
	p.Outputs = []Reg{p.Op(op, args...)}
	return p
}

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
var bounds = map[Op]float64{Rsqrt: 1.5, Exp: 1, Log: 0.8, Tanh: 1.4, Sigmoid: 2.5}

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
		if d == tensor.F32 && !(ulps(float32(g), want[i]) <= bound) || d == tensor.F64 && g != g != (want[i] != want[i]) {
			t.Fatalf("%s: of %g it is %g, want %g", what, a[i], g, want[i])
		}
	}
}

// ulps is the error of x in units of the last place of the exact result.
func ulps(x float32, want float64) float64 {
	w := float32(want)
	switch {
	case w != w && x != x, x == w:
		return 0
	case x != x || w != w || math.IsInf(float64(w), 0) || math.IsInf(float64(x), 0):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
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
	if raced {
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
	for _, from := range tensor.DTypes {
		src := tensor.New(tensor.SpecOf(from, len(a)))
		for i, x := range a {
			src.Set(i, x)
		}
		for _, to := range tensor.DTypes {
			want, got := tensor.New(tensor.SpecOf(to, len(a))), tensor.New(tensor.SpecOf(to, len(a)))
			for i := range a {
				if from.Float() {
					want.Set(i, src.At(i))
				} else {
					want.SetInt(i, src.Int(i))
				}
			}
			levels(t, func(t *testing.T, l isa.Level) {
				p := &Program{Shape: tensor.Of(len(a))}
				p.Outputs = []Reg{p.Cast(p.Input(from, p.Shape), to)}
				run(t, compile(t, l, p), [][]byte{src.Bytes()}, [][]byte{got.Bytes()})
				for i := range a {
					if g, w := got.At(i), want.At(i); g != w && !(g != g && w != w) || !to.Float() && got.Int(i) != want.Int(i) {
						t.Fatalf("%v to %v: %g is %g, want %g", from, to, src.At(i), g, w)
					}
				}
			})
		}
	}
}

// TestBroadcast reads operands of all kinds of strides.
func TestBroadcast(t *testing.T) {
	shapes := [][2][]int{
		{{5}, {1}}, {{3, 7}, {7}}, {{3, 7}, {3, 1}}, {{3, 7}, {1, 1}}, {{100, 10}, {10}}, {{100, 10}, {100, 1}}, {{40, 1000}, {1000}},
		{{40, 1000}, {40, 1}}, {{5, 3000}, {3000}}, {{5, 3000}, {5, 1}}, {{4, 5, 6}, {5, 1}}, {{4, 5, 6}, {4, 1, 6}}, {{9, 33, 7, 5}, {33, 1, 1}},
		{{2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}}, {{100_000}, {}}, {{700, 301}, {301}}, {{0, 3}, {3}}, {{1, 1}, {}},
	}
	levels(t, func(t *testing.T, l isa.Level) {
		for _, s := range shapes {
			full, part := tensor.Of(s[0]...), tensor.Of(s[1]...)
			x, y := values[float32](source(), full.Size(), 1), values[float32](source(), part.Size(), 1)
			strides := tensor.BroadcastStrides(part, full)
			want := make([]float64, len(x))
			for i := range want {
				at, rest := 0, i
				for k := full.Rank() - 1; k >= 0; k-- {
					at += rest % full.Dim(k) * strides[k]
					rest /= full.Dim(k)
				}
				want[i] = float64(x[i]) - float64(y[at])
			}
			p := &Program{Shape: full}
			p.Outputs = []Reg{p.Op(Sub, p.Input(tensor.F32, full), p.Input(tensor.F32, part))}
			got := make([]float32, len(x))
			run(t, compile(t, l, p), [][]byte{memory(x), memory(y)}, [][]byte{memory(got)})
			exactly(t, fmt.Sprintf("%v - %v", full, part), got, want)
		}
		// A transposed operand: strides in any order.
		p := &Program{Shape: tensor.Of(50, 70), Inputs: []Input{{DType: tensor.F32, Strides: [tensor.MaxRank]int{1, 50}}}}
		p.Outputs = []Reg{p.Op(Neg, 0)}
		x, got, want := values[float32](source(), 3500, 1), make([]float32, 3500), make([]float64, 3500)
		for i := range want {
			want[i] = -float64(x[i%70*50+i/70])
		}
		run(t, compile(t, l, p), [][]byte{memory(x)}, [][]byte{memory(got)})
		exactly(t, "transposed", got, want)
	})
}

// TestPrograms fuses random programs, and compares all bits with one chain for each instruction.
func TestPrograms(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		r := rand.New(rand.NewPCG(3, 4))
		for trial := range 300 {
			randomProgram(t, l, r, trial)
		}
	})
}

func randomProgram(t *testing.T, l isa.Level, r *rand.Rand, trial int) {
	t.Helper()
	dims := []int{1 + r.IntN(4), 1 + r.IntN(900)}
	if trial%20 == 0 {
		dims[0] = 60
	}
	p := &Program{Shape: tensor.Of(dims...)}
	n := p.Shape.Size()
	var full [][]float32 // each register, spread out
	var in [][]byte
	for range 1 + r.IntN(4) {
		s := [][]int{dims, dims, {dims[1]}, {dims[0], 1}, {}}[r.IntN(5)]
		x := values[float32](r, tensor.Of(s...).Size(), 2)
		p.Input(tensor.F32, tensor.Of(s...))
		in = append(in, memory(x))
		st := tensor.BroadcastStrides(tensor.Of(s...), p.Shape)
		y := make([]float32, n)
		for i := range y {
			y[i] = x[i/dims[1]*st[0]+i%dims[1]*st[1]]
		}
		full = append(full, y)
	}
	for range 1 + r.IntN(12) {
		if r.IntN(6) == 0 {
			x := r.Float64()
			p.Const(tensor.F32, x)
			full = append(full, slices.Repeat([]float32{float32(x)}, n))
			continue
		}
		op := Neg + Op(r.IntN(int(ReLUGrad-Neg)+1))
		i := Instr{Op: op}
		var args [][]byte
		for j := range ops[op].args {
			i.Args[j] = Reg(r.IntN(len(full)))
			args = append(args, memory(full[i.Args[j]]))
		}
		p.Do(i)
		y := make([]float32, n)
		c := compile(t, l, single(op, n, []tensor.DType{tensor.F32, tensor.F32}[:len(args)]...))
		if err := c.Run(alone, args, [][]byte{memory(y)}); err != nil {
			t.Fatal(err)
		}
		full = append(full, y)
	}
	var out [][]byte
	for range 1 + r.IntN(3) {
		p.Outputs = append(p.Outputs, Reg(r.IntN(len(full))))
		out = append(out, make([]byte, 4*n))
	}
	for j := range out { // in place, where an input is as large and no other output has it
		if k := r.IntN(len(in)); len(in[k]) == 4*n && !slices.ContainsFunc(out, func(o []byte) bool { return &o[0] == &in[k][0] }) {
			out[j] = in[k]
		}
	}
	if err := compile(t, l, p).Run(pool, in, out); err != nil {
		t.Fatal(err)
	}
	for j, reg := range p.Outputs {
		got := view[float32](out[j])
		for i, w := range full[reg] {
			if math.Float32bits(got[i]) != math.Float32bits(w) && !(w != w && got[i] != got[i]) {
				t.Fatalf("program %d, output %d, element %d is %g, want %g: %+v", trial, j, i, got[i], w, p)
			}
		}
	}
}

// TestSelect covers where, by size and by length.
func TestSelect(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for n := 1; n <= 70; n++ {
			k := make([]uint8, n)
			for i := range k {
				k[i] = uint8(i*i) % 3
			}
			for _, d := range tensor.DTypes {
				x, y, got := make([]byte, n*d.Size()), make([]byte, n*d.Size()), make([]byte, n*d.Size())
				for i := range x {
					x[i], y[i] = uint8(i), uint8(200-i)
				}
				run(t, compile(t, l, single(Where, n, tensor.Bool, d, d)), [][]byte{k, x, y}, [][]byte{got})
				for i := range got {
					want := y[i]
					if k[i/d.Size()] != 0 {
						want = x[i]
					}
					if got[i] != want {
						t.Fatalf("where of %v: byte %d of %d elements", d, i, n)
					}
				}
			}
		}
	})
}

// TestLarge has outputs that are written past the caches, one of them in the memory of an input, one that begins beside a cache line.
func TestLarge(t *testing.T) {
	if raced {
		t.Skip("too slow under the race detector")
	}
	const n = streamBytes/4 + 37
	levels(t, func(t *testing.T, l isa.Level) {
		p := &Program{Shape: tensor.Of(n)}
		a, b := p.Input(tensor.F32, p.Shape), p.Input(tensor.F32, tensor.Of())
		p.Outputs = []Reg{p.Op(Add, a, b), p.Op(Mul, a, b), p.Op(Sub, a, b)}
		x := values[float32](source(), n, 1)
		want := slices.Clone(x)
		sum, product := make([]float32, n), make([]float32, n+1)[1:]
		if err := compile(t, l, p).Run(pool, [][]byte{memory(x), memory([]float32{3})}, [][]byte{memory(sum), memory(product), memory(x)}); err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if sum[i] != v+3 || product[i] != v*3 || x[i] != v-3 {
				t.Fatalf("element %d", i)
			}
		}
	})
}

func TestCompileErrors(t *testing.T) {
	for name, p := range map[string]*Program{
		"no outputs":  {Shape: tensor.Of(3), Inputs: []Input{{DType: tensor.F32}}},
		"no type":     {Shape: tensor.Of(3), Inputs: []Input{{}}, Outputs: []Reg{0}},
		"mixed types": single(Add, 3, tensor.F32, tensor.F64),
		"exp of int":  single(Exp, 3, tensor.I32),
		"add of bf16": single(Add, 3, tensor.BF16, tensor.BF16),
		"where f32":   single(Where, 3, tensor.F32, tensor.F32, tensor.F32),
		"register":    {Shape: tensor.Of(3), Code: []Instr{{Op: Neg, Args: [3]Reg{0}}}, Outputs: []Reg{0}},
		"output":      {Shape: tensor.Of(3), Outputs: []Reg{0}},
		"stride":      {Shape: tensor.Of(3), Inputs: []Input{{tensor.F32, [tensor.MaxRank]int{0, 1}}}, Outputs: []Reg{0}},
		"operation":   single(numOps, 3),
	} {
		if _, err := Compile(isa.Generic, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := compile(t, isa.Generic, single(Add, 3, tensor.F32, tensor.F32))
	x := make([]byte, 12)
	for _, operands := range [][2][][]byte{{{x}, {x}}, {{x, x}, {x, x}}, {{x, x[:8]}, {x}}, {{x, x}, {x[:11]}}} {
		if err := c.Run(pool, operands[0], operands[1]); err == nil {
			t.Errorf("operands of the wrong length: no error")
		}
	}
}

func BenchmarkMap(b *testing.B) {
	const n = 16 << 20
	x, y, z := values[float32](source(), n, 1), values[float32](source(), n, 1), make([]float32, n)
	for _, threads := range []int{1, 2} {
		pool := work.New(threads)
		for _, op := range []Op{ReLU, Add, Exp, Log, Tanh, Sigmoid} {
			for _, n := range []int{32 << 10, n} {
				b.Run(fmt.Sprintf("%v/%d/threads%d", op, n, threads), func(b *testing.B) {
					in := [][]byte{memory(x), memory(y)}[:ops[op].args]
					c := compile(b, isa.Detect(), single(op, n, []tensor.DType{tensor.F32, tensor.F32}[:len(in)]...))
					out := [][]byte{memory(z)}
					b.ReportAllocs()
					b.SetBytes(int64(4 * n * (len(in) + 1)))
					for b.Loop() {
						c.Run(pool, in, out)
					}
				})
			}
		}
	}
}

// adam is an optimiser's update of n parameters, in place: it takes p, m, v, the gradient, and the step's two scalars.
func adam(n int) *Program {
	p := &Program{Shape: tensor.Of(n)}
	var r [6]Reg
	for i := range r {
		s := p.Shape
		if i > 3 {
			s = tensor.Of()
		}
		r[i] = p.Input(tensor.F32, s)
	}
	c := func(x float64) Reg { return p.Const(tensor.F32, x) }
	w, m, v, g, rate, unbias := r[0], r[1], r[2], r[3], r[4], r[5]
	m = p.Op(Add, p.Op(Mul, m, c(0.9)), p.Op(Mul, g, c(0.1)))
	v = p.Op(Add, p.Op(Mul, v, c(0.999)), p.Op(Mul, p.Op(Mul, g, g), c(0.001)))
	d := p.Op(Add, p.Op(Sqrt, p.Op(Mul, v, unbias)), c(1e-8))
	w = p.Op(Sub, w, p.Op(Mul, rate, p.Op(Div, m, d)))
	p.Outputs = []Reg{w, m, v}
	return p
}

func BenchmarkAdam(b *testing.B) {
	for _, n := range []int{3_700_000, 669_706} {
		r := source()
		w, m, v, g := values[float32](r, n, 1), values[float32](r, n, 1), make([]float32, n), values[float32](r, n, 1)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/threads%d", n, threads), func(b *testing.B) {
				c, pool := compile(b, isa.Detect(), adam(n)), work.New(threads)
				in := [][]byte{memory(w), memory(m), memory(v), memory(g), memory([]float32{1e-3}), memory([]float32{2})}
				b.SetBytes(int64(28 * n))
				b.ReportAllocs()
				for b.Loop() {
					c.Run(pool, in, in[:3])
				}
			})
		}
	}
}
