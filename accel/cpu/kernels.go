package cpu

import (
	"fmt"
	"reflect"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/vec"
	"github.com/cortado-ml/cortado/ops"
)

// kernels are what compiles the nodes of each operation, by its type, and instructions those of the elementwise ones, which become part of
// a chain. Each file enters its own while the program's variables are initialised, beside their code, and nobody writes them afterwards.
// They are read when a program is compiled, not when it runs.
var (
	kernels      = map[reflect.Type]func(*accel.Node) emitFunc{}
	instructions = map[reflect.Type]instruction{}
)

// instruction is how an elementwise operation, each element of whose outputs depends on one element of each input, joins a chain.
type instruction struct {
	write func(*chainWriter, *accel.Node) vec.Reg
	rng   bool // the last input is seed and step of random numbers, no element
}

// kernelOf enters an operation that is always compiled by emit.
func kernelOf[O ops.Op](emit emitFunc) struct{} {
	return kernelBy(func(O, *accel.Node) emitFunc { return emit })
}

// kernelBy enters an operation whose attributes or types say what compiles it; nil if nothing does.
func kernelBy[O ops.Op](choose func(O, *accel.Node) emitFunc) struct{} {
	kernels[reflect.TypeFor[O]()] = func(n *accel.Node) emitFunc { return choose(n.Op.(O), n) }
	return struct{}{}
}

// elementwise enters an operation that becomes an instruction of a chain.
func elementwise[O ops.Op](write func(*chainWriter, O, *accel.Node) vec.Reg) struct{} {
	instructions[reflect.TypeFor[O]()] = instruction{write: func(w *chainWriter, n *accel.Node) vec.Reg { return write(w, n.Op.(O), n) }}
	return struct{}{}
}

// random is elementwise for an operation that draws random numbers.
func random[O ops.Op](write func(*chainWriter, O, *accel.Node) vec.Reg) struct{} {
	elementwise(write)
	i := instructions[reflect.TypeFor[O]()]
	i.rng = true
	instructions[reflect.TypeFor[O]()] = i
	return struct{}{}
}

// emitter is what compiles a node, or why nothing does. It is what both Supports and Compile ask.
func (d *Device) emitter(n *accel.Node) (emitFunc, error) {
	if len(n.Args) != len(n.In) {
		return nil, fmt.Errorf("cpu: %s has %d inputs and the specs of %d", n.Op.Name(), len(n.In), len(n.Args))
	}
	if n.Ref {
		return (*compiler).reference, nil
	}
	t := reflect.TypeOf(n.Op)
	if _, ok := instructions[t]; ok {
		return (*compiler).join, nil
	}
	if choose, ok := kernels[t]; ok {
		if emit := choose(n); emit != nil {
			return emit, nil
		}
	}
	return nil, fmt.Errorf("cpu: %s: %w: there is no kernel for this operation", n.Op.Name(), accel.ErrUnsupported)
}

// seeds reports whether input x of a node is seed and step of its random numbers, which are no elements of a chain.
func seeds(n *accel.Node, x int) bool { return drawsRandom(n.Op) && x == len(n.In)-1 }

// drawsRandom reports whether an operation draws random numbers.
func drawsRandom(op ops.Op) bool { return instructions[reflect.TypeOf(op)].rng }
