package vec

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// Layout says where the elements of an array lie within a larger one.
type Layout struct {
	Size    int                 // elements of the larger array
	Offset  int                 // of the first element
	Strides [tensor.MaxRank]int // the distance in elements between neighbours along each axis; negative to go backward
}

// Dense is the layout of an array that fills its memory in row-major order.
func Dense(s tensor.Shape) Layout { return Layout{Size: s.Size(), Strides: s.Strides()} }

const (
	// tile is the side of a square that is transposed at a time, so that both its rows and its columns stay in the first-level cache.
	tile = 64
	// runLen is how many elements of a long run one unit copies.
	runLen = 1 << 14
	// moveLen is about how many elements one part moves.
	moveLen = 1 << 15
)

// NewMove plans a copy of the array of that shape from one layout to another. It takes and gives the larger arrays, of which only the elements
// of the layout are read or written, and no element of dst may be there twice. That is permuting axes, slicing, joining arrays (one step
// for each), padding (fill the output first, with a chain), and repeating: a stride of src may be 0.
func NewMove(l isa.Level, d tensor.DType, shape tensor.Shape, dst, src Layout) (Step, error) {
	if err := shape.Check(); err != nil || d.Size() == 0 {
		return nil, fmt.Errorf("vec: move of %v%v", d, shape)
	}
	for _, l := range []Layout{dst, src} {
		lo, hi := l.Offset, l.Offset
		for i := range shape.Rank() {
			lo += min(0, l.Strides[i]*(shape.Dim(i)-1))
			hi += max(0, l.Strides[i]*(shape.Dim(i)-1))
		}
		if shape.Size() > 0 && (lo < 0 || hi >= l.Size) {
			return nil, fmt.Errorf("vec: move: elements %d to %d of %d", lo, hi, l.Size)
		}
	}
	o := operands{"move", []array{{d, src.Size}}, []array{{d, dst.Size}}}
	switch d.Size() {
	case 1:
		return newMove[uint8](o, shape, dst, src), nil
	case 2:
		return newMove[uint16](o, shape, dst, src), nil
	case 8:
		return newMove[uint64](o, shape, dst, src), nil
	}
	m := newMove[uint32](o, shape, dst, src)
	m.table = f32At(l)
	return m, nil
}

// way is an axis that a move walks along: its length and the two strides.
type way struct{ n, dst, src int }

// move is a planned copy of elements of the size of T.
type move[T any] struct {
	operands
	dstAt, srcAt int   // offsets
	outer        []way // the axes but those of a unit, outermost first
	across, run  way   // a unit moves some of across times some of run; across.n is 1 where runs are copied as they are

	acrossLen, runLen int // of a unit
	acrosses, runs    int // units along each
	units, group      int

	table   *table[float32] // for elements of four bytes, whatever their type
	in, out []T             // of the run
}

func newMove[T any](o operands, shape tensor.Shape, dst, src Layout) *move[T] {
	m := &move[T]{operands: o, dstAt: dst.Offset, srcAt: src.Offset, across: way{n: 1}, run: way{1, 1, 1}}
	if shape.Size() == 0 {
		return m
	}
	ways := joinWays(shape, dst, src)
	if len(ways) > 0 {
		m.run, ways = ways[len(ways)-1], ways[:len(ways)-1]
	}
	m.acrossLen, m.runLen = 1, runLen
	// Where runs are scattered in src, another axis may lie side by side there: then squares are transposed.
	if k := slices.IndexFunc(ways, func(w way) bool { return w.src == 1 }); k >= 0 && m.run.src != 1 {
		m.across = ways[k]
		ways = slices.Delete(ways, k, k+1)
		m.acrossLen, m.runLen = tile, tile
	}
	m.outer, m.units = ways, 1
	for _, w := range ways {
		m.units *= w.n
	}
	m.acrosses, m.runs = parts(m.across.n, m.acrossLen), parts(m.run.n, m.runLen)
	m.units *= m.acrosses * m.runs
	m.group = max(1, moveLen/(min(m.across.n, m.acrossLen)*min(m.run.n, m.runLen)))
	return m
}

// joinWays orders the axes by their strides in dst, largest first, and joins those that are one axis in both arrays.
func joinWays(shape tensor.Shape, dst, src Layout) []way {
	var ways []way
	for i := range shape.Rank() {
		if n := shape.Dim(i); n > 1 {
			ways = append(ways, way{n, dst.Strides[i], src.Strides[i]})
		}
	}
	slices.SortStableFunc(ways, func(a, b way) int { return cmp.Compare(max(b.dst, -b.dst), max(a.dst, -a.dst)) })
	var joined []way
	for _, w := range ways {
		if k := len(joined) - 1; k >= 0 && joined[k].dst == w.n*w.dst && joined[k].src == w.n*w.src {
			joined[k] = way{joined[k].n * w.n, w.dst, w.src}
		} else {
			joined = append(joined, w)
		}
	}
	return joined
}

// Run copies.
func (m *move[T]) Run(pool *work.Pool, in, out [][]byte) error {
	if err := m.check(in, out); err != nil {
		return err
	}
	if m.units > 0 {
		m.in, m.out = view[T](in[0]), view[T](out[0])
		pool.Run(parts(m.units, m.group), m)
		m.in, m.out = nil, nil
	}
	return nil
}

// Do copies one part.
func (m *move[T]) Do(part int) {
	for u := part * m.group; u < min(m.units, (part+1)*m.group); u++ {
		i, j := u/m.runs%m.acrosses*m.acrossLen, u%m.runs*m.runLen
		d := m.dstAt + i*m.across.dst + j*m.run.dst
		s := m.srcAt + i*m.across.src + j*m.run.src
		for k, rest := len(m.outer)-1, u/m.runs/m.acrosses; k >= 0; k-- {
			w := m.outer[k]
			d += rest % w.n * w.dst
			s += rest % w.n * w.src
			rest /= w.n
		}
		m.unit(d, s, min(m.acrossLen, m.across.n-i), min(m.runLen, m.run.n-j))
	}
}

// unit copies n runs of length l.
func (m *move[T]) unit(d, s, n, l int) {
	if m.run.dst == 1 && m.run.src == 1 {
		copy(m.out[d:d+l], m.in[s:s+l])
		return
	}
	if m.table != nil && m.table.transpose != nil && m.run.dst == 1 && m.across.src == 1 && n >= 4 {
		rows := m.table.lanes
		for ; l >= rows; l -= rows {
			m.table.transpose((*float32)(unsafe.Pointer(&m.out[d])), m.across.dst, (*float32)(unsafe.Pointer(&m.in[s])), m.run.src, n)
			d, s = d+rows, s+rows*m.run.src
		}
	}
	for i := range n {
		dst, src := d+i*m.across.dst, s+i*m.across.src
		for range l {
			m.out[dst] = m.in[src]
			dst += m.run.dst
			src += m.run.src
		}
	}
}
