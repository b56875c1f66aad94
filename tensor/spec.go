package tensor

import (
	"fmt"
	"strings"
)

// Spec is what is known of a value before it is computed. The zero Spec is that of a poisoned value.
type Spec struct {
	DType DType
	Shape Shape
}

// SpecOf makes a Spec.
func SpecOf(d DType, dims ...int) Spec { return Spec{d, Of(dims...)} }

// String is the type and the shape: f32[64 784].
func (s Spec) String() string { return s.DType.String() + s.Shape.String() }

// Bytes is the size of the data.
func (s Spec) Bytes() int { return s.DType.Size() * s.Shape.Size() }

// Check is nil, or says why no array can have the spec.
func (s Spec) Check() error {
	if s.DType == None || int(s.DType) >= len(dtypes) {
		return fmt.Errorf("tensor: no element type %v", s.DType)
	}
	return s.Shape.Check()
}

// ShapeError says which shapes or types an operation refused, and what it wants.
type ShapeError struct {
	Msg string // what is wrong, in the words of the operation
	In  []Spec // the operands
}

func (e *ShapeError) Error() string {
	if len(e.In) == 0 {
		return e.Msg
	}
	var b strings.Builder
	b.WriteString(e.Msg + " (")
	for i, s := range e.In {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.String())
	}
	return b.String() + ")"
}
