package proof

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/internal/asmgen/gen"
	"github.com/cortado-ml/cortado/internal/asmgen/interp"
	"github.com/cortado-ml/cortado/internal/exact"
)

// TestGemm runs every edge shape in every layout.
func TestGemm(t *testing.T) {
	atLevels(t, func(t *testing.T, isa gen.ISA) {
		p := program(t, "gemm", isa, "gemmF32")
		mr, nv := isa.GemmTile()
		nr := nv * isa.Lanes
		r := rand.New(rand.NewPCG(1, 2))
		layouts := []struct{ aRow, aStep, bStep int }{
			{1, mr, nr},         // packed
			{11, 1, nr + 5},     // rows of A where they lie
			{1, mr + 3, nr + 1}, // A^T
		}
		for m := 1; m <= mr; m++ {
			for n := 1; n <= nr; n++ {
				for _, k := range []int{0, 1, 3, 4, 9} {
					lay := layouts[(m+n+k)%len(layouts)]
					for _, acc := range []bool{false, true} {
						gemmCase(t, mr, nr, p, r, m, n, k, lay.aRow, lay.aStep, lay.bStep, acc)
					}
				}
			}
		}
	})
}

func gemmCase(t *testing.T, mr, nr int, p *interp.Program, r *rand.Rand, m, n, k, aRow, aStep, bStep int, acc bool) {
	ldc := nr + 7
	a := random(r, max((mr-1)*aRow+(k-1)*aStep+1, 1))
	b := random(r, max((k-1)*bStep+nr, 1))
	c := random(r, (m-1)*ldc+n)
	want := append([]float32(nil), c...)
	for i := range m {
		for j := range n {
			s := float32(0)
			for q := range k {
				s = exact.FMA(a[i*aRow+q*aStep], b[q*bStep+j], s)
			}
			if acc {
				s += c[i*ldc+j]
			}
			want[i*ldc+j] = s
		}
	}
	what := fmt.Sprintf("m %d n %d k %d rows %d acc %v", m, n, k, aRow, acc)
	var mc interp.Machine
	ra, rb, rc := output(&mc, "A", a), output(&mc, "B", b), output(&mc, "C", c)
	for q := range k { // only what the product needs
		for i := range mr {
			ra.Allow(4*(i*aRow+q*aStep), 4, true, false)
		}
		rb.Allow(4*q*bStep, 4*nr, true, false)
	}
	for i := range m {
		rc.Allow(4*i*ldc, 4*n, acc, true)
	}
	run(t, what, p, &mc, k, at(ra), aRow, aStep, at(rb), bStep, at(rb), at(rc), ldc, m, n, acc)
	equal(t, what, rc.Floats(), want)
}

func TestPack(t *testing.T) {
	for _, rows := range []int{2, 4} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			atLevels(t, func(t *testing.T, isa gen.ISA) {
				p := program(t, "gemm", isa, fmt.Sprintf("pack%dF32", rows))
				r := rand.New(rand.NewPCG(1, 2))
				const step, stride = 7, 19
				for k := 0; k <= 16; k += 4 {
					src := random(r, (rows-1)*stride+k)
					want := make([]float32, max(1, k*step))
					var mc interp.Machine
					rs, rd := output(&mc, "src", src), mc.Region("dst", 4*len(want))
					for q := range k {
						rd.Allow(4*q*step, 4*rows, false, true)
						for i := range rows {
							rs.Allow(4*(i*stride+q), 4, true, false)
							want[q*step+i] = src[i*stride+q]
						}
					}
					run(t, fmt.Sprintf("k %d", k), p, &mc, at(rd), step, at(rs), stride, k)
					equal(t, fmt.Sprintf("k %d", k), rd.Floats(), want)
				}
			})
		})
	}
}
