package sched

import (
	"hash/maphash"
	"slices"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// node is a node of a canonical graph.
type node struct {
	kind ops.Kind
	op   ops.Op // nil for parameters
	in   []ops.Edge
	out  []tensor.Spec
	dev  int
	pos  int // where the recording had it: the order of execution, not part of the key
}

// canon is a canonical graph: dead code gone, common subexpressions merged, constants folded, numbered by first visit from the results,
// so that two recordings in another order are one program. Variables and call sites are not in it: they belong to the binding.
type canon struct {
	nodes   []node // parameters first
	params  int
	outs    []ops.Edge // results, watches, assigned values: distinct, never a parameter
	assigns []int      // per assigned value, which are the last outs, the parameter that is its variable
}

// results is the number of outs that are no assignments.
func (c *canon) results() int { return len(c.outs) - len(c.assigns) }

var seed = maphash.MakeSeed()

func (c *canon) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range c.nodes {
		n := &c.nodes[i]
		maphash.WriteComparable(&h, n.op)
		maphash.WriteComparable(&h, [2]int{int(n.kind), n.dev})
		for _, e := range n.in {
			maphash.WriteComparable(&h, e)
		}
		for _, s := range n.out {
			maphash.WriteComparable(&h, s)
		}
	}
	for _, e := range c.outs {
		maphash.WriteComparable(&h, e)
	}
	for _, p := range c.assigns {
		maphash.WriteComparable(&h, p)
	}
	return h.Sum64()
}

// equal confirms a hit of the hash.
func (c *canon) equal(d *canon) bool {
	if len(c.nodes) != len(d.nodes) || c.params != d.params || !slices.Equal(c.outs, d.outs) || !slices.Equal(c.assigns, d.assigns) {
		return false
	}
	for i := range c.nodes {
		a, b := &c.nodes[i], &d.nodes[i]
		if a.kind != b.kind || a.op != b.op || a.dev != b.dev || !slices.Equal(a.in, b.in) || !slices.Equal(a.out, b.out) {
			return false
		}
	}
	return true
}
