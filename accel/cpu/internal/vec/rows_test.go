package vec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// naiveRow computes one row in float64.
func naiveRow(op RowOp, x, dy []float64) []float64 {
	y := make([]float64, len(x))
	m, s, dot, sum := math.Inf(-1), 0.0, 0.0, 0.0
	for _, v := range x {
		m = max(m, v)
	}
	for i, v := range x {
		s += math.Exp(v - m)
		if dy != nil {
			dot += v * dy[i]
			sum += dy[i]
		}
	}
	for i, v := range x {
		switch op {
		case Softmax:
			y[i] = math.Exp(v-m) / s
		case LogSoftmax:
			y[i] = v - m - math.Log(s)
		case SoftmaxGrad:
			y[i] = v * (dy[i] - dot)
		case LogSoftmaxGrad:
			y[i] = dy[i] - math.Exp(v)*sum
		}
	}
	if op == LogSumExp {
		if y = []float64{m}; !math.IsInf(m, 0) {
			y[0] += math.Log(s)
		}
	}
	return y
}

func TestRows(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for op := Softmax; op <= LogSumExp; op++ {
			for n := 1; n <= 70; n++ {
				rowsCase[float32](t, l, op, 3, n, 2e-5)
			}
			for _, n := range []int{1023, 1024, 1025, 5000} {
				rowsCase[float32](t, l, op, 2, n, 1e-4)
			}
			rowsCase[float32](t, l, op, 5000, 10, 2e-5)
			rowsCase[float64](t, l, op, 4, 33, 1e-12)
		}
	})
}

func rowsCase[T interface {
	float
	tensor.Elem
}](t *testing.T, l isa.Level, op RowOp, rows, n int, eps float64) {
	t.Helper()
	s, err := NewRows(l, op, dtype[T](), rows, n)
	if err != nil {
		t.Fatal(err)
	}
	x, dy := values[T](source(), rows*n, 3), values[T](source(), rows*n, 1)
	in := [][]byte{memory(x), memory(dy)}[:rowOps[op].in]
	var want []float64
	for i := range rows {
		var d []float64
		if len(in) > 1 {
			d = float64s(dy[i*n : (i+1)*n])
		}
		want = append(want, naiveRow(op, float64s(x[i*n:(i+1)*n]), d)...)
	}
	got := make([]T, len(want))
	run(t, s, in, [][]byte{memory(got)})
	what := fmt.Sprintf("%v of %d rows of %d", op, rows, n)
	for i, w := range want { // what cancels is of size 1
		if !(math.Abs(float64(got[i])-w) <= eps*(math.Abs(w)+1e-2*min(1, float64(n-1)))) {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], w)
		}
	}
	if !rowOps[op].reduces { // in place
		kept := slices.Clone(got)
		for j := range in {
			mine := [][]byte{slices.Clone(in[0]), nil}[:len(in)]
			if len(in) > 1 {
				mine[1] = slices.Clone(in[1])
			}
			if err := s.Run(pool, mine, [][]byte{mine[j]}); err != nil {
				t.Fatal(err)
			}
			if string(mine[j]) != string(memory(kept)) {
				t.Fatalf("%s: differs in the memory of input %d", what, j)
			}
		}
	}
}

func TestRowsSpecial(t *testing.T) {
	ln2 := math.Ln2
	levels(t, func(t *testing.T, l isa.Level) {
		for _, c := range []struct {
			op      RowOp
			x, want []float64
		}{
			{Softmax, []float64{-inf, -inf}, []float64{nan, nan}},
			{Softmax, []float64{0, inf}, []float64{nan, nan}},
			{Softmax, []float64{0, -inf, 0}, []float64{0.5, 0, 0.5}},
			{Softmax, []float64{1e4, 1e4}, []float64{0.5, 0.5}},
			{Softmax, []float64{-1e4, -1e4, -2e4}, []float64{0.5, 0.5, 0}},
			{Softmax, []float64{0, nan, 0}, []float64{nan, nan, nan}},
			{LogSoftmax, []float64{1e4, 1e4}, []float64{-ln2, -ln2}},
			{LogSoftmax, []float64{-1e4, 1e4}, []float64{-2e4, 0}},
			{LogSumExp, []float64{-inf, -inf}, []float64{-inf}},
			{LogSumExp, []float64{-inf, 2}, []float64{2}},
			{LogSumExp, []float64{inf, 2}, []float64{inf}},
			{LogSumExp, []float64{inf, nan}, []float64{nan}},
			{LogSumExp, []float64{-1e4, -1e4}, []float64{-1e4 + ln2}},
			{LogSumExp, nil, []float64{-inf}},
		} {
			s, err := NewRows(l, c.op, tensor.F32, 1, len(c.x))
			if err != nil {
				t.Fatal(err)
			}
			x, got := make([]float32, len(c.x)), make([]float32, len(c.want))
			for i, v := range c.x {
				x[i] = float32(v)
			}
			run(t, s, [][]byte{memory(x)}, [][]byte{memory(got)})
			near(t, fmt.Sprintf("%v of %g", c.op, c.x), got, c.want, 1e-6)
		}
	})
}

