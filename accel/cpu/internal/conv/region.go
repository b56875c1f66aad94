package conv

// region is what one task computes: some images from the n-th on, or some rows
// of one image. Tables count from the first pixel of image n, so regions of the
// same kind share them.
type region struct {
	n, images int
	row, rows int
}

// regions cuts a batch of n images of h x w pixels into regions of about target
// pixels. Where images are cut, the number of rows is even.
func regions(n, h, w, target int) []region {
	var rs []region
	if h*w > 2*target && h > 2 {
		rows := max(2, target/w&^1)
		for i := range n {
			for r := 0; r < h; r += rows {
				rs = append(rs, region{i, 1, r, min(rows, h-r)})
			}
		}
		return rs
	}
	images := max(1, target/max(1, h*w))
	if images < n { // equal groups waste nothing at the end
		for k := images; k > images/2; k-- {
			if n%k == 0 {
				images = k
				break
			}
		}
	}
	for i := 0; i < n; i += images {
		rs = append(rs, region{i, min(images, n-i), 0, h})
	}
	return rs
}

// pixels is the number of pixels of a region of images that are w wide.
func (r region) pixels(w int) int { return r.images * r.rows * w }

// kind is a region without its place: regions of one kind share their tables.
func (r region) kind() region {
	r.n = 0
	return r
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
