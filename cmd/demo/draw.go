package main

import (
	"fmt"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// ramp are characters from dark to light.
const ramp = " .:-=+*#%@"

// draw shows a gray image [1, h, w] with values from 0 to 1 as lines of text. A character is about twice as high as wide, so it stands for
// two pixels, one above the other.
func draw(x tensor.Tensor) []string {
	h, w := x.Shape().Dim(-2), x.Shape().Dim(-1)
	var lines []string
	for r := 0; r < h; r += 2 {
		line := make([]byte, w)
		for c := range w {
			light := x.At(r*w + c)
			if r+1 < h {
				light = (light + x.At((r+1)*w+c)) / 2
			}
			line[c] = ramp[min(len(ramp)-1, max(0, int(light*float64(len(ramp)))))]
		}
		lines = append(lines, string(line))
	}
	return lines
}

// beside puts pictures with their captions next to each other.
func beside(pictures [][]string, captions []string) string {
	var b strings.Builder
	const gap = "   "
	for r := range pictures[0] {
		for _, p := range pictures {
			b.WriteString(p[r] + gap)
		}
		b.WriteByte('\n')
	}
	for i, c := range captions {
		fmt.Fprintf(&b, "%-*s%s", len(pictures[i][0]), c, gap)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
