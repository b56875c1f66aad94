package autograd

import (
	"context"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// CheckOptions say how CheckGrad compares. The zero value is what smooth functions of numbers around 1 want.
type CheckOptions struct {
	Step      float64 // of the differences, relative to elements larger than 1; 0 means 1e-5
	Tolerance float64 // of the gradient, relative to gradients larger than 1; 0 means 1e-6
}

// GradError is what CheckGrad found: the element whose gradient is furthest from the differences.
type GradError struct {
	Input, Element int          // the input, and the element in row-major order
	Shape          tensor.Shape // of the input
	Gradient       float64      // what the rules say
	Difference     float64      // what differences of the function say
	Rough          bool         // the slopes on both sides differ: the function is not smooth there, and differences prove nothing
	Wrong, Of      int          // how many elements of this input differ
}

func (e *GradError) Error() string {
	s := fmt.Sprintf("gradient of input %d %v, element %d at %v: %v, but differences say %v (%d of %d elements differ)",
		e.Input, e.Shape, e.Element, position(e.Element, e.Shape), e.Gradient, e.Difference, e.Wrong, e.Of)
	if e.Rough {
		s += "; the function is not smooth there"
	}
	return s
}

// position is element i as one index for each axis.
func position(i int, s tensor.Shape) []int {
	at, st := make([]int, s.Rank()), s.Strides()
	for a := range at {
		at[a] = i / st[a] % s.Dim(a)
	}
	return at
}

// CheckGrad compares the gradient of f with central differences in float64, for every element of every float input, and returns a
// *GradError for the worst of those that differ, wrapped. Inputs of other float types are converted to float64; integers are passed on.
//
// f records its computation on t and returns a float64 value of any shape: the gradient is that of its sum weighted by fixed irregular
// numbers, so that no error of one output hides another's. It must record the same each time. It may ask t for gradients itself, which
// checks gradients of gradients. Each element costs two runs: small shapes are enough.
func CheckGrad(ctx context.Context, run Runner, f func(t *Tape, in []ops.Value) ops.Value, in []tensor.Tensor, opts CheckOptions) error {
	if f == nil {
		return fmt.Errorf("autograd: gradient check: %w: there is no function to check", ops.ErrMisuse)
	}
	if err := newCheck(run, f, in, opts).all(ctx); err != nil {
		return fmt.Errorf("autograd: gradient check: %w", err)
	}
	return nil
}

// gradCheck is one CheckGrad.
type gradCheck struct {
	t       *Tape
	f       func(t *Tape, in []ops.Value) ops.Value
	in      []tensor.Tensor // own copies: elements are moved and put back
	weights tensor.Tensor   // of the outputs of f
	CheckOptions
}

func newCheck(run Runner, f func(t *Tape, in []ops.Value) ops.Value, in []tensor.Tensor, opts CheckOptions) *gradCheck {
	c := &gradCheck{t: New(run), f: f, CheckOptions: opts}
	if c.Step == 0 {
		c.Step = 1e-5
	}
	if c.Tolerance == 0 {
		c.Tolerance = 1e-6
	}
	for _, x := range in {
		y := x.Clone()
		if x.DType().Float() {
			y = tensor.New(tensor.Spec{DType: tensor.F64, Shape: x.Shape()})
			for i := range y.Len() {
				y.Set(i, x.At(i))
			}
		}
		c.in = append(c.in, y)
	}
	return c
}

// record records f afresh.
func (c *gradCheck) record() (in []ops.Value, y ops.Value) {
	c.t.Discard()
	for i, x := range c.in {
		in = append(in, c.t.Input(fmt.Sprint("input ", i), x))
	}
	return in, c.f(c.t, in)
}

func (c *gradCheck) all(ctx context.Context) error {
	grads, err := c.gradients(ctx)
	if err != nil {
		return err
	}
	var worst *GradError
	k := 0
	for i, x := range c.in {
		if !x.DType().Float() {
			continue
		}
		e, err := c.input(ctx, i, grads[k])
		if err != nil {
			return err
		}
		if e != nil && e.worse(worst) {
			worst = e
		}
		k++
	}
	if worst != nil {
		return worst
	}
	return nil
}

// worse reports whether the numbers of e are further apart than those of o, or o is nil. NaN is further than anything.
func (e *GradError) worse(o *GradError) bool {
	if o == nil {
		return true
	}
	a, b := math.Abs(e.Gradient-e.Difference), math.Abs(o.Gradient-o.Difference)
	return a > b || a != a && b == b
}

// gradients are those of the float inputs by the rules.
func (c *gradCheck) gradients(ctx context.Context) ([]tensor.Tensor, error) {
	in, y := c.record()
	if err := c.t.Err(); err != nil {
		return nil, err
	}
	if y.DType() != tensor.F64 {
		return nil, &tensor.ShapeError{Msg: "f must return a float64 value", In: []tensor.Spec{y.Spec()}}
	}
	var wrt []ops.Value
	for _, v := range in {
		if v.DType().Float() {
			wrt = append(wrt, v)
		}
	}
	if len(wrt) == 0 {
		return nil, fmt.Errorf("%w: no input holds floats", ops.ErrMisuse)
	}
	c.weights = tensor.New(y.Spec())
	for i := range c.weights.Len() { // between 0.5 and 1.5 with both signs: none is near zero, no two are equal
		x := math.Mod(float64(i+1)*math.Phi, 1)
		c.weights.Set(i, math.Copysign(0.5+x, math.Mod(8*x, 1)-0.5))
	}
	return c.t.Eval(ctx, c.t.VJP(y, c.t.Input("weights", c.weights), wrt...)...)
}

// input compares the elements of input i with grad, and returns the worst of those that differ.
func (c *gradCheck) input(ctx context.Context, i int, grad tensor.Tensor) (worst *GradError, err error) {
	wrong := 0
	for k := range grad.Len() {
		x := c.in[i].At(k)
		h := c.Step * max(1, math.Abs(x))
		var y [3]float64 // at x-h, x+h and, if needed, x
		var size float64
		for side, at := range [2]float64{x - h, x + h} {
			if y[side], size, err = c.at(ctx, i, k, at); err != nil {
				return nil, err
			}
		}
		slope := (y[1] - y[0]) / (2 * h)
		const rounding = 64 * 0x1p-52 // of the sum of all outputs, which the small step magnifies
		if math.Abs(grad.At(k)-slope) <= c.Tolerance*max(1, math.Abs(slope))+rounding*size/h {
			continue
		}
		wrong++
		e := &GradError{Input: i, Element: k, Shape: grad.Shape(), Gradient: grad.At(k), Difference: slope}
		if !e.worse(worst) {
			continue
		}
		if y[2], _, err = c.at(ctx, i, k, x); err != nil {
			return nil, err
		}
		const bend = 1e-3 // a smooth function bends by about h from one side to the other, a kink by its angle
		e.Rough = !(math.Abs((y[1]-y[2])-(y[2]-y[0]))/h <= bend*max(1, math.Abs(slope)))
		worst = e
	}
	if worst != nil {
		worst.Wrong, worst.Of = wrong, grad.Len()
	}
	return worst, nil
}

// at is the weighted sum of the outputs with element k of input i set to x, and the sum of its terms' magnitudes.
func (c *gradCheck) at(ctx context.Context, i, k int, x float64) (sum, size float64, err error) {
	defer c.in[i].Set(k, c.in[i].At(k))
	c.in[i].Set(k, x)
	_, y := c.record()
	out, err := c.t.Eval(ctx, y)
	if err != nil {
		return 0, 0, err
	}
	if out[0].Spec() != c.weights.Spec() {
		return 0, 0, &tensor.ShapeError{Msg: "f returned another shape the second time", In: []tensor.Spec{c.weights.Spec(), out[0].Spec()}}
	}
	for j := range out[0].Len() {
		term := out[0].At(j) * c.weights.At(j)
		sum += term
		size += math.Abs(term)
	}
	return sum, size, nil
}
