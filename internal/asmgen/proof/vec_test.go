package proof

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
	"github.com/cortado-ml/cortado/internal/philox"
	"github.com/cortado-ml/cortado/tensor"
)

// lengths has whole vectors, pairs of them and tails, at every level.
var lengths = []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 144}

// specials are values that kernels get wrong.
var specials = []float32{
	float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), 1, -1, 0x1p-149, -0x1p-149, 0x1p-126,
	math.MaxFloat32, -math.MaxFloat32, 0.625, -0.625, 88.7, 89.1, -87.5, -103.9, -104.1, 0.5,
}

// operands returns n values: special ones first, the order depending on which operand it is, and then random ones.
func operands(r *rand.Rand, n, which int) []float32 {
	x := random(r, n)
	for i := range x {
		switch {
		case i < len(specials) && which == 0:
			x[i] = specials[i]
		case i < len(specials):
			x[i] = specials[(i*7+which*(n+3))%len(specials)]
		default:
			x[i] *= 30
		}
	}
	return x
}

// sink adds a region of n values that may be written.
func sink(m *interp.Machine, n int) *interp.Region {
	r := m.Region("dst", 4*n+16)
	r.Allow(0, 4*n, false, true)
	return r
}

var unaries = map[string]func(x float32) float32{
	"neg":     func(x float32) float32 { return -x },
	"abs":     func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) },
	"relu":    func(x float32) float32 { return choose(x < 0, 0, x) },
	"sqrt":    func(x float32) float32 { return float32(math.Sqrt(float64(x))) },
	"rsqrt":   func(x float32) float32 { return 1 / float32(math.Sqrt(float64(x))) },
	"exp":     exact.Exp,
	"log":     exact.Log,
	"tanh":    exact.Tanh,
	"sigmoid": exact.Sigmoid,
	"silu":    exact.SiLU, "siluGrad": exact.SiLUGrad, "gelu": exact.GELU, "geluGrad": exact.GELUGrad,
	"erf": exact.Erf, "expm1": exact.Expm1, "log1p": exact.Log1p, "softplus": exact.Softplus, "geluTanh": exact.GELUTanh, "geluTanhGrad": exact.GELUTanhGrad,
	"sin": exact.Sin, "cos": exact.Cos,
	"sign":  func(x float32) float32 { return choose(x > 0, 1, choose(x < 0, -1, x)) },
	"floor": rounding(math.Floor), "ceil": rounding(math.Ceil), "trunc": rounding(math.Trunc), "round": rounding(math.RoundToEven),
}

func rounding(f func(float64) float64) func(x float32) float32 {
	return func(x float32) float32 { return float32(f(float64(x))) }
}

func choose(c bool, a, b float32) float32 {
	if c {
		return a
	}
	return b
}

func TestVecUnary(t *testing.T) {
	for name, f := range unaries {
		atLevels(t, func(t *testing.T, isa gen.ISA) {
			p := program(t, "vec", isa, name+"F32")
			r := rand.New(rand.NewPCG(1, 2))
			for _, n := range lengths {
				x := operands(r, n, 0)
				want := make([]float32, n)
				for i, v := range x {
					want[i] = f(v)
				}
				var m interp.Machine
				dst := sink(&m, n)
				run(t, name, p, &m, at(dst), at(m.Floats("a", x)), n)
				equal(t, fmt.Sprintf("%s of %d", name, n), dst.Floats(), want)
			}
		})
	}
}

var binaries = map[string]func(a, b float32) float32{
	"add": func(a, b float32) float32 { return a + b },
	"sub": func(a, b float32) float32 { return a - b },
	"mul": func(a, b float32) float32 { return a * b },
	"div": func(a, b float32) float32 { return a / b },
	"min": func(a, b float32) float32 { return min(a, b) },
	"max": func(a, b float32) float32 { return max(a, b) },
	"reluGrad": func(a, b float32) float32 {
		switch {
		case a > 0:
			return b
		case a == a:
			return 0
		}
		return a
	},
	"lt": func(a, b float32) float32 { return choose(a < b, 1, 0) },
	"le": func(a, b float32) float32 { return choose(a <= b, 1, 0) },
	"eq": func(a, b float32) float32 { return choose(a == b, 1, 0) },
	"ne": func(a, b float32) float32 { return choose(a != b, 1, 0) },
}

// repeated makes an operand of step 0: one vector, all of whose lanes hold x.
func repeated(isa gen.ISA, x float32) []float32 {
	v := make([]float32, isa.Lanes)
	for i := range v {
		v[i] = x
	}
	return v
}

