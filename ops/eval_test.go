package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// interpreter runs a recorded graph node by node with Ref, which is slow and simple: values and gradients are tested without an engine.
type interpreter struct {
	g     *Graph
	feeds []tensor.Tensor
	live  map[Edge]bool
}

// interpret closes the recording with outs.
func interpret(r *Recorder, outs ...Value) (*interpreter, error) {
	g, err := r.Graph(false, outs...)
	if err != nil {
		return nil, err
	}
	p := &interpreter{g: g, feeds: append([]tensor.Tensor(nil), r.Feeds()...), live: map[Edge]bool{}}
	for _, e := range g.Outs {
		p.live[e] = true
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		used := false
		for j := range g.Nodes[i].Out {
			used = used || p.live[Edge{uint32(i), uint16(j)}]
		}
		for _, e := range g.Nodes[i].In {
			p.live[e] = p.live[e] || used
		}
	}
	return p, nil
}

// run computes the outs. Outputs start as garbage, so that what a Ref fails to write is seen; dead ones are none.
func (p *interpreter) run() ([]tensor.Tensor, error) {
	values := map[Edge]tensor.Tensor{}
	for i, n := range p.g.Nodes {
		out, used := make([]tensor.Tensor, len(n.Out)), false
		for j, s := range n.Out {
			if p.live[Edge{uint32(i), uint16(j)}] {
				out[j], used = garbage(s, 0xff), true
			}
		}
		if !used {
			continue
		}
		switch kind, v := p.g.Kind(uint32(i)); kind {
		case Feed:
			out[0] = p.feeds[p.g.Feeds[i]]
		case Var:
			out[0] = v.Host()
		case RNG:
			out[0] = iarr(d(2), 7, 3)
		case Compute:
			in := make([]tensor.Tensor, len(n.In))
			for k, e := range n.In {
				in[k] = values[e]
			}
			if err := n.Op.Ref(out, in); err != nil {
				return nil, n.Place(err)
			}
		}
		for j := range out {
			values[Edge{uint32(i), uint16(j)}] = out[j]
		}
	}
	var outs []tensor.Tensor
	for _, e := range p.g.Outs {
		outs = append(outs, values[e])
	}
	return outs, nil
}

// eval is the values of outs.
func eval(t testing.TB, r *Recorder, outs ...Value) []tensor.Tensor {
	t.Helper()
	p, err := interpret(r, outs...)
	if err != nil {
		t.Fatal(err)
	}
	values, err := p.run()
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// garbage is an array whose bytes are all b: NaN for 0xff.
func garbage(s tensor.Spec, b byte) tensor.Tensor {
	t := tensor.New(s)
	for i := range t.Bytes() {
		t.Bytes()[i] = b
		if s.DType == tensor.Bool {
			t.Bytes()[i] &= 1
		}
	}
	return t
}

// inputs records tensors as inputs named x0, x1, ...
func inputs(r *Recorder, in ...tensor.Tensor) []Value {
	vs := make([]Value, len(in))
	for i, x := range in {
		vs[i] = r.Input(fmt.Sprint("x", i), x, -1)
	}
	return vs
}

// to is x converted to type d if it holds floats.
func to(dt tensor.DType, x tensor.Tensor) tensor.Tensor {
	if !x.DType().Float() {
		return x
	}
	y := tensor.New(tensor.Spec{DType: dt, Shape: x.Shape()})
	for i := range y.Len() {
		y.Set(i, x.At(i))
	}
	return y
}

// near compares elements: NaN equals NaN, infinities must be equal, all else differs by at most tol times the larger magnitude or 1.
func near(got, want tensor.Tensor, tol float64) error {
	if got.Spec() != want.Spec() {
		return fmt.Errorf("%v, want %v", got.Spec(), want.Spec())
	}
	if !got.DType().Float() {
		if !got.Same(want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		return nil
	}
	for i := range got.Len() {
		if g, w := got.At(i), want.At(i); !same(g, w, tol) {
			return fmt.Errorf("element %d is %v, want %v: %v, want %v", i, g, w, got, want)
		}
	}
	return nil
}

func same(x, y, tol float64) bool {
	if x == y || x != x && y != y {
		return true
	}
	return math.Abs(x-y) <= tol*max(1, math.Abs(x), math.Abs(y)) && !math.IsInf(x, 0) && !math.IsInf(y, 0)
}

// check fails if got is not near want.
func check(t testing.TB, what string, got tensor.Tensor, want ...float64) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
		return
	}
	for i, w := range want {
		if !same(got.At(i), w, 1e-12) {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}
