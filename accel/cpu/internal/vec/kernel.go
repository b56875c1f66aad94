package vec

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/tensor"
)

// call is one execution of an instruction on n elements.
type call struct {
	dst   unsafe.Pointer
	src   [3]unsafe.Pointer
	step  [3]int // 1, or 0 for an operand all of whose elements are the same
	n     int
	start int // the first element's number in the chain
	instr *Instr

	words unsafe.Pointer // room for wordBytes, where the chain draws random numbers
}

// kernel does a call, which it may change.
type kernel func(*call)

// uniformLen is how many elements of an operand of step 0 are there: a vector of the widest level.
const uniformLen = 16

// table has the kernels of one level for one type. Steps are as in call.
type table[T float] struct {
	unary   [numOps]func(dst, a *T, n int)
	binary  [numOps]func(dst, a, b *T, aStep, bStep, n int)
	compare [numOps]func(dst *uint8, a, b *T, aStep, bStep, n int) // n is a multiple of lanes
	casts   casts
	mulAdd  func(dst, a, b, c *T, aStep, bStep, cStep, n int)
	mulSub  func(dst, a, b, c *T, aStep, bStep, cStep, n int)
	where   func(dst *T, c *uint8, a, b *T, aStep, bStep, n int) // n is a multiple of lanes; nil for the plain loop
	// stream copies n bytes, a multiple of 64, past the caches to memory aligned to 64; fence must follow before others read it. They are nil where
	// there is no way past the caches.
	stream func(dst, src *byte, n int)
	fence  func()

	// transpose is dst[p*step+i] = src[i*stride+p] for i < lanes and p < k, at least 4; nil for the plain loop.
	transpose func(dst *float32, step int, src *float32, stride, k int)

	// philox stores n times 4*lanes words: the blocks from that number on. unit makes multiples of 2^-24 of words, which it reads as the bits of a.
	// dropout is a/kept where a word, shifted right by 8, is greater than below, else 0.
	philox  func(dst *uint32, key, step, block uint64, n int)
	unit    func(dst, a *float32, n int)
	dropout func(dst, a *T, words *uint32, below int, kept T, n int)

	// The reductions store partial results, as many as lanes.
	lanes  int
	sum    func(acc *float64, a *T, n int)
	dot    func(acc *float64, a, b *T, n int)
	expSum func(dst *T, acc *float64, a *T, m T, n int) // dst = e**(a-m), and its sum; dst may be a
	min    func(acc, a *T, n int)
	max    func(acc, a *T, n int)

	// columnSum stores the sum of each of n columns, over rows that are stride values apart; columnSquares that of (a-mean)**2, columnProducts that of
	// a*(b-mean). Arrays with a value for each column have room for whole vectors, here and below.
	columnSum      func(acc *float64, a *T, stride, rows, n int)
	columnSquares  func(acc *float64, a *T, mean *float64, stride, rows, n int)
	columnProducts func(acc *float64, a, b *T, mean *float64, stride, rows, n int)

	// normalise is dst = (a-hi-lo)*scale + bias and normaliseGrad dst = (a - shift - (b-hi-lo)*slope)*scale, in each column.
	normalise     func(dst, a, hi, lo, scale, bias *T, stride, rows, n int)
	normaliseGrad func(dst, a, b, hi, lo, scale, shift, slope *T, stride, rows, n int)
}

// casts has conversions of whole vectors; nil for the plain loop.
type casts struct {
	bf16ToF32, f16ToF32 func(dst *float32, a *uint16, n int)
	f32ToBF16, f32ToF16 func(dst *uint16, a *float32, n int)
	u8ToF32             func(dst *float32, a *uint8, n int)
}

// maxLanes is the most partial results that a reduction gives.
const maxLanes = 16

// f32At is the table of a level.
func f32At(l isa.Level) *table[float32] {
	t := goTable[float32]()
	override(l, t)
	return t
}

// f64At is the same table at every level.
func f64At(isa.Level) *table[float64] { return goTable[float64]() }

