package proof

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
)

// The tables of these tests name pixels here and there: a kernel must touch what they name, and nothing else.

const block = gen.Block

// table adds a region of readable integers.
func table(m *interp.Machine, name string, v []int32) interp.Pointer {
	r := m.Region(name, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(r.Data[4*i:], uint32(x))
	}
	r.Allow(0, 4*len(v), true, false)
	return at(r)
}

// finish does to a sum what the mode says.
func finish(sum, old, bias float32, mode int) float32 {
	if mode&gen.Add != 0 {
		sum += old
	}
	if mode&gen.Bias != 0 {
		sum += bias
	}
	if mode&gen.ReLU != 0 && sum <= 0 {
		sum = 0
	}
	return sum
}

// convOutput is what a tile of a convolution writes.
type convOutput struct {
	region  *interp.Region
	y, bias []float32
	yTable  []int32
	plane   int
}

func newConvOutput(m *interp.Machine, r *rand.Rand, rows, blocks, mode int) *convOutput {
	o := &convOutput{plane: 30 * block}
	o.y, o.bias = random(r, blocks*o.plane), random(r, block*blocks)
	o.region = output(m, "y", o.y)
	for i := range rows {
		o.yTable = append(o.yTable, int32(4*block*(i*5%30)))
		for b := range blocks {
			o.region.Allow(int(o.yTable[i])+4*b*o.plane, 4*block, mode&gen.Add != 0, true)
		}
	}
	return o
}

// check compares with the sums of each row and channel.
func (o *convOutput) check(t *testing.T, what string, sums []float32, mode int) {
	t.Helper()
	want := slices.Clone(o.y)
	channels := len(o.bias)
	for i, s := range sums {
		c := i % channels
		p := c/block*o.plane + int(o.yTable[i/channels])/4 + c%block
		want[p] = finish(s, o.y[p], o.bias[c], mode)
	}
	equal(t, what, o.region.Floats(), want)
}

func TestConv(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, tile := range isa.ConvTiles() {
			rows, blocks := tile[0], tile[1]
			t.Run(fmt.Sprintf("%dx%d", rows, blocks), func(t *testing.T) {
				p := program(t, "conv", isa, fmt.Sprintf("conv%dx%dF32", rows, blocks))
				for mode := range 8 {
					convCase(t, p, rows, blocks, 1+mode%3, 1+mode%2, mode)
				}
			})
		}
	})
}

func convCase(t *testing.T, p *interp.Program, rows, blocks, taps, in, mode int) {
	r := rand.New(rand.NewPCG(1, 2))
	const xPlane = 40 * block
	wPlane := taps*in*block*block + 32
	x, w := random(r, in*xPlane), random(r, blocks*wPlane)
	var m interp.Machine
	o := newConvOutput(&m, r, rows, blocks, mode)
	rx, rw := output(&m, "x", x), output(&m, "w", w)
	sums := make([]float32, rows*blocks*block)
	var entries []int32
	for tap := range taps {
		wt := (taps - 1 - tap) * in * block * block // any order
		entries = append(entries, int32(4*wt))
		for b := range blocks {
			rw.Allow(4*(b*wPlane+wt), 4*in*block*block, true, false)
		}
		for i := range rows {
			px := (tap*7 + i*3) % 40
			entries = append(entries, int32(4*px*block))
			for b := range in {
				for s := range block {
					from := b*xPlane + px*block + s
					rx.Allow(4*from, 4, true, false)
					for c := range blocks * block {
						k := i*blocks*block + c
						sums[k] = exact.FMA(x[from], w[c/block*wPlane+wt+(b*block+s)*block+c%block], sums[k])
					}
				}
			}
		}
	}
	what := fmt.Sprintf("taps %d in %d mode %d", taps, in, mode)
	run(t, what, p, &m, taps, table(&m, "table", entries), at(rx), in, xPlane, at(rw), wPlane,
		at(o.region), table(&m, "yTable", o.yTable), o.plane, at(m.Floats("bias", o.bias)), mode)
	o.check(t, what, sums, mode)
}

func TestFirst(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, tile := range isa.ConvTiles() {
			rows, blocks := tile[0], tile[1]
			t.Run(fmt.Sprintf("%dx%d", rows, blocks), func(t *testing.T) {
				p := program(t, "conv", isa, fmt.Sprintf("first%dx%dF32", rows, blocks))
				for mode := range 8 {
					firstCase(t, p, rows, blocks, 1+4*mode, mode)
				}
			})
		}
	})
}

