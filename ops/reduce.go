package ops

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// ReduceFunc names a function of many numbers.
type ReduceFunc uint8

// The functions of ReduceOp.
const (
	SumOf ReduceFunc = iota
	MeanOf
	MaxOf // NaN if any is NaN
	MinOf // NaN if any is NaN
)

var _ = register(ReduceOp{}, ArgMaxOp{})

var reduceNames = [...]string{"sum", "mean", "max", "min"}

// ReduceOp folds the axes of its mask: bit i is axis i. A sum of integers wraps around, as in Go. The sum of nothing is 0 and its mean
// NaN; a maximum of nothing is refused. The reference adds in float64, in row-major order; a driver may add in any fixed order whose
// error does not grow with the number of terms as a plain float32 sum's does.
type ReduceOp struct {
	total
	F    ReduceFunc
	Axes uint8
	Keep bool // folded axes stay, with size 1
}

// Name is the function's.
func (o ReduceOp) Name() string { return nameOf(reduceNames[:], o.F) }

// Infer drops the folded axes, or gives them size 1.
func (o ReduceOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(1, in); err != nil {
		return nil, err
	}
	if err := checkFunc(reduceNames[:], o.F, in); err != nil {
		return nil, err
	}
	s := in[0].Shape
	switch {
	case bits.Len8(o.Axes) > s.Rank():
		return nil, &tensor.ShapeError{Msg: noAxis(bits.Len8(o.Axes)-1, s.Rank()), In: in}
	case in[0].DType == tensor.Bool:
		return nil, &tensor.ShapeError{Msg: "bool has no arithmetic; write a Cast", In: in}
	case o.F == MeanOf && !in[0].DType.Float():
		return nil, &tensor.ShapeError{Msg: "the mean of integers is no integer; write a Cast", In: in}
	}
	var dims []int
	for i := range s.Rank() {
		folded := o.Axes&(1<<i) != 0
		if folded && s.Dim(i) == 0 && (o.F == MaxOf || o.F == MinOf) {
			return nil, &tensor.ShapeError{Msg: "an axis of size 0 has no " + reduceNames[o.F], In: in}
		}
		switch {
		case !folded:
			dims = append(dims, s.Dim(i))
		case o.Keep:
			dims = append(dims, 1)
		}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: tensor.Of(dims...)}}, nil
}

// kept is the shape of the result with all axes.
func (o ReduceOp) kept(s tensor.Shape) tensor.Shape {
	for i := range s.Rank() {
		if o.Axes&(1<<i) != 0 {
			s = s.With(i, 1)
		}
	}
	return s
}

// Ref folds floats in float64 and integers in int64. A sum keeps what each addition rounds off and adds it at the end (Neumaier, 1974): it
// is the oracle for sums of float64 too.
func (o ReduceOp) Ref(out, in []tensor.Tensor) error {
	x, y := in[0], out[0]
	kept := o.kept(x.Shape())
	if !x.DType().Float() {
		o.refInt(y, x, kept)
		return nil
	}
	start := [...]float64{SumOf: 0, MeanOf: 0, MaxOf: math.Inf(-1), MinOf: math.Inf(1)}[o.F]
	acc, lost := slices.Repeat([]float64{start}, y.Len()), make([]float64, y.Len())
	eachPair(x.Shape(), kept, kept, func(i, j, _ int) {
		switch v := x.At(i); o.F {
		case MaxOf:
			acc[j] = maxNaN(acc[j], v)
		case MinOf:
			acc[j] = minNaN(acc[j], v)
		default:
			sum := acc[j] + v
			if math.Abs(acc[j]) >= math.Abs(v) {
				lost[j] += acc[j] - sum + v
			} else {
				lost[j] += v - sum + acc[j]
			}
			acc[j] = sum
		}
	})
	for j, a := range acc {
		if !math.IsInf(a, 0) && !math.IsNaN(a) { // of infinities nothing is lost
			a += lost[j]
		}
		if o.F == MeanOf {
			a /= float64(o.count(x.Shape()))
		}
		y.Set(j, a)
	}
	return nil
}

func (o ReduceOp) refInt(y, x tensor.Tensor, kept tensor.Shape) {
	start := [...]int64{SumOf: 0, MaxOf: math.MinInt64, MinOf: math.MaxInt64}[o.F]
	acc := slices.Repeat([]int64{start}, y.Len())
	eachPair(x.Shape(), kept, kept, func(i, j, _ int) {
		switch o.F {
		case MaxOf:
			acc[j] = max(acc[j], x.Int(i))
		case MinOf:
			acc[j] = min(acc[j], x.Int(i))
		default:
			acc[j] += x.Int(i)
		}
	})
	for j, a := range acc {
		setWrapped(y, j, a)
	}
}

