package vec

import (
	"fmt"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// Reduction is a way to make one value of many.
type Reduction uint8

// The reductions. They take f32, f64, i32, i64 or u8.
const (
	// ReduceSum of nothing is 0. Floats are accumulated in float64 and rounded once; integers wrap around.
	ReduceSum Reduction = iota
	// ReduceMean takes floats only. Of nothing it is NaN.
	ReduceMean
	// ReduceMin and ReduceMax are NaN where a value is, and take -0 to be below 0. Of nothing they are the value that loses to all others.
	ReduceMin
	ReduceMax
)

var reductions = [...]string{"sum", "mean", "min", "max"}

// String is the name, such as sum.
func (r Reduction) String() string {
	if int(r) < len(reductions) {
		return reductions[r]
	}
	return fmt.Sprintf("vec.Reduction(%d)", uint8(r))
}

const (
	// pieceLen is about how many values one piece of a reduction has. A piece is reduced by itself, and the pieces of one result are then
	// combined in order, so the result does not depend on who did what.
	pieceLen = 1 << 15
	// maxPieces bounds the pieces of one result, and so the memory for their results.
	maxPieces = 64
	// maxStrip is the most columns that are reduced at a time, so that their results stay in the first-level cache.
	maxStrip = 1024
	// foldWidth is how long rows should be for vectors to be well filled: shorter ones are taken several at a time.
	foldWidth = 64
)

// NewReduce plans a reduction of an array over the axes whose bits are set. The input is the array; the output has what remains, as if the
// reduced axes were of length 1.
func NewReduce(l isa.Level, r Reduction, d tensor.DType, shape tensor.Shape, axes uint8) (Step, error) {
	switch {
	case shape.Check() != nil:
		return nil, fmt.Errorf("vec: %v: %w", r, shape.Check())
	case int(r) >= len(reductions):
		return nil, fmt.Errorf("vec: no reduction %v", r)
	case axes>>shape.Rank() != 0:
		return nil, fmt.Errorf("vec: %v: axes %b of %v", r, axes, shape)
	case r == ReduceMean && d.Int():
		return nil, fmt.Errorf("vec: mean of %v", d)
	}
	count := 1
	for i := range shape.Rank() {
		if axes>>i&1 != 0 {
			count *= shape.Dim(i)
		}
	}
	switch d {
	case tensor.F32:
		return newFloatReduce(f32At(l), r, d, shape, axes, count), nil
	case tensor.F64:
		return newFloatReduce(f64At(l), r, d, shape, axes, count), nil
	case tensor.I32:
		return newIntReduce[int32](r, d, shape, axes), nil
	case tensor.I64:
		return newIntReduce[int64](r, d, shape, axes), nil
	case tensor.U8:
		return newIntReduce[uint8](r, d, shape, axes), nil
	}
	return nil, fmt.Errorf("vec: %v of %v", r, d)
}

func newFloatReduce[T float](t *table[T], r Reduction, d tensor.DType, shape tensor.Shape, axes uint8, count int) Step {
	switch r {
	case ReduceMin:
		return newReduce(floatExtremum(t, Min), r, d, shape, axes)
	case ReduceMax:
		return newReduce(floatExtremum(t, Max), r, d, shape, axes)
	case ReduceMean:
		return newReduce(floatSum(t, float64(count)), r, d, shape, axes)
	}
	return newReduce(floatSum(t, 1), r, d, shape, axes)
}

func newIntReduce[T number](r Reduction, d tensor.DType, shape tensor.Shape, axes uint8) Step {
	switch r {
	case ReduceMin:
		return newReduce(intExtremum[T](Min), r, d, shape, axes)
	case ReduceMax:
		return newReduce(intExtremum[T](Max), r, d, shape, axes)
	}
	return newReduce(intSum[T](), r, d, shape, axes)
}

// reduce is a planned reduction of values T, accumulated as A.
type reduce[T number, A number] struct {
	operands
	reducer[T, A]
	kept, reduced []dim // outermost first, without the last axis
	last          int   // the length of the last axis, whose values lie side by side
	lastReduced   bool

	outer, rows int // the products of kept and of reduced
	strip       int // columns of a piece, where the last axis is kept
	strips      int
	piece       int // rows of a piece, or values where the last axis is reduced
	pieces      int // of one result
	units       int // pieces, in all
	group       int // units of one part

	partial []A // the results of pieces, strip after strip, where there are several
	in      []T // of the run
	out     []T
}

// dim is an axis: its length, and the distance between neighbours.
type dim struct{ n, stride int }

func newReduce[T number, A number](r reducer[T, A], name Reduction, d tensor.DType, shape tensor.Shape, axes uint8) *reduce[T, A] {
	p := &reduce[T, A]{reducer: r, last: 1, lastReduced: true, outer: 1, rows: 1}
	var dims []dim
	var flags []bool // reduced
	strides := shape.Strides()
	for i := range shape.Rank() {
		n, flag := shape.Dim(i), axes>>i&1 != 0
		switch last := len(dims) - 1; {
		case n == 1:
		case last >= 0 && flags[last] == flag: // one axis for both
			dims[last] = dim{dims[last].n * n, strides[i]}
		default:
			dims, flags = append(dims, dim{n, strides[i]}), append(flags, flag)
		}
	}
	for i, d := range dims {
		switch {
		case i == len(dims)-1:
			p.last, p.lastReduced = d.n, flags[i]
		case flags[i]:
			p.reduced, p.rows = append(p.reduced, d), p.rows*d.n
		default:
			p.kept, p.outer = append(p.kept, d), p.outer*d.n
		}
	}
	results, length := p.outer, p.rows*p.last
	p.strip, p.strips = 1, 1
	if !p.lastReduced {
		results, length = p.outer*p.last, p.rows
		p.strip = max(1, min(p.last, maxStrip))
		p.strips = parts(p.last, p.strip)
	}
	p.piece = max(1, pieceLen/p.strip, parts(length, maxPieces))
	p.pieces = max(1, parts(length, p.piece)) // of nothing, too, there is a result
	p.units = p.outer * p.strips * p.pieces
	p.group = max(1, pieceLen/max(1, min(length, p.piece)*p.strip))
	if p.pieces > 1 {
		p.partial = make([]A, p.units*p.strip)
	}
	p.operands = operands{name.String(), []array{{d, shape.Size()}}, []array{{d, results}}}
	return p
}

// Run reduces.
func (p *reduce[T, A]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := p.check(in, out); err != nil {
		return err
	}
	if p.units == 0 {
		return nil
	}
	p.in, p.out = view[T](in[0]), view[T](out[0])
	pool.Run(parts(p.units, p.group), p)
	if p.pieces > 1 {
		p.join()
	}
	p.in, p.out = nil, nil
	return nil
}

// Do reduces the pieces of one part.
func (p *reduce[T, A]) Do(part int) {
	f := newFrame(8*(2*maxStrip+2*foldWidth+maxLanes), 0)
	for u := part * p.group; u < min(p.units, (part+1)*p.group); u++ {
		base, piece := offset(p.kept, u/p.pieces/p.strips), u%p.pieces
		if p.lastReduced {
			acc := p.values(f, base, piece)
			if p.pieces > 1 {
				p.partial[u] = acc
			} else {
				p.out[u] = p.result(acc)
			}
			continue
		}
		strip := u / p.pieces % p.strips
		from := strip * p.strip
		n := min(p.strip, p.last-from)
		acc := p.columnsOf(f, base+from, piece, n)
		if p.pieces > 1 {
			copy(p.partial[u*p.strip:], acc)
			continue
		}
		out := p.out[u/p.strips*p.last+from:]
		for j, a := range acc {
			out[j] = p.result(a)
		}
	}
	f.free()
}

// offset is where element i of the axes lies.
func offset(dims []dim, i int) int {
	at := 0
	for k := len(dims) - 1; k >= 0; k-- {
		at += i % dims[k].n * dims[k].stride
		i /= dims[k].n
	}
	return at
}

// values reduces one piece where the last axis is reduced.
func (p *reduce[T, A]) values(f *frame, base, piece int) A {
	acc := p.identity
	for i, end := piece*p.piece, min((piece+1)*p.piece, p.rows*p.last); i < end; {
		from := i % p.last
		n := min(p.last-from, end-i)
		acc = p.combine(acc, p.run(f, &p.in[base+offset(p.reduced, i/p.last)+from], n))
		i += n
	}
	return acc
}

// columnsOf reduces one piece where the last axis is kept: n columns, the first at base.
func (p *reduce[T, A]) columnsOf(f *frame, base, piece, n int) []A {
	acc := view[A](f.buf)[:n]
	for j := range acc {
		acc[j] = p.identity
	}
	for i, end := piece*p.piece, min((piece+1)*p.piece, p.rows); i < end; {
		inner := dim{1, 0}
		if len(p.reduced) > 0 {
			inner = p.reduced[len(p.reduced)-1]
		}
		rows := min(inner.n-i%inner.n, end-i)
		p.folded(f, acc, &p.in[base+offset(p.reduced, i)], inner.stride, rows)
		i += rows
	}
	return acc
}

// folded combines rows into acc. Short rows that follow each other are taken several at a time.
func (p *reduce[T, A]) folded(f *frame, acc []A, a *T, stride, rows int) {
	n := len(acc)
	fold := foldWidth / n
	if stride != n || fold < 2 || rows < 2*fold {
		p.columns(f, acc, a, stride, rows)
		return
	}
	wide := view[A](f.buf[8*maxStrip:])[:fold*n]
	for j := range wide {
		wide[j] = p.identity
	}
	p.columns(f, wide, a, fold*n, rows/fold)
	for j, x := range wide {
		acc[j%n] = p.combine(acc[j%n], x)
	}
	if rest := rows % fold; rest > 0 {
		p.columns(f, acc, at(a, (rows-rest)*n), stride, rest)
	}
}

// join combines the pieces of each result.
func (p *reduce[T, A]) join() {
	for r := range p.outer * p.strips {
		first := p.partial[r*p.pieces*p.strip:]
		out := p.out[r:][:1]
		if !p.lastReduced {
			from := r % p.strips * p.strip
			out = p.out[r/p.strips*p.last+from:][:min(p.strip, p.last-from)]
		}
		for j := range out {
			acc := first[j]
			for k := 1; k < p.pieces; k++ {
				acc = p.combine(acc, first[k*p.strip+j])
			}
			out[j] = p.result(acc)
		}
	}
}

// scratch is the part of the frame that a reducer may use: room for maxStrip results, or foldWidth, and one more vector.
func (f *frame) scratch() unsafe.Pointer { return unsafe.Pointer(&f.buf[8*(maxStrip+foldWidth)]) }
