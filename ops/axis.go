package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// What the families that work along an axis share.

// axisOf is the attribute for an axis, counted from the end if negative. One outside the rank stays outside, for Infer to refuse.
func axisOf(axis, rank int) int8 {
	if axis < 0 && axis >= -rank {
		axis += rank
	}
	return int8(max(math.MinInt8, min(math.MaxInt8, axis)))
}

// checkAxis wants n values, the first of which has the axis.
func checkAxis(axis int8, n int, in []tensor.Spec) error {
	if err := checkCount(n, in); err != nil {
		return err
	}
	if axis < 0 || int(axis) >= in[0].Shape.Rank() {
		return &tensor.ShapeError{Msg: noAxis(int(axis), in[0].Shape.Rank()), In: in}
	}
	return nil
}

func noAxis(axis, rank int) string { return fmt.Sprintf("there is no axis %d in rank %d", axis, rank) }

// checkCount wants n values.
func checkCount(n int, in []tensor.Spec) error {
	if len(in) != n {
		return &tensor.ShapeError{Msg: fmt.Sprintf("wants %d values, not %d", n, len(in)), In: in}
	}
	return nil
}

// around is the number of elements before the axis, along it and behind it: element (o, i, j) of the array lies at (o*n+i)*inner + j.
func around(s tensor.Shape, axis int8) (outer, n, inner int) {
	outer, inner = 1, 1
	for i := range s.Rank() {
		switch {
		case i < int(axis):
			outer *= s.Dim(i)
		case i > int(axis):
			inner *= s.Dim(i)
		}
	}
	return outer, s.Dim(int(axis)), inner
}

// differsBeside is the first axis but the given one along which s and t differ, or -1; shapes of different rank differ at 0.
func differsBeside(axis int8, s, t tensor.Shape) int {
	if s.Rank() != t.Rank() {
		return 0
	}
	for i := range s.Rank() {
		if i != int(axis) && s.Dim(i) != t.Dim(i) {
			return i
		}
	}
	return -1
}

// batchBeside is the batch rule of operations that treat every row along their axis alike.
func batchBeside(axis int8, batch []int, outs int) ([]int, BatchKind) {
	out := make([]int, outs)
	for i := range out {
		out[i] = batch[0]
	}
	for _, a := range batch {
		if a != batch[0] || a == int(axis) {
			return nil, Mixes
		}
	}
	return out, Rowwise
}

// mover copies elements of any one type, bit for bit.
type mover struct {
	to, from []byte
	size     int
}

func move(to, from tensor.Tensor) mover {
	return mover{to.Bytes(), from.Bytes(), from.DType().Size()}
}

// run copies n elements from position j on to position i on.
func (m mover) run(i, j, n int) {
	copy(m.to[i*m.size:(i+n)*m.size], m.from[j*m.size:])
}

// eachStride calls f for every position i of an array of shape s, in order, with the position j that the strides lead to.
func eachStride(s tensor.Shape, strides [tensor.MaxRank]int, f func(i, j int)) {
	var at [tensor.MaxRank]int
	j := 0
	for i := range s.Size() {
		f(i, j)
		for x := s.Rank() - 1; x >= 0; x-- { // the next position, as an odometer
			at[x]++
			j += strides[x]
			if at[x] < s.Dim(x) {
				break
			}
			j -= strides[x] * at[x]
			at[x] = 0
		}
	}
}

// Resizer is a Batched operation that has sizes of its outputs among its attributes: for a shard of a batch it is another operation.
type Resizer interface {
	// Resize is the operation whose outputs have n elements along the axis that Batch gave.
	Resize(axis, n int) Op
}
