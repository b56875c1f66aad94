package tensor

import "fmt"

// DType is an element type. The zero DType is none: the type of a poisoned value.
type DType uint8

// The element types.
const (
	None DType = iota
	F32
	F64
	BF16 // bfloat16: the upper half of a float32
	F16  // IEEE 754 binary16
	I32
	I64
	U8
	Bool
)

// DTypes are all element types, for tables and tests.
var DTypes = [...]DType{F32, F64, BF16, F16, I32, I64, U8, Bool}

var dtypes = [...]struct {
	name string
	size int
}{{"none", 0}, {"f32", 4}, {"f64", 8}, {"bf16", 2}, {"f16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1}, {"bool", 1}}

// String is the short name: f32, bf16, bool.
func (d DType) String() string {
	if int(d) < len(dtypes) {
		return dtypes[d].name
	}
	return fmt.Sprintf("tensor.DType(%d)", uint8(d))
}

// Size is the number of bytes of one element.
func (d DType) Size() int {
	if int(d) < len(dtypes) {
		return dtypes[d].size
	}
	return 0
}

// Float reports whether values of d have gradients.
func (d DType) Float() bool { return d >= F32 && d <= F16 }

// Int reports whether d is an integer type. Bool is not.
func (d DType) Int() bool { return d >= I32 && d <= U8 }

// Elem is the set of Go types that elements have.
type Elem interface {
	float32 | float64 | BFloat16 | Float16 | int32 | int64 | uint8 | bool
}

// TypeOf is the DType of a Go element type.
func TypeOf[T Elem]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case BFloat16:
		return BF16
	case Float16:
		return F16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	}
	return Bool
}
