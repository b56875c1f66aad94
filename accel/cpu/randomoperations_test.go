package cpu_test

import (
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

func (p *program) unary(x ops.Value) { p.keep(p.activation(x)) }

func (p *program) activation(x ops.Value) ops.Value {
	if p.smooth && p.chance(2) {
		switch p.IntN(5) {
		case 0:
			return x.Scale(0.3).Exp()
		case 1:
			return x.Tanh()
		case 2:
			return x.Sigmoid()
		case 3:
			return x.Mul(x).Shift(0.5).Sqrt()
		default:
			return x.Mul(x).Shift(0.5).Log()
		}
	}
	switch p.IntN(8) {
	case 0:
		return x.Neg()
	case 1:
		return x.Scale(float64(p.choose(-2, -1, 0, 1, 2)))
	case 2:
		return x.Shift(float64(p.choose(-2, -1, 0, 1)))
	case 3:
		return x.Identity()
	case 4:
		return x.StopGradient()
	default:
		return x.ReLU()
	}
}

func (p *program) binary(x ops.Value) {
	y := p.partner(x)
	if p.chance(2) {
		x, y = y, x
	}
	switch p.IntN(8) {
	case 0, 1:
		p.keep(x.Add(y))
	case 2:
		p.keep(x.Sub(y))
	case 3:
		p.keep(x.Mul(y))
	case 4:
		p.keep(x.Maximum(y))
	case 5:
		p.keep(x.Minimum(y))
	case 6:
		p.keep(x.Mul(x))
	default:
		if p.smooth {
			p.keep(x.Div(y.Mul(y).Shift(1)))
		} else {
			p.keep(ops.Apply(ops.ReLUGradOp{}, x, x))
		}
	}
}

// branch compares, and chooses by it.
func (p *program) branch(x ops.Value) {
	y := p.partner(x)
	compare := []func(ops.Value) ops.Value{x.Less, x.LessEqual, x.Greater, x.GreaterEqual, x.Equal, x.NotEqual}
	c := compare[p.IntN(len(compare))](y)
	p.keep(c)
	if p.chance(4) {
		c = c.Equal(x.Greater(x.Scale(-1)))
	}
	switch p.IntN(3) {
	case 0:
		p.keep(c.Cast(p.dt))
	default:
		if s, ok := tensor.Broadcast(c.Shape(), x.Shape()); ok && s.Size() <= maxElements {
			z := p.partner(x)
			if s, ok = tensor.Broadcast(s, z.Shape()); ok && s.Size() <= maxElements {
				p.keep(ops.Where(c, x, z))
			}
		}
	}
}

// convert goes to another type, computes there, and comes back.
func (p *program) convert(x ops.Value) {
	types := []tensor.DType{tensor.I32, tensor.I64, tensor.U8, tensor.BF16, tensor.F16, tensor.F32, tensor.F64, tensor.Bool}
	if p.smooth {
		types = []tensor.DType{tensor.F64, p.dt}
	}
	y := x.Cast(types[p.IntN(len(types))])
	if y.DType() != tensor.Bool {
		more := 5
		if y.DType().Float() {
			more++
		}
		switch p.IntN(more) {
		case 0:
			y = y.Add(y)
		case 1:
			y = y.Mul(y.Neg()).ReLU()
		case 2:
			y = y.Maximum(x.Scale(-1).Cast(y.DType()))
		case 3:
			if y.Rank() > 0 {
				y = y.Sum(p.IntN(y.Rank()))
			}
		case 4:
			y = ops.Where(y.Less(y.Mul(y)), y, y.Neg())
		case 5:
			y = y.Scale(3).Shift(-1)
		}
	}
	p.keep(y)
	p.keep(y.Cast(p.dt))
}

// shape moves elements.
func (p *program) shape(x ops.Value) {
	s := x.Shape()
	r := s.Rank()
	if r == 0 {
		p.keep(x.Reshape(1, 1))
		return
	}
	axis := p.IntN(r)
	n := s.Dim(axis)
	switch p.IntN(11) {
	case 0:
		p.keep(x.Reshape(s.Size()))
	case 1: // merge two axes
		if dims := s.Dims(); axis > 0 {
			dims[axis-1] *= dims[axis]
			p.keep(x.Reshape(slices.Delete(dims, axis, axis+1)...))
		}
	case 2: // cut an axis in two
		for _, k := range []int{2, 4, 1} {
			if n%k == 0 && r < 6 {
				p.keep(x.Reshape(slices.Replace(s.Dims(), axis, axis+1, k, n/k)...))
				return
			}
		}
	case 3, 4:
		p.keep(x.Transpose(p.Perm(r)...))
	case 5:
		p.keep(ops.SliceStep(x, axis, p.IntN(n+1), p.IntN(n+2), 1+p.IntN(2)))
	case 6:
		p.keep(ops.SliceStep(x, axis, n-1-p.IntN(n+1), p.IntN(n+1)-1-n, -1-p.IntN(2)))
	case 7:
		p.keep(x.Pad(axis, p.IntN(3), p.IntN(3), float64(p.IntN(3)-1)))
	case 8:
		p.keep(ops.Concat(axis, x, x.Neg(), x))
	case 9:
		if n > 0 && n%2 == 0 {
			parts := x.Split(axis, 2)
			p.keep(parts)
			p.keep(parts.Output(1))
		}
	default:
		if r < 5 {
			p.keep(x.Expand(append([]int{1 + p.IntN(3)}, s.Dims()...)...))
		}
	}
}

func (p *program) reduce(x ops.Value) {
	var axes []int
	for i := range x.Rank() {
		if p.chance(2) {
			axes = append(axes, i)
		}
	}
	if x.Rank() == 4 && p.chance(3) {
		axes = []int{0, 2, 3} // the gradient of a bias
	}
	for _, i := range axes {
		if x.Dim(i) == 0 {
			return
		}
	}
	if x.Shape().Size() == 0 {
		return
	}
	reductions := []func(...int) ops.Value{x.Sum, x.SumKeep, x.Sum, x.SumKeep, x.Max, x.MaxKeep, x.Min}
	if p.smooth {
		reductions = append(reductions, x.Mean, x.MeanKeep)
	}
	p.keep(reductions[p.IntN(len(reductions))](axes...))
}

// index reads and adds by index.
func (p *program) index(x ops.Value) {
	if x.Rank() == 0 || x.Shape().Size() == 0 {
		return
	}
	axis := p.IntN(x.Rank())
	n := x.Dim(axis)
	dims := x.Shape().Dims()
	switch p.IntN(6) {
	case 0:
		p.keep(x.Gather(axis, p.indices(n, p.choose(1, 3, 5))))
	case 1:
		k := 1 + p.IntN(6)
		p.keep(ops.ScatterAdd(x, axis, p.indices(k, n), k))
	case 2:
		dims[axis] = 1 + p.IntN(4)
		p.keep(x.TakeAlong(axis, p.indices(n, dims...)))
	case 3:
		v, i := ops.TopK(x, 1+p.IntN(x.Dim(-1)))
		p.keep(v)
		p.keep(i)
	case 4:
		i := x.ArgMax(axis)
		p.keep(i)
		p.keep(ops.OneHot(i, n, p.dt))
	default:
		starts := make([]int, x.Rank())
		t := tensor.New(tensor.SpecOf(tensor.I64, x.Rank()))
		for i, d := range dims {
			starts[i] = p.IntN(d)
			dims[i] = 1 + p.IntN(d-starts[i])
			t.SetInt(i, int64(starts[i]))
		}
		p.inputs++
		p.keep(ops.DynamicSlice(x, p.tape.Input(fmt.Sprint("s", p.inputs), t), dims...))
	}
}

func (p *program) random(x ops.Value) {
	switch p.IntN(3) {
	case 0:
		p.keep(ops.Uniform(p.tape.Recorder(), x.Spec(), 0, 1).Less(x))
	case 1:
		if p.smooth {
			p.keep(ops.Normal(p.tape.Recorder(), x.Spec(), 0, 1).Mul(x))
		}
	default:
		p.keep(ops.Dropout(x, 0.5))
	}
}

// multiply is a matmul, and what a network puts behind it. Others may read what lies between.
func (p *program) multiply(x ops.Value) {
	s := x.Shape()
	if s.Rank() < 2 {
		return
	}
	transA, transB := p.chance(3), p.chance(2)
	k, n := s.Dim(-1), p.size()
	if transA {
		k = s.Dim(-2)
	}
	dims := []int{k, n}
	if transB {
		dims = []int{n, k}
	}
	if s.Rank() > 2 && p.chance(2) {
		dims = append(s.Dims()[:s.Rank()-2], dims...)
	}
	if tensor.Of(dims...).Size() > maxElements || s.Size()/max(k, 1)*n > maxElements {
		return
	}
	y := ops.MatMulT(x, p.operand(dims...), transA, transB)
	p.tail(y, n)
}

// tail is bias and activation.
func (p *program) tail(y ops.Value, bias ...int) {
	for _, f := range []func(){
		func() {
			b := p.operand(bias...)
			switch p.IntN(4) {
			case 0:
				b = b.Expand(y.Shape().Dims()...)
			case 1:
				b = b.Scale(2)
			}
			if p.chance(2) {
				y = y.Add(b)
			} else {
				y = b.Add(y)
			}
		},
		func() { y = p.activation(y) },
		func() {
			if y.Rank() == 4 && y.Dim(2) > 2 && y.Dim(3) > 2 {
				pool := ops.Pool{Size: 2}
				if p.chance(4) {
					pool = ops.Pool{Size: 2 + p.IntN(2), Stride: 1 + p.IntN(2), Padding: p.IntN(2)}
				}
				y, p.pooled = ops.MaxPool2D(y, pool), true
			}
		},
	} {
		if p.chance(4) { // somebody else reads it
			p.keep(y)
		}
		if !p.chance(3) {
			f()
		}
	}
	p.keep(y)
}

// image is an operation on images.
func (p *program) image(x ops.Value) {
	s := x.Shape()
	c, h, w := s.Dim(1), s.Dim(2), s.Dim(3)
	if s.Size() == 0 {
		return
	}
	switch p.IntN(7) {
	case 2:
		p.reduce(x)
		return
	case 0:
		size := 1 + p.IntN(3)
		if h >= size && w >= size {
			p.keep(ops.MaxPool2D(x, ops.Pool{Size: size, Stride: 1 + p.IntN(3), Padding: p.IntN(size)}))
		}
		return
	case 1:
		size := 1 << p.IntN(2)
		if h >= size && w >= size {
			p.keep(ops.AvgPool2D(x, ops.Pool{Size: size, Stride: 1 + p.IntN(3)}))
		}
		return
	}
	k, out := 1+p.IntN(3), p.choose(1, 3, 5, 16, 17)
	o := ops.Conv{Stride: 1 + p.IntN(2), Padding: p.IntN(k)}
	if p.nan {
		o.Padding = 0
	}
	if h+2*o.Padding < k || w+2*o.Padding < k || out*c*k*k > maxElements {
		return
	}
	y := ops.Conv2D(x, p.operand(out, c, k, k), o)
	if p.smooth && y.Shape().Size() > y.Dim(1) && p.chance(3) {
		y = p.norm(y)
	}
	if p.chance(2) {
		p.tail(y, out, 1, 1)
	} else {
		p.tail(y, 1, out, 1, 1)
	}
}

// normalise is a softmax, a batch-norm or a loss.
func (p *program) normalise(x ops.Value) {
	if x.Rank() == 0 || x.Shape().Size() == 0 {
		return
	}
	switch {
	case x.Rank() == 2 && p.chance(3):
		p.keep(ops.CrossEntropy(x, p.indices(x.Dim(1), x.Dim(0))))
	case x.Rank() == 1 || x.Shape().Size() == x.Dim(1) || p.chance(2):
		p.keep(x.Softmax(p.IntN(x.Rank())))
	default:
		p.keep(p.activation(p.norm(x)))
	}
}

func (p *program) norm(x ops.Value) ops.Value {
	y, mean, variance := ops.BatchNorm(x, p.operand(x.Dim(1)), p.operand(x.Dim(1)), 0.1)
	if p.chance(3) {
		p.keep(mean)
		p.keep(variance)
	}
	return y
}
