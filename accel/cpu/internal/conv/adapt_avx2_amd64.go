package conv

// The adapters hand slices to the assembly of AVX2.

func overrideAVX2(k *kernels) {
	k.big, k.small, k.wide = 6, 4, 1
	k.conv, k.first = convAVX2, firstAVX2
	k.wgrad, k.firstWgrad = wgradAVX2, firstWgradAVX2
	k.maxPool, k.maxPoolGrad = maxPoolAVX2, maxPoolGradAVX2
	k.avgPool, k.avgPoolGrad = avgPoolAVX2, avgPoolGradAVX2
	k.sums, k.squares, k.normalize = sumsAVX2, squaresAVX2, normalizeAVX2
	k.normSums, k.normGrad, k.reluGrad = normSumsAVX2, normGradAVX2, reluGradAVX2
	k.transpose4 = transpose4AVX2
}

func convAVX2(c convCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		if t.rows == 6 {
			conv6x1F32AVX2(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		} else {
			conv4x1F32AVX2(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func firstAVX2(c firstCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		taps := len(t.taps) / 2
		if len(t.in) == 6 {
			first6x1F32AVX2(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		} else {
			first4x1F32AVX2(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func wgradAVX2(c wgradCall) {
	n, pairs, dy := len(c.pairs)/2, &c.pairs[0], &c.dy[0]
	wgrad6x1F32AVX2(n, pairs, &c.x[0], dy, c.dyPlane, &c.dw[0*Block], c.dwPlane, c.add)
	wgrad5x1F32AVX2(n, pairs, &c.x[6], dy, c.dyPlane, &c.dw[6*Block], c.dwPlane, c.add)
	wgrad5x1F32AVX2(n, pairs, &c.x[11], dy, c.dyPlane, &c.dw[11*Block], c.dwPlane, c.add)

}

func firstWgradAVX2(c firstWgradCall) {
	n, pairs, x, taps, dy, dw := len(c.pairs)/2, &c.pairs[0], &c.x[0], &c.taps[0], &c.dy[0], &c.dw[0]
	switch {
	case len(c.taps) == 3 && c.wide == 2:
		firstWgrad3x2F32AVX2(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case len(c.taps) == 3:
		firstWgrad3x1F32AVX2(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case c.wide == 2:
		firstWgrad1x2F32AVX2(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	default:
		firstWgrad1x1F32AVX2(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	}
}

func maxPoolAVX2(c poolCall) {
	maxPoolF32AVX2(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.floor, c.none)
}

func maxPoolGradAVX2(c poolCall) {
	maxPoolGradF32AVX2(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.nan, flag(c.add))
}

func avgPoolAVX2(c poolCall) {
	avgPoolF32AVX2(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count)
}

func avgPoolGradAVX2(c poolCall) {
	avgPoolGradF32AVX2(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count, flag(c.add))
}

func sumsAVX2(n int, x []float32, sums []float64) { sumsF32AVX2(n, &x[0], &sums[0]) }

func squaresAVX2(n int, x, mean []float32, sums []float64) {
	squaresF32AVX2(n, &x[0], &mean[0], &sums[0])
}

func normalizeAVX2(n int, x, y, mean, scale, bias []float32, floor float32) {
	normalizeF32AVX2(n, &x[0], &y[0], &mean[0], &scale[0], &bias[0], floor)
}

func normSumsAVX2(n int, dy, y, x, mean []float32, sums []float64) {
	if y == nil {
		normSumsF32AVX2(n, &dy[0], &x[0], &mean[0], &sums[0])
	} else {
		normSumsReLUF32AVX2(n, &dy[0], &y[0], &x[0], &mean[0], &sums[0])
	}
}

func normGradAVX2(n int, dy, y, x, dx, mean, p, q, r []float32) {
	if y == nil {
		normGradF32AVX2(n, &dy[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
	} else {
		normGradReLUF32AVX2(n, &dy[0], &y[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
	}
}

func reluGradAVX2(n int, dy, y, dx []float32) { reluGradF32AVX2(n, &dy[0], &y[0], &dx[0]) }

func transpose4AVX2(dst []float32, step int, src []float32, stride, k int) {
	transpose4F32AVX2(&dst[0], step, &src[0], stride, k)
}