func TestVecBinary(t *testing.T) {
	for name, f := range binaries {
		bytes := len(name) == 2 // a comparison gives bytes, and takes whole vectors
		atLevels(t, func(t *testing.T, isa gen.ISA) {
			p := program(t, "vec", isa, name+"F32")
			r := rand.New(rand.NewPCG(1, 2))
			for k, n := range append(lengths, specialRuns...) {
				if bytes {
					n = (n + isa.Lanes - 1) / isa.Lanes * isa.Lanes
				}
				x, y := operands(r, n, 0), operands(r, n, 1+k)
				want := make([]float32, n)
				aStep, bStep := 1, 1
				switch k % 3 {
				case 1:
					aStep, x = 0, repeated(isa, x[0])
				case 2:
					bStep, y = 0, repeated(isa, y[0])
				}
				for i := range want {
					want[i] = f(x[i*aStep], y[i*bStep])
				}
				var m interp.Machine
				what := fmt.Sprintf("%s of %d, steps %d and %d", name, n, aStep, bStep)
				if !bytes {
					dst := sink(&m, n)
					run(t, what, p, &m, at(dst), at(m.Floats("a", x)), at(m.Floats("b", y)), aStep, bStep, n)
					equal(t, what, dst.Floats(), want)
					continue
				}
				dst := m.Region("dst", n)
				dst.Allow(0, n, false, true)
				run(t, what, p, &m, at(dst), at(m.Floats("a", x)), at(m.Floats("b", y)), aStep, bStep, n)
				for i, w := range want {
					if float32(dst.Data[i]) != w {
						t.Fatalf("%s: value %d is %d, want %g", what, i, dst.Data[i], w)
					}
				}
			}
		})
	}
}

// specialRuns are lengths at which, with operands in different orders, most pairs of special values meet.
var specialRuns = []int{20, 20, 23, 20, 26, 29, 20, 32, 35, 38, 20, 41, 44}

func TestVecTernary(t *testing.T) {
	for name, f := range map[string]func(a, b, c float32) float32{
		"mulAdd": func(a, b, c float32) float32 { return float32(a*b) + c },
		"mulSub": func(a, b, c float32) float32 { return c - float32(a*b) },
	} {
		atLevels(t, func(t *testing.T, isa gen.ISA) {
			p := program(t, "vec", isa, name+"F32")
			r := rand.New(rand.NewPCG(1, 2))
			for k, n := range append(lengths, specialRuns...) {
				x := [3][]float32{operands(r, n, 0), operands(r, n, 1+k), operands(r, n, 2+3*k)}
				step := [3]int{1, 1, 1}
				if j := k % 4; j < 3 {
					step[j], x[j] = 0, repeated(isa, x[j][0])
				}
				want := make([]float32, n)
				for i := range want {
					want[i] = f(x[0][i*step[0]], x[1][i*step[1]], x[2][i*step[2]])
				}
				var m interp.Machine
				what := fmt.Sprintf("%s of %d, steps %v", name, n, step)
				dst := sink(&m, n)
				run(t, what, p, &m, at(dst), at(m.Floats("a", x[0])), at(m.Floats("b", x[1])), at(m.Floats("c", x[2])), step[0], step[1], step[2], n)
				equal(t, what, dst.Floats(), want)
			}
		})
	}
}

func TestVecWhere(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "vec", isa, "whereF32")
		r := rand.New(rand.NewPCG(1, 2))
		for vectors := 1; vectors < 4; vectors++ {
			n := vectors * isa.Lanes
			x, y, want := operands(r, n, 0), repeated(isa, 7), make([]float32, n)
			var m interp.Machine
			c := m.Region("c", n)
			c.Allow(0, n, true, false)
			for i := range want {
				c.Data[i] = byte(r.IntN(3)) * 100
				want[i] = choose(c.Data[i] != 0, x[i], 7)
			}
			dst := sink(&m, n)
			run(t, "where", p, &m, at(dst), at(c), at(m.Floats("a", x)), at(m.Floats("b", y)), 1, 0, n)
			equal(t, "where", dst.Floats(), want)
		}
	})
}

