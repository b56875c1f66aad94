package tensor

import (
	"fmt"
	"strconv"
)

// MaxRank is the largest rank.
const MaxRank = 8

// maxSize bounds the number of elements, so that sizes in bytes never overflow an int.
const maxSize = 1 << 40

// Shape is a comparable list of up to MaxRank dimensions. The zero Shape is that of a scalar.
type Shape struct {
	rank uint8 // invalid where no such shape exists
	dim  [MaxRank]int
}

// invalid marks what Of was given too many dimensions, a negative one, or too many elements for.
const invalid = 255

// Of makes a shape. It is total, so that code that builds graphs needs no error of its own: for dimensions that no array can have it
// gives a shape whose Check fails, and recording an operation checks.
func Of(dims ...int) Shape {
	var s Shape
	size := 1
	for _, d := range dims {
		if d < 0 || len(dims) > MaxRank || d > 0 && size > maxSize/d {
			return Shape{rank: invalid}
		}
		if d > 0 { // a zero hides no overflow of the others
			size *= d
		}
	}
	s.rank = uint8(copy(s.dim[:], dims))
	return s
}

// Check is nil, or says why the shape cannot be.
func (s Shape) Check() error {
	if s.rank == invalid {
		return fmt.Errorf("tensor: invalid shape: more than %d dimensions, a negative one, or more than 2^40 elements", MaxRank)
	}
	return nil
}

// Rank is the number of dimensions.
func (s Shape) Rank() int {
	if s.rank == invalid {
		return 0
	}
	return int(s.rank)
}

// Dim is dimension i, counted from the end if negative. It is total: outside the rank it is 1, so that code that divides by it
// survives a poisoned graph.
func (s Shape) Dim(i int) int {
	if i < 0 {
		i += s.Rank()
	}
	if i < 0 || i >= s.Rank() {
		return 1
	}
	return s.dim[i]
}

// Dims is a copy of the dimensions.
func (s Shape) Dims() []int { return append([]int(nil), s.dim[:s.Rank()]...) }

// Size is the number of elements; 1 for a scalar.
func (s Shape) Size() int {
	n := 1
	for _, d := range s.dim[:s.Rank()] {
		n *= d
	}
	return n
}

// With is s with dimension i, counted from the end if negative, replaced by d.
func (s Shape) With(i, d int) Shape {
	if i < 0 {
		i += s.Rank()
	}
	if i < 0 || i >= s.Rank() || d < 0 {
		return Shape{rank: invalid}
	}
	s.dim[i] = d
	return Of(s.dim[:s.rank]...)
}

// Strides are the distances, in elements, between neighbours along each axis of a dense row-major array.
func (s Shape) Strides() [MaxRank]int {
	var st [MaxRank]int
	n := 1
	for i := s.Rank() - 1; i >= 0; i-- {
		st[i] = n
		n *= s.dim[i]
	}
	return st
}

// String is the dimensions in brackets: [64 784].
func (s Shape) String() string {
	if s.rank == invalid {
		return "[invalid]"
	}
	b := []byte{'['}
	for i, d := range s.dim[:s.rank] {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(d), 10)
	}
	return string(append(b, ']'))
}

// Broadcast is the shape of an elementwise operation on s and t: axes are aligned at the end, and an axis of size 1 or a missing one repeats.
func Broadcast(s, t Shape) (Shape, bool) {
	if s.rank == invalid || t.rank == invalid {
		return Shape{rank: invalid}, false
	}
	n := max(s.rank, t.rank)
	out := Shape{rank: n}
	for i := 1; i <= int(n); i++ {
		a, b := 1, 1
		if i <= int(s.rank) {
			a = s.dim[int(s.rank)-i]
		}
		if i <= int(t.rank) {
			b = t.dim[int(t.rank)-i]
		}
		if a != b && a != 1 && b != 1 {
			return Shape{}, false
		}
		if a == 1 {
			a = b
		}
		out.dim[int(n)-i] = a
	}
	return out, Of(out.dim[:n]...).rank != invalid
}

// BroadcastStrides are the distances, in elements of an array of shape s, between neighbours along each axis of the shape to, to which
// s broadcasts: 0 where s repeats.
func BroadcastStrides(s, to Shape) [MaxRank]int {
	var st [MaxRank]int
	own, shift := s.Strides(), to.Rank()-s.Rank()
	for i := range s.Rank() {
		if s.dim[i] != 1 && i+shift >= 0 {
			st[i+shift] = own[i]
		}
	}
	return st
}