func TestCrossEntropy(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, n := range []int{1, 2, 10, 17, 33, 1000, 3000} {
			entropyCase[float32, int32](t, l, n, 1e-5)
			entropyCase[float32, int64](t, l, n, 1e-5)
			entropyCase[float64, int64](t, l, n, 1e-12)
		}
	})
}

func entropyCase[T interface {
	float
	tensor.Elem
}, I interface {
	int32 | int64
	tensor.Elem
}](t *testing.T, l isa.Level, n int, eps float64) {
	t.Helper()
	const rows, ignore = 9, -100
	forward, err := NewCrossEntropy(l, dtype[T](), dtype[I](), rows, n, ignore)
	if err != nil {
		t.Fatal(err)
	}
	backward, err := NewCrossEntropyGrad(l, dtype[T](), dtype[I](), rows, n, ignore)
	if err != nil {
		t.Fatal(err)
	}
	x, dloss, label := values[T](source(), rows*n, 4), values[T](source(), rows, 1), make([]I, rows)
	for i := range label {
		label[i] = I(i * 7 % n)
	}
	label[3] = ignore
	for j := range n { // far away, where a sum of exponentials overflows
		x[4*n+j] += 1e4
		x[5*n+j] -= 1e4
	}
	loss, lse, dx := make([]T, rows), make([]T, rows), make([]T, rows*n)
	run(t, forward, [][]byte{memory(x), memory(label)}, [][]byte{memory(loss), memory(lse)})
	run(t, backward, [][]byte{memory(x), memory(label), memory(dloss)}, [][]byte{memory(dx)})
	for i := range rows {
		row := float64s(x[i*n : (i+1)*n])
		p, wantLSE := naiveRow(Softmax, row, nil), naiveRow(LogSumExp, row, nil)[0]
		wantLoss := 0.0
		if label[i] != ignore {
			wantLoss = wantLSE - row[label[i]]
			p[label[i]]--
		} else {
			clear(p)
		}
		for j := range p {
			p[j] *= float64(dloss[i])
		}
		near(t, fmt.Sprintf("log-sum-exp %d of %d classes", i, n), lse[i:i+1], []float64{wantLSE}, eps)
		if math.Abs(float64(loss[i])-wantLoss) > eps*max(1, wantLoss) {
			t.Fatalf("loss %d of %d classes is %g, want %g", i, n, loss[i], wantLoss)
		}
		for j, w := range p {
			if math.Abs(float64(dx[i*n+j])-w) > eps*(math.Abs(w)+1e-3) {
				t.Fatalf("gradient %d, %d of %d classes is %g, want %g", i, j, n, dx[i*n+j], w)
			}
		}
	}
	label[7], label[2] = I(n), -1
	var e *IndexError
	for _, err := range []error{
		forward.Run(pool, [][]byte{memory(x), memory(label)}, [][]byte{memory(loss), memory(lse)}),
		backward.Run(pool, [][]byte{memory(x), memory(label), memory(dloss)}, [][]byte{memory(dx)}),
	} {
		if !errors.As(err, &e) || e.At != 2 || e.Index != -1 || e.Limit != n {
			t.Fatalf("labels out of range: %v", err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	for _, c := range [][2]int{{16384, 1024}, {64, 10}, {256, 1000}} {
		x, y := values[float32](source(), c[0]*c[1], 3), make([]float32, c[0]*c[1])
		label, loss, lse := make([]int32, c[0]), make([]float32, c[0]), make([]float32, c[0])
		for _, threads := range []int{1, 2} {
			pool := work.New(threads)
			bench := func(name string, s Step, err error, in, out [][]byte) {
				b.Run(fmt.Sprintf("%s/%dx%d/threads%d", name, c[0], c[1], threads), func(b *testing.B) {
					if err != nil {
						b.Fatal(err)
					}
					b.ReportAllocs()
					b.SetBytes(int64(8 * len(x)))
					for b.Loop() {
						s.Run(pool, in, out)
					}
				})
			}
			s, err := NewRows(isa.Detect(), Softmax, tensor.F32, c[0], c[1])
			bench("softmax", s, err, [][]byte{memory(x)}, [][]byte{memory(y)})
			s, err = NewCrossEntropy(isa.Detect(), tensor.F32, tensor.I32, c[0], c[1], -1)
			bench("entropy", s, err, [][]byte{memory(x), memory(label)}, [][]byte{memory(loss), memory(lse)})
			s, err = NewCrossEntropyGrad(isa.Detect(), tensor.F32, tensor.I32, c[0], c[1], -1)
			bench("entropygrad", s, err, [][]byte{memory(x), memory(label), memory(loss)}, [][]byte{memory(y)})
		}
	}
}