func TestVecStream(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "vec", isa, "stream")
		run(t, "fence", program(t, "vec", isa, "fence"), new(interp.Machine))
		for _, n := range []int{16, 32, 80} {
			x := random(rand.New(rand.NewPCG(1, 2)), n)
			var m interp.Machine
			dst := sink(&m, n)
			start := interp.Pointer{Region: dst} // regions begin 4 bytes past a line
			run(t, "stream", p, &m, start, at(m.Floats("a", x)), 4*n)
			equal(t, "stream", dst.Floats(), x)
		}
	})
}

// doubles is the region's content as float64.
func doubles(r *interp.Region) []float64 {
	x := make([]float64, len(r.Data)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.Data[8*i:]))
	}
	return x
}

// same compares all bits of float64 values, but those of a NaN.
func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i, w := range want {
		if math.Float64bits(got[i]) != math.Float64bits(w) && !(got[i] != got[i] && w != w) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], w)
		}
	}
}

func TestVecSums(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		sum, dot, expSum := program(t, "vec", isa, "sumF32"), program(t, "vec", isa, "dotF32"), program(t, "vec", isa, "expSumF32")
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range append(lengths, 0) {
			x, y, e := random(r, n), random(r, n), make([]float32, n)
			what := fmt.Sprintf("sums of %d", n)
			acc := func(m *interp.Machine) *interp.Region { return sink(m, 2*isa.Lanes) }
			var m interp.Machine
			s := acc(&m)
			run(t, what, sum, &m, at(s), at(m.Floats("a", x)), n)
			same(t, what, doubles(s), exact.Sum(x, isa.Lanes))
			m = interp.Machine{}
			s = acc(&m)
			run(t, what, dot, &m, at(s), at(m.Floats("a", x)), at(m.Floats("b", y)), n)
			same(t, what, doubles(s), exact.Dot(x, y, isa.Lanes))
			m = interp.Machine{}
			s = acc(&m)
			dst := sink(&m, n)
			run(t, what, expSum, &m, at(dst), at(s), at(m.Floats("a", x)), float32(0.3), n)
			same(t, what, doubles(s), exact.ExpSum(e, x, 0.3, isa.Lanes))
			equal(t, what, dst.Floats(), e)
		}
	})
}

func TestVecExtremes(t *testing.T) {
	for name, f := range map[string]func(a, b float32) float32{"reduceMin": binaries["min"], "reduceMax": binaries["max"]} {
		atLevels(t, func(t *testing.T, isa gen.ISA) {
			p := program(t, "vec", isa, name+"F32")
			r := rand.New(rand.NewPCG(1, 2))
			for _, n := range append(lengths, 0) {
				for _, v := range specials {
					x := random(r, n)
					want := float32(math.Inf(map[string]int{"reduceMin": 1, "reduceMax": -1}[name]))
					if n > 0 {
						x[r.IntN(n)] = v
					}
					for _, y := range x {
						want = f(want, y)
					}
					var m interp.Machine
					acc := sink(&m, isa.Lanes)
					run(t, name, p, &m, at(acc), at(m.Floats("a", x)), n)
					got := acc.Floats()[:isa.Lanes]
					best := got[0]
					for _, y := range got {
						best = f(best, y)
					}
					equal(t, fmt.Sprintf("%s of %d with %g", name, n, v), []float32{best}, []float32{want})
				}
			}
		})
	}
}

// TestVecColumns runs the kernels that walk down columns, on one or two matrices.
func TestVecColumns(t *testing.T) {
	sums := map[string]func(x, y, mean, sum float64) float64{
		"columnSum":      func(x, _, _, sum float64) float64 { return sum + x },
		"columnSquares":  func(x, _, mean, sum float64) float64 { return math.FMA(x-mean, x-mean, sum) },
		"columnProducts": func(x, y, mean, sum float64) float64 { return math.FMA(x, y-mean, sum) },
	}
	maps := map[string]func(x, y float32, c []float32) float32{
		"normalise": func(x, _ float32, c []float32) float32 { return exact.FMA(x-c[0]-c[1], c[2], c[3]) },
		"normaliseGrad": func(x, y float32, c []float32) float32 {
			return exact.FMA(-c[4], y-c[0]-c[1], x-c[3]) * c[2]
		},
	}
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		programs := map[string]*interp.Program{}
		for name := range sums {
			programs[name] = program(t, "vec", isa, name+"F32")
		}
		for name := range maps {
			programs[name] = program(t, "vec", isa, name+"F32")
		}
		r := rand.New(rand.NewPCG(1, 2))
		for n := 1; n <= 5*isa.Lanes; n += 3 {
			for _, rows := range []int{0, 1, 2, 5} {
				for name, f := range sums {
					columnSums(t, isa, programs[name], r, name, rows, n, f)
				}
				for name, f := range maps {
					columnMap(t, isa, programs[name], r, name, rows, n, f)
				}
			}
		}
	})
}

