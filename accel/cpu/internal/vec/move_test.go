package vec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// TestMove compares random layouts with a loop over all elements.
func TestMove(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		r := source()
		for trial := range 400 {
			rank := r.IntN(5)
			dims := make([]int, rank)
			for i := range dims {
				dims[i] = 1 + r.IntN([]int{3, 7, 40}[r.IntN(3)])
			}
			shape := tensor.Of(dims...)
			moveCase(t, l, tensor.DTypes[trial%len(tensor.DTypes)], shape, layout(r, shape, false), layout(r, shape, true))
		}
		moveCase(t, l, tensor.F32, tensor.Of(100_000), Layout{200_000, 1, [8]int{1}}, Layout{200_000, 199_998, [8]int{-2}})
		moveCase(t, l, tensor.F32, tensor.Of(300, 500), Dense(tensor.Of(300, 500)), Layout{150_000, 0, [8]int{1, 300}})
		moveCase(t, l, tensor.F32, tensor.Of(0, 500), Layout{}, Layout{})
	})
}

// layout is a random one: axes in any order, gaps between them, some backward; some of stride 0 if elements may repeat.
func layout(r *rand.Rand, shape tensor.Shape, repeat bool) Layout {
	var l Layout
	stride, last := 1, 0
	for _, i := range r.Perm(shape.Rank()) {
		if r.IntN(4) == 0 {
			stride += r.IntN(3)
		}
		if repeat && r.IntN(5) == 0 {
			continue
		}
		l.Strides[i] = stride
		reach := stride * (shape.Dim(i) - 1)
		if r.IntN(6) == 0 {
			l.Strides[i] = -stride
			l.Offset += reach
		}
		last += reach
		stride *= shape.Dim(i)
		stride = max(stride, last+1)
	}
	before := r.IntN(4)
	l.Offset += before
	l.Size = before + last + 1 + r.IntN(4)
	return l
}

func moveCase(t *testing.T, l isa.Level, d tensor.DType, shape tensor.Shape, dst, src Layout) {
	t.Helper()
	s, err := NewMove(l, d, shape, dst, src)
	if err != nil {
		t.Fatal(err)
	}
	size := d.Size()
	in, out := make([]byte, src.Size*size), make([]byte, dst.Size*size)
	for i := range in {
		in[i] = byte(i * 7 >> (i % 5))
	}
	for i := range out {
		out[i] = 0xee
	}
	want := slices.Clone(out)
	for i := range shape.Size() {
		to, from, rest := dst.Offset, src.Offset, i
		for k := shape.Rank() - 1; k >= 0; k-- {
			to += rest % shape.Dim(k) * dst.Strides[k]
			from += rest % shape.Dim(k) * src.Strides[k]
			rest /= shape.Dim(k)
		}
		copy(want[to*size:(to+1)*size], in[from*size:])
	}
	if err := s.Run(pool, [][]byte{in}, [][]byte{out}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out, want) {
		t.Fatalf("%v%v from %+v to %+v", d, shape, src, dst)
	}
}

