package acceltest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// randomGraphs is how many the suite runs in each type.
const randomGraphs = 150

// graphs runs random chains of operations, because a driver fuses: elementwise runs, epilogues of matmul and convolution, reductions of
// rows, with values that several nodes read, values that are outputs too, and outputs that take a parameter's memory. In every third
// graph an operand has a NaN.
func (s *suite) graphs() {
	d := s.device()
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		tolerance := map[tensor.DType]float64{tensor.F32: 2e-4, tensor.F64: 1e-11}[dt]
		for seed := range uint64(randomGraphs) {
			w := newWriter(d, seed, dt, seed%3 == 0)
			for range 2 + w.rng.IntN(12) {
				w.step()
			}
			w.finish()
			s.graph(d, w, tolerance)
		}
	}
}

// graph runs one random graph, twice, and compares with its values in float64.
func (s *suite) graph(d accel.Device, w *writer, tolerance float64) {
	s.Helper()
	p := s.compile(d, &w.Graph)
	defer p.Close()
	scale := 1.0 // rounding is as large as the largest value that went into a sum
	for _, v := range w.vals {
		for _, t := range v {
			scale = max(scale, largest(t))
		}
	}
	var before []tensor.Tensor
	for try := range 2 {
		in := make([]accel.Arg, w.Params)
		for i := range in {
			x := rounded(w.vals[i][0], w.Nodes[i].Out[0].DType)
			if slices.Contains(w.Donate, i) || (i+try)%2 == 0 {
				in[i].Buf = s.upload(d, x)[0]
			} else {
				in[i].Host = x
			}
		}
		out := make([]accel.Buffer, len(w.Outs))
		if try == 1 {
			out = s.stale(d, &w.Graph)
		}
		s.run(p, in, out)
		for j, e := range w.Outs {
			got, want := s.download(out[j]), rounded(w.vals[e.Node][e.Out], w.Nodes[e.Node].Out[e.Out].DType)
			if why := differ(got, want, tolerance*scale); why != "" {
				s.Fatalf("random graph %d, output %d: %s%s", w.seed, j, why, text(&w.Graph))
			}
			if try == 1 {
				if why := sameBits(got, before[j]); why != "" {
					s.Fatalf("random graph %d, output %d, once more: %s%s", w.seed, j, why, text(&w.Graph))
				}
			}
			before = append(before, got)
			if w.Donate[j] < 0 {
				out[j].Free()
			}
		}
		for _, a := range in {
			if a.Buf != nil {
				a.Buf.Free()
			}
		}
	}
}

// writer writes a random graph in one float type, and computes it in float64 while it writes: what would be badly conditioned, or is not
// supported, is not written.
type writer struct {
	builder
	d    accel.Device
	dt   tensor.DType
	seed uint64
	rng  *rand.Rand
	nan  bool              // the next operand gets a NaN
	vals [][]tensor.Tensor // per node, floats as f64
	late []ops.Edge        // parameters that are still to be moved to the front
	pool []ops.Edge        // float values to go on with
}

func newWriter(d accel.Device, seed uint64, dt tensor.DType, nan bool) *writer {
	w := &writer{d: d, dt: dt, seed: seed, rng: rand.New(rand.NewPCG(seed, uint64(dt))), nan: nan}
	switch w.rng.IntN(3) {
	case 0:
		w.operand(w.size(), w.size())
	case 1:
		w.operand(1+w.rng.IntN(3), []int{1, 3, 16, 17}[w.rng.IntN(4)], 4+w.rng.IntN(5), 4+w.rng.IntN(5))
	default:
		w.operand(1+w.rng.IntN(3), w.size(), w.size())
	}
	return w
}

// size is a dimension that may fill vectors or not.
func (w *writer) size() int { return []int{1, 2, 3, 5, 8, 16, 17, 33}[w.rng.IntN(8)] }

// operand adds a parameter.
func (w *writer) operand(dims ...int) ops.Edge {
	t := ramp(w.rng.IntN(1000), tensor.SpecOf(tensor.F64, dims...))
	t = rounded(rounded(t, w.dt), tensor.F64) // as the device will see it
	if w.nan && t.Len() > 0 {
		t.Set(w.rng.IntN(t.Len()), math.NaN())
		w.nan = false
	}
	e := w.parameter(t, tensor.SpecOf(w.dt, dims...))
	w.pool = append(w.pool, e)
	return e
}

