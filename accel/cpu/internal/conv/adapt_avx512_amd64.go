package conv

// The adapters hand slices to the assembly of AVX512.

func overrideAVX512(k *kernels) {
	k.big, k.small, k.wide = 8, 4, 2
	k.conv, k.first = convAVX512, firstAVX512
	k.wgrad, k.firstWgrad = wgradAVX512, firstWgradAVX512
	k.maxPool, k.maxPoolGrad = maxPoolAVX512, maxPoolGradAVX512
	k.avgPool, k.avgPoolGrad = avgPoolAVX512, avgPoolGradAVX512
	k.sums, k.squares, k.normalize = sumsAVX512, squaresAVX512, normalizeAVX512
	k.normSums, k.normGrad, k.reluGrad = normSumsAVX512, normGradAVX512, reluGradAVX512
	k.transpose4 = transpose4AVX512
}

func convAVX512(c convCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		switch {
		case t.rows == 8 && c.wide == 2:
			conv8x2F32AVX512(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		case t.rows == 8:
			conv8x1F32AVX512(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		case c.wide == 2:
			conv4x2F32AVX512(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		default:
			conv4x1F32AVX512(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func firstAVX512(c firstCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		taps := len(t.taps) / 2
		switch {
		case len(t.in) == 8 && c.wide == 2:
			first8x2F32AVX512(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		case len(t.in) == 8:
			first8x1F32AVX512(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		case c.wide == 2:
			first4x2F32AVX512(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		default:
			first4x1F32AVX512(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func wgradAVX512(c wgradCall) {
	n, pairs, dy := len(c.pairs)/2, &c.pairs[0], &c.dy[0]
	for i := 0; i < Block; i += 8 {
		if c.wide == 2 {
			wgrad8x2F32AVX512(n, pairs, &c.x[i], dy, c.dyPlane, &c.dw[i*Block], c.dwPlane, c.add)
		} else {
			wgrad8x1F32AVX512(n, pairs, &c.x[i], dy, c.dyPlane, &c.dw[i*Block], c.dwPlane, c.add)
		}
	}
}

func firstWgradAVX512(c firstWgradCall) {
	n, pairs, x, taps, dy, dw := len(c.pairs)/2, &c.pairs[0], &c.x[0], &c.taps[0], &c.dy[0], &c.dw[0]
	switch {
	case len(c.taps) == 3 && c.wide == 2:
		firstWgrad3x2F32AVX512(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case len(c.taps) == 3:
		firstWgrad3x1F32AVX512(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case c.wide == 2:
		firstWgrad1x2F32AVX512(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	default:
		firstWgrad1x1F32AVX512(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	}
}

func maxPoolAVX512(c poolCall) {
	maxPoolF32AVX512(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.floor, c.none)
}

func maxPoolGradAVX512(c poolCall) {
	maxPoolGradF32AVX512(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], &c.win[0], c.nan, flag(c.add))
}

func avgPoolAVX512(c poolCall) {
	avgPoolF32AVX512(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count)
}

func avgPoolGradAVX512(c poolCall) {
	avgPoolGradF32AVX512(len(c.pixels)/2, &c.pixels[0], len(c.taps)/2, &c.taps[0], &c.x[0], &c.y[0], c.count, flag(c.add))
}

func sumsAVX512(n int, x []float32, sums []float64) { sumsF32AVX512(n, &x[0], &sums[0]) }

func squaresAVX512(n int, x, mean []float32, sums []float64) {
	squaresF32AVX512(n, &x[0], &mean[0], &sums[0])
}

func normalizeAVX512(n int, x, y, mean, scale, bias []float32, floor float32) {
	normalizeF32AVX512(n, &x[0], &y[0], &mean[0], &scale[0], &bias[0], floor)
}

func normSumsAVX512(n int, dy, y, x, mean []float32, sums []float64) {
	if y == nil {
		normSumsF32AVX512(n, &dy[0], &x[0], &mean[0], &sums[0])
	} else {
		normSumsReLUF32AVX512(n, &dy[0], &y[0], &x[0], &mean[0], &sums[0])
	}
}

func normGradAVX512(n int, dy, y, x, dx, mean, p, q, r []float32) {
	if y == nil {
		normGradF32AVX512(n, &dy[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
	} else {
		normGradReLUF32AVX512(n, &dy[0], &y[0], &x[0], &dx[0], &mean[0], &p[0], &q[0], &r[0])
	}
}

func reluGradAVX512(n int, dy, y, dx []float32) { reluGradF32AVX512(n, &dy[0], &y[0], &dx[0]) }

func transpose4AVX512(dst []float32, step int, src []float32, stride, k int) {
	transpose4F32AVX512(&dst[0], step, &src[0], stride, k)
}