// count is the number of elements that fold into one.
func (o ReduceOp) count(s tensor.Shape) int {
	n := 1
	for i := range s.Rank() {
		if o.Axes&(1<<i) != 0 {
			n *= s.Dim(i)
		}
	}
	return n
}

// Grad spreads dy over what was folded. Equal maxima, or minima, share it equally; where one is NaN, so is the gradient.
func (o ReduceOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	s := b.InSpec(0).Shape
	kept := o.kept(s)
	dy = dy.reshapeTo(kept)
	switch o.F {
	case SumOf: // dy
		b.Set(0, dy.expandTo(s))
	case MeanOf: // dy / n
		b.Set(0, dy.Scale(1/float64(o.count(s))).expandTo(s))
	default: // dy (x = y) / the number of those
		at := b.In(0).Equal(b.Out(0).reshapeTo(kept)).Cast(dy.DType())
		n := Apply(ReduceOp{F: SumOf, Axes: o.Axes, Keep: true}, at)
		b.Set(0, at.Mul(dy.Div(n)))
	}
}

// Cost is one operation for each element folded.
func (o ReduceOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = float64(in[0].Shape.Size())
	return c
}

// Batch folds the shards' results if the batch axis is folded, and keeps the axis otherwise.
func (o ReduceOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if o.Axes&(1<<axis[0]) != 0 {
		return []int{-1}, [...]BatchKind{SumOf: Sum, MeanOf: Mean, MaxOf: Max, MinOf: Min}[o.F]
	}
	if o.Keep {
		return axis, Rowwise
	}
	return []int{axis[0] - bits.OnesCount8(o.Axes&(1<<axis[0]-1))}, Rowwise
}

// Samples fold every kind of axis.
func (ReduceOp) Samples() (rows []Sample) {
	nan, inf := math.NaN(), math.Inf(1)
	for f := range ReduceFunc(len(reduceNames)) {
		for _, keep := range []bool{false, true} {
			for mask := range uint8(8) {
				rows = append(rows, Sample{Name: "rank 3", Op: ReduceOp{F: f, Axes: mask, Keep: keep}, In: []tensor.Tensor{ramp(1, 2, 3, 4)}})
			}
		}
		row, col, all := ReduceOp{F: f, Axes: 2}, ReduceOp{F: f, Axes: 1}, ReduceOp{F: f, Axes: 3}
		rows = append(rows,
			Sample{Name: "rank 0", Op: ReduceOp{F: f}, In: []tensor.Tensor{ramp(1)}},
			Sample{Name: "size 1", Op: row, In: []tensor.Tensor{ramp(1, 3, 1)}},
			Sample{Name: "long row", Op: row, In: []tensor.Tensor{ramp(1, 2, 1031)}, ULP: 16},
			Sample{Name: "long column", Op: col, In: []tensor.Tensor{ramp(1, 1031, 2)}, ULP: 16},
			Sample{Name: "no row", Op: row, In: []tensor.Tensor{ramp(1, 0, 3)}},
			Sample{Name: "special", Op: row, In: []tensor.Tensor{farr(d(5, 3), 1, nan, 2, inf, 1, 2, inf, -inf, 0, -inf, -inf, -inf, nan, inf, nan)}, ValueOnly: true},
			Sample{Name: "special columns", Op: col, In: []tensor.Tensor{farr(d(3, 4), nan, 1, -inf, 0, 2, inf, -inf, 1, 1, -inf, -inf, nan)}, ValueOnly: true},
			Sample{Name: "equal", Op: row, In: []tensor.Tensor{farr(d(2, 3), 2, 5, 5, 1, 1, 1)}, ValueOnly: true},
			Sample{Name: "no such axis", Op: ReduceOp{F: f, Axes: 4}, In: []tensor.Tensor{ramp(1, 2, 3)}, Refused: "there is no axis 2 in rank 2"},
			Sample{Name: "bool", Op: all, In: []tensor.Tensor{arr(d(1, 2), true, false)}, Refused: "write a Cast"},
		)
		nothing := Sample{Name: "nothing", Op: row, In: []tensor.Tensor{ramp(1, 2, 0)}}
		ints := Sample{Name: "i64", Op: row, In: []tensor.Tensor{iarr(d(2, 3), 1<<53+1, 1, 1, -5, -7, -6)}}
		wraps := Sample{Name: "u8", Op: row, In: []tensor.Tensor{arr[uint8](d(2, 2), 200, 100, 0, 3)}}
		switch f {
		case MeanOf:
			nothing.ValueOnly = true
			ints.Refused, wraps.Refused = "no integer", "no integer"
		case MaxOf, MinOf:
			nothing.Refused = "an axis of size 0 has no m"
		}
		rows = append(rows, nothing, ints, wraps)
	}
	tenths := tensor.Full(tensor.SpecOf(tensor.F64, 50_000, 2), 0.1)
	return append(rows,
		Sample{Name: "no function", Op: ReduceOp{F: 99}, In: []tensor.Tensor{ramp(1, 2)}, Refused: "there is no such function"},
		Sample{Name: "many equal terms, column", Op: ReduceOp{F: SumOf, Axes: 1}, In: []tensor.Tensor{tenths}, ValueOnly: true, ULP: 16},
		Sample{Name: "many equal terms, row", Op: ReduceOp{F: SumOf, Axes: 2}, In: []tensor.Tensor{tensor.Must(tenths.Reshape(2, 50_000))}, ValueOnly: true, ULP: 16},
		Sample{Name: "mean of many", Op: ReduceOp{F: MeanOf, Axes: 3}, In: []tensor.Tensor{tenths}, ValueOnly: true, ULP: 16},
	)
}

