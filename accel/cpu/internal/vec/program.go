package vec

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// Op is an operation of a chain, on one element of each operand.
type Op uint8

// The operations. Operands of one operation have one type, which is the result's too unless it says otherwise. "Any number" is f32, f64, i32, i64
// or u8. Integers wrap around.
const (
	// Const has no operand: it is Instr.Imm, or Instr.Int for i32, i64, u8 and bool, of type Instr.DType.
	Const Op = iota

	// Neg, Abs, Sign and ReLU take any number. Sign is 1 above 0, -1 below, else x; ReLU is 0 below 0, else x: so -0 and NaN stay as they are.
	Neg
	Abs
	Sign
	ReLU

	// The functions take f32 or f64. In f32 the assembly's errors are at most 1.1 ULP for Exp, 0.9 for Log, 1.5 for Tanh and Rsqrt, 2 for Expm1, Log1p, Sin and
	// Cos, 2.5 for Sigmoid, 3 for Erf, Softplus and SiLU, 4 for GELUTanh, 8 for GELU; 6 for the derivatives of SiLU and GELUTanh and 9 for that of GELU,
	// where near their zeros an ULP is one of 1/8. Sqrt and the roundings are exact. Elsewhere they are package math's, rounded.
	Sqrt
	Rsqrt
	Exp
	Log
	Tanh
	Sigmoid
	Expm1
	Log1p
	Sin
	Cos
	Erf
	Floor
	Ceil
	Trunc
	Round // half to even
	Softplus
	SiLU
	SiLUGrad
	GELU
	GELUGrad
	GELUTanh
	GELUTanhGrad

	// Arithmetic takes any number. Min and Max are NaN where an operand is, and take -0 to be below 0; they take bool, too. An integer
	// divided by 0 is 0. FloorDiv rounds the quotient down, and Rem is what remains, with the sign of the divisor.
	Add
	Sub
	Mul
	Div
	FloorDiv
	Rem
	Min
	Max

	// Pow is a to the b, for f32 or f64.
	Pow

	// ReLUGrad is b where a > 0, NaN where a is NaN, else 0: the gradient of ReLU where a is its operand or its result, and b the gradient of
	// the result. f32 or f64.
	ReLUGrad

	// Comparisons take any number or bool and give bool. All but Ne are false where an operand is NaN.
	Lt
	Le
	Gt
	Ge
	Eq
	Ne

	// Where is b where the bool (or u8) a is not 0, else c. b and c are of any type.
	Where

	// Cast converts any type to Instr.DType, as tensor.Tensor.Set does: floats are rounded to nearest even; to an integer, the fraction is
	// cut off, NaN is 0 and what does not fit becomes the nearest value that does; to bool, all but 0 is true.
	Cast

	// Uniform and Normal are random f32 values; see package internal/philox. The operands are the seed and the step, i64 scalars;
	// Instr.Stream is the stream. Element i of the chain is value i + Instr.Base of the stream.
	Uniform
	Normal

	// Dropout is a / (1-p) where a Uniform value is at least p = Instr.Imm, else 0; b is the seed, c the step. f32 or f64.
	Dropout

	numOps
)

// kind groups operations that are checked alike.
type kind uint8

const (
	constant   kind = iota
	arithmetic      // any number
	function        // f32 and f64
	ordering        // any number, bool
	comparison      // any number, bool; gives bool
	selection
	conversion
	random
	mask
)

// opInfo describes an operation.
type opInfo struct {
	name  string
	args  int
	kind  kind
	price int // of one element, roughly, an addition being 1
}

var ops = [allOps]opInfo{
	Const: {"const", 0, constant, 0},
	Neg:   {"neg", 1, arithmetic, 1}, Abs: {"abs", 1, arithmetic, 1}, Sign: {"sign", 1, arithmetic, 1}, ReLU: {"relu", 1, arithmetic, 1},
	Sqrt: {"sqrt", 1, function, 4}, Rsqrt: {"rsqrt", 1, function, 8}, Exp: {"exp", 1, function, 8},
	Log: {"log", 1, function, 10}, Tanh: {"tanh", 1, function, 14}, Sigmoid: {"sigmoid", 1, function, 12},
	Expm1: {"expm1", 1, function, 10}, Log1p: {"log1p", 1, function, 14}, Sin: {"sin", 1, function, 14}, Cos: {"cos", 1, function, 14},
	Erf: {"erf", 1, function, 22}, Floor: {"floor", 1, function, 1}, Ceil: {"ceil", 1, function, 1}, Trunc: {"trunc", 1, function, 1},
	Round: {"round", 1, function, 1}, Softplus: {"softplus", 1, function, 18}, SiLU: {"silu", 1, function, 14}, SiLUGrad: {"silugrad", 1, function, 16},
	GELU: {"gelu", 1, function, 20}, GELUGrad: {"gelugrad", 1, function, 20}, GELUTanh: {"gelutanh", 1, function, 24},
	GELUTanhGrad: {"gelutanhgrad", 1, function, 26}, Pow: {"pow", 2, function, 100},
	FloorDiv: {"floordiv", 2, arithmetic, 40}, Rem: {"rem", 2, arithmetic, 40},
	Add: {"add", 2, arithmetic, 1}, Sub: {"sub", 2, arithmetic, 1}, Mul: {"mul", 2, arithmetic, 1}, Div: {"div", 2, arithmetic, 3},
	Min: {"min", 2, ordering, 2}, Max: {"max", 2, ordering, 2}, ReLUGrad: {"relugrad", 2, function, 2},
	Lt: {"lt", 2, comparison, 2}, Le: {"le", 2, comparison, 2}, Gt: {"gt", 2, comparison, 2},
	Ge: {"ge", 2, comparison, 2}, Eq: {"eq", 2, comparison, 2}, Ne: {"ne", 2, comparison, 2},
	Where: {"where", 3, selection, 2}, Cast: {"cast", 1, conversion, 4},
	Uniform: {"uniform", 2, random, 30}, Normal: {"normal", 2, random, 100}, Dropout: {"dropout", 3, mask, 30},
	mulAdd: {"muladd", 3, arithmetic, 1}, mulSub: {"mulsub", 3, arithmetic, 1},
}

