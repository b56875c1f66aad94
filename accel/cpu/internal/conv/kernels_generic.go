package conv

import "math"

// genericKernels is the level of plain Go: what the assembly must compute, but for the order of a sum's roundings.
func genericKernels() *kernels {
	return &kernels{
		big: 6, small: 4, wide: 1,
		conv: convGeneric, first: firstGeneric, wgrad: wgradGeneric, firstWgrad: firstWgradGeneric,
		depth: depthGeneric, depthWgrad: depthWgradGeneric,
		maxPool: maxPoolGeneric, maxPoolGrad: maxPoolGradGeneric, avgPool: avgPoolGeneric, avgPoolGrad: avgPoolGradGeneric,
		sums: sumsGeneric, squares: squaresGeneric, normalize: normalizeGeneric,
		normSums: normSumsGeneric, normGrad: normGradGeneric, reluGrad: reluGradGeneric, transpose4: transpose4Generic,
	}
}

// lanes is the channels of one pixel of one block.
type lanes = [Block]float32

// at returns the block of channels at a byte offset.
func at(x []float32, offset int32) *lanes { return (*lanes)(x[offset/4:]) }

func addScaled(sum *lanes, a float32, w *lanes) {
	for c := range sum {
		sum[c] += a * w[c]
	}
}

func convGeneric(c convCall) {
	for _, t := range c.tiles {
		var sums [8]lanes
		row := t.table
		for range t.taps {
			w := c.w[row[0]/4:]
			for b := range c.blocks {
				for i := range t.rows {
					x := at(c.x[b*c.xPlane:], row[1+i])
					for s, v := range x {
						addScaled(&sums[i], v, (*lanes)(w[(b*Block+s)*Block:]))
					}
				}
			}
			row = row[1+t.rows:]
		}
		epilogue(sums[:t.rows], t.out, c.y, c.bias, c.mode)
	}
}

func firstGeneric(c firstCall) {
	for _, t := range c.tiles {
		var sums [8]lanes
		for i, px := range t.in {
			for k := 0; k < len(t.taps); k += 2 {
				addScaled(&sums[i], c.x[(px+t.taps[k+1])/4], at(c.w, t.taps[k]))
			}
		}
		epilogue(sums[:len(t.in)], t.out, c.y, c.bias, c.mode)
	}
}

// epilogue reads everything before it writes, since pixels may repeat.
func epilogue(sums []lanes, out []int32, y, bias []float32, mode int) {
	for i := range sums {
		s := &sums[i]
		if mode&modeAdd != 0 {
			for c, v := range at(y, out[i]) {
				s[c] += v
			}
		}
		if mode&modeBias != 0 {
			for c := range s {
				s[c] += bias[c]
			}
		}
		if mode&modeReLU != 0 {
			for c := range s {
				s[c] = atLeast(s[c], 0)
			}
		}
	}
	for i := range sums {
		*at(y, out[i]) = sums[i]
	}
}

// atLeast is the larger of v and floor, NaN if v is.
func atLeast(v, floor float32) float32 {
	if v < floor {
		return floor
	}
	return v
}

func wgradGeneric(c wgradCall) {
	var sums [Block]lanes
	for i := 0; i < len(c.pairs); i += 2 {
		dy := at(c.dy, c.pairs[i+1])
		for s, v := range at(c.x, c.pairs[i]) {
			addScaled(&sums[s], v, dy)
		}
	}
	storeRows(sums[:], c.dw, c.add)
}

func firstWgradGeneric(c firstWgradCall) {
	for b := range c.wide {
		var sums [3]lanes
		for i := 0; i < len(c.pairs); i += 2 {
			dy := at(c.dy[b*c.dyPlane:], c.pairs[i+1])
			for k, tap := range c.taps {
				addScaled(&sums[k], c.x[(c.pairs[i]+tap)/4], dy)
			}
		}
		storeRows(sums[:len(c.taps)], c.dw[b*c.dwPlane:], c.add)
	}
}

func depthGeneric(c firstCall) {
	for _, t := range c.tiles {
		var sums [8]lanes
		for i, px := range t.in {
			for k := 0; k < len(t.taps); k += 2 {
				addProducts(&sums[i], at(c.x, px+t.taps[k+1]), at(c.w, t.taps[k]))
			}
		}
		epilogue(sums[:len(t.in)], t.out, c.y, c.bias, c.mode)
	}
}

func depthWgradGeneric(c firstWgradCall) {
	var sums [3]lanes
	for i := 0; i < len(c.pairs); i += 2 {
		for k, tap := range c.taps {
			addProducts(&sums[k], at(c.x, c.pairs[i]+tap), at(c.dy, c.pairs[i+1]))
		}
	}
	storeRows(sums[:len(c.taps)], c.dw, c.add)
}

func addProducts(sum, a, b *lanes) {
	for c := range sum {
		sum[c] += a[c] * b[c]
	}
}

func storeRows(sums []lanes, dw []float32, add bool) {
	for s := range sums {
		d := (*lanes)(dw[s*Block:])
		if add {
			addScaled(&sums[s], 1, d)
		}
		*d = sums[s]
	}
}

