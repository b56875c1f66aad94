package proof

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
)

func TestDepthwise(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, rows := range isa.DepthRows() {
			t.Run(fmt.Sprint(rows), func(t *testing.T) {
				p := program(t, "conv", isa, fmt.Sprintf("depth%dF32", rows))
				for mode := range 8 {
					depthCase(t, p, rows, 1+4*mode, mode)
				}
			})
		}
	})
}

func depthCase(t *testing.T, p *interp.Program, rows, taps, mode int) {
	r := rand.New(rand.NewPCG(1, 2))
	x, w := random(r, 60*block), random(r, taps*block)
	var m interp.Machine
	o := newConvOutput(&m, r, rows, 1, mode)
	rx, rw := output(&m, "x", x), output(&m, "w", w)
	rw.Allow(0, 4*len(w), true, false)
	var entries, pixels []int32
	for tap := range taps {
		entries = append(entries, int32(4*(taps-1-tap)*block), int32(4*block*(tap*3%20-10))) // a tap may lie before the pixel
	}
	sums := make([]float32, rows*block)
	for i := range rows {
		pixels = append(pixels, int32(4*block*(10+i*5)))
		for k := 0; k < len(entries); k += 2 {
			from := int(pixels[i]+entries[k+1]) / 4
			rx.Allow(4*from, 4*block, true, false)
			for c := range block {
				sums[i*block+c] = exact.FMA(x[from+c], w[int(entries[k])/4+c], sums[i*block+c])
			}
		}
	}
	what := fmt.Sprintf("taps %d mode %d", taps, mode)
	run(t, what, p, &m, taps, table(&m, "table", entries), at(rx), table(&m, "xTable", pixels), at(rw), 0,
		at(o.region), table(&m, "yTable", o.yTable), o.plane, at(m.Floats("bias", o.bias)), mode)
	o.check(t, what, sums, mode)
}

func TestDepthwiseWeightGradient(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, rows := range gen.DepthWeightRows {
			t.Run(fmt.Sprint(rows), func(t *testing.T) {
				p := program(t, "conv", isa, fmt.Sprintf("depthWgrad%dF32", rows))
				for _, n := range []int{1, 3, 4, 9} {
					for _, acc := range []bool{false, true} {
						depthWeightGradientCase(t, p, rows, n, acc)
					}
				}
			})
		}
	})
}

func depthWeightGradientCase(t *testing.T, p *interp.Program, rows, n int, acc bool) {
	r := rand.New(rand.NewPCG(1, 2))
	x, dy, dw := random(r, 40*block), random(r, 30*block), random(r, rows*block)
	var m interp.Machine
	rx, ry, rw := output(&m, "x", x), output(&m, "dy", dy), output(&m, "dw", dw)
	var taps, pairs []int32
	for i := range rows {
		taps = append(taps, int32(4*block*(i*5-3)))
	}
	sums := make([]float32, rows*block)
	for k := range n {
		px, py := (3+k*7%29)*block, k*11%30*block
		pairs = append(pairs, int32(4*px), int32(4*py))
		ry.Allow(4*py, 4*block, true, false)
		for i := range rows {
			from := px + int(taps[i])/4
			rx.Allow(4*from, 4*block, true, false)
			for c := range block {
				sums[i*block+c] = exact.FMA(x[from+c], dy[py+c], sums[i*block+c])
			}
		}
	}
	want := slices.Clone(sums)
	for i := range want {
		if acc {
			want[i] += dw[i]
		}
	}
	rw.Allow(0, 4*len(dw), acc, true)
	what := fmt.Sprintf("n %d acc %v", n, acc)
	run(t, what, p, &m, n, table(&m, "pairs", pairs), at(rx), table(&m, "taps", taps), at(ry), 0, at(rw), 0, acc)
	equal(t, what, rw.Floats(), want)
}
