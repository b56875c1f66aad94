package ops

import "github.com/cortado-ml/cortado/tensor"

var _ = register(IotaOp{})

// IotaOp is a constant: every element is its position along an axis, converted as Cast converts. It has no inputs.
type IotaOp struct {
	total
	NoGrad
	Spec tensor.Spec
	Axis int8
}

// Name is "iota".
func (IotaOp) Name() string { return "iota" }

// Infer is the attribute.
func (o IotaOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out, err := FillOp{Spec: o.Spec}.Infer(in)
	if err != nil {
		return nil, err
	}
	return out, checkAxis(o.Axis, 1, out)
}

// Ref counts.
func (o IotaOp) Ref(out, in []tensor.Tensor) error {
	eachLine(o.Spec.Shape, o.Axis, func(_, first, n, stride int) {
		for k := range n {
			if o.Spec.DType.Float() {
				out[0].Set(first+k*stride, float64(k))
			} else {
				out[0].SetInt(first+k*stride, int64(k))
			}
		}
	})
	return nil
}

// Cost is the traffic.
func (IotaOp) Cost(in, out []tensor.Spec) Cost { return Traffic(in, out) }

// Batch is not asked: there is no input.
func (IotaOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) { return []int{-1}, Rowwise }

// Samples are of every type.
func (IotaOp) Samples() (rows []Sample) {
	of := func(t tensor.DType, axis int8, dims ...int) IotaOp {
		return IotaOp{Spec: tensor.SpecOf(t, dims...), Axis: axis}
	}
	for _, t := range tensor.DTypes {
		rows = append(rows, Sample{Name: "matrix", Op: of(t, 1, 2, 3)}, Sample{Name: "first axis", Op: of(t, 0, 3, 2)}, Sample{Name: "long", Op: of(t, 0, 300)})
	}
	return append(rows,
		Sample{Name: "zero size", Op: of(tensor.F32, 0, 0)},
		Sample{Name: "rank 0", Op: of(tensor.F32, 0), Refused: "there is no axis 0 in rank 0"},
		Sample{Name: "no type", Op: IotaOp{}, Refused: "no value has this spec"},
		Sample{Name: "an input", Op: of(tensor.F32, 0, 1), In: []tensor.Tensor{ramp(1)}, Refused: "wants 0 values"},
	)
}

// Iota is a constant whose elements are their positions along an axis, counted from the end if negative: 0, 1, 2 and so on.
//
//go:noinline
func Iota(r *Recorder, s tensor.Spec, axis int) Value {
	return ApplyIn(r, IotaOp{Spec: s, Axis: axisOf(axis, s.Shape.Rank())})
}
