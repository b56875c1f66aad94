package cpu

import (
	"github.com/cortado-ml/cortado/accel/cpu/internal/conv"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	_ = imageKernel[ops.AvgPool2DOp]((*compiler).avgPool, (*compiler).avgPool64)
	_ = imageKernel[ops.AvgPool2DGradOp]((*compiler).avgPoolGrad, (*compiler).avgPoolGrad64)
)

// avgPool emits an average-pool.
func (c *compiler) avgPool(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.AvgPool2DOp)
	p, err := conv.NewAveragePool(c.d.level, images(n.Args[0].Shape), window(o.Size, o.Stride, o.Pad), o.CountPad)
	if err != nil {
		return err
	}
	x, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	y, done := c.makeImage(out(i, 0))
	c.emit("average-pool "+c.d.level.String(), avgPoolKernel{p}, []int{i}, []view{whole(x)}, []view{whole(y)})
	return done()
}

type avgPoolKernel struct{ *conv.Pool }

func (k avgPoolKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.Average(pool, floats(out[0]), floats(in[0]))
	return nil
}

// avgPoolGrad emits the gradient of an average-pool.
func (c *compiler) avgPoolGrad(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.AvgPool2DGradOp)
	p, err := conv.NewAveragePool(c.d.level, images(n.Out[0].Shape), window(o.Size, o.Stride, o.Pad), o.CountPad)
	if err != nil {
		return err
	}
	dy, err := c.image(n.In[0])
	if err != nil {
		return err
	}
	dx, done := c.makeImage(out(i, 0))
	c.emit("average-pool gradient "+c.d.level.String(), avgPoolGradKernel{p}, []int{i}, []view{whole(dy)}, []view{whole(dx)})
	return done()
}

type avgPoolGradKernel struct{ *conv.Pool }

func (k avgPoolGradKernel) Run(pool *work.Pool, in, out [][]byte) error {
	k.AverageGradient(pool, floats(out[0]), floats(in[0]))
	return nil
}

// counted is what an average over a window divides by.
func counted(pad bool, w conv.Window, r0, r1, c0, c1 int) float64 {
	if pad {
		return float64(w.Taps())
	}
	return float64((r1 - r0) * (c1 - c0))
}

// avgPool64 emits an average-pool of float64.
func (c *compiler) avgPool64(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.AvgPool2DOp)
	w := window(o.Size, o.Stride, o.Pad)
	return c.average64(i, "average-pool f64", w, n.Args[0].Shape, n.Out[0].Shape, false, func(x, y []float64, j, r0, r1, c0, c1, width int) {
		sum := 0.0
		for r := r0; r < r1; r++ {
			for _, v := range x[r*width+c0 : r*width+c1] {
				sum += v
			}
		}
		y[j] = sum / counted(o.CountPad, w, r0, r1, c0, c1)
	})
}

// avgPoolGrad64 emits the gradient of an average-pool of float64.
func (c *compiler) avgPoolGrad64(i int) error {
	n := &c.g.Nodes[i]
	o := n.Op.(ops.AvgPool2DGradOp)
	w := window(o.Size, o.Stride, o.Pad)
	return c.average64(i, "average-pool gradient f64", w, n.Out[0].Shape, n.Args[0].Shape, true, func(dx, dy []float64, j, r0, r1, c0, c1, width int) {
		share := dy[j] / counted(o.CountPad, w, r0, r1, c0, c1)
		for r := r0; r < r1; r++ {
			for k := r*width + c0; k < r*width+c1; k++ {
				dx[k] += share
			}
		}
	})
}

// average64 emits a plain loop over the windows of images x with results y.
func (c *compiler) average64(i int, name string, w conv.Window, x, y tensor.Shape, back bool, each func(x, y []float64, j, r0, r1, c0, c1, width int)) error {
	v, err := c.need(c.g.Nodes[i].In[0])
	if err != nil {
		return err
	}
	k := newPlanes(x, y, back, func(a, b []float64, _ []int32) {
		if back {
			clear(a)
		}
		eachWindow(w, x, y, func(j, r0, r1, c0, c1 int) { each(a, b, j, r0, r1, c0, c1, x.Dim(3)) })
	})
	c.emit(name, k, []int{i}, []view{whole(v)}, []view{whole(c.make(out(i, 0)))})
	return nil
}
