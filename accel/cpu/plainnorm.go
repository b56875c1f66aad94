package cpu

import (
	"math"

	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Batch-norm of float64, in plain loops: it checks the float32 kernels, and training in float64 wants it.

// channel64 is a batch [outer, c, inner].
type channel64 struct {
	outer, c, inner int
	eps             float64
	task            channelTask
}

// channelTask runs a loop for each channel.
type channelTask struct {
	in, out [][]float64
	do      func(k *channel64, ch int, in, out [][]float64)
	k       *channel64
}

func (t *channelTask) Do(ch int) { t.do(t.k, ch, t.in, t.out) }

func newChannel64(s tensor.Shape, eps ops.Bits, do func(k *channel64, ch int, in, out [][]float64)) *channel64 {
	k := &channel64{eps: eps.Float()}
	k.outer, k.c, k.inner = around(s, 1)
	k.task = channelTask{do: do, k: k}
	return k
}

func (k *channel64) Run(pool *work.Pool, in, out [][]byte) error {
	t := &k.task
	t.in, t.out = t.in[:0], t.out[:0]
	for _, b := range in {
		t.in = append(t.in, doubles(b))
	}
	for _, b := range out {
		t.out = append(t.out, doubles(b))
	}
	pool.Run(k.c, t)
	return nil
}

// each calls f for every element of a channel.
func (k *channel64) each(ch int, f func(i int)) {
	for o := range k.outer {
		at := (o*k.c + ch) * k.inner
		for i := at; i < at+k.inner; i++ {
			f(i)
		}
	}
}

// forward64 takes x, scale, bias and gives y, mean, variance, in two passes.
func forward64(k *channel64, ch int, in, out [][]float64) {
	x, n := in[0], float64(k.outer*k.inner)
	var mean, v float64
	k.each(ch, func(i int) { mean += x[i] })
	mean /= n
	k.each(ch, func(i int) { v += (x[i] - mean) * (x[i] - mean) })
	v /= n
	k.normalize(ch, x, out[0], mean, v, in[1], in[2])
	out[1][ch], out[2][ch] = mean, v
}

func (k *channel64) normalize(ch int, x, y []float64, mean, v float64, scale, bias []float64) {
	by := math.Sqrt(v + k.eps)
	k.each(ch, func(i int) { y[i] = (x[i]-mean)/by*scale[ch] + bias[ch] })
}

// infer64 takes x, scale, bias, mean, variance and gives y.
func infer64(k *channel64, ch int, in, out [][]float64) {
	k.normalize(ch, in[0], out[0], in[3][ch], in[4][ch], in[1], in[2])
}

// backward64 takes x, scale, mean, variance, dy and gives dx, dscale, dbias.
func backward64(k *channel64, ch int, in, out [][]float64) {
	x, scale, mean, dy := in[0], in[1][ch], in[2][ch], in[4]
	by, n := math.Sqrt(in[3][ch]+k.eps), float64(k.outer*k.inner)
	var sum, dot float64
	k.each(ch, func(i int) {
		sum += dy[i]
		dot += dy[i] * (x[i] - mean) / by
	})
	k.each(ch, func(i int) { out[0][i] = scale / by * (dy[i] - sum/n - (x[i]-mean)/by*dot/n) })
	out[1][ch], out[2][ch] = dot, sum
}

// norm64 emits one of them, with all outputs.
func (c *compiler) norm64(i int, name string, eps ops.Bits, do func(k *channel64, ch int, in, out [][]float64)) error {
	n := &c.g.Nodes[i]
	in, err := views(c.need, n.In...)
	if err != nil {
		return err
	}
	outs := make([]view, len(n.Out))
	for x := range n.Out {
		outs[x] = whole(c.make(out(i, x)))
	}
	c.emit(name, newChannel64(n.Args[0].Shape, eps, do), []int{i}, in, outs)
	return nil
}

func (c *compiler) batchNorm64(i int) error {
	return c.norm64(i, "batch-norm f64", c.g.Nodes[i].Op.(ops.BatchNormOp).Eps, forward64)
}

func (c *compiler) batchNormGrad64(i int) error {
	return c.norm64(i, "batch-norm gradient f64", c.g.Nodes[i].Op.(ops.BatchNormGradOp).Eps, backward64)
}

func (c *compiler) batchNormInfer64(i int) error {
	return c.norm64(i, "batch-norm inference f64", c.g.Nodes[i].Op.(ops.BatchNormInferOp).Eps, infer64)
}
