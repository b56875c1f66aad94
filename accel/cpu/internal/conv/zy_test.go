package conv

import (
	"fmt"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
)

func TestZY(t *testing.T) {
	for _, s := range append(benchShapes, Shape{8, 64, 224, 224, 64, Square(3, 1, 1)}, Shape{1, 64, 512, 512, 64, Square(3, 1, 1)}, Shape{32, 3, 224, 224, 64, Square(7, 2, 3)}) {
		t0 := time.Now()
		f := must(NewForward(isa.AVX512, s, Epilogue{}))
		t1 := time.Now()
		g := must(NewInputGradient(isa.AVX512, s))
		t2 := time.Now()
		w := must(NewWeightGradient(isa.AVX512, s))
		t3 := time.Now()
		var t4, t5 time.Time
		if s.Cin < 5 {
			must(NewFirst(isa.AVX512, s, Epilogue{}))
			t4 = time.Now()
			must(NewFirstWeightGradient(isa.AVX512, s))
			t5 = time.Now()
		}
		size := func(rs []plannedRegion) int {
			seen := map[*tile]bool{}
			n := 0
			for _, r := range rs {
				if len(r.tiles) == 0 || seen[&r.tiles[0]] {
					continue
				}
				seen[&r.tiles[0]] = true
				for _, t := range r.tiles {
					n += 64 + 4*len(t.table) + 4*len(t.out)
				}
			}
			return n
		}
		wn := 0
		seen := map[*int32]bool{}
		for _, c := range w.chunks {
			for _, p := range c.pairs {
				if len(p) > 0 && !seen[&p[0]] {
					seen[&p[0]] = true
					wn += 4 * len(p)
				}
			}
		}
		fmt.Println(s, "fwd", t1.Sub(t0), size(f.p.regions), len(f.p.regions), "dx", t2.Sub(t1), size(g.p.regions), "dw", t3.Sub(t2), wn, len(w.chunks), w.pieces, "first", t4.Sub(t3), t5.Sub(t4))
	}
}
