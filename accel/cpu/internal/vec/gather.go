package vec

import (
	"fmt"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// Rows describes a choice of rows by index: of an array [Outer, Rows, Width], N of the rows, the same ones for each of Outer.
type Rows struct {
	Outer, Rows, Width int
	N                  int
	Index              tensor.DType // i32 or i64
}

func (r Rows) check(name string) error {
	if r.Outer < 0 || r.Rows < 0 || r.Width < 0 || r.N < 0 || r.Index != tensor.I32 && r.Index != tensor.I64 {
		return fmt.Errorf("vec: %s of %+v", name, r)
	}
	return nil
}

// NewGather plans out[o, i] = x[o, index[i]]. It takes x, [Outer, Rows, Width] of any type, and the indices, [N], and gives [Outer, N, Width]. An index out of
// range is an [IndexError].
func NewGather(d tensor.DType, r Rows) (Step, error) {
	if err := r.check("gather"); err != nil || d.Size() == 0 {
		return nil, fmt.Errorf("vec: gather of %v: %w", d, err)
	}
	return &gather{
		operands: operands{"gather", []array{{d, r.Outer * r.Rows * r.Width}, {r.Index, r.N}}, []array{{d, r.Outer * r.N * r.Width}}},
		Rows:     r, size: r.Width * d.Size(), group: max(1, moveLen/max(1, r.Width)),
	}, nil
}

// gather is a planned choice of rows.
type gather struct {
	operands
	Rows
	size    int // of a row, in bytes
	group   int // rows of a part
	index   indices
	in, out []byte // of the run
}

// Run copies the rows. After an error the output is undefined.
func (g *gather) Run(pool *work.Pool, in, out [][]byte) error {
	if err := g.operands.check(in, out); err != nil {
		return err
	}
	g.in, g.out = in[0], out[0]
	g.index.set(g.Index, in[1])
	pool.Run(parts(g.Outer*g.N, g.group), g)
	g.in, g.out = nil, nil
	return g.index.done(g.name, g.Rows.Rows)
}

// Do copies one part.
func (g *gather) Do(part int) {
	for u := part * g.group; u < min(g.Outer*g.N, (part+1)*g.group); u++ {
		k := g.index.at(u % g.N)
		if k < 0 || k >= int64(g.Rows.Rows) {
			g.index.reject(u % g.N)
			continue
		}
		from := (u/g.N*g.Rows.Rows + int(k)) * g.size
		copy(g.out[u*g.size:(u+1)*g.size], g.in[from:from+g.size])
	}
}

// NewScatterAdd plans out[o, r] = base[o, r] + the sum of x[o, i] over the i with index[i] = r: the gradient of a gather. It takes base, if
// there is one, [Outer, Rows, Width], then x, [Outer, N, Width], and the indices, [N], and gives an array like base, which may be its memory. A
// row is added up in float64 (integers wrap around) in the order of the indices, and rounded once. The types are f32, f64, i32 and i64. An
// index out of range is an [IndexError].
func NewScatterAdd(d tensor.DType, r Rows, base bool) (Step, error) {
	if err := r.check("scatteradd"); err != nil {
		return nil, err
	}
	o := operands{"scatteradd", []array{{d, r.Outer * r.N * r.Width}, {r.Index, r.N}}, []array{{d, r.Outer * r.Rows * r.Width}}}
	if base {
		o.in = append([]array{o.out[0]}, o.in...)
	}
	switch d {
	case tensor.F32:
		return newScatter[float32, float64](o, r, base), nil
	case tensor.F64:
		return newScatter[float64, float64](o, r, base), nil
	case tensor.I32:
		return newScatter[int32, int64](o, r, base), nil
	case tensor.I64:
		return newScatter[int64, int64](o, r, base), nil
	}
	return nil, fmt.Errorf("vec: scatteradd of %v", d)
}

// scatter is a planned sum of rows T, accumulated as A.
type scatter[T, A number] struct {
	operands
	Rows
	hasBase bool
	group   int // rows of a part
	index   indices
	first   []int32 // of each row, where in order its rows of x begin, and one more
	order   []int32 // the rows of x, by index
	base    []T     // of the run
	x, out  []T
}

func newScatter[T, A number](o operands, r Rows, base bool) *scatter[T, A] {
	return &scatter[T, A]{operands: o, Rows: r, hasBase: base, group: max(1, moveLen/max(1, r.Width)), first: make([]int32, r.Rows+1), order: make([]int32, r.N)}
}

// Run adds up. After an error the output is undefined.
func (s *scatter[T, A]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := s.operands.check(in, out); err != nil {
		return err
	}
	s.out = view[T](out[0])
	if s.hasBase {
		s.base, in = view[T](in[0]), in[1:]
	}
	s.x = view[T](in[0])
	s.index.set(s.Index, in[1])
	if s.sort() {
		pool.Run(parts(s.Outer*s.Rows.Rows, s.group), s)
	}
	s.out, s.base, s.x = nil, nil, nil
	return s.index.done(s.name, s.Rows.Rows)
}

// sort puts the rows of x in the order of their indices, and those of equal index in their own order. It reports whether all indices are in
// range.
func (s *scatter[T, A]) sort() bool {
	clear(s.first)
	for i := range s.N {
		k := s.index.at(i)
		if k < 0 || k >= int64(s.Rows.Rows) {
			s.index.reject(i)
			return false
		}
		s.first[k+1]++
	}
	for r := range s.Rows.Rows {
		s.first[r+1] += s.first[r]
	}
	for i := range s.N { // first[k] moves to the end of row k
		k := s.index.at(i)
		s.order[s.first[k]] = int32(i)
		s.first[k]++
	}
	copy(s.first[1:], s.first[:s.Rows.Rows]) // and so was the beginning of the next
	s.first[0] = 0
	return true
}

// Do adds up the rows of one part.
func (s *scatter[T, A]) Do(part int) {
	f := newFrame(8*rowBlock, 0)
	acc := unsafe.Slice((*A)(unsafe.Pointer(&f.buf[0])), rowBlock)
	for u := part * s.group; u < min(s.Outer*s.Rows.Rows, (part+1)*s.group); u++ {
		o, r := u/s.Rows.Rows, u%s.Rows.Rows
		for j := 0; j < s.Width; j += rowBlock {
			n := min(rowBlock, s.Width-j)
			s.row(acc[:n], u*s.Width+j, o*s.N*s.Width+j, s.order[s.first[r]:s.first[r+1]])
		}
	}
	f.free()
}

// row adds up the values of one row of out at to, from the rows of x whose block begins at from.
func (s *scatter[T, A]) row(acc []A, to, from int, rows []int32) {
	out := s.out[to : to+len(acc)]
	if len(rows) == 0 {
		if s.hasBase {
			copy(out, s.base[to:])
		} else {
			clear(out)
		}
		return
	}
	clear(acc)
	if s.hasBase {
		for j, x := range s.base[to : to+len(acc)] {
			acc[j] = A(x)
		}
	}
	for _, i := range rows {
		for j, x := range s.x[from+int(i)*s.Width:][:len(acc)] {
			acc[j] += A(x)
		}
	}
	for j, x := range acc {
		out[j] = T(x)
	}
}
