package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// What the elementwise families share.

// nameOf is the name of a function, also of one that there is not: errors name it.
func nameOf[F ~uint8](names []string, f F) string {
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("function %d", f)
}

// checkFunc refuses a function that there is not.
func checkFunc[F ~uint8](names []string, f F, in []tensor.Spec) error {
	if int(f) >= len(names) {
		return &tensor.ShapeError{Msg: "there is no such function", In: in}
	}
	return nil
}

// batchElementwise is the rule of operations that broadcast: axes are aligned at the end, and an input without the axis must not have
// more than one element along it.
func batchElementwise(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	fromEnd, rank := 0, 0
	for i, s := range in {
		rank = max(rank, s.Shape.Rank())
		if axis[i] < 0 {
			continue
		}
		e := s.Shape.Rank() - axis[i]
		if fromEnd != 0 && fromEnd != e {
			return nil, Mixes
		}
		fromEnd = e
	}
	for i, s := range in {
		if axis[i] < 0 && s.Shape.Rank() >= fromEnd && s.Shape.Dim(-fromEnd) != 1 {
			return nil, Mixes
		}
	}
	return []int{rank - fromEnd}, Rowwise
}

// eachPair calls f for every element i of out with the elements j and k of two values of shapes a and b that broadcast to it.
func eachPair(out, a, b tensor.Shape, f func(i, j, k int)) {
	sa, sb := tensor.BroadcastStrides(a, out), tensor.BroadcastStrides(b, out)
	var at [tensor.MaxRank]int
	j, k := 0, 0
	for i := range out.Size() {
		f(i, j, k)
		for x := out.Rank() - 1; x >= 0; x-- { // the next position, as an odometer
			at[x]++
			j, k = j+sa[x], k+sb[x]
			if at[x] < out.Dim(x) {
				break
			}
			j, k = j-sa[x]*at[x], k-sb[x]*at[x]
			at[x] = 0
		}
	}
}
