//go:build amd64 || arm64

package conv

// assembly is the kernels of one level as the generator declares them. Its methods hand them the slices of a call.
type assembly struct {
	pixels, wide int      // pixels of a big tile (a small one has 4), and the largest number of blocks of output channels
	big, small   [2]tiles // of one and of two blocks
	rows         []weightRows
	firstRows    [2]firstRows // of one and of two blocks
	depth        [2]firstFunc // of a big and of a small tile
	depthRows    firstRows

	maxPool     func(n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, floor float32, none int32)
	maxPoolGrad func(n int, pixels *int32, taps int, table *int32, x, y *float32, win *uint8, nan uint32, acc int)
	avgPool     func(n int, pixels *int32, taps int, table *int32, x, y *float32, count float32)
	avgPoolGrad func(n int, pixels *int32, taps int, table *int32, x, y *float32, count float32, acc int)

	sums         func(n int, x *float32, sums *float64)
	squares      func(n int, x, mean *float32, sums *float64)
	normalize    func(n int, x, y, mean, scale, bias *float32, floor float32)
	normSums     func(n int, dy, x, mean *float32, sums *float64)
	normSumsReLU func(n int, dy, y, x, mean *float32, sums *float64)
	normGrad     func(n int, dy, x, dx, mean, p, q, r *float32)
	normGradReLU func(n int, dy, y, x, dx, mean, p, q, r *float32)
	reluGrad     func(n int, dy, y, dx *float32)
	transpose4   func(dst *float32, step int, src *float32, stride, k int)
}

// tiles is the tiles of one shape.
type tiles struct {
	conv  func(taps int, table *int32, x *float32, blocks, xPlane int, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int)
	first firstFunc
}

type firstFunc func(taps int, table *int32, x *float32, xTable *int32, w *float32, wPlane int, y *float32, yTable *int32, yPlane int, bias *float32, mode int)

// weightRows computes some rows of the 16 of a weight gradient, for one and for two blocks of output channels.
type weightRows struct {
	rows  int
	wgrad [2]wgradFunc
}

type wgradFunc func(n int, pairs *int32, x, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool)

// firstRows computes three rows or one of a first layer's weight gradient.
type firstRows struct {
	three, one func(n int, pairs *int32, x *float32, taps *int32, dy *float32, dyPlane int, dw *float32, dwPlane int, acc bool)
}

// override puts the kernels in place.
func (a *assembly) override(k *kernels) {
	k.big, k.small, k.wide = a.pixels, 4, a.wide
	k.conv, k.first, k.wgrad, k.firstWgrad = a.runConv, a.runFirst, a.runWgrad, a.runFirstWgrad
	k.depth, k.depthWgrad = a.runDepth, a.runDepthWgrad
	k.maxPool = func(c poolCall) {
		a.maxPool(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.floor, c.none)
	}
	k.maxPoolGrad = func(c poolCall) {
		a.maxPoolGrad(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.nan, flag(c.add))
	}
	k.avgPool = func(c poolCall) {
		a.avgPool(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count)
	}
	k.avgPoolGrad = func(c poolCall) {
		a.avgPoolGrad(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count, flag(c.add))
	}
	k.sums = func(n int, x []float32, sums []float64) { a.sums(n, &x[0], &sums[0]) }
	k.squares = func(n int, x, mean []float32, sums []float64) { a.squares(n, &x[0], &mean[0], &sums[0]) }
	k.normalize = func(n int, x, y, mean, scale, bias []float32, floor float32) {
		a.normalize(n, &x[0], &y[0], &mean[0], &scale[0], &bias[0], floor)
	}
	k.normSums = func(n int, dy, y, x, mean []float32, sums []float64) {
		if y == nil {
			a.normSums(n, &dy[0], &x[0], &mean[0], &sums[0])
		} else {
			a.normSumsReLU(n, &dy[0], &y[0], &x[0], &mean[0], &sums[0])
		}
	}
	k.normGrad = func(n int, dy, y, x, dx, mean, p, q, r []float32) {
		if y == nil {
			a.normGrad(n, &dy[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
		} else {
			a.normGradReLU(n, &dy[0], &y[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
		}
	}
	k.reluGrad = func(n int, dy, y, dx []float32) { a.reluGrad(n, &dy[0], &y[0], &dx[0]) }
	k.transpose4 = func(dst []float32, step int, src []float32, stride, k int) {
		a.transpose4(&dst[0], step, &src[0], stride, k)
	}
}

func (a *assembly) runConv(c convCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	big, small := a.big[c.wide-1].conv, a.small[c.wide-1].conv
	for i := range c.tiles {
		t := &c.tiles[i]
		f := big
		if t.rows == 4 {
			f = small
		}
		f(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
	}
}

func (a *assembly) runFirst(c firstCall) {
	c.run(a.big[c.wide-1].first, a.small[c.wide-1].first)
}

func (a *assembly) runDepth(c firstCall) { c.run(a.depth[0], a.depth[1]) }

func (c *firstCall) run(big, small firstFunc) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		f := big
		if len(t.in) == 4 {
			f = small
		}
		f(len(t.taps)/2, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
	}
}

func (a *assembly) runWgrad(c wgradCall) {
	s := 0
	for _, r := range a.rows {
		r.wgrad[c.wide-1](len(c.pairs)/2, &c.pairs[0], &c.x[s], &c.dy[0], c.dyPlane, &c.dw[s*Block], c.dwPlane, c.add)
		s += r.rows
	}
}

func (a *assembly) runFirstWgrad(c firstWgradCall) { c.run(a.firstRows[c.wide-1]) }

func (a *assembly) runDepthWgrad(c firstWgradCall) { c.run(a.depthRows) }

func (c *firstWgradCall) run(rows firstRows) {
	f := rows.one
	if len(c.taps) == 3 {
		f = rows.three
	}
	f(len(c.pairs)/2, &c.pairs[0], &c.x[0], &c.taps[0], &c.dy[0], c.dyPlane, &c.dw[0], c.dwPlane, c.add)
}

// start returns where a slice starts; that of an argument that is left out is nil.
func start[T any](s []T) *T {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
