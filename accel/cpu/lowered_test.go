package cpu_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// lowered is a program as a driver gets it, with its arguments and what its outputs should be.
type lowered struct {
	accel.Graph
	rng       *rand.Rand
	at        map[uint32]uint32 // recorded node -> node
	args      []tensor.Tensor
	want      []tensor.Tensor
	tolerance []float64 // 0 is exact
}

// graph makes the driver's graph of what is alive.
func (l *lowered) graph(g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor) {
	live := make([]bool, len(g.Nodes))
	for _, e := range g.Outs {
		live[e.Node] = true
	}
	for _, a := range g.Assigns {
		live[a.X.Node] = true
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		for _, e := range g.Nodes[i].In {
			live[e.Node] = live[e.Node] || live[i]
		}
	}
	at, param := map[uint32]uint32{}, map[*ops.Variable]int{}
	l.at = at
	edge := func(e ops.Edge) ops.Edge { return ops.Edge{Node: at[e.Node], Out: e.Out} }
	for i, n := range g.Nodes {
		kind, v := g.Kind(uint32(i))
		var arg tensor.Tensor
		switch kind {
		case ops.Feed:
			arg = feeds[g.Feeds[i]]
		case ops.RNG:
			arg = rng
		case ops.Var:
			arg = v.Host()
			param[v] = len(l.Nodes)
		default:
			continue
		}
		at[uint32(i)] = uint32(len(l.Nodes))
		l.Nodes, l.args = append(l.Nodes, accel.Node{Out: n.Out}), append(l.args, arg)
	}
	l.Params = len(l.Nodes)
	for i, n := range g.Nodes {
		if kind, _ := g.Kind(uint32(i)); kind != ops.Compute || !live[i] {
			continue
		}
		at[uint32(i)] = uint32(len(l.Nodes))
		m := accel.Node{Op: n.Op, Out: n.Out}
		for _, e := range n.In {
			m.In, m.Args = append(m.In, edge(e)), append(m.Args, g.SpecOf(e))
		}
		l.Nodes = append(l.Nodes, m)
	}
	taken := map[ops.Edge]bool{}
	out := func(e ops.Edge, donate int) {
		if e = edge(e); int(e.Node) >= l.Params && !taken[e] {
			taken[e] = true
			l.Outs, l.Donate = append(l.Outs, e), append(l.Donate, donate)
		}
	}
	for _, a := range g.Assigns {
		out(a.X, param[a.V])
	}
	for _, e := range g.Outs {
		out(e, -1)
	}
}

// shuffle puts the nodes in another order in which they can run: values live longer, and donated parameters are read late.
func (l *lowered) shuffle() {
	order, at := make([]int, l.Params), make([]uint32, len(l.Nodes))
	for i := range l.Params {
		order[i], at[i] = i, uint32(i)
	}
	placed := make([]bool, len(l.Nodes))
	for len(order) < len(l.Nodes) {
		var ready []int
		for i := l.Params; i < len(l.Nodes); i++ {
			if !placed[i] && !slices.ContainsFunc(l.Nodes[i].In, func(e ops.Edge) bool { return int(e.Node) >= l.Params && !placed[e.Node] }) {
				ready = append(ready, i)
			}
		}
		i := ready[l.rng.IntN(len(ready))]
		placed[i], at[i] = true, uint32(len(order))
		order = append(order, i)
	}
	nodes := make([]accel.Node, len(order))
	for k, i := range order {
		nodes[k] = l.Nodes[i]
		for x := range nodes[k].In {
			nodes[k].In[x].Node = at[nodes[k].In[x].Node]
		}
	}
	l.Nodes = nodes
	for j := range l.Outs {
		l.Outs[j].Node = at[l.Outs[j].Node]
	}
}

// donate gives further outputs the memory of parameters.
func (l *lowered) donate() {
	for j, e := range l.Outs {
		for i := range l.Params {
			if l.Donate[j] < 0 && !slices.Contains(l.Donate, i) && l.Nodes[i].Out[0] == l.Nodes[e.Node].Out[e.Out] && l.rng.IntN(2) == 0 {
				l.Donate[j] = i
			}
		}
	}
}

// sums reports whether an operation adds up more than two numbers.
func sums(op ops.Op) bool {
	switch o := op.(type) {
	case ops.MatMulOp, ops.Conv2DOp, ops.Conv2DInputGradOp, ops.Conv2DWeightGradOp, ops.ScatterAddOp, ops.AddAlongOp, ops.AvgPool2DOp, ops.AvgPool2DGradOp, ops.MaxPool2DGradOp:
		return true
	case ops.ReduceOp:
		return o.F == ops.SumOf || o.F == ops.MeanOf
	}
	return false
}

