package conv

import (
	"fmt"
	"math"
)

// region is what one task computes: some images from the n-th on, or some rows
// of one image. base is the first row of the input that it reads. Tables count
// from the region's first pixel of the output, and from row base of the input.
type region struct {
	n, images int
	row, rows int
	base      int
}

// regions cuts the output of a batch into regions. Each should have about target
// pixels of the input or of the output, whichever has more. Where images are cut,
// the number of rows is even.
func regions(in, out Tensor, target int) []region {
	var rs []region
	image := max(in.H*in.W, out.H*out.W, 1)
	if image > 2*target && out.H > 2 {
		rows := max(2, target*out.H/image&^1)
		for n := range out.N {
			for r := 0; r < out.H; r += rows {
				rs = append(rs, region{n: n, images: 1, row: r, rows: min(rows, out.H-r)})
			}
		}
		return rs
	}
	images := max(1, target/image)
	if images < out.N { // equal groups waste nothing at the end
		for k := images; k > images/2; k-- {
			if out.N%k == 0 {
				images = k
				break
			}
		}
	}
	for n := 0; n < out.N; n += images {
		rs = append(rs, region{n: n, images: min(images, out.N-n), rows: out.H})
	}
	return rs
}

// wholeImages cuts a batch into regions that no image is cut for. Each has about target pixels of the larger of both.
func wholeImages(in, out Tensor, target int) []region {
	var rs []region
	images := max(1, target/max(in.H*in.W, out.H*out.W, 1))
	for n := 0; n < out.N; n += images {
		rs = append(rs, region{n: n, images: min(images, out.N-n), rows: out.H})
	}
	return rs
}

// pixels is the number of pixels of a region of images that are w wide.
func (r region) pixels(w int) int { return r.images * r.rows * w }

// place sets the region's base, and returns a key that it shares with the regions that have the same tables.
func (g grid) place(r *region) (key string) {
	rows := g.rows[r.row : r.row+r.rows]
	r.base = math.MaxInt
	for _, links := range rows {
		for _, l := range links {
			r.base = min(r.base, l.src)
		}
	}
	if r.base == math.MaxInt {
		r.base = 0
	}
	b := fmt.Appendf(nil, "%d images", r.images)
	for _, links := range rows {
		b = append(b, '\n')
		for _, l := range links {
			b = fmt.Appendf(b, "%d %d ", l.k, l.src-r.base)
		}
	}
	return string(b)
}

// shared calls plan for the first region of each kind, and use for every region with what plan returned for its kind.
func shared[T any](g grid, rs []region, plan func(r region) T, use func(r region, planned T)) {
	kinds := map[string]T{}
	for _, r := range rs {
		key := g.place(&r)
		planned, ok := kinds[key]
		if !ok {
			planned = plan(r)
			kinds[key] = planned
		}
		use(r, planned)
	}
}

// point is a pixel of an image of a region.
type point struct{ n, y, x int }

// eachClass calls f for each set of taps that some pixels of the region share, with those pixels in order.
func (g grid) eachClass(r region, f func(rowTaps, colTaps []int, px []point)) {
	rowClass, rowSets := g.rows.classes()
	colClass, colSets := g.cols.classes()
	for rc := range rowSets {
		for cc := range colSets {
			var px []point
			for n := range r.images {
				for y := r.row; y < r.row+r.rows; y++ {
					if rowClass[y] != rc {
						continue
					}
					for x := range g.cols {
						if colClass[x] == cc {
							px = append(px, point{n, y, x})
						}
					}
				}
			}
			if len(px) > 0 {
				f(rowSets[rc], colSets[cc], px)
			}
		}
	}
}