func firstCase(t *testing.T, p *interp.Program, rows, blocks, taps, mode int) {
	r := rand.New(rand.NewPCG(1, 2))
	wPlane := taps*block + 16
	x, w := random(r, 400), random(r, blocks*wPlane)
	var m interp.Machine
	o := newConvOutput(&m, r, rows, blocks, mode)
	rx, rw := output(&m, "x", x), output(&m, "w", w)
	var entries, pixels []int32
	for tap := range taps {
		entries = append(entries, int32(4*(taps-1-tap)*block), int32(4*(tap*3%60-20))) // a tap may lie before the pixel
		for b := range blocks {
			rw.Allow(4*(b*wPlane+tap*block), 4*block, true, false)
		}
	}
	sums := make([]float32, rows*blocks*block)
	for i := range rows {
		pixels = append(pixels, int32(4*(20+i*11)))
		for k := 0; k < len(entries); k += 2 {
			from := int(pixels[i]+entries[k+1]) / 4
			rx.Allow(4*from, 4, true, false)
			for c := range blocks * block {
				j := i*blocks*block + c
				sums[j] = exact.FMA(x[from], w[c/block*wPlane+int(entries[k])/4+c%block], sums[j])
			}
		}
	}
	what := fmt.Sprintf("taps %d mode %d", taps, mode)
	run(t, what, p, &m, taps, table(&m, "table", entries), at(rx), table(&m, "xTable", pixels), at(rw), wPlane,
		at(o.region), table(&m, "yTable", o.yTable), o.plane, at(m.Floats("bias", o.bias)), mode)
	o.check(t, what, sums, mode)
}

func TestWeightGradient(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		each := func(name string, tiles [][2]int, taps bool) {
			for _, tile := range tiles {
				t.Run(fmt.Sprintf("%s%dx%d", name, tile[0], tile[1]), func(t *testing.T) {
					p := program(t, "conv", isa, fmt.Sprintf("%s%dx%dF32", name, tile[0], tile[1]))
					for _, n := range []int{1, 3, 4, 9} {
						for _, acc := range []bool{false, true} {
							weightGradientCase(t, p, tile[0], tile[1], n, acc, taps)
						}
					}
				})
			}
		}
		each("wgrad", isa.WeightTiles(), false)
		each("firstWgrad", isa.FirstWeightTiles(), true)
	})
}

// weightGradientCase reads rows values of x side by side, or at taps.
func weightGradientCase(t *testing.T, p *interp.Program, rows, blocks, n int, acc, taps bool) {
	r := rand.New(rand.NewPCG(1, 2))
	const dyPlane = 30 * block
	dwPlane := rows*block + 32
	x, dy, dw := random(r, 31*block), random(r, blocks*dyPlane), random(r, blocks*dwPlane)
	var m interp.Machine
	rx, ry, rw := output(&m, "x", x), output(&m, "dy", dy), output(&m, "dw", dw)
	offsets := make([]int32, rows)
	for i := range offsets {
		offsets[i] = int32(4 * i)
		if taps {
			offsets[i] = int32(4 * (i*5 - 3))
		}
	}
	var pairs []int32
	sums := make([]float32, rows*blocks*block)
	for k := range n {
		px, py := (1+k*7%29)*block, k*11%30*block
		pairs = append(pairs, int32(4*px), int32(4*py))
		for b := range blocks {
			ry.Allow(4*(b*dyPlane+py), 4*block, true, false)
		}
		for i := range rows {
			from := px + int(offsets[i])/4
			rx.Allow(4*from, 4, true, false)
			for c := range blocks * block {
				j := i*blocks*block + c
				sums[j] = exact.FMA(x[from], dy[c/block*dyPlane+py+c%block], sums[j])
			}
		}
	}
	want := slices.Clone(dw)
	for i := range rows {
		for c := range blocks * block {
			d := c/block*dwPlane + i*block + c%block
			rw.Allow(4*d, 4, acc, true)
			want[d] = sums[i*blocks*block+c]
			if acc {
				want[d] += dw[d]
			}
		}
	}
	what := fmt.Sprintf("n %d acc %v", n, acc)
	args := []any{n, table(&m, "pairs", pairs), at(rx)}
	if taps {
		args = append(args, table(&m, "taps", offsets))
	}
	run(t, what, p, &m, append(args, at(ry), dyPlane, at(rw), dwPlane, acc)...)
	equal(t, what, rw.Floats(), want)
}

func TestTranspose4(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "conv", isa, "transpose4F32")
		r := rand.New(rand.NewPCG(1, 2))
		const step, stride = 7, 19
		for k := 4; k <= 16; k += 4 {
			src := random(r, 3*stride+k)
			want := make([]float32, k*step)
			var m interp.Machine
			rs, rd := output(&m, "src", src), output(&m, "dst", want)
			for j := range k {
				rd.Allow(4*j*step, 16, false, true)
				for i := range 4 {
					rs.Allow(4*(i*stride+j), 4, true, false)
					want[j*step+i] = src[i*stride+j]
				}
			}
			what := fmt.Sprintf("k %d", k)
			run(t, what, p, &m, at(rd), step, at(rs), stride, k)
			equal(t, what, rd.Floats(), want)
		}
	})
}
