package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

var pool = work.New(2)

// memory is the bytes of x.
func memory[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// levels runs f at every level of this processor.
func levels(t *testing.T, f func(t *testing.T, l isa.Level)) {
	for _, l := range isa.Available() {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

func run(t testing.TB, s Step, in, out [][]byte) {
	t.Helper()
	if err := s.Run(pool, in, out); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkMap(b *testing.B) {
	const n = 16 << 20
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i], y[i] = r.Float32()-0.5, r.Float32()-0.5
	}
	for _, threads := range []int{1, 2} {
		pool := work.New(threads)
		for _, op := range []Op{ReLU, Add, Exp, Log, Tanh, Sigmoid} {
			for _, n := range []int{32 << 10, n} {
				b.Run(fmt.Sprintf("%v/%d/threads%d", op, n, threads), func(b *testing.B) {
					p := &Program{Shape: tensor.Of(n)}
					args := []Reg{p.Input(tensor.F32, p.Shape)}
					in := [][]byte{memory(x)}
					if ops[op].args == 2 {
						args = append(args, p.Input(tensor.F32, p.Shape))
						in = append(in, memory(y))
					}
					p.Outputs = []Reg{p.Op(op, args...)}
					c, err := Compile(isa.Detect(), p)
					if err != nil {
						b.Fatal(err)
					}
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

func TestULP(t *testing.T) {
	for op, f := range map[Op]func(float64) float64{Exp: math.Exp, Log: math.Log, Tanh: math.Tanh, Sigmoid: sigmoid, Rsqrt: rsqrt} {
		levels(t, func(t *testing.T, l isa.Level) {
			const n = 1 << 16
			x, y := make([]float32, n), make([]float32, n)
			p := &Program{Shape: tensor.Of(n)}
			p.Outputs = []Reg{p.Op(op, p.Input(tensor.F32, p.Shape))}
			c, err := Compile(l, p)
			if err != nil {
				t.Fatal(err)
			}
			worst, where := 0.0, float32(0)
			for hi := uint32(0); hi < 1<<16; hi+=7 {
				for i := range x {
					x[i] = math.Float32frombits(hi<<16 | uint32(i))
				}
				run(t, c, [][]byte{memory(x)}, [][]byte{memory(y)})
				for i := range x {
					want := f(float64(x[i]))
					if e := ulps(y[i], want); e > worst {
						worst, where = e, x[i]
					}
				}
			}
			t.Logf("%v: %.3f ULP at %g", op, worst, where)
		})
	}
}

// ulps is the error of x in units of the last place of the exact result.
func ulps(x float32, want float64) float64 {
	w := float32(want)
	switch {
	case w != w || x != x:
		if w != w && x != x {
			return 0
		}
		return math.Inf(1)
	case math.IsInf(float64(w), 0) || math.IsInf(float64(x), 0):
		if w == x {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(x)-want) / math.Ldexp(1, max(e-24, -149))
}
