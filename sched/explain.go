package sched

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/accel"
)

// place names the operation, scope and call site behind a driver's error, from the piece that the binding remembers.
func (b *binding) place(err error) error { return b.placeIn(b.last, err) }

// placeIn is place for an error of piece q.
func (b *binding) placeIn(q *piece, err error) error {
	var ne *accel.NodeError
	if q == nil || !errors.As(err, &ne) || ne.Node < 0 || ne.Node >= len(q.nodes) || q.nodes[ne.Node] >= len(b.origin) {
		return err
	}
	return b.origin[q.nodes[ne.Node]].Place(ne.Err)
}

// differs says where the nearest known program of the same length and operations parts from c: an attribute that should be an input, a
// new shape. Nothing is said of a program that is new altogether.
func (e *Engine) differs(b *binding, c *canon) string {
	for _, list := range e.plans {
		for _, p := range list {
			if why := b.parts(p.canon, c); why != "" {
				return why
			}
		}
	}
	return ""
}

// parts is where c parts from a known program, or empty if they have not the same operations.
func (b *binding) parts(known, c *canon) (why string) {
	if len(known.nodes) != len(c.nodes) {
		return ""
	}
	for i := range c.nodes {
		n, o := &c.nodes[i], &known.nodes[i]
		if (o.op == nil) != (n.op == nil) || n.op != nil && o.op.Name() != n.op.Name() {
			return ""
		}
		var what string
		switch {
		case why != "":
		case o.op != n.op:
			what = fmt.Sprintf("attributes %+v were %+v: what changes from step to step is an input or a Scalar", n.op, o.op)
		case !slices.Equal(o.out, n.out):
			what = fmt.Sprintf("%v was %v", n.out, o.out)
		case o.dev != n.dev:
			what = fmt.Sprintf("device %d was %d", n.dev, o.dev)
		}
		if what != "" {
			why = b.origin[i].Place(errors.New(what)).Error()
		}
	}
	return why
}
