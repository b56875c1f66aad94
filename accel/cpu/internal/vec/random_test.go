package vec

import (
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/internal/philox"
	"github.com/cortado-ml/cortado/tensor"
)

const (
	seed   = uint64(0x123456789abcdef)
	stream = uint64(77)
	step   = uint64(5)
)

// TestRandom compares every element with package philox, wherever the chain begins.
func TestRandom(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, base := range []uint64{0, 1, 2, 3, 1<<34 - 5} {
			for _, n := range []int{1, 2, 3, 4, 5, 31, 70, 5000, 70_001} {
				p := &Program{Shape: tensor.Of(n)}
				s, k := p.Input(tensor.I64, tensor.Of()), p.Input(tensor.I64, tensor.Of())
				p.Outputs = []Reg{
					p.Do(Instr{Op: Uniform, Args: [3]Reg{s, k}, Stream: stream, Base: base}),
					p.Do(Instr{Op: Normal, Args: [3]Reg{s, k}, Stream: stream, Base: base}),
				}
				u, z := make([]float32, n), make([]float32, n)
				run(t, compile(t, l, p), [][]byte{memory([]uint64{seed}), memory([]uint64{step})}, [][]byte{memory(u), memory(z)})
				for i := range n {
					if w := philox.Uniform(seed, stream, step, base+uint64(i)); u[i] != w {
						t.Fatalf("uniform %d of %d from %d is %g, want %g", i, n, base, u[i], w)
					}
					if w := philox.Normal(seed, stream, step, base+uint64(i)); z[i] != w {
						t.Fatalf("normal %d of %d from %d is %g, want %g", i, n, base, z[i], w)
					}
				}
			}
		}
	})
}

// TestDropout drops to 0 what is infinite or no number, too, and keeps zeros and infinities.
func TestDropout(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, p := range []float64{0, 0.3, 0.5, 0.99, 1} {
			dropoutCase[float32](t, l, p)
			dropoutCase[float64](t, l, p)
		}
	})
}

func dropoutCase[T interface {
	float
	tensor.Elem
}](t *testing.T, l isa.Level, p float64) {
	t.Helper()
	const n, base = 5003, 3
	prog := &Program{Shape: tensor.Of(n)}
	x, s, k := prog.Input(dtype[T](), prog.Shape), prog.Input(tensor.I64, tensor.Of()), prog.Input(tensor.I64, tensor.Of())
	prog.Outputs = []Reg{prog.Do(Instr{Op: Dropout, Args: [3]Reg{x, s, k}, Imm: p, Stream: stream, Base: base})}
	in, got, want := values[T](source(), n, 2), make([]T, n), make([]float64, n)
	for i := range in {
		in[i] = T(special[i%len(special)])
		if i%3 == 0 {
			in[i] = T(i) / 7
		}
		if float64(philox.Uniform(seed, stream, step, base+uint64(i))) >= p {
			want[i] = float64(in[i] / T(1-p))
		}
	}
	run(t, compile(t, l, prog), [][]byte{memory(in), memory([]uint64{seed}), memory([]uint64{step})}, [][]byte{memory(got)})
	exactly(t, "dropout", got, want)
}

func BenchmarkRandom(b *testing.B) {
	const n = 64 * 3136
	x, y := values[float32](source(), n, 1), make([]float32, n)
	for _, op := range []Op{Uniform, Dropout, Normal} {
		b.Run(op.String(), func(b *testing.B) {
			p := &Program{Shape: tensor.Of(n)}
			r, s, k := p.Input(tensor.F32, p.Shape), p.Input(tensor.I64, tensor.Of()), p.Input(tensor.I64, tensor.Of())
			args := [3]Reg{s, k}
			if op == Dropout {
				args = [3]Reg{r, s, k}
			}
			p.Outputs = []Reg{p.Do(Instr{Op: op, Args: args, Imm: 0.3})}
			c := compile(b, isa.Detect(), p)
			in, out := [][]byte{memory(x), memory([]uint64{seed}), memory([]uint64{step})}, [][]byte{memory(y)}
			b.SetBytes(4 * n)
			for b.Loop() {
				c.Run(alone, in, out)
			}
		})
	}
}
