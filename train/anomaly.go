package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// inspect runs the recording up to here without its effects, for Config.DetectAnomaly: what a step gives is looked at before it happens, while the
// values that it starts from are still there. It returns nil if all is well.
func (r *run) inspect(ctx context.Context, loss ops.Value) error {
	rec := r.tape.Recorder()
	g, err := rec.Graph(true, loss)
	if err != nil {
		return err
	}
	roots := []ops.Edge{g.Outs[0]}
	trained := map[*ops.Variable]bool{}
	for _, p := range r.net.Params() {
		trained[p] = true
	}
	flags := []ops.Value{loss.IsFinite().All().Not()}
	for _, a := range g.Assigns {
		x := rec.Value(a.X)
		switch {
		case !x.DType().Float() || r.sums.tolerates(a.V):
			continue
		case trained[a.V]:
			flags = append(flags, x.IsFinite().All().Not())
		default:
			flags = append(flags, x.IsNaN().Any())
		}
		roots = append(roots, a.X)
	}
	for i := range flags {
		flags[i] = flags[i].Cast(tensor.F32)
	}
	bad, err := r.tape.Eval(ctx, ops.Stack(0, flags...))
	if err != nil {
		return err
	}
	for i, root := range roots {
		if bad[0].At(i) == 0 {
			continue
		}
		l, err := r.tape.Eval(ctx, loss)
		if err != nil {
			return err
		}
		e := &NotFiniteError{Step: r.report.Steps + 1, Loss: l[0].At(0), Last: r.report.Checkpoint}
		if i > 0 {
			e.Variable = variableOf(g, root).Name()
		}
		e.Origin = r.origin(ctx, g, root)
		return e
	}
	return nil
}

// variableOf is the variable that is assigned a value.
func variableOf(g *ops.Graph, x ops.Edge) *ops.Variable {
	i := slices.IndexFunc(g.Assigns, func(a ops.Assign) bool { return a.X == x })
	return g.Assigns[i].V
}

// badness says in which way a value is no number.
type badness uint8

const (
	good  badness = iota
	meant         // infinite, as a constant of the program is: a mask
	infinite
	nan
)

// origin computes every value of the recording by itself, and finds where what ruins root began.
func (r *run) origin(ctx context.Context, g *ops.Graph, root ops.Edge) error {
	var edges []ops.Edge
	var values []ops.Value
	for i, n := range g.Nodes {
		for k, s := range n.Out {
			if e := (ops.Edge{Node: uint32(i), Out: uint16(k)}); s.DType.Float() {
				edges, values = append(edges, e), append(values, r.tape.Recorder().Value(e))
			}
		}
	}
	found, err := r.tape.Eval(ctx, values...)
	if err != nil {
		return fmt.Errorf("computing each operation by itself: %w", err)
	}
	bad, where := map[ops.Edge]badness{}, map[ops.Edge]string{}
	for i, e := range edges {
		b, text := look(found[i])
		n := g.Nodes[e.Node]
		if b == infinite && byDesign(n, bad) {
			b = meant
		}
		bad[e], where[e] = b, text
	}
	if bad[root] == good {
		return errors.New("each operation computed by itself, all numbers are finite")
	}
	at := root
	for {
		next, worse := at, good
		for _, in := range g.Nodes[at.Node].In {
			if b := bad[in]; b > meant && (b > worse || b == worse && in.Node < next.Node) {
				next, worse = in, b
			}
		}
		if worse == good {
			break
		}
		at = next
	}
	n := g.Nodes[at.Node]
	err = errors.New(where[at])
	if of, is := n.Gradient(); of != nil {
		err = fmt.Errorf("%s, in the gradient of %s recorded at %s", where[at], of.Op.Name(), of.Site())
	} else if is {
		err = fmt.Errorf("%s, in the gradient", where[at])
	}
	return n.Place(err)
}

// byDesign reports whether an infinite output comes of infinite constants alone.
func byDesign(n *ops.Node, bad map[ops.Edge]badness) bool {
	if _, constant := n.Op.(ops.FillOp); constant {
		return true
	}
	some := false
	for _, in := range n.In {
		if bad[in] > meant {
			return false
		}
		some = some || bad[in] == meant
	}
	return some
}

// look finds the first element that is no number, or the first that is infinite.
func look(t tensor.Tensor) (b badness, where string) {
	for i := range t.Len() {
		x := t.At(i)
		switch {
		case math.IsNaN(x):
			return nan, fmt.Sprintf("element %d of %v is NaN", i, t.Spec())
		case math.IsInf(x, 0) && b == good:
			b, where = infinite, fmt.Sprintf("element %d of %v is %v", i, t.Spec(), x)
		}
	}
	return b, where
}
