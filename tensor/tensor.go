package tensor

import (
	"bytes"
	"fmt"
	"unsafe"
)

// Tensor is a dense row-major host array. Copying a Tensor shares the elements. The zero Tensor is none.
type Tensor struct {
	spec Spec
	p    unsafe.Pointer // the first element; keeps the array alive
	n    int            // the number of elements, so that checking an index costs little
}

// From wraps data, in row-major order, without a copy. Without dims the result has one axis.
func From[T Elem](data []T, dims ...int) (Tensor, error) {
	if len(dims) == 0 {
		dims = []int{len(data)}
	}
	s := Of(dims...)
	if err := s.Check(); err != nil {
		return Tensor{}, fmt.Errorf("tensor: %v: %w", dims, err)
	}
	if s.Size() != len(data) {
		return Tensor{}, fmt.Errorf("tensor: %d elements do not fill shape %v, which has %d", len(data), s, s.Size())
	}
	if len(data) == 0 {
		return New(Spec{TypeOf[T](), s}), nil
	}
	return Wrap(Spec{TypeOf[T](), s}, unsafe.Pointer(unsafe.SliceData(data))), nil
}

// Must is t, or panics with err. It is for literals, as in Must(From([]float32{1, 2})).
func Must(t Tensor, err error) Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

// Scalar is a tensor of rank 0.
func Scalar[T Elem](x T) Tensor {
	return Wrap(Spec{DType: TypeOf[T]()}, unsafe.Pointer(&x))
}

// New makes zeros. A spec that no array can have gives none.
func New(s Spec) Tensor {
	if s.Check() != nil {
		return Tensor{}
	}
	n := max(s.Shape.Size(), 1) // even an empty array has an address
	var p unsafe.Pointer
	switch s.DType.Size() { // by size: alignment is all that the elements ask of memory
	case 8:
		p = unsafe.Pointer(unsafe.SliceData(make([]uint64, n)))
	case 4:
		p = unsafe.Pointer(unsafe.SliceData(make([]uint32, n)))
	case 2:
		p = unsafe.Pointer(unsafe.SliceData(make([]uint16, n)))
	default:
		p = unsafe.Pointer(unsafe.SliceData(make([]uint8, n)))
	}
	return Wrap(s, p)
}

// Full is an array whose elements are all x, converted as Set converts.
func Full(s Spec, x float64) Tensor {
	t := New(s)
	for i := range t.Len() {
		t.Set(i, x)
	}
	return t
}

// Wrap makes a tensor of memory that something else owns, such as a driver's arena: p points to s.Bytes() bytes, aligned for the type.
func Wrap(s Spec, p unsafe.Pointer) Tensor {
	if p == nil {
		return Tensor{}
	}
	return Tensor{s, p, s.Shape.Size()}
}

// Spec describes t.
func (t Tensor) Spec() Spec { return t.spec }

// DType is the element type.
func (t Tensor) DType() DType { return t.spec.DType }

// Shape is the shape.
func (t Tensor) Shape() Shape { return t.spec.Shape }

// IsNone reports whether t is the zero Tensor: an output that nobody uses, say.
func (t Tensor) IsNone() bool { return t.p == nil }

// Len is the number of elements; none has no element.
func (t Tensor) Len() int { return t.n }

// Data is the elements, shared, or nil if T is not t's type.
func Data[T Elem](t Tensor) []T {
	if t.p == nil || TypeOf[T]() != t.spec.DType {
		return nil
	}
	return unsafe.Slice((*T)(t.p), t.n)
}

// Bytes is the memory of the elements, shared, in the machine's byte order.
func (t Tensor) Bytes() []byte {
	if t.p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(t.p), t.n*t.spec.DType.Size())
}

// Reshape is the same elements under another shape of the same size.
func (t Tensor) Reshape(dims ...int) (Tensor, error) {
	s := Of(dims...)
	if s.Check() != nil || s.Size() != t.Len() {
		return Tensor{}, fmt.Errorf("tensor: the %d elements of %v do not fill %v", t.Len(), t.spec, dims)
	}
	return Tensor{Spec{t.spec.DType, s}, t.p, t.n}, nil
}

// Rows is elements lo to hi, exclusive, of the first axis, sharing t's memory; none where t has no such rows.
func (t Tensor) Rows(lo, hi int) Tensor {
	if t.p == nil || t.spec.Shape.Rank() == 0 || lo < 0 || hi < lo || hi > t.spec.Shape.Dim(0) {
		return Tensor{}
	}
	return t.part(t.spec.Shape.With(0, hi-lo), lo)
}

// Row is element i of the first axis, sharing t's memory: of a [64 784] array a [784] array. It is none where t has no such row.
func (t Tensor) Row(i int) Tensor {
	if t.p == nil || t.spec.Shape.Rank() == 0 || i < 0 || i >= t.spec.Shape.Dim(0) {
		return Tensor{}
	}
	var inner Shape
	inner.rank = uint8(copy(inner.dim[:], t.spec.Shape.dim[1:t.spec.Shape.rank]))
	return t.part(inner, i)
}

// part is the array of shape s that starts at row lo. An empty one starts where t does, so that no pointer leaves the array.
func (t Tensor) part(s Shape, lo int) Tensor {
	n := s.Size()
	if n == 0 {
		return Tensor{Spec{t.spec.DType, s}, t.p, 0}
	}
	row := t.n / t.spec.Shape.Dim(0) * t.spec.DType.Size()
	return Tensor{Spec{t.spec.DType, s}, unsafe.Add(t.p, lo*row), n}
}

// Clone is a copy with memory of its own.
func (t Tensor) Clone() Tensor {
	if t.p == nil {
		return t
	}
	u := New(t.spec)
	copy(u.Bytes(), t.Bytes())
	return u
}

// CopyFrom copies the elements of u and reports whether it could: the specs must be equal.
func (t Tensor) CopyFrom(u Tensor) bool {
	if t.p == nil || t.spec != u.spec {
		return false
	}
	copy(t.Bytes(), u.Bytes())
	return true
}

// Same reports whether t and u have the same spec and the same bits.
func (t Tensor) Same(u Tensor) bool { return t.spec == u.spec && bytes.Equal(t.Bytes(), u.Bytes()) }

// String shows the spec and the elements, at most 16 of them.
func (t Tensor) String() string {
	if t.p == nil {
		return "none"
	}
	const most = 16
	var b bytes.Buffer
	b.WriteString(t.spec.String() + "{")
	for i := range min(t.Len(), most) {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case t.spec.DType == F32: // the fewest digits that tell it from its neighbours
			fmt.Fprintf(&b, "%v", float32(t.At(i)))
		case t.spec.DType.Float():
			fmt.Fprintf(&b, "%v", t.At(i))
		case t.spec.DType == Bool:
			fmt.Fprintf(&b, "%v", t.Int(i) != 0)
		default:
			fmt.Fprintf(&b, "%d", t.Int(i))
		}
	}
	if t.Len() > most {
		b.WriteString(" ...")
	}
	return b.String() + "}"
}
