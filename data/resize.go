package data

import (
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// tap is how the pixels of a line make one pixel of a shorter or longer line: pixel first+k counts weight[k].
type tap struct {
	first  int
	weight []float32
}

// taps is the triangle filter from n pixels to m: linear interpolation where the line grows, and where it shrinks an average over all pixels
// that fall into the new one and its neighbours. It is Pillow's BILINEAR, and bilinear with antialias in torchvision. For n = m it changes
// nothing.
func taps(n, m int) []tap {
	list := make([]tap, m)
	scale := float64(n) / float64(m)
	reach := max(scale, 1)
	for i := range list {
		center := (float64(i) + 0.5) * scale
		first := max(0, int(math.Floor(center-reach+0.5)))
		end := min(n, int(math.Floor(center+reach+0.5)))
		weight := make([]float64, end-first)
		sum := 0.0
		for k := range weight {
			weight[k] = max(0, 1-math.Abs(float64(first+k)+0.5-center)/reach)
			sum += weight[k]
		}
		list[i] = tap{first, make([]float32, len(weight))}
		for k, w := range weight {
			list[i].weight[k] = float32(w / sum)
		}
	}
	return list
}

// resize fills out, of shape [channels, height, width], with an image of w x h pixels. read writes line y, one slice for each channel. It
// is asked for each line once, in order, so that a large image needs no second copy in memory.
//
// The conversions to float32 around products keep the machine from joining them with the sums: on every machine the result is the same.
func resize(out []float32, shape tensor.Shape, w, h int, read func(y int, row [][]float32)) {
	channels, height, width := shape.Dim(0), shape.Dim(1), shape.Dim(2)
	across, down := taps(w, width), taps(h, height)
	clear(out)
	row := make([][]float32, channels)
	for c := range row {
		row[c] = make([]float32, w)
	}
	line := make([]float32, width)
	open := 0 // the first line of out that is not complete
	for y := range h {
		read(y, row)
		for open < height && down[open].first+len(down[open].weight) <= y {
			open++
		}
		for c := range channels {
			for i, t := range across {
				sum := float32(0)
				for k, v := range row[c][t.first : t.first+len(t.weight)] {
					sum += float32(t.weight[k] * v)
				}
				line[i] = sum
			}
			for j := open; j < height && down[j].first <= y; j++ {
				weight := down[j].weight[y-down[j].first]
				to := out[(c*height+j)*width:][:width]
				for i, v := range line {
					to[i] += float32(weight * v)
				}
			}
		}
	}
}
