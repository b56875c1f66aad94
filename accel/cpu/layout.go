package cpu

import (
	"unsafe"

	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Images lie in one of two forms: plain, row by row as the surface says, or blocked, as package conv wants them. A value is made in the
// form that its kernel makes, and converted when somebody wants the other.

// floats is memory as float32.
func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// images is a shape [n, c, ...] as a batch of images; what follows the channels is one or two axes of pixels, or more that count as one.
func images(s tensor.Shape) conv.Tensor {
	t := conv.Tensor{N: s.Dim(0), C: s.Dim(1), H: 1, W: 1}
	for i := 2; i < s.Rank(); i++ {
		if i == 2 && s.Rank() == 4 {
			t.H = s.Dim(i)
		} else {
			t.W *= s.Dim(i)
		}
	}
	return t
}

// blockedBytes is the size of a value in blocked form.
func blockedBytes(s tensor.Shape) int { return 4 * images(s).Len() }

// toBlocked and toPlain convert.
type toBlocked struct{ *conv.Layout }

type toPlain struct{ *conv.Layout }

func (k toBlocked) Run(pool *work.Pool, in, out [][]byte) error {
	k.ToBlocked(pool, floats(out[0]), floats(in[0]))
	return nil
}

func (k toPlain) Run(pool *work.Pool, in, out [][]byte) error {
	k.FromBlocked(pool, floats(out[0]), floats(in[0]))
	return nil
}

// needBlocked is a float32 value [n, c, ...] in blocked form.
func (c *compiler) needBlocked(e ops.Edge) (*value, error) {
	if k := c.cluster[e]; k != nil {
		if err := c.close(k); err != nil {
			return nil, err
		}
	}
	if v := c.blocked[e]; v != nil {
		return v, nil
	}
	v, err := c.need(e)
	if err != nil {
		return nil, err
	}
	shape := c.spec(e).Shape
	l, err := conv.NewLayout(c.d.level, images(shape))
	if err != nil {
		return nil, err
	}
	b := c.scratch(blockedBytes(shape))
	c.emit("to blocked", toBlocked{l}, []int{int(e.Node)}, []view{whole(v)}, []view{whole(b)})
	c.blocked[e] = b
	return b, nil
}

// makeBlocked is new memory for a value in blocked form.
func (c *compiler) makeBlocked(e ops.Edge) *value {
	v := c.scratch(blockedBytes(c.spec(e).Shape))
	c.blocked[e] = v
	return v
}

// unblock makes the plain form of a value that is blocked.
func (c *compiler) unblock(e ops.Edge) (*value, error) {
	l, err := conv.NewLayout(c.d.level, images(c.spec(e).Shape))
	if err != nil {
		return nil, err
	}
	b, v := c.blocked[e], c.make(e)
	c.emit("to plain", toPlain{l}, []int{int(e.Node)}, []view{whole(b)}, []view{whole(v)})
	return v, nil
}

// blockedChain is how an elementwise chain runs over blocked images.
type blockedChain struct {
	conv.Tensor
	shape tensor.Shape // [blocks, pixels + 1, 16], or one axis if nothing is read per channel
	flat  bool
	keeps bool // zeros in the padding stay zeros
}

func (b *blockedChain) bytes() int { return 4 * b.Len() }

// blockedChain decides whether a cluster runs over blocked memory: some input lies there and nowhere else, and all others are images of the
// same shape, one number, or one for each channel.
func (c *compiler) blockedChain(k *cluster, inside map[ops.Edge]bool) *blockedChain {
	if k.shape.Rank() < 3 {
		return nil
	}
	b := &blockedChain{Tensor: images(k.shape), flat: true, keeps: true}
	worth := false
	for _, i := range k.nodes {
		n := &c.g.Nodes[i]
		if n.Out[0].DType != tensor.F32 || drawsRandom(n.Op) {
			return nil
		}
		b.keeps = b.keeps && keepsZero(n.Op)
		for _, e := range n.In {
			spec := c.spec(e)
			if _, constant := c.consts[e]; inside[e] || constant {
				continue
			}
			switch {
			case spec.DType != tensor.F32:
				return nil
			case spec.Shape == k.shape:
				worth = worth || c.blocked[e] != nil && c.plain[e] == nil
			case spec.Shape.Size() == 1:
			case perChannel(spec.Shape, k.shape):
				b.flat = false
			default:
				return nil
			}
		}
	}
	if !worth {
		return nil
	}
	b.shape = tensor.Of(b.Blocks(), b.Pixels()+1, conv.Block)
	if b.flat {
		b.shape = tensor.Of(b.Len())
	}
	return b
}

// perChannel reports whether s, which broadcasts to images, has one number for each channel: [1, c, 1, 1] or [c, 1, 1].
func perChannel(s, images tensor.Shape) bool {
	fromEnd := images.Rank() - 1
	return s.Size() == images.Dim(1) && s.Rank() >= fromEnd && s.Dim(-fromEnd) == images.Dim(1)
}

// keepsZero reports whether an operation makes zero from zeros, whatever number for each channel it meets: then the padding stays clear.
func keepsZero(op ops.Op) bool {
	switch o := op.(type) {
	case ops.UnaryOp:
		return o.F == ops.Identity || o.F == ops.ReLU || o.F == ops.Tanh || o.F == ops.Sqrt
	case ops.ReLUGradOp, ops.StopGradientOp:
		return true
	}
	return false
}

// input is an operand of the chain, with its strides.
func (b *blockedChain) input(c *compiler, e ops.Edge, full tensor.Shape) (*value, [tensor.MaxRank]int, error) {
	spec := c.spec(e)
	switch {
	case spec.Shape == full:
		v, err := c.needBlocked(e)
		return v, dense(b.shape), err
	case spec.Shape.Size() == 1:
		v, err := c.need(e)
		return v, [tensor.MaxRank]int{}, err
	}
	v, err := c.channels(e)
	return v, [tensor.MaxRank]int{conv.Block, 0, 1}, err
}

// channels is one number for each channel, with zeros up to a whole block.
func (c *compiler) channels(e ops.Edge) (*value, error) {
	v, err := c.need(e)
	if err != nil {
		return nil, err
	}
	padded := 4 * conv.Block * ((v.bytes/4 + conv.Block - 1) / conv.Block)
	if v.bytes == padded {
		return v, nil
	}
	w := c.scratch(padded)
	c.emit("copy", moveKernel{}, []int{int(e.Node)}, []view{whole(v)}, []view{whole(w)})
	return w, nil
}

// clear makes the padding of a result zero again, where the chain may have written other values.
func (b *blockedChain) clear(c *compiler, nodes []int, v *value) {
	if !b.keeps {
		c.emit("clear padding", clearPadding{b.Tensor}, nodes, []view{whole(v)}, []view{whole(v)})
	}
}

type clearPadding struct{ conv.Tensor }

func (k clearPadding) Run(pool *work.Pool, in, out [][]byte) error {
	k.ClearPad(floats(out[0]))
	return nil
}

// moveKernel copies, and fills what is longer with zeros.
type moveKernel struct{}

func (moveKernel) Run(pool *work.Pool, in, out [][]byte) error {
	n := copy(out[0], in[0])
	clear(out[0][n:])
	return nil
}
