package ops

import (
	"fmt"

	"github.com/cortado-ml/cortado/tensor"
)

// Value is a handle to one output of a node in one recording. It compares with ==. The zero Value is none.
type Value struct {
	r       *Recorder
	id, gen uint32
	out     uint16
}

const poisonID = ^uint32(0)

// IsNone reports whether v is the zero Value.
func (v Value) IsNone() bool { return v.r == nil }

func (v Value) edge() Edge { return Edge{v.id, v.out} }

// Spec is the type and shape. It is total: a stale, poisoned or zero Value has the zero Spec, whose Dim is 1.
func (v Value) Spec() tensor.Spec {
	if v.r == nil || v.gen != v.r.gen || int(v.id) >= len(v.r.path) || int(v.out) >= len(v.r.path[v.id].Out) {
		return tensor.Spec{}
	}
	return v.r.path[v.id].Out[v.out]
}

// Shape is the shape, total as Spec.
func (v Value) Shape() tensor.Shape { return v.Spec().Shape }

// DType is the element type, total as Spec.
func (v Value) DType() tensor.DType { return v.Spec().DType }

// Rank is the number of axes, total as Spec.
func (v Value) Rank() int { return v.Spec().Shape.Rank() }

// Dim is dimension i, counted from the end if negative, total as Spec.
func (v Value) Dim(i int) int { return v.Spec().Shape.Dim(i) }

// Output is another output of the node that v belongs to.
func (v Value) Output(i int) Value {
	if v.r == nil || v.r.err != nil || v.id == poisonID {
		return v
	}
	if v.gen == v.r.gen && (i < 0 || i >= len(v.r.path[v.id].Out)) {
		return v.r.misuse("%s has no output %d", v.r.path[v.id].Op.Name(), i)
	}
	return Value{v.r, v.id, v.gen, uint16(i)}
}

// Recorder is the recording that v belongs to, nil for none.
func (v Value) Recorder() *Recorder { return v.r }

// String is for people: what a Value is, not what it holds, which is known once the step has run.
func (v Value) String() string {
	switch {
	case v.r == nil:
		return "no value"
	case v.gen != v.r.gen:
		return "stale value"
	case int(v.id) >= len(v.r.path):
		return "poisoned value"
	}
	return fmt.Sprintf("%v of %s", v.Spec(), v.r.path[v.id].Op.Name())
}
