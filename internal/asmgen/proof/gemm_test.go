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
)

// TestGemm runs every tile with every number of columns, in every layout and mode.
func TestGemm(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, rows := range isa.GemmRows() {
			for nv := 1; nv <= 2; nv++ {
				gemmTile[float32](t, isa, rows, nv, "F32", 4)
				gemmTile[float64](t, isa, rows, nv, "F64", 8)
			}
		}
	})
}

func gemmTile[T float32 | float64](t *testing.T, isa gen.ISA, rows, nv int, suffix string, size int) {
	name := fmt.Sprintf("gemm%dx%d%s", rows, nv, suffix)
	t.Run(name, func(t *testing.T) {
		p := program(t, "gemm", isa, name)
		nr := nv * isa.Lanes * 4 / size
		r := rand.New(rand.NewPCG(1, 2))
		layouts := []struct{ aRow, aStep, bStep int }{
			{1, rows, nr},         // panels
			{11, 1, nr + 5},       // rows of A where they lie
			{1, rows + 3, nr + 1}, // A^T
		}
		for n := 1; n <= nr; n++ {
			for mode := range 8 {
				l := layouts[(n+mode)%len(layouts)]
				k := []int{0, 1, 3, 4, 9}[(n+mode)%5]
				gemmCase[T](t, p, r, size, rows, nr, n, k, l.aRow, l.aStep, l.bStep, mode)
			}
		}
	})
}

func gemmCase[T float32 | float64](t *testing.T, p *interp.Program, r *rand.Rand, size, rows, nr, n, k, aRow, aStep, bStep, mode int) {
	ldc := nr + 7
	values := func(n int) []T {
		x := make([]T, max(n, 1))
		for i := range x {
			x[i] = T(r.Float64() - 0.5)
		}
		if r.IntN(4) == 0 {
			x[r.IntN(len(x))] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)])
		}
		return x
	}
	a, b, c, bias := values((rows-1)*aRow+(k-1)*aStep+1), values((k-1)*bStep+nr), values((rows-1)*ldc+n), values(n)
	what := fmt.Sprintf("n %d k %d aRow %d mode %d", n, k, aRow, mode)
	var mc interp.Machine
	region := func(name string, x []T) *interp.Region {
		r := mc.Region(name, size*len(x))
		if _, err := binary.Encode(r.Data, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
		return r
	}
	ra, rb, rc, rbias := region("A", a), region("B", b), region("C", c), region("bias", bias)
	for q := range k { // only what the product needs
		for i := range rows {
			ra.Allow(size*(i*aRow+q*aStep), size, true, false)
		}
		rb.Allow(size*q*bStep, size*nr, true, false)
	}
	for i := range rows {
		rc.Allow(size*i*ldc, size*n, mode&gen.GemmAdd != 0, true)
	}
	if mode&gen.GemmBias != 0 {
		rbias.Allow(0, size*n, true, false)
	}
	run(t, what, p, &mc, k, at(ra), aRow, aStep, at(rb), bStep, at(rc), ldc, n, at(rbias), mode)
	exact.Gemm(k, a, aRow, aStep, b, bStep, c, ldc, rows, n, bias, mode)
	got := make([]T, len(c))
	if _, err := binary.Decode(rc.Data, binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	for i := range c {
		if math.Float64bits(float64(got[i])) != math.Float64bits(float64(c[i])) && (got[i] == got[i] || c[i] == c[i]) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], c[i])
		}
	}
}

func TestPack(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		for _, rows := range isa.PackRows() {
			p := program(t, "gemm", isa, fmt.Sprintf("pack%dF32", rows))
			r := rand.New(rand.NewPCG(1, 2))
			const step, stride = 21, 27
			for k := 4; k <= 17; k++ {
				what := fmt.Sprintf("%d rows, k %d", rows, k)
				src := random(r, (rows-1)*stride+k)
				want := make([]float32, k*step)
				var mc interp.Machine
				rs, rd := output(&mc, "src", src), mc.Region("dst", 4*len(want))
				for q := range k {
					rd.Allow(4*q*step, 4*rows, false, true)
					for i := range rows {
						rs.Allow(4*(i*stride+q), 4, true, false)
						want[q*step+i] = src[i*stride+q]
					}
				}
				run(t, what, p, &mc, at(rd), step, at(rs), stride, k)
				equal(t, what, rd.Floats(), want)
			}
		}
	})
}

func TestCopyPanels(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "gemm", isa, "copyPanels")
		width := 2 * isa.Lanes
		const k, panels = 5, 3
		panel, stride := width*k+9, width*panels+5
		src := random(rand.New(rand.NewPCG(1, 2)), k*stride)
		want := make([]float32, panels*panel)
		var mc interp.Machine
		rs, rd := output(&mc, "src", src), mc.Region("dst", 4*len(want))
		for q := range k {
			rs.Allow(4*q*stride, 4*panels*width, true, false)
			for j := range panels {
				rd.Allow(4*(j*panel+q*width), 4*width, false, true)
				copy(want[j*panel+q*width:], src[q*stride+j*width:][:width])
			}
		}
		run(t, "", p, &mc, at(rd), 4*panel, at(rs), 4*stride, panels, k)
		equal(t, "", rd.Floats(), want)
	})
}
