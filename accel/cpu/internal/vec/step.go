package vec

import (
	"fmt"
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/tensor"
)

// Step is a computation that was planned for one shape. It owns what scratch memory it needs, so one goroutine may run it at a time.
type Step interface {
	// Run computes out from in. Each slice is the memory of an array, dense and in row-major order unless the constructor says otherwise, in the
	// machine's byte order, aligned for its element type, at least as long as the array. Outputs do not overlap inputs or each other, unless
	// the constructor allows it. The error is about the data, such as an index out of range: it leaves the outputs undefined.
	Run(pool *work.Pool, in, out [][]byte) error
}

// array says how long the memory of an operand is.
type array struct {
	dtype tensor.DType
	n     int
}

// operands is what a step checks before it touches memory.
type operands struct {
	name    string
	in, out []array
}

// check compares the lengths: a step that ran on less would write where it must not.
func (o *operands) check(in, out [][]byte) error {
	if len(in) != len(o.in) || len(out) != len(o.out) {
		return fmt.Errorf("vec: %s: %d inputs and %d outputs, not %d and %d", o.name, len(in), len(out), len(o.in), len(o.out))
	}
	for i, a := range o.in {
		if len(in[i]) < a.n*a.dtype.Size() {
			return fmt.Errorf("vec: %s: input %d has %d bytes, not %d", o.name, i, len(in[i]), a.n*a.dtype.Size())
		}
	}
	for i, a := range o.out {
		if len(out[i]) < a.n*a.dtype.Size() {
			return fmt.Errorf("vec: %s: output %d has %d bytes, not %d", o.name, i, len(out[i]), a.n*a.dtype.Size())
		}
	}
	return nil
}

// number is the set of types that arithmetic is defined on.
type number interface {
	float32 | float64 | int32 | int64 | uint8
}

// float is the set of types that functions such as exp are defined on.
type float interface{ float32 | float64 }

// view is the memory as values of type T, as many as fit.
func view[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// at is the address of value i of an array that starts at p.
func at[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

// parts is the number of pieces of at most size that n things make.
func parts(n, size int) int { return (n + size - 1) / size }
