package ops

import (
	"reflect"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// TestBatch cuts every sample along every combination of axes that its rule accepts, runs both parts, and puts the results together as
// the rule says: that must be the result for the whole. An operation that never accepts a batch embeds mixes.
func TestBatch(t *testing.T) {
	never := map[string]bool{}
	for _, op := range Registry() {
		never[reflect.TypeOf(op).Name()] = slices.ContainsFunc(op.Samples(), func(s Sample) bool { return s.accepted() && len(s.In) > 0 })
	}
	eachSample(t, func(t *testing.T, s Sample) {
		if !s.accepted() || len(s.In) == 0 {
			return
		}
		for _, x := range s.In {
			if x.Len() > 5000 {
				return
			}
		}
		axis := make([]int, len(s.In))
		eachAxes(s.In, axis, 0, func() {
			n := batchSize(s.In, axis)
			if n < 2 {
				return
			}
			out, kind := s.Op.(Batched).Batch(specsOf(s.In), append([]int(nil), axis...))
			if kind == Mixes {
				if rowwise(t, s, axis, n) {
					t.Errorf("batch axes %v are refused, though the parts lie one behind the other", axis)
				}
				return
			}
			never[reflect.TypeOf(s.Op).Name()] = false
			cut(t, s, axis, n, out, kind)
		})
	})
	for _, op := range Registry() {
		name := reflect.TypeOf(op).Name()
		if _, refuses := op.(interface{ mixesAll() }); refuses != never[name] {
			t.Errorf("%s embeds mixes: %v; no sample has an axis that its batch rule accepts: %v", name, refuses, never[name])
		}
	}
}

// eachAxes calls f for every choice of an axis, or none, for each operand from k on.
func eachAxes(in []tensor.Tensor, axis []int, k int, f func()) {
	if k == len(in) {
		f()
		return
	}
	for a := -1; a < in[k].Shape().Rank(); a++ {
		axis[k] = a
		eachAxes(in, axis, k+1, f)
	}
}

// batchSize is the size along the axes, -1 if they differ or there are none.
func batchSize(in []tensor.Tensor, axis []int) int {
	n := -1
	for i, a := range axis {
		if a < 0 {
			continue
		}
		if size := in[i].Shape().Dim(a); n < 0 {
			n = size
		} else if n != size {
			return -1
		}
	}
	return n
}

// cut compares the whole with its two parts, the first of which has a third of the batch or a little more.
func cut(t *testing.T, s Sample, axis []int, n int, out []int, kind BatchKind) {
	t.Helper()
	whole := mustRef(t, s.Op, s.In)
	if len(out) != len(whole) {
		t.Fatalf("batch axes %v: %d output axes for %d outputs", axis, len(out), len(whole))
	}
	at := (n + 2) / 3
	bounds := [2][2]int{{0, at}, {at, n}}
	var parts [2][]tensor.Tensor
	for p, b := range bounds {
		op := s.Op
		if z, ok := op.(Resizer); ok {
			for _, a := range out {
				if a >= 0 {
					op = z.Resize(a, b[1]-b[0])
					break
				}
			}
		}
		parts[p] = mustRef(t, op, cutInputs(s.In, axis, b[0], b[1]))
	}
	for j, y := range whole {
		if out[j] >= 0 {
			for p, b := range bounds {
				if err := near(parts[p][j], along(y, out[j], b[0], b[1]), 0); err != nil {
					t.Errorf("batch axes %v, output %d, part %d: %v", axis, j, p, err)
				}
			}
			continue
		}
		a, b := parts[0][j], parts[1][j]
		got := tensor.New(y.Spec())
		if a.Spec() != y.Spec() || b.Spec() != y.Spec() {
			t.Errorf("batch axes %v, output %d: parts are %v and %v, the whole is %v", axis, j, a.Spec(), b.Spec(), y.Spec())
			continue
		}
		for i := range y.Len() {
			merge(got, i, a, b, kind, float64(at)/float64(n))
		}
		if err := near(got, y, 1e-12); err != nil {
			t.Errorf("batch axes %v, output %d, kind %d: %v", axis, j, kind, err)
		}
	}
}

// rowwise reports whether every output is its parts' one behind the other. Operations that are strict are not asked, nor are those that
// would have to be resized.
func rowwise(t *testing.T, s Sample, axis []int, n int) bool {
	switch s.Op.(type) {
	case interface{ refusesAxes() }, Resizer:
		return false
	}
	first, err1 := ref(s.Op, cutInputs(s.In, axis, 0, 1), 0xff, -1)
	second, err2 := ref(s.Op, cutInputs(s.In, axis, 1, n), 0xff, -1)
	if err1 != nil || err2 != nil {
		return false
	}
	for j, y := range mustRef(t, s.Op, s.In) {
		found := false
		for a := range y.Shape().Rank() {
			if y.Shape().Dim(a) == n && y.Len() > 1 {
				found = found || near(first[j], along(y, a, 0, 1), 0) == nil && near(second[j], along(y, a, 1, n), 0) == nil
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// cutInputs are elements lo to hi along the batch axes.
func cutInputs(whole []tensor.Tensor, axis []int, lo, hi int) []tensor.Tensor {
	in := append([]tensor.Tensor(nil), whole...)
	for i, a := range axis {
		if a >= 0 {
			in[i] = along(in[i], a, lo, hi)
		}
	}
	return in
}

// merge writes element i of two parts together; share is the first part's share of the batch. Rowwise without an axis: both are the whole.
func merge(y tensor.Tensor, i int, a, b tensor.Tensor, kind BatchKind, share float64) {
	if !y.DType().Float() {
		f := map[BatchKind]BinaryFunc{Sum: Add, Max: Maximum, Min: Minimum}[kind]
		setWrapped(y, i, BinaryOp{F: f}.int(a.Int(i), b.Int(i)))
		return
	}
	switch p, q := a.At(i), b.At(i); kind {
	case Sum:
		y.Set(i, p+q)
	case Mean:
		y.Set(i, p*share+q*(1-share))
	case Max:
		y.Set(i, maxNaN(p, q))
	case Min:
		y.Set(i, minNaN(p, q))
	default:
		y.Set(i, p)
		if !same(p, q, 0) {
			y.Set(i, p+q+1) // they differ: this is neither
		}
	}
}

// along is elements lo to hi along the axis.
func along(x tensor.Tensor, axis, lo, hi int) tensor.Tensor {
	outer, n, inner := around(x.Shape(), int8(axis))
	y := tensor.New(tensor.Spec{DType: x.DType(), Shape: x.Shape().With(axis, hi-lo)})
	m := move(y, x)
	for o := range outer {
		m.run(o*(hi-lo)*inner, (o*n+lo)*inner, (hi-lo)*inner)
	}
	return y
}