// evaluate computes all values by reference. size is the largest number of a node, and of a sum that of the numbers that it adds, taken
// as positive. change may change a value before others read it.
func evaluate(g *accel.Graph, args []tensor.Tensor, change func(t tensor.Tensor, size float64)) (vals [][]tensor.Tensor, sizes []float64) {
	sizes = make([]float64, len(g.Nodes))
	for i, n := range g.Nodes {
		var in, out []tensor.Tensor
		if n.Op == nil {
			out = append(out, args[i].Clone())
		} else {
			for _, e := range n.In {
				in = append(in, vals[e.Node][e.Out])
			}
			for _, s := range n.Out {
				s.DType = widened(s.DType, change != nil)
				out = append(out, tensor.New(s))
			}
			if n.Op != nil {
				if err := n.Op.Ref(out, in); err != nil {
					panic(fmt.Sprintf("%s: %v", n.Op.Name(), err))
				}
			}
		}
		for _, t := range out {
			sizes[i] = max(sizes[i], largest(t))
		}
		if sums(n.Op) && out[0].DType().Float() {
			for k := range in {
				in[k] = absolute(in[k])
			}
			t := tensor.New(tensor.Spec{DType: tensor.F64, Shape: out[0].Shape()})
			if n.Op.Ref([]tensor.Tensor{t, {}}[:len(out)], in) == nil {
				sizes[i] = max(sizes[i], largest(t))
			}
		}
		if change != nil {
			for _, t := range out {
				if t.DType().Float() {
					change(t, sizes[i])
				}
			}
		}
		vals = append(vals, out)
	}
	return vals, sizes
}

// widened is f64 for a float, if wide.
func widened(d tensor.DType, wide bool) tensor.DType {
	if wide && d.Float() {
		return tensor.F64
	}
	return d
}

// largest is the greatest absolute value that is a number.
func largest(t tensor.Tensor) (m float64) {
	for i := range t.Len() {
		if x := math.Abs(t.At(i)); t.DType().Float() && x > m {
			m = x
		}
	}
	return m
}

// absolute is the absolute values of floats, as f64, and integers as they are.
func absolute(t tensor.Tensor) tensor.Tensor {
	if !t.DType().Float() {
		return t
	}
	u := tensor.New(tensor.Spec{DType: tensor.F64, Shape: t.Shape()})
	for i := range t.Len() {
		u.Set(i, math.Abs(t.At(i)))
	}
	return u
}

// exact reports whether every sum of float32 numbers is exact: all are multiples of 1/256, and small.
func exact(vals [][]tensor.Tensor, sizes []float64) bool {
	if slices.Max(sizes) > 1<<15 {
		return false
	}
	for _, list := range vals {
		for _, t := range list {
			for i := range t.Len() {
				if x := t.At(i) * 256; t.DType().Float() && x == x && x != math.Trunc(x) {
					return false
				}
			}
		}
	}
	return true
}

// tolerances says how far an output may be off: as far as it moves when all values are disturbed by some roundings. An ill-conditioned
// program is given up.
func (l *lowered) tolerances(dt tensor.DType) bool {
	ulp := math.Ldexp(1, -24)
	if dt == tensor.F64 {
		ulp = math.Ldexp(1, -53)
	}
	var wide []tensor.Tensor
	for _, a := range l.args {
		t := tensor.New(tensor.Spec{DType: widened(a.DType(), true), Shape: a.Shape()})
		for i := range t.Len() {
			if a.DType().Float() {
				t.Set(i, a.At(i))
			} else {
				t.SetInt(i, a.Int(i))
			}
		}
		wide = append(wide, t)
	}
	base, _ := evaluate(&l.Graph, wide, func(tensor.Tensor, float64) {})
	l.tolerance = make([]float64, len(l.Outs))
	for range 3 {
		noisy, _ := evaluate(&l.Graph, wide, func(t tensor.Tensor, size float64) {
			for i := range t.Len() {
				t.Set(i, t.At(i)+64*ulp*size*(2*l.rng.Float64()-1))
			}
		})
		for j, e := range l.Outs {
			x, y := base[e.Node][e.Out], noisy[e.Node][e.Out]
			size := largest(x)
			l.tolerance[j] = max(l.tolerance[j], 8*ulp*size)
			for i := range x.Len() {
				d := math.Abs(x.At(i) - y.At(i))
				if !(d <= 0.01*(1+size)) || math.IsInf(d, 0) {
					return false
				}
				l.tolerance[j] = max(l.tolerance[j], 2*d)
			}
		}
	}
	return true
}

// differ says where two values differ. The sign of zero is free.
func differ(got, want tensor.Tensor, tolerance float64) string {
	for i := range want.Len() {
		if !want.DType().Float() {
			if got.Int(i) != want.Int(i) {
				return fmt.Sprintf("element %d of %v is %d, want %d", i, want.Spec(), got.Int(i), want.Int(i))
			}
			continue
		}
		x, y := got.At(i), want.At(i)
		if x != y && !(x != x && y != y) && !(math.Abs(x-y) <= tolerance) {
			return fmt.Sprintf("element %d of %v is %v, want %v within %.3g", i, want.Spec(), x, y, tolerance)
		}
	}
	return ""
}

// text shows the graph.
func (l *lowered) text() string {
	var b strings.Builder
	for i, n := range l.Nodes {
		fmt.Fprintf(&b, "\n%%%d %v", i, n.Out)
		if n.Op != nil {
			fmt.Fprintf(&b, " = %s %+v of", n.Op.Name(), n.Op)
		}
		for _, e := range n.In {
			fmt.Fprintf(&b, " %%%d.%d", e.Node, e.Out)
		}
		for o := range n.Out {
			if j := slices.Index(l.Outs, ops.Edge{Node: uint32(i), Out: uint16(o)}); j >= 0 {
				fmt.Fprintf(&b, ", output %d reborn in %d", j, l.Donate[j])
			}
		}
	}
	return b.String()
}
