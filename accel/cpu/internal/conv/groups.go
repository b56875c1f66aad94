package conv

import "math"

// groups is how many input and output channels belong together. The kernels
// work on whole blocks, so where a group is no whole blocks, a weight of zero
// stands between channels that do not belong together.
type groups struct{ in, out int }

// column is some blocks of output channels that see the same blocks of input channels.
type column struct {
	block, wide  int // of output channels
	from, blocks int // of input channels
}

// columnsOf cuts the blocks of output channels into columns of at most wide blocks.
func (g groups) columnsOf(out Tensor, wide int) []column {
	var cs []column
	for b := range out.Blocks() {
		first, last := b*Block/g.out, (min(b*Block+Block, out.C)-1)/g.out // groups
		from, to := first*g.in/Block, ceil((last+1)*g.in, Block)
		if n := len(cs) - 1; n >= 0 && cs[n].from == from && cs[n].blocks == to-from && cs[n].wide < wide {
			cs[n].wide++
			continue
		}
		cs = append(cs, column{b, 1, from, to - from})
	}
	return cs
}

// eachRun calls f for the runs of lanes of a block of output channels that
// belong to the same group: its number, the first channel and how many there are.
func (g groups) eachRun(out Tensor, block int, f func(group, from, n int)) {
	for o, end := block*Block, min(block*Block+Block, out.C); o < end; {
		group := o / g.out
		n := min(end, (group+1)*g.out) - o
		f(group, o, n)
		o += n
	}
}

// mixed reports whether channels that do not belong together share a column.
func (p *pass) mixed() bool {
	return p.groups.out < p.out.C && (p.groups.in%Block != 0 || p.groups.out%Block != 0)
}

// separate computes task i anew, channel by channel, if its output y has an
// infinite or NaN value: a weight of zero has not kept it from other groups.
// Anything else it has, and finite values are the rule. x starts where the region does.
func (p *pass) separate(i int, y []float32, yPlane int, x, w, bias []float32, relu bool) {
	r, c := &p.regions[i/len(p.columns)], p.columns[i%len(p.columns)]
	for b := range c.wide {
		y := y[b*yPlane:]
		if p.finite(p.sums[i*Block:][:Block], r.pixels(p.out.W), y) {
			continue
		}
		for l := range min(Block, p.out.C-(c.block+b)*Block) {
			var v float32
			if bias != nil {
				v = bias[b*Block+l]
			}
			for _, t := range r.tiles {
				for row := range t.rows {
					s := p.sumOf(&t, row, (c.block+b)*Block+l, c.from, x, w) + v
					if relu {
						s = atLeast(s, 0)
					}
					at(y, t.out[row])[l] = s
				}
			}
		}
	}
}

// finite reports whether n pixels of a block of y are finite; sums is scratch.
func (p *pass) finite(sums []float64, n int, y []float32) bool {
	if n == 0 {
		return true
	}
	p.k.sums(n, y, sums)
	for _, s := range sums {
		if math.IsNaN(s - s) {
			return false
		}
	}
	return true
}

// sumOf is output channel o of one pixel of a tile, summed over the input
// channels of its group; from is the first block that its column sees.
func (p *pass) sumOf(t *tile, row, o, from int, x, w []float32) float32 {
	var sum float32
	first := o / p.groups.out * p.groups.in
	for k := range t.taps {
		entry := t.table[k*(1+t.rows):]
		for c := first; c < first+p.groups.in; c++ {
			tap := int(entry[0]) / (4 * p.kb * Block * Block)
			sum += at(x[c/Block*p.in.Plane():], entry[1+row])[c%Block] * w[p.weightAt(o/Block, c-from*Block, tap)+o%Block]
		}
	}
	return sum
}
