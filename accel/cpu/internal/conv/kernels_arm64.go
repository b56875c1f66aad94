package conv

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// override puts the assembly of a level in place: the tiles of convolution only.
func override(k *kernels, level isa.Level) {
	if level < isa.NEON {
		return
	}
	k.conv, k.first, k.wgrad, k.firstWgrad = convNEON, firstNEON, wgradNEON, firstWgradNEON
}

func convNEON(c convCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		if t.rows == 6 {
			conv6x1F32NEON(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		} else {
			conv4x1F32NEON(t.taps, &t.table[0], x, c.blocks, c.xPlane, w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func firstNEON(c firstCall) {
	x, w, y, bias := &c.x[0], &c.w[0], &c.y[0], start(c.bias)
	for i := range c.tiles {
		t := &c.tiles[i]
		taps := len(t.taps) / 2
		if len(t.in) == 6 {
			first6x1F32NEON(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		} else {
			first4x1F32NEON(taps, &t.taps[0], x, &t.in[0], w, c.wPlane, y, &t.out[0], c.yPlane, bias, c.mode)
		}
	}
}

func wgradNEON(c wgradCall) {
	n, pairs, dy := len(c.pairs)/2, &c.pairs[0], &c.dy[0]
	wgrad6x1F32NEON(n, pairs, &c.x[0], dy, c.dyPlane, &c.dw[0], c.dwPlane, c.add)
	wgrad5x1F32NEON(n, pairs, &c.x[6], dy, c.dyPlane, &c.dw[6*Block], c.dwPlane, c.add)
	wgrad5x1F32NEON(n, pairs, &c.x[11], dy, c.dyPlane, &c.dw[11*Block], c.dwPlane, c.add)
}

func firstWgradNEON(c firstWgradCall) {
	n, pairs, x, taps, dy, dw := len(c.pairs)/2, &c.pairs[0], &c.x[0], &c.taps[0], &c.dy[0], &c.dw[0]
	switch {
	case len(c.taps) == 3 && c.wide == 2:
		firstWgrad3x2F32NEON(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case len(c.taps) == 3:
		firstWgrad3x1F32NEON(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	case c.wide == 2:
		firstWgrad1x2F32NEON(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	default:
		firstWgrad1x1F32NEON(n, pairs, x, taps, dy, c.dyPlane, dw, c.dwPlane, c.add)
	}
}