// matrix adds a region whose n columns may be read or written.
func matrix(m *interp.Machine, name string, x []float32, stride, rows, n int, write bool) *interp.Region {
	r := output(m, name, x)
	for i := range rows {
		r.Allow(4*i*stride, 4*n, !write, write)
	}
	return r
}

// whole rounds up to whole vectors.
func whole(n int, isa gen.ISA) int { return (n + isa.Lanes - 1) / isa.Lanes * isa.Lanes }

func columnSums(t *testing.T, isa gen.ISA, p *interp.Program, r *rand.Rand, name string, rows, n int, f func(x, y, mean, sum float64) float64) {
	t.Helper()
	stride := n + rows
	x, y, want := random(r, max(1, rows*stride)), random(r, max(1, rows*stride)), make([]float64, n)
	var m interp.Machine
	acc := sink(&m, 2*whole(n, isa))
	a, b := matrix(&m, "a", x, stride, rows, n, false), matrix(&m, "b", y, stride, rows, n, false)
	means := make([]float64, whole(n, isa))
	mean := m.Region("mean", 8*len(means))
	mean.Allow(0, 8*len(means), true, false)
	for j := range means {
		means[j] = r.Float64()
		binary.LittleEndian.PutUint64(mean.Data[8*j:], math.Float64bits(means[j]))
	}
	for i := range rows {
		for j := range n {
			want[j] = f(float64(x[i*stride+j]), float64(y[i*stride+j]), means[j], want[j])
		}
	}
	args := map[string][]any{"columnSum": {at(acc), at(a)}, "columnSquares": {at(acc), at(a), at(mean)}, "columnProducts": {at(acc), at(a), at(b), at(mean)}}[name]
	run(t, name, p, &m, append(args, stride, rows, n)...)
	same(t, fmt.Sprintf("%s of %d rows of %d", name, rows, n), doubles(acc)[:n], want)
}

func columnMap(t *testing.T, isa gen.ISA, p *interp.Program, r *rand.Rand, name string, rows, n int, f func(x, y float32, c []float32) float32) {
	t.Helper()
	stride := n + rows
	x, y, z := random(r, max(1, rows*stride)), random(r, max(1, rows*stride)), random(r, max(1, rows*stride))
	var m interp.Machine
	dst := matrix(&m, "dst", z, stride, rows, n, true)
	args := []any{at(dst), at(matrix(&m, "a", x, stride, rows, n, false))}
	consts := 4
	if name == "normaliseGrad" {
		args, consts = append(args, at(matrix(&m, "b", y, stride, rows, n, false))), 5
	}
	var c [5][]float32
	for k := range consts {
		c[k] = random(r, whole(n, isa))
		args = append(args, at(m.Floats("constants", c[k])))
	}
	for i := range rows {
		for j := range n {
			var v []float32
			for k := range consts {
				v = append(v, c[k][j])
			}
			z[i*stride+j] = f(x[i*stride+j], y[i*stride+j], v)
		}
	}
	run(t, name, p, &m, append(args, stride, rows, n)...)
	equal(t, fmt.Sprintf("%s of %d rows of %d", name, rows, n), dst.Floats(), z)
}

func TestVecRandom(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		const key, step, block = 0x123456789abcdef0, 0xfedcba9876543210, 1<<32 - 5 // the counter carries
		p := program(t, "vec", isa, "philox")
		for _, n := range []int{1, 3} {
			words := n * 4 * isa.Lanes
			var m interp.Machine
			dst := sink(&m, words)
			run(t, "philox", p, &m, at(dst), key, int(step-1<<64), block, n)
			for i := range words {
				b := uint64(block + i/4)
				want := philox.Cipher([4]uint32{uint32(b), uint32(b >> 32), step & math.MaxUint32, step >> 32}, [2]uint32{key & math.MaxUint32, key >> 32})
				if got := binary.LittleEndian.Uint32(dst.Data[4*i:]); got != want[i%4] {
					t.Fatalf("word %d is %08x, want %08x", i, got, want[i%4])
				}
			}
		}
		unit, dropout := program(t, "vec", isa, "unitF32"), program(t, "vec", isa, "dropoutF32")
		r := rand.New(rand.NewPCG(1, 2))
		for _, n := range lengths {
			words, bits, want := make([]uint32, n), make([]float32, n), make([]float32, n)
			for i := range words {
				words[i] = r.Uint32()
				if i == 1 {
					words[i] = math.MaxUint32
				}
				bits[i], want[i] = math.Float32frombits(words[i]), philox.Uniform32(words[i])
			}
			var m interp.Machine
			dst := sink(&m, n)
			run(t, "unit", unit, &m, at(dst), at(m.Floats("a", bits)), n)
			equal(t, "unit", dst.Floats(), want)
			const least = 1 << 23
			x := operands(r, n, 0)
			for i := range want {
				want[i] = choose(words[i]>>8 >= least, x[i]/0.7, 0)
			}
			m = interp.Machine{}
			dst = sink(&m, n)
			run(t, "dropout", dropout, &m, at(dst), at(m.Floats("a", x)), at(m.Floats("words", bits)), least-1, float32(0.7), n)
			equal(t, "dropout", dst.Floats(), want)
		}
	})
}

