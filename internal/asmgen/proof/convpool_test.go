package proof

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
)

// special returns random values, many of them equal, infinite, NaN or a zero with a sign.
func special(r *rand.Rand, n int) []float32 {
	some := []float32{0, float32(math.Copysign(0, -1)), 0.25, -0.25, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	x := random(r, n)
	for i := range x {
		if r.IntN(3) == 0 {
			x[i] = some[r.IntN(len(some))]
		}
	}
	return x
}

// poolTables are three pixels with windows of some taps.
func poolTables(taps int) (pixels, entries []int32) {
	for i := range 3 {
		pixels = append(pixels, int32(4*block*(2+5*i)), int32(4*block*(7*i%10)))
	}
	for k := range taps {
		entries = append(entries, int32(4*block*(k*3%7-2)), int32(100-k))
	}
	return pixels, entries
}

// eachTap calls f with every value of x and of y that belong together, as the tables say.
func eachTap(pixels, entries []int32, f func(x, y int, tap int32)) {
	for i := 0; i < len(pixels); i += 2 {
		for k := 0; k < len(entries); k += 2 {
			for l := range block {
				f(int(pixels[i]+entries[k])/4+l, int(pixels[i+1])/4+l, entries[k+1])
			}
		}
	}
}

func TestMaxPool(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "conv", isa, "maxPoolF32")
		r := rand.New(rand.NewPCG(1, 2))
		for taps := 1; taps <= 5; taps++ {
			for _, floor := range []float32{0, float32(math.Inf(-1))} {
				pixels, entries := poolTables(taps)
				var m interp.Machine
				x := special(r, 20*block)
				rx, ry, rw := output(&m, "x", x), m.Region("y", 4*10*block), m.Region("win", 10*block)
				want, winner := make([]float32, 10*block), make([]byte, 10*block)
				eachTap(pixels, entries, func(i, j int, _ int32) { // the result where no tap is above
					rx.Allow(4*i, 4, true, false)
					ry.Allow(4*j, 4, false, true)
					rw.Allow(j, 1, false, true)
					want[j], winner[j] = floor, gen.NoTap
				})
				eachTap(pixels, entries, func(i, j int, tap int32) {
					if v := x[i]; want[j] == want[j] && !(v <= want[j]) {
						want[j], winner[j] = v, byte(tap)
						if v != v {
							winner[j] |= gen.NaNWon
						}
					}
				})
				what := fmt.Sprintf("taps %d floor %v", taps, floor)
				run(t, what, p, &m, len(pixels)/2, table(&m, "pixels", pixels), taps, table(&m, "table", entries), at(rx), at(ry), at(rw), floor, int32(gen.NoTap))
				equal(t, what, ry.Floats(), want)
				if string(rw.Data) != string(winner) {
					t.Fatalf("%s: winners are\n%x\nwant\n%x", what, rw.Data, winner)
				}
			}
		}
	})
}

func TestMaxPoolGrad(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "conv", isa, "maxPoolGradF32")
		r := rand.New(rand.NewPCG(1, 2))
		for taps := 1; taps <= 5; taps++ {
			for _, acc := range []int{0, 1} {
				pixels, entries := poolTables(taps)
				var m interp.Machine
				x, y := special(r, 20*block), special(r, 10*block)
				rx, ry, rw := output(&m, "x", x), output(&m, "y", y), m.Region("win", 10*block)
				nan := uint32(acc) * math.Float32bits(float32(math.NaN()))
				eachTap(pixels, entries, func(i, j int, _ int32) {
					rx.Allow(4*i, 4, acc != 0, true)
					ry.Allow(4*j, 4, true, false)
					rw.Allow(j, 1, true, false)
					rw.Data[j] = byte(100-r.IntN(6)) | byte(r.IntN(2)*gen.NaNWon)
				})
				eachTap(pixels, entries, func(i, j int, tap int32) {
					v := float32(0)
					if byte(tap) == rw.Data[j]&gen.NoTap {
						v = y[j]
						if rw.Data[j]&gen.NaNWon != 0 {
							v = math.Float32frombits(math.Float32bits(v) | nan)
						}
					}
					if acc != 0 {
						v += x[i]
					}
					x[i] = v
				})
				what := fmt.Sprintf("taps %d acc %v", taps, acc)
				run(t, what, p, &m, len(pixels)/2, table(&m, "pixels", pixels), taps, table(&m, "table", entries), at(rx), at(ry), at(rw), nan, acc)
				equal(t, what, rx.Floats(), x)
			}
		}
	})
}