// String is the name of the operation, such as add.
func (o Op) String() string {
	if o < numOps {
		return ops[o].name
	}
	return fmt.Sprintf("vec.Op(%d)", uint8(o))
}

// Reg is a register of a program: a value of each element. Registers are numbered from 0: first the inputs, then the results of the
// instructions, in order.
type Reg int

// Input is an array that a program reads.
type Input struct {
	DType   tensor.DType
	Strides [tensor.MaxRank]int // distance in elements between neighbours along each axis of the program's shape; 0 repeats
}

// Instr is an instruction. Its result is the next register.
type Instr struct {
	Op     Op
	Args   [3]Reg
	DType  tensor.DType // of Const and Cast
	Imm    float64      // of Const and Dropout
	Int    int64        // of Const
	Stream uint64       // of random numbers
	Base   uint64       // of random numbers
}

// Program is an elementwise computation on arrays that broadcast to one shape. It is plain data; the methods only save writing.
type Program struct {
	Shape   tensor.Shape
	Inputs  []Input
	Code    []Instr
	Outputs []Reg // dense arrays of that shape
}

// Input adds an array of that shape, which broadcasts to the program's. All inputs come before the first instruction.
func (p *Program) Input(d tensor.DType, s tensor.Shape) Reg {
	p.Inputs = append(p.Inputs, Input{d, tensor.BroadcastStrides(s, p.Shape)})
	return Reg(len(p.Inputs) - 1)
}

// Do adds an instruction.
func (p *Program) Do(i Instr) Reg {
	p.Code = append(p.Code, i)
	return Reg(len(p.Inputs) + len(p.Code) - 1)
}

// Op adds an operation that needs operands only.
func (p *Program) Op(op Op, args ...Reg) Reg {
	i := Instr{Op: op}
	copy(i.Args[:], args)
	return p.Do(i)
}

// Const adds a constant of a float type.
func (p *Program) Const(d tensor.DType, x float64) Reg {
	return p.Do(Instr{Op: Const, DType: d, Imm: x})
}

// Cast adds a conversion.
func (p *Program) Cast(x Reg, d tensor.DType) Reg {
	return p.Do(Instr{Op: Cast, Args: [3]Reg{x}, DType: d})
}

// types returns the type of each register, or says what is wrong.
func (p *Program) types() ([]tensor.DType, error) {
	var ts []tensor.DType
	for i, in := range p.Inputs {
		if in.DType == tensor.None || in.DType.Size() == 0 {
			return nil, fmt.Errorf("vec: chain: input %d has no type", i)
		}
		for axis, s := range in.Strides {
			if s < 0 || s > 0 && axis >= p.Shape.Rank() {
				return nil, fmt.Errorf("vec: chain: input %d has stride %d along axis %d of %v", i, s, axis, p.Shape)
			}
		}
		ts = append(ts, in.DType)
	}
	for i, in := range p.Code {
		if in.Op >= numOps {
			return nil, fmt.Errorf("vec: chain: instruction %d is %v", i, in.Op)
		}
		var args [3]tensor.DType
		for j := range ops[in.Op].args {
			a := in.Args[j]
			if a < 0 || int(a) >= len(ts) {
				return nil, fmt.Errorf("vec: chain: instruction %d (%v) reads register %d of %d", i, in.Op, a, len(ts))
			}
			args[j] = ts[a]
		}
		t, ok := in.result(args)
		if !ok {
			return nil, fmt.Errorf("vec: chain: instruction %d (%v) does not take %v", i, in.Op, args[:ops[in.Op].args])
		}
		ts = append(ts, t)
	}
	for i, r := range p.Outputs {
		if r < 0 || int(r) >= len(ts) {
			return nil, fmt.Errorf("vec: chain: output %d is register %d of %d", i, r, len(ts))
		}
	}
	return ts, nil
}

// result is the type of the result, for operands of these types, if it takes them.
func (in *Instr) result(args [3]tensor.DType) (tensor.DType, bool) {
	a, b, c := args[0], args[1], args[2]
	real := a == tensor.F32 || a == tensor.F64
	same := ops[in.Op].args == 1 || a == b
	switch ops[in.Op].kind {
	case constant, conversion:
		return in.DType, in.DType.Size() > 0
	case arithmetic:
		return a, same && (real || a.Int())
	case function:
		return a, same && real
	case ordering:
		return a, same && (real || a.Int() || a == tensor.Bool)
	case comparison:
		return tensor.Bool, same && (real || a.Int() || a == tensor.Bool)
	case selection:
		return b, b == c && (a == tensor.Bool || a == tensor.U8)
	case random:
		return tensor.F32, a == tensor.I64 && b == tensor.I64
	default: // mask
		return a, real && b == tensor.I64 && c == tensor.I64 && in.Imm >= 0 && in.Imm <= 1
	}
}
