package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// partBytes is about how much memory one part of a copy writes.
const partBytes = 1 << 16

// framed copies each run of bytes of its input with a pattern before and behind it, in one pass over the output.
type framed struct {
	lo, n, hi int // bytes of a run
	pattern   []byte
	in, out   []byte // of the run
}

// framed emits an array of one number with the input, as it is, from start on along an axis.
func (c *compiler) framed(i int, x ops.Bits, axis, start int) error {
	n := &c.g.Nodes[i]
	from, to := n.Args[0].Shape, n.Out[0].Shape
	_, size, inner := around(to, int8(axis))
	inner *= n.Out[0].DType.Size()
	k := &framed{lo: start * inner, n: from.Dim(axis) * inner, hi: (size - start - from.Dim(axis)) * inner}
	k.pattern = tensor.Full(tensor.Spec{DType: n.Out[0].DType}, x.Float()).Bytes()
	return c.simple(i, "pad", k)
}

func (k *framed) Run(pool *work.Pool, in, out [][]byte) error {
	k.in, k.out = in[0], out[0]
	pool.Run((len(k.out)+partBytes-1)/partBytes, k)
	k.in, k.out = nil, nil
	return nil
}

// Do writes one part.
func (k *framed) Do(part int) {
	at, end := part*partBytes, min(len(k.out), (part+1)*partBytes)
	whole := k.lo + k.n + k.hi
	for at < end {
		run, pos := at/whole, at%whole
		switch {
		case pos < k.lo:
			at += repeat(k.out[at:min(end, at+k.lo-pos)], k.pattern)
		case pos < k.lo+k.n:
			at += copy(k.out[at:min(end, at+k.lo+k.n-pos)], k.in[run*k.n+pos-k.lo:])
		default:
			at += repeat(k.out[at:min(end, at+whole-pos)], k.pattern)
		}
	}
}

// repeat fills b with a pattern and returns its length.
func repeat(b, pattern []byte) int {
	for n := copy(b, pattern); n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
	return len(b)
}

// addSlice emits the gradient of a slice together with the sum of it and a value that is known by now, if nobody else reads the one or the
// other: then the slice alone is added, in place.
func (c *compiler) addSlice(i int, o ops.SliceGradOp) (done bool, err error) {
	n := &c.g.Nodes[i]
	u, ok := c.onlyUser(out(i, 0))
	if !ok || n.Out[0].DType != tensor.F32 {
		return false, nil
	}
	add := &c.g.Nodes[u]
	if b, is := add.Op.(ops.BinaryOp); !is || b.F != ops.Add || add.In[0] == add.In[1] || add.Out[0] != n.Out[0] {
		return false, nil
	}
	other := add.In[0]
	if other == out(i, 0) {
		other = add.In[1]
	}
	if _, only := c.onlyUser(other); !only || c.spec(other) != n.Out[0] || c.cluster[other] == nil && c.plain[other] == nil {
		return false, nil
	}
	dy, err := c.need(n.In[0])
	if err != nil {
		return false, err
	}
	v, err := c.need(other)
	if err != nil {
		return false, err
	}
	nodes, sum := []int{i, u}, out(u, 0)
	if _, result := c.outs[sum]; result || !c.alone(other, v) {
		w := c.make(sum)
		c.emit("copy", moveKernel{}, nodes, []view{whole(v)}, []view{whole(w)})
		v = w
	}
	_, size, inner := around(n.Out[0].Shape, o.Axis)
	k := &sliceAdder{start: o.Start, step: o.Step, n: n.Args[0].Shape.Dim(int(o.Axis)), whole: size, inner: inner}
	c.emit("add slice", k, nodes, []view{whole(v), whole(dy)}, []view{whole(v)})
	c.plain[sum], c.fused[u] = v, true
	return true, nil
}

// alone reports whether a value is memory of the arena that is no other value too.
func (c *compiler) alone(e ops.Edge, v *value) bool {
	for f, w := range c.plain {
		if w == v && f != e {
			return false
		}
	}
	return v.kind == inArena
}

// sliceAdder adds rows [outer, n, inner] to rows of an array [outer, whole, inner], from start on in steps.
type sliceAdder struct {
	start, step     int
	n, whole, inner int
	x, y            []float32 // of the run
}

func (k *sliceAdder) Run(pool *work.Pool, in, out [][]byte) error {
	k.x, k.y = floats(in[1]), floats(out[0])
	pool.Run((4*len(k.x)+partBytes-1)/partBytes, k)
	k.x, k.y = nil, nil
	return nil
}

// Do adds one part.
func (k *sliceAdder) Do(part int) {
	at, end := part*partBytes/4, min(len(k.x), (part+1)*partBytes/4)
	for at < end {
		row, c := at/k.inner, at%k.inner
		n := min(k.inner-c, end-at)
		y := k.y[(row/k.n*k.whole+k.start+row%k.n*k.step)*k.inner+c:][:n]
		for j, v := range k.x[at : at+n] {
			y[j] += v
		}
		at += n
	}
}