// ArgMaxOp is the i64 position of the first maximum along an axis. NaN counts as larger than any number.
type ArgMaxOp struct {
	total
	NoGrad
	Axis int8
	Keep bool // the axis stays, with size 1
}

// Name is "argmax".
func (ArgMaxOp) Name() string { return "argmax" }

// Infer wants an axis with at least one element.
func (o ArgMaxOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkAxis(o.Axis, 1, in); err != nil {
		return nil, err
	}
	out, err := ReduceOp{F: MaxOf, Axes: 1 << o.Axis, Keep: o.Keep}.Infer(in)
	if err != nil {
		return nil, err
	}
	out[0].DType = tensor.I64
	return out, nil
}

// Ref searches from the start.
func (o ArgMaxOp) Ref(out, in []tensor.Tensor) error {
	eachLine(in[0].Shape(), o.Axis, func(line, first, n, stride int) {
		best := 0
		for k := 1; k < n; k++ {
			if larger(in[0], first+k*stride, first+best*stride) < 0 {
				best = k
			}
		}
		out[0].SetInt(line, int64(best))
	})
	return nil
}

// eachLine calls f for every line of s along axis, in row-major order of the other axes, with the position of its first element, the
// number of its elements and the distance between them.
func eachLine(s tensor.Shape, axis int8, f func(line, first, n, stride int)) {
	outer, n, inner := around(s, axis)
	for line := range outer * inner {
		f(line, line/inner*n*inner+line%inner, n, inner)
	}
}

// Cost is one comparison for each element.
func (ArgMaxOp) Cost(in, out []tensor.Spec) Cost { return ReduceOp{}.Cost(in, out) }

// Batch keeps another axis; positions along a cut axis are not those of the whole.
func (o ArgMaxOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] == int(o.Axis) {
		return nil, Mixes
	}
	return ReduceOp{Axes: 1 << o.Axis, Keep: o.Keep}.Batch(in, axis)
}

// Samples have ties and NaN.
func (ArgMaxOp) Samples() []Sample {
	nan, inf := math.NaN(), math.Inf(1)
	last := ArgMaxOp{Axis: 1}
	return []Sample{
		{Name: "first axis", Op: ArgMaxOp{Axis: 0}, In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "middle axis, kept", Op: ArgMaxOp{Axis: 1, Keep: true}, In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "last axis", Op: ArgMaxOp{Axis: 2}, In: []tensor.Tensor{ramp(1, 2, 3, 4)}},
		{Name: "size 1", Op: last, In: []tensor.Tensor{ramp(1, 3, 1)}},
		{Name: "long", Op: last, In: []tensor.Tensor{ramp(1, 2, 1031)}},
		{Name: "first of equals", Op: last, In: []tensor.Tensor{farr(d(3, 3), 1, 3, 3, 2, 2, 2, math.Copysign(0, -1), 0, 0)}},
		{Name: "special", Op: last, In: []tensor.Tensor{farr(d(5, 3), 1, nan, 2, inf, 1, inf, -inf, -inf, -inf, nan, inf, nan, -inf, 1, nan)}},
		{Name: "no row", Op: last, In: []tensor.Tensor{ramp(1, 0, 3)}},
		{Name: "i64", Op: last, In: []tensor.Tensor{iarr(d(2, 3), 1<<53, 1<<53+1, 1, -5, -7, -5)}},
		{Name: "nothing", Op: last, In: []tensor.Tensor{ramp(1, 3, 0)}, Refused: "an axis of size 0 has no max"},
		{Name: "rank 0", Op: ArgMaxOp{}, In: []tensor.Tensor{ramp(1)}, Refused: "there is no axis 0 in rank 0"},
		{Name: "bool", Op: ArgMaxOp{}, In: []tensor.Tensor{arr(d(2), true, false)}, Refused: "write a Cast"},
	}
}

