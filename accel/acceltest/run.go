package acceltest

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/tensor"
)

// do computes everything into fresh memory and then commits, so that nothing donated is written before the last node has finished. On
// an error what is not donated is poisoned with it.
func (r *run) do() error {
	vals, err := r.compute()
	if err == nil && r.injected != nil {
		err = &accel.NodeError{Node: len(r.g.Nodes) - 1, Err: r.injected}
	}
	if err != nil {
		for j, b := range r.out {
			if r.g.Donate[j] < 0 {
				b.err = err
			}
		}
		return err
	}
	for j, e := range r.g.Outs {
		r.out[j].become(vals[e.Node][e.Out])
	}
	return nil
}

// become makes v the buffer's value. On a hostile device the value moves: whoever still reads the old memory sees poison. On a reference
// device it is written in place, as most accelerators do.
func (b *buffer) become(v tensor.Tensor) {
	b.err = nil
	if b.d.hostile || b.mem.IsNone() {
		poison(b.mem)
		b.mem = v
		return
	}
	b.mem.CopyFrom(v)
}

// compute gives the values of all nodes that are still alive at the end.
func (r *run) compute() (vals [][]tensor.Tensor, err error) {
	vals = make([][]tensor.Tensor, len(r.g.Nodes))
	for i, a := range r.in {
		mem := a.Host
		if a.Buf != nil {
			if mem, err = a.Buf.(*buffer).value(); err != nil {
				return nil, err
			}
		}
		vals[i] = []tensor.Tensor{mem}
	}
	for i := r.g.Params; i < len(r.g.Nodes); i++ {
		if vals[i], err = r.node(i, vals); err != nil {
			return nil, &accel.NodeError{Node: i, Err: err}
		}
		for _, e := range r.dies[i] {
			if r.d.hostile {
				poison(vals[e.Node][e.Out])
			}
			vals[e.Node][e.Out] = tensor.Tensor{}
		}
	}
	return vals, nil
}

// node runs the reference of node i. A user's operation may panic.
func (r *run) node(i int, vals [][]tensor.Tensor) (out []tensor.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	n := &r.g.Nodes[i]
	in := make([]tensor.Tensor, len(n.In))
	for k, e := range n.In {
		in[k] = vals[e.Node][e.Out]
	}
	out = make([]tensor.Tensor, len(n.Out))
	for k, s := range n.Out {
		if r.used[edge(i, k)] {
			out[k] = tensor.New(s)
			if r.d.hostile { // memory is never zero by luck
				poison(out[k])
			}
		}
	}
	return out, n.Op.Ref(out, in)
}