func TestAveragePool(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		forward, gradient := program(t, "conv", isa, "avgPoolF32"), program(t, "conv", isa, "avgPoolGradF32")
		r := rand.New(rand.NewPCG(1, 2))
		for taps := 1; taps <= 5; taps++ {
			pixels, entries := poolTables(taps)
			var m interp.Machine
			x := special(r, 20*block)
			rx, ry := output(&m, "x", x), m.Region("y", 4*10*block)
			want := make([]float32, 10*block)
			count := float32(taps) + 0.5
			eachTap(pixels, entries, func(i, j int, tap int32) {
				rx.Allow(4*i, 4, true, false)
				ry.Allow(4*j, 4, false, true)
				want[j] += x[i]
				if tap == entries[len(entries)-1] {
					want[j] /= count
				}
			})
			what := fmt.Sprintf("taps %d", taps)
			run(t, what, forward, &m, len(pixels)/2, table(&m, "pixels", pixels), taps, table(&m, "table", entries), at(rx), at(ry), count)
			equal(t, what, ry.Floats(), want)
			for _, acc := range []int{0, 1} {
				var m interp.Machine
				x, y := special(r, 20*block), special(r, 10*block)
				rx, ry := output(&m, "x", x), output(&m, "y", y)
				eachTap(pixels, entries, func(i, j int, _ int32) {
					rx.Allow(4*i, 4, acc != 0, true)
					ry.Allow(4*j, 4, true, false)
					v := y[j] / count
					if acc != 0 {
						v += x[i]
					}
					x[i] = v
				})
				run(t, what, gradient, &m, len(pixels)/2, table(&m, "pixels", pixels), taps, table(&m, "table", entries), at(rx), at(ry), count, acc)
				equal(t, what, rx.Floats(), x)
			}
		}
	})
}

// TestNorm runs every pass of batch-norm over three pixels.
func TestNorm(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		const n = 3
		r := rand.New(rand.NewPCG(1, 2))
		for range 4 {
			x, y, dy, c := special(r, n*block), special(r, n*block), special(r, n*block), random(r, 4*block)
			mean, p, q, s := c[:block], c[block:2*block], c[2*block:3*block], c[3*block:]
			d := make([]float32, n*block) // dy behind a ReLU
			for i, v := range y {
				switch {
				case v > 0:
					d[i] = dy[i]
				case v != v:
					d[i] = v
				}
			}
			var m interp.Machine
			in := func(name string, v []float32) interp.Pointer { return at(m.Floats(name, v)) }
			out := func(bytes int) *interp.Region {
				o := m.Region("out", bytes)
				o.Allow(0, bytes, false, true)
				return o
			}
			floats := func(name string, want func(i int) float32, args ...any) {
				o := out(4 * n * block)
				for i, a := range args {
					if a == nil {
						args[i] = at(o)
					}
				}
				run(t, name, program(t, "conv", isa, name), &m, append([]any{n}, args...)...)
				w := make([]float32, n*block)
				for i := range w {
					w[i] = want(i)
				}
				equal(t, name, o.Floats(), w)
				m = interp.Machine{}
			}
			sums := func(name string, want func(i int) []float64, args ...any) {
				size := len(want(0))
				o := out(8 * size / 2 * block)
				run(t, name, program(t, "conv", isa, name), &m, append(append([]any{n}, args...), at(o))...)
				w := make([]float64, size/2*block)
				for i := range n * block {
					v := want(i)
					for k := 0; k < size; k += 2 {
						j := k/2*block + i%block
						w[j] = math.FMA(v[k], v[k+1], w[j])
					}
				}
				same(t, name, doubles(o), w)
				m = interp.Machine{}
			}
			center := func(i int) float32 { return x[i] - mean[i%block] }
			sums("sumsF32", func(i int) []float64 { return []float64{float64(x[i]), 1} }, in("x", x))
			sums("squaresF32", func(i int) []float64 { v := float64(center(i)); return []float64{v, v} }, in("x", x), in("mean", mean))
			dot := func(d []float32) func(i int) []float64 {
				return func(i int) []float64 { v := float64(d[i]); return []float64{v, 1, v, float64(center(i))} }
			}
			sums("normSumsF32", dot(dy), in("dy", dy), in("x", x), in("mean", mean))
			sums("normSumsReLUF32", dot(d), in("dy", dy), in("y", y), in("x", x), in("mean", mean))
			for _, floor := range []float32{0, float32(math.Inf(-1))} {
				floats("normalizeF32", func(i int) float32 {
					v := exact.FMA(center(i), p[i%block], q[i%block])
					if v <= floor {
						return floor
					}
					return v
				}, in("x", x), nil, in("mean", mean), in("scale", p), in("bias", q), floor)
			}
			gradient := func(d []float32) func(i int) float32 {
				return func(i int) float32 {
					c := i % block
					return exact.FMA(p[c], d[i], exact.FMA(center(i), q[c], s[c]))
				}
			}
			floats("normGradF32", gradient(dy), in("dy", dy), in("x", x), nil, in("mean", mean), in("p", p), in("q", q), in("r", s))
			floats("normGradReLUF32", gradient(d), in("dy", dy), in("y", y), in("x", x), nil, in("mean", mean), in("p", p), in("q", q), in("r", s))
			floats("reluGradF32", func(i int) float32 { return d[i] }, in("dy", dy), in("y", y), nil)
		}
	})
}
