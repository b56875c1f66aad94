package vec

import (
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/tensor"
)

// must is s, of what must be possible.
func must(s Step, err error) Step {
	if err != nil {
		panic(err)
	}
	return s
}

// steps has one of every kind, with operands of about n elements.
func steps(l isa.Level, n int) map[string]func() (s Step, in, out [][]byte) {
	rows, cols := n/64, 64
	f := func(n int) []byte { return make([]byte, 4*n) }
	matrix := func() []byte { return f(rows * cols) }
	r := Rows{Outer: 1, Rows: rows, Width: cols, N: rows, Index: tensor.I32}
	return map[string]func() (Step, [][]byte, [][]byte){
		"chain": func() (Step, [][]byte, [][]byte) {
			p := adam(n)
			c, err := Compile(l, p)
			return must(c, err), [][]byte{f(n), f(n), f(n), f(n), f(1), f(1)}, [][]byte{f(n), f(n), f(n)}
		},
		"dropout": func() (Step, [][]byte, [][]byte) {
			p := &Program{Shape: tensor.Of(n)}
			p.Outputs = []Reg{p.Do(Instr{Op: Dropout, Args: [3]Reg{p.Input(tensor.F32, p.Shape), p.Input(tensor.I64, tensor.Of()), p.Input(tensor.I64, tensor.Of())}, Imm: 0.5})}
			c, err := Compile(l, p)
			return must(c, err), [][]byte{f(n), f(2), f(2)}, [][]byte{f(n)}
		},
		"sum": func() (Step, [][]byte, [][]byte) {
			return must(NewReduce(l, ReduceSum, tensor.F32, tensor.Of(n), 1)), [][]byte{f(n)}, [][]byte{f(1)}
		},
		"column maximum": func() (Step, [][]byte, [][]byte) {
			return must(NewReduce(l, ReduceMax, tensor.F32, tensor.Of(rows, cols), 1)), [][]byte{matrix()}, [][]byte{f(cols)}
		},
		"softmax": func() (Step, [][]byte, [][]byte) {
			return must(NewRows(l, Softmax, tensor.F32, rows, cols)), [][]byte{matrix()}, [][]byte{matrix()}
		},
		"cross-entropy": func() (Step, [][]byte, [][]byte) {
			return must(NewCrossEntropy(l, tensor.F32, tensor.I32, rows, cols, -1)), [][]byte{matrix(), f(rows)}, [][]byte{f(rows), f(rows)}
		},
		"cross-entropy gradient": func() (Step, [][]byte, [][]byte) {
			return must(NewCrossEntropyGrad(l, tensor.F32, tensor.I32, rows, cols, -1)), [][]byte{matrix(), f(rows), f(rows)}, [][]byte{matrix()}
		},
		"batch-norm": func() (Step, [][]byte, [][]byte) {
			return must(NewBatchNorm(l, tensor.F32, rows, cols, 1e-5)), [][]byte{matrix(), f(cols), f(cols)}, [][]byte{matrix(), f(cols), f(cols)}
		},
		"transpose": func() (Step, [][]byte, [][]byte) {
			return must(NewMove(l, tensor.F32, tensor.Of(rows, cols), Dense(tensor.Of(rows, cols)), Layout{rows * cols, 0, [8]int{1, rows}})), [][]byte{matrix()}, [][]byte{matrix()}
		},
		"gather": func() (Step, [][]byte, [][]byte) {
			return must(NewGather(tensor.F32, r)), [][]byte{matrix(), f(rows)}, [][]byte{matrix()}
		},
		"scatter-add": func() (Step, [][]byte, [][]byte) {
			return must(NewScatterAdd(tensor.F32, r, false)), [][]byte{matrix(), f(rows)}, [][]byte{matrix()}
		},
		"argmax": func() (Step, [][]byte, [][]byte) {
			return must(NewArgMax(tensor.F32, tensor.I32, rows, cols, 1)), [][]byte{matrix()}, [][]byte{f(rows)}
		},
		"top-k": func() (Step, [][]byte, [][]byte) {
			return must(NewTopK(tensor.F32, tensor.I32, rows, cols, 5)), [][]byte{matrix()}, [][]byte{f(rows * 5), f(rows * 5)}
		},
	}
}

// TestNoAllocation runs every kind of step on the caller's goroutine alone, where allocations can be counted.
func TestNoAllocation(t *testing.T) {
	if raced {
		t.Skip("sync.Pool forgets frames under the race detector")
	}
	levels(t, func(t *testing.T, l isa.Level) {
		for name, f := range steps(l, 1<<14) {
			s, in, out := f()
			n := testing.AllocsPerRun(20, func() {
				if err := s.Run(alone, in, out); err != nil {
					t.Fatal(err)
				}
			})
			if n >= 1 { // the collector may empty the pool of frames, but not at every run
				t.Errorf("%s: %v allocations a run", name, n)
			}
		}
	})
}

// TestConcurrent runs steps of every kind at once on one pool.
func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for range 10 {
		for name, f := range steps(isa.Detect(), 1<<13) {
			s, in, out := f()
			wg.Go(func() {
				for range 5 {
					if err := s.Run(pool, in, out); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
	}
	wg.Wait()
}