func TestMoveErrors(t *testing.T) {
	shape := tensor.Of(3, 4)
	for name, l := range map[string]Layout{"short": {11, 0, [8]int{4, 1}}, "before": {12, 0, [8]int{-4, 1}}, "offset": {12, 1, [8]int{4, 1}}} {
		if _, err := NewMove(isa.Generic, tensor.F32, shape, Dense(shape), l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGatherAndScatter(t *testing.T) {
	levels(t, func(t *testing.T, l isa.Level) {
		for _, r := range []Rows{
			{1, 5, 3, 7, tensor.I32}, {2, 4, 1, 9, tensor.I64}, {1, 100, 1500, 40, tensor.I32}, {3, 1, 2, 1, tensor.I64}, {1, 5000, 2, 30_000, tensor.I32},
			{1, 3, 2, 0, tensor.I32}, {1, 3, 0, 5, tensor.I32},
		} {
			for _, base := range []bool{false, true} {
				gatherCase(t, r, base)
			}
		}
	})
}

func gatherCase(t *testing.T, r Rows, base bool) {
	t.Helper()
	index := make([]int64, r.N)
	for i := range index {
		index[i] = int64(i * 7 % r.Rows / 2) // the upper half is never met
	}
	ib := memory(index)
	if r.Index == tensor.I32 {
		short := make([]int32, r.N)
		for i, k := range index {
			short[i] = int32(k)
		}
		ib = memory(short)
	}
	x := values[float32](source(), r.Outer*r.Rows*r.Width, 1)
	y := make([]float32, r.Outer*r.N*r.Width)
	g, err := NewGather(tensor.F32, r)
	if err != nil {
		t.Fatal(err)
	}
	run(t, g, [][]byte{memory(x), ib}, [][]byte{memory(y)})
	sums := make([]float64, len(x))
	if base {
		copy(sums, float64s(x))
	}
	for o := range r.Outer {
		for i, k := range index {
			for j := range r.Width {
				v := y[(o*r.N+i)*r.Width+j]
				if want := x[(o*r.Rows+int(k))*r.Width+j]; v != want {
					t.Fatalf("%+v: row %d has %g, want %g", r, i, v, want)
				}
				sums[(o*r.Rows+int(k))*r.Width+j] += float64(v)
			}
		}
	}
	s, err := NewScatterAdd(tensor.F32, r, base)
	if err != nil {
		t.Fatal(err)
	}
	in := [][]byte{memory(y), ib}
	if base {
		in = append([][]byte{memory(x)}, in...)
	}
	got := make([]float32, len(x))
	run(t, s, in, [][]byte{memory(got)})
	exactly(t, fmt.Sprintf("%+v", r), got, sums)
	if base { // in place
		if err := s.Run(pool, in, in[:1]); err != nil {
			t.Fatal(err)
		}
		exactly(t, fmt.Sprintf("%+v in place", r), x, sums)
	}
	if r.N < 3 {
		return
	}
	if r.Index == tensor.I32 {
		view[int32](ib)[2] = int32(r.Rows)
	} else {
		view[int64](ib)[2] = int64(r.Rows)
	}
	var e *IndexError
	for _, err := range []error{g.Run(pool, [][]byte{memory(x), ib}, [][]byte{memory(y)}), s.Run(pool, in, [][]byte{memory(got)})} {
		if !errors.As(err, &e) || e.At != 2 || e.Index != int64(r.Rows) || e.Limit != r.Rows {
			t.Fatalf("%+v: %v", r, err)
		}
	}
}

// TestScatterTypes adds up integers, which wrap around, and many small values, which float32 would lose.
func TestScatterTypes(t *testing.T) {
	r := Rows{Outer: 1, Rows: 2, Width: 1, N: 3, Index: tensor.I32}
	s, err := NewScatterAdd(tensor.I32, r, false)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int32, 2)
	run(t, s, [][]byte{memory([]int32{1<<31 - 1, 5, 1}), memory([]int32{1, 0, 1})}, [][]byte{memory(got)})
	if got[0] != 5 || got[1] != -1<<31 {
		t.Errorf("integers: %v", got)
	}
	r = Rows{Outer: 1, Rows: 1, Width: 1, N: 1000, Index: tensor.I64}
	if s, err = NewScatterAdd(tensor.F32, r, true); err != nil {
		t.Fatal(err)
	}
	sum := make([]float32, 1)
	run(t, s, [][]byte{memory([]float32{1 << 24}), memory(slices.Repeat([]float32{1}, 1000)), memory(make([]int64, 1000))}, [][]byte{memory(sum)})
	if sum[0] != 1<<24+1000 {
		t.Errorf("sum %g", sum[0])
	}
}

func TestArgMaxAndTopK(t *testing.T) {
	f := float32(nan)
	x := []float32{3, 1, 3, f, 2, f, -1, 3}
	s, err := NewTopK(tensor.F32, tensor.I32, 2, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	v, at := make([]float32, 8), make([]int32, 8)
	run(t, s, [][]byte{memory(x)}, [][]byte{memory(v), memory(at)})
	if want := []int32{3, 0, 2, 1, 1, 3, 0, 2}; !slices.Equal(at, want) {
		t.Errorf("order is %v, want %v", at, want)
	}
	exactly(t, "sorted", v, []float64{nan, 3, 3, 1, nan, 3, 2, -1})
	for _, c := range []struct {
		outer, n, inner int
		want            []int64
	}{{1, 8, 1, []int64{3}}, {2, 4, 1, []int64{3, 1}}, {1, 4, 2, []int64{0, 1}}, {2, 2, 2, []int64{0, 1, 0, 0}}, {4, 2, 1, []int64{0, 1, 1, 1}}} {
		s, err := NewArgMax(tensor.F32, tensor.I64, c.outer, c.n, c.inner)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]int64, c.outer*c.inner)
		run(t, s, [][]byte{memory(x)}, [][]byte{memory(got)})
		if !slices.Equal(got, c.want) {
			t.Errorf("argmax of [%d %d %d] is %v, want %v", c.outer, c.n, c.inner, got, c.want)
		}
	}
	// Random integers, with many equal ones, against a stable sort.
	ints := make([]int32, 1000)
	r := source()
	for i := range ints {
		ints[i] = int32(r.IntN(50))
	}
	for _, k := range []int{1, 3, 100} {
		s, err := NewTopK(tensor.I32, tensor.I64, 10, 100, k)
		if err != nil {
			t.Fatal(err)
		}
		v, at := make([]int32, 10*k), make([]int64, 10*k)
		run(t, s, [][]byte{memory(ints)}, [][]byte{memory(v), memory(at)})
		for row := range 10 {
			var all []int
			for i := range 100 {
				all = append(all, i)
			}
			slices.SortStableFunc(all, func(i, j int) int { return int(ints[row*100+j] - ints[row*100+i]) })
			for i := range k {
				if at[row*k+i] != int64(all[i]) || v[row*k+i] != ints[row*100+all[i]] {
					t.Fatalf("top %d: row %d, place %d is %d at %d, want %d", k, row, i, v[row*k+i], at[row*k+i], all[i])
				}
			}
		}
	}
}

func BenchmarkMove(b *testing.B) {
	for name, c := range map[string]struct {
		shape tensor.Shape
		src   Layout
	}{
		"transpose512":  {tensor.Of(512, 512), Layout{512 * 512, 0, [8]int{1, 512}}},
		"transpose4000": {tensor.Of(4000, 4000), Layout{4000 * 4000, 0, [8]int{1, 4000}}},
		"heads":         {tensor.Of(8, 4, 128, 64), Layout{8 * 4 * 128 * 64, 0, [8]int{4 * 128 * 64, 64, 4 * 64, 1}}},
		"copy":          {tensor.Of(4 << 20), Layout{4 << 20, 0, [8]int{1}}},
	} {
		b.Run(name, func(b *testing.B) {
			s, err := NewMove(isa.Detect(), tensor.F32, c.shape, Dense(c.shape), c.src)
			if err != nil {
				b.Fatal(err)
			}
			x, y := make([]float32, c.shape.Size()), make([]float32, c.shape.Size())
			for i := range x {
				x[i] = float32(i)
			}
			pool := work.New(1)
			b.ReportAllocs()
			b.SetBytes(int64(8 * len(x)))
			in, out := [][]byte{memory(x)}, [][]byte{memory(y)}
			for b.Loop() {
				s.Run(pool, in, out)
			}
		})
	}
}
