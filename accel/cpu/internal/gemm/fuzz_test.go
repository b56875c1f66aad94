package gemm

import (
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// FuzzPlan compares any small shape with the naive product, at the best level.
func FuzzPlan(f *testing.F) {
	f.Add(uint8(13), uint8(33), uint8(5), uint8(0), uint8(0), uint8(1))
	f.Add(uint8(64), uint8(10), uint8(40), uint8(0x1a), uint8(7), uint8(3))
	pools := []*work.Pool{work.New(1), work.New(3)}
	f.Fuzz(func(t *testing.T, m, n, k, mode, gap, batch uint8) {
		s := Shape{
			M: int(m) % 80, N: int(n) % 80, K: int(k) % 40,
			TransA: mode&1 > 0, TransB: mode&2 > 0, Add: mode&4 > 0, Bias: mode&8 > 0, ReLU: mode&16 > 0,
		}
		s = s.dense()
		s.LDA, s.LDB, s.LDC = s.LDA+int(gap)%5, s.LDB+int(gap)%7, s.LDC+int(gap)%11
		la, lb, lc := s.lens()
		s.Batch = []Batch{{N: int(batch) % 4, A: la * int(gap%2), B: lb, C: lc}}
		if lc == 0 {
			s.Batch[0].C = 1
		}
		check[float32](t, isa.Detect(), pools, s, mode&32 > 0)
		check[float64](t, isa.Detect(), pools, s, mode&64 > 0)
	})
}