func maxPoolGeneric(c poolCall) {
	for i := 0; i < len(c.pixels); i += 2 {
		y, win := at(c.y, c.pixels[i+1]), (*[Block]uint8)(c.win[c.pixels[i+1]/4:])
		for l := range y {
			y[l], win[l] = c.floor, uint8(c.none)
		}
		for k := 0; k < len(c.taps); k += 2 {
			for l, v := range at(c.x, c.pixels[i]+c.taps[k]) {
				if !(v <= y[l]) && y[l] == y[l] {
					y[l], win[l] = v, uint8(c.taps[k+1])
				}
			}
		}
		for l, v := range y {
			if v != v {
				win[l] |= nanWon
			}
		}
	}
}

func maxPoolGradGeneric(c poolCall) {
	for i := 0; i < len(c.pixels); i += 2 {
		y, win := *at(c.y, c.pixels[i+1]), *(*[Block]uint8)(c.win[c.pixels[i+1]/4:])
		for l := range y {
			if win[l]&nanWon != 0 {
				y[l] = math.Float32frombits(math.Float32bits(y[l]) | c.nan)
			}
		}
		for k := 0; k < len(c.taps); k += 2 {
			x := at(c.x, c.pixels[i]+c.taps[k])
			for l, v := range y {
				if uint8(c.taps[k+1]) != win[l]&noTap {
					v = 0
				}
				if c.add {
					v += x[l]
				}
				x[l] = v
			}
		}
	}
}

func avgPoolGeneric(c poolCall) {
	for i := 0; i < len(c.pixels); i += 2 {
		var sum lanes
		for k := 0; k < len(c.taps); k += 2 {
			addScaled(&sum, 1, at(c.x, c.pixels[i]+c.taps[k]))
		}
		for l := range sum {
			sum[l] /= c.count
		}
		*at(c.y, c.pixels[i+1]) = sum
	}
}

func avgPoolGradGeneric(c poolCall) {
	for i := 0; i < len(c.pixels); i += 2 {
		d := *at(c.y, c.pixels[i+1])
		for l := range d {
			d[l] /= c.count
		}
		for k := 0; k < len(c.taps); k += 2 {
			x := at(c.x, c.pixels[i]+c.taps[k])
			if c.add {
				addScaled(x, 1, &d)
			} else {
				*x = d
			}
		}
	}
}

// pixel returns pixel p of a block of channels.
func pixel(x []float32, p int) *lanes { return (*lanes)(x[p*Block:]) }

func sumsGeneric(n int, x []float32, sums []float64) {
	s := (*[Block]float64)(sums)
	*s = [Block]float64{}
	for p := range n {
		for c, v := range pixel(x, p) {
			s[c] += float64(v)
		}
	}
}

func squaresGeneric(n int, x, mean []float32, sums []float64) {
	s, m := (*[Block]float64)(sums), (*lanes)(mean)
	*s = [Block]float64{}
	for p := range n {
		for c, v := range pixel(x, p) {
			d := float64(v - m[c])
			s[c] += d * d
		}
	}
}

func normalizeGeneric(n int, x, y, mean, scale, bias []float32, floor float32) {
	m, s, b := (*lanes)(mean), (*lanes)(scale), (*lanes)(bias)
	for p := range n {
		y := pixel(y, p)
		for c, v := range pixel(x, p) {
			y[c] = atLeast((v-m[c])*s[c]+b[c], floor)
		}
	}
}

// gradient returns pixel p of dy, on its way through the ReLU whose output was y. Without ReLU, y is nil.
func gradient(dy, y []float32, p int) lanes {
	d := *pixel(dy, p)
	if y == nil {
		return d
	}
	for c, v := range pixel(y, p) {
		switch {
		case v != v:
			d[c] = v
		case v <= 0:
			d[c] = 0
		}
	}
	return d
}

func normSumsGeneric(n int, dy, y, x, mean []float32, sums []float64) {
	s, dot, m := (*[Block]float64)(sums), (*[Block]float64)(sums[Block:]), (*lanes)(mean)
	*s, *dot = [Block]float64{}, [Block]float64{}
	for p := range n {
		d := gradient(dy, y, p)
		for c, v := range pixel(x, p) {
			s[c] += float64(d[c])
			dot[c] += float64(d[c]) * float64(v-m[c])
		}
	}
}

func normGradGeneric(n int, dy, y, x, dx, mean, p, q, r []float32) {
	m, pp, qq, rr := (*lanes)(mean), (*lanes)(p), (*lanes)(q), (*lanes)(r)
	for i := range n {
		d, dx := gradient(dy, y, i), pixel(dx, i)
		for c, v := range pixel(x, i) {
			dx[c] = pp[c]*d[c] + ((v-m[c])*qq[c] + rr[c])
		}
	}
}

func reluGradGeneric(n int, dy, y, dx []float32) {
	for p := range n {
		*pixel(dx, p) = gradient(dy, y, p)
	}
}

func transpose4Generic(dst []float32, step int, src []float32, stride, k int) {
	for p := range k {
		for i := range 4 {
			dst[p*step+i] = src[i*stride+p]
		}
	}
}