// parameter adds one that is no float value to go on with.
func (w *writer) parameter(t tensor.Tensor, spec tensor.Spec) ops.Edge {
	w.Nodes = append(w.Nodes, accel.Node{Out: []tensor.Spec{spec}})
	w.vals = append(w.vals, []tensor.Tensor{t})
	e := edge(len(w.Nodes)-1, 0)
	w.late = append(w.late, e)
	return e
}

// pick is one of the values, with a liking for the last.
func (w *writer) pick() ops.Edge {
	if w.rng.IntN(2) == 0 {
		return w.pool[len(w.pool)-1]
	}
	return w.pool[w.rng.IntN(len(w.pool))]
}

func (w *writer) spec(e ops.Edge) tensor.Spec    { return w.Nodes[e.Node].Out[e.Out] }
func (w *writer) value(e ops.Edge) tensor.Tensor { return w.vals[e.Node][e.Out] }

// apply writes an operation if it accepts its inputs, is supported, and its values are tame.
func (w *writer) apply(op ops.Op, in ...ops.Edge) (ops.Edge, bool) {
	n, err := w.infer(op, in)
	if err != nil || w.d.Supports(&n) != nil {
		return ops.Edge{}, false
	}
	var args, res []tensor.Tensor
	for _, e := range in {
		args = append(args, w.value(e))
	}
	wide, err := op.Infer(specs(args))
	if err != nil {
		return ops.Edge{}, false
	}
	for _, s := range wide {
		res = append(res, tensor.New(s))
	}
	if op.Ref(res, args) != nil {
		return ops.Edge{}, false
	}
	for i := range res[0].Len() {
		if x := res[0].At(i); math.Abs(x) > 300 { // infinities too
			return ops.Edge{}, false
		}
	}
	w.Nodes, w.vals = append(w.Nodes, n), append(w.vals, res)
	e := edge(len(w.Nodes)-1, 0)
	if n.Out[0].DType == w.dt {
		w.pool = append(w.pool, e)
	}
	return e, true
}

// step writes one operation, or a few that belong together.
func (w *writer) step() {
	x := w.pick()
	shape := w.spec(x).Shape
	r := shape.Rank()
	switch w.rng.IntN(10) {
	case 0, 1:
		w.unary(x)
	case 2, 3:
		w.apply(ops.BinaryOp{F: ops.BinaryFunc(w.rng.IntN(3))}, x, w.pick())
	case 4:
		w.choose(x)
	case 5:
		w.reduce(x)
	case 6:
		w.move(x)
	case 7, 8:
		if r == 4 {
			w.convolve(x)
		} else {
			w.multiply(x)
		}
	default:
		w.normalise(x)
	}
}

// finish picks outputs and the parameters whose memory they take, and moves the parameters to the front. What nobody reads is an output,
// for an engine drops dead code; so is some of the rest.
func (w *writer) finish() {
	if len(w.Nodes) == len(w.late) {
		w.apply(ops.UnaryOp{F: ops.Neg}, w.pool[0])
	}
	read := map[uint32]bool{}
	for _, n := range w.Nodes {
		for _, e := range n.In {
			read[e.Node] = true
		}
	}
	for i, n := range w.Nodes {
		if n.Op != nil && (!read[uint32(i)] || w.rng.IntN(4) == 0) {
			w.out(edge(i, 0), -1)
		}
	}
	w.front()
	taken := map[int]bool{}
	for j, e := range w.Outs {
		for i := range w.Params {
			if !taken[i] && w.spec(edge(i, 0)) == w.spec(e) && w.rng.IntN(2) == 0 {
				w.Donate[j], taken[i] = i, true
				break
			}
		}
	}
}

// front moves the parameters, which were added when they were needed, before everything else.
func (w *writer) front() {
	var order []int
	for _, parameters := range []bool{true, false} {
		for i := range w.Nodes {
			if (w.Nodes[i].Op == nil) == parameters {
				order = append(order, i)
			}
		}
	}
	at := make([]uint32, len(order))
	nodes, vals := make([]accel.Node, len(order)), make([][]tensor.Tensor, len(order))
	for k, i := range order {
		at[i], nodes[k], vals[k] = uint32(k), w.Nodes[i], w.vals[i]
	}
	for _, n := range nodes {
		for k := range n.In {
			n.In[k].Node = at[n.In[k].Node]
		}
	}
	for j := range w.Outs {
		w.Outs[j].Node = at[w.Outs[j].Node]
	}
	w.Nodes, w.vals, w.Params = nodes, vals, len(w.late)
}
