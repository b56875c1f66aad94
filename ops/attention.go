package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Attend says who sees whom in Attention. Its zero value lets every query see every key.
type Attend struct {
	Causal  bool    // query i sees the keys up to i + Past
	Past    int     // keys before the first query, as from a cache
	Mask    Value   // true where a query sees a key, or a float to add to its score; it broadcasts to [..., heads, queries, keys]; may be none
	Scale   float64 // of the products; 0 means 1/sqrt(size)
	Dropout float64 // share of the weights that are dropped
}

// Attention is the mean of values v, weighted by the softmax of the products of queries q and keys k (Vaswani et al., 2017): q [..., heads, queries,
// size], k [..., groups, keys, size] and v [..., groups, keys, width] give [..., heads, queries, width]. Each group of keys and values serves heads/groups
// neighbouring heads. Leading axes broadcast. Scores and weights of 16-bit floats are f32. A query that sees no key gets 0, and passes no gradient.
//
//go:noinline
func Attention(q, k, v Value, a Attend) Value {
	rank := max(q.Rank(), k.Rank(), v.Rank())
	o := MatMulOp{TransB: true}
	if min(q.Rank(), k.Rank(), v.Rank()) < 2 || rank > tensor.MaxRank-1 {
		return q.refuse(o, fmt.Sprintf("wants [..., heads, rows, size] for queries, keys and values, not %v, %v and %v", q.Shape(), k.Shape(), v.Shape()))
	}
	heads, groups, queries, keys := 1, 1, q.Dim(-2), k.Dim(-2)
	if q.Rank() > 2 && k.Rank() > 2 {
		heads, groups = q.Dim(-3), k.Dim(-3)
	}
	shared := heads != groups && groups > 1 && heads > 0
	if shared {
		if heads%groups != 0 {
			return q.refuse(o, fmt.Sprintf("%d groups of keys do not serve %d heads", groups, heads))
		}
		// The heads of a group are rows of one product: keys are not repeated.
		q = q.reshapeTo(q.Shape().With(-3, groups).With(-2, heads/groups*queries))
	}
	scale := a.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(q.Dim(-1)))
	}
	narrow := q.DType()
	if narrow == tensor.BF16 || narrow == tensor.F16 { // what is under an exponential keeps its digits
		q, k = q.Cast(tensor.F32), k.Cast(tensor.F32)
	}
	scores := Apply(o, q.Scale(scale), k)
	ungrouped := scores.Shape()
	if shared {
		scores = scores.reshapeTo(ungrouped.With(-3, heads).With(-2, queries))
	}
	scores, sees := a.masked(scores, queries, keys)
	weights := scores.Softmax(-1)
	if !sees.IsNone() {
		weights = Where(sees, weights, weights.constant(0)) // no softmax of nothing
	}
	if a.Dropout > 0 {
		weights = Dropout(weights, a.Dropout)
	}
	if shared {
		weights = weights.reshapeTo(ungrouped)
	}
	y := weights.Cast(narrow).MatMul(v)
	if shared {
		y = y.reshapeTo(y.Shape().With(-3, heads).With(-2, queries))
	}
	return y
}

// masked is scores with -inf where a query does not see a key, and where it does, none if everywhere.
func (a Attend) masked(scores Value, queries, keys int) (masked, sees Value) {
	mask := a.Mask
	if !mask.IsNone() && mask.DType() != tensor.Bool { // what is added says at -inf that it is not seen
		sees = mask.Greater(mask.constant(math.Inf(-1))).Or(mask.IsNaN())
		scores = scores.Add(Where(sees, mask, mask.constant(0)).Cast(scores.DType()))
	} else {
		sees = mask
	}
	if a.Causal {
		key := Iota(scores.r, tensor.SpecOf(tensor.I64, keys), 0)
		query := Iota(scores.r, tensor.SpecOf(tensor.I64, queries, 1), 0)
		past := key.LessEqual(query.Add(query.constant(float64(a.Past))))
		if sees.IsNone() {
			sees = past
		} else {
			sees = sees.And(past)
		}
	}
	if sees.IsNone() {
		return scores, sees
	}
	return Where(sees, scores, scores.constant(math.Inf(-1))), sees
}