// maskOf is a list of axes as a bit mask, all of them for an empty list, or the reason why it is none.
func maskOf(axes []int, rank int) (mask uint8, refused string) {
	if len(axes) == 0 {
		return 1<<rank - 1, ""
	}
	for _, a := range axes {
		i := axisOf(a, rank)
		switch {
		case i < 0 || int(i) >= rank:
			return 0, noAxis(a, rank)
		case mask&(1<<i) != 0:
			return 0, fmt.Sprintf("axis %d is given twice", i)
		}
		mask |= 1 << i
	}
	return mask, ""
}

// refuse fails as op's Infer would, for arguments of a builder that op's attributes cannot hold.
func (x Value) refuse(op Op, msg string) Value {
	if x.r == nil {
		return x
	}
	if s := x.r.check(x); s != "" {
		return x.r.misuse("%s: argument 0 is %s", op.Name(), s)
	}
	n := &Node{Op: op, Env: x.r.env, pcs: callers()}
	return x.r.Fail(n.Place(&tensor.ShapeError{Msg: msg, In: []tensor.Spec{x.Spec()}}))
}

func (x Value) reduce(f ReduceFunc, keep bool, axes []int) Value {
	mask, refused := maskOf(axes, x.Rank())
	o := ReduceOp{F: f, Axes: mask, Keep: keep}
	if refused != "" {
		return x.refuse(o, refused)
	}
	return Apply(o, x)
}

// Sum adds along axes, counted from the end if negative; without axes along all.
//
//go:noinline
func (x Value) Sum(axes ...int) Value { return x.reduce(SumOf, false, axes) }

// SumKeep is Sum whose axes stay, with size 1.
//
//go:noinline
func (x Value) SumKeep(axes ...int) Value { return x.reduce(SumOf, true, axes) }

// Mean is the arithmetic mean along axes, counted from the end if negative; without axes along all.
//
//go:noinline
func (x Value) Mean(axes ...int) Value { return x.reduce(MeanOf, false, axes) }

// MeanKeep is Mean whose axes stay, with size 1.
//
//go:noinline
func (x Value) MeanKeep(axes ...int) Value { return x.reduce(MeanOf, true, axes) }

// Max is the maximum along axes, counted from the end if negative; without axes along all. NaN wins.
//
//go:noinline
func (x Value) Max(axes ...int) Value { return x.reduce(MaxOf, false, axes) }

// MaxKeep is Max whose axes stay, with size 1.
//
//go:noinline
func (x Value) MaxKeep(axes ...int) Value { return x.reduce(MaxOf, true, axes) }

// Min is the minimum along axes, counted from the end if negative; without axes along all. NaN wins.
//
//go:noinline
func (x Value) Min(axes ...int) Value { return x.reduce(MinOf, false, axes) }

// SumTo adds along the axes that broadcasting from shape repeats: it is the adjoint of Expand, and x itself if x has the shape.
//
//go:noinline
func (x Value) SumTo(shape tensor.Shape) Value {
	s := x.Shape()
	if s == shape {
		return x
	}
	if to, ok := tensor.Broadcast(shape, s); !ok || to != s {
		return x.refuse(ReduceOp{}, "SumTo: "+shape.String()+" does not broadcast to the value")
	}
	var mask uint8
	for i := range s.Rank() {
		if k := i - s.Rank() + shape.Rank(); s.Dim(i) != 1 && (k < 0 || shape.Dim(k) == 1) {
			mask |= 1 << i
		}
	}
	if mask != 0 {
		x = Apply(ReduceOp{F: SumOf, Axes: mask}, x)
	}
	return x.reshapeTo(shape)
}

// ArgMax is the i64 position of the first maximum along axis, counted from the end if negative. NaN counts as larger than any number.
//
//go:noinline
func (x Value) ArgMax(axis int) Value { return Apply(ArgMaxOp{Axis: axisOf(axis, x.Rank())}, x) }