func TestVecTranspose(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "vec", isa, fmt.Sprintf("pack%dF32", isa.Lanes))
		for k := 4; k < 20; k++ {
			rows, step, stride := isa.Lanes, isa.Lanes+3, k+2
			src, want := random(rand.New(rand.NewPCG(1, 2)), rows*stride), make([]float32, k*step)
			var m interp.Machine
			dst := m.Region("dst", 4*len(want))
			for q := range k {
				dst.Allow(4*q*step, 4*rows, false, true)
				for i := range rows {
					want[q*step+i] = src[i*stride+q]
				}
			}
			run(t, "transpose", p, &m, at(dst), step, at(matrix(&m, "src", src, stride, rows, k, false)), stride, k)
			equal(t, fmt.Sprintf("transpose of %d", k), dst.Floats(), want)
		}
	})
}

// TestVecCast compares with package tensor, on all kinds of values: ties, subnormals, what overflows, NaN.
func TestVecCast(t *testing.T) {
	word := func(f func(x float32) uint16) func(b []byte) []byte {
		return func(b []byte) []byte {
			return binary.LittleEndian.AppendUint16(nil, f(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
	}
	single := func(f func(b []byte) float32) func(b []byte) []byte {
		return func(b []byte) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f(b))) }
	}
	for name, c := range map[string]struct {
		from, to int // sizes
		f        func(b []byte) []byte
	}{
		"bf16ToF32": {2, 4, single(func(b []byte) float32 { return tensor.BFloat16(binary.LittleEndian.Uint16(b)).Float32() })},
		"f16ToF32":  {2, 4, single(func(b []byte) float32 { return tensor.Float16(binary.LittleEndian.Uint16(b)).Float32() })},
		"u8ToF32":   {1, 4, single(func(b []byte) float32 { return float32(b[0]) })},
		"f32ToBF16": {4, 2, word(func(x float32) uint16 { return uint16(tensor.ToBFloat16(x)) })},
		"f32ToF16":  {4, 2, word(func(x float32) uint16 { return uint16(tensor.ToFloat16(x)) })},
	} {
		atLevels(t, func(t *testing.T, isa gen.ISA) {
			p := program(t, "vec", isa, name)
			r := rand.New(rand.NewPCG(1, 2))
			for trial := range 60 {
				n := (1 + trial%3) * isa.Lanes
				var m interp.Machine
				a, dst := m.Region("a", c.from*n), m.Region("dst", c.to*n)
				a.Allow(0, c.from*n, true, false)
				dst.Allow(0, c.to*n, false, true)
				for i := range a.Data {
					a.Data[i] = byte(r.Uint32())
				}
				if c.from == 4 {
					for i := range n {
						x := specials[(i+trial)%len(specials)]
						if (i+trial)%3 > 0 { // near float16's range, often halfway between two of its values
							x = math.Float32frombits(r.Uint32()&0x8fffffff>>13<<13 | uint32(0x33+r.IntN(0x16))<<23&0x7f800000)
						}
						binary.LittleEndian.PutUint32(a.Data[4*i:], math.Float32bits(x)|uint32(trial%2))
					}
				}
				run(t, name, p, &m, at(dst), at(a), n)
				for i := range n {
					from := a.Data[c.from*i : c.from*(i+1)]
					if got, want := dst.Data[c.to*i:c.to*(i+1)], c.f(from); string(got) != string(want) {
						t.Fatalf("%s of %x is %x, want %x", name, from, got, want)
					}
				}
			}
		})
	}
}