// lookup finds the kernel of an instruction whose operands have these types.
func lookup(l isa.Level, in *Instr, args [3]tensor.DType) kernel {
	t := args[0]
	switch ops[in.Op].kind {
	case constant:
		return constantKernel(in.DType)
	case conversion:
		return castAt(f32At(l), t, in.DType)
	case selection:
		return whereKernel(l, args[1])
	case random:
		if in.Op == Normal {
			return normal
		}
		return f32At(l).uniform
	case mask:
		if t == tensor.F64 {
			return dropoutKernel(f64At(l))
		}
		return dropoutKernel(f32At(l))
	}
	switch t {
	case tensor.F32:
		return tableKernel(f32At(l), in.Op)
	case tensor.F64:
		return tableKernel(f64At(l), in.Op)
	case tensor.I32:
		return plainKernel[int32](in.Op)
	case tensor.I64:
		return plainKernel[int64](in.Op)
	}
	return plainKernel[uint8](in.Op) // bool is 0 or 1
}

// tableKernel calls a kernel of the table.
func tableKernel[T float](t *table[T], op Op) kernel {
	switch op {
	case Gt:
		return swapped(tableKernel(t, Lt))
	case Ge:
		return swapped(tableKernel(t, Le))
	case mulAdd:
		return ternaryKernel(t.mulAdd)
	case mulSub:
		return ternaryKernel(t.mulSub)
	}
	if f := t.unary[op]; f != nil {
		return func(c *call) { f((*T)(c.dst), (*T)(c.src[0]), c.n) }
	}
	if f := t.binary[op]; f != nil {
		return func(c *call) { f((*T)(c.dst), (*T)(c.src[0]), (*T)(c.src[1]), c.step[0], c.step[1], c.n) }
	}
	f, lanes, rest := t.compare[op], t.lanes, plainKernel[T](op)
	return func(c *call) {
		if whole := c.n - c.n%lanes; whole > 0 {
			f((*uint8)(c.dst), (*T)(c.src[0]), (*T)(c.src[1]), c.step[0], c.step[1], whole)
			size := int(unsafe.Sizeof(T(0)))
			c.skip(whole, 1, size, size, 0)
		}
		if c.n > 0 {
			rest(c)
		}
	}
}

func ternaryKernel[T float](f func(dst, a, b, c *T, aStep, bStep, cStep, n int)) kernel {
	return func(c *call) {
		f((*T)(c.dst), (*T)(c.src[0]), (*T)(c.src[1]), (*T)(c.src[2]), c.step[0], c.step[1], c.step[2], c.n)
	}
}

// plainKernel calls a plain loop.
func plainKernel[T number](op Op) kernel {
	switch op {
	case Gt:
		return swapped(plainKernel[T](Lt))
	case Ge:
		return swapped(plainKernel[T](Le))
	case Neg, Abs, Sign, ReLU:
		return func(c *call) { unary(op, (*T)(c.dst), (*T)(c.src[0]), c.n) }
	case Lt, Le, Eq, Ne:
		return func(c *call) {
			compare(op, (*uint8)(c.dst), (*T)(c.src[0]), (*T)(c.src[1]), c.step[0], c.step[1], c.n)
		}
	}
	return func(c *call) {
		binary(op, (*T)(c.dst), (*T)(c.src[0]), (*T)(c.src[1]), c.step[0], c.step[1], c.n)
	}
}

// whereKernel selects among values of type t: only its size counts.
func whereKernel(l isa.Level, t tensor.DType) kernel {
	switch t.Size() {
	case 1:
		return where[uint8]
	case 2:
		return where[uint16]
	case 8:
		return where[uint64]
	}
	k := f32At(l)
	if k.where == nil {
		return where[uint32]
	}
	return func(c *call) {
		if whole := c.n - c.n%k.lanes; whole > 0 && c.step[0] == 1 {
			k.where((*float32)(c.dst), (*uint8)(c.src[0]), (*float32)(c.src[1]), (*float32)(c.src[2]), c.step[1], c.step[2], whole)
			c.skip(whole, 4, 1, 4, 4)
		}
		if c.n > 0 {
			where[uint32](c)
		}
	}
}

// swapped exchanges the operands.
func swapped(k kernel) kernel {
	return func(c *call) {
		c.src[0], c.src[1] = c.src[1], c.src[0]
		c.step[0], c.step[1] = c.step[1], c.step[0]
		k(c)
	}
}

// skip drops the first n elements, whose sizes in bytes are given. If none remain it moves no pointer: one past the end would be a stranger's.
func (c *call) skip(n, dst, a, b, d int) {
	if c.n -= n; c.n == 0 {
		return
	}
	c.dst = unsafe.Add(c.dst, n*dst)
	for i, size := range [3]int{a, b, d} {
		c.src[i] = unsafe.Add(c.src[i], n*size*c.step[i])
	}
}
