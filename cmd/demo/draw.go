package main

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/cortado-ml/cortado/internal/atomicfile"
	"github.com/cortado-ml/cortado/tensor"
)

// widest is the width of the largest image that is drawn: two of them fit beside each other on any terminal.
const widest = 36

// showSome draws test images of different classes with what the model takes them for, and saves the first one as a picture beside the model,
// whose path it returns, so that predict can be tried. If the images are not small and gray, it does nothing.
func (t imageTask) showSome(ctx context.Context, out io.Writer, r result) (example string, err error) {
	x, y := r.test.Specs()
	if x.Shape.Dim(0) != 1 || x.Shape.Dim(1) > widest || x.Shape.Dim(2) > widest {
		return "", nil
	}
	var pictures [][]string
	shown := map[int]bool{}
	for i := 0; i < r.test.Len() && len(pictures) < 4; i++ {
		img, target := tensor.New(x), tensor.New(y)
		if err := r.test.Sample(i, img, target); err != nil {
			return "", err
		}
		label := int(target.Int(0))
		if shown[label] {
			continue
		}
		shown[label] = true
		list, err := classify(ctx, r.eng, r.Net, img)
		if err != nil {
			return "", err
		}
		caption := fmt.Sprintf("%s %.0f %%", className(t.classes, list[0].class), 100*list[0].probability)
		if list[0].class != label {
			caption += ", but it is " + className(t.classes, label)
		}
		pictures = append(pictures, append(draw(img), caption))
		if example == "" {
			example = filepath.Join(filepath.Dir(r.path), "example.png")
			if err := savePicture(example, img); err != nil {
				return "", err
			}
		}
	}
	for i := 0; i < len(pictures); i += 2 {
		fmt.Fprintf(out, "\n%s", beside(pictures[i:min(i+2, len(pictures))]))
	}
	fmt.Fprintln(out)
	return example, nil
}

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

// beside puts pictures, of as many lines each, next to each other.
func beside(pictures [][]string) string {
	var b strings.Builder
	for r := range pictures[0] {
		var line strings.Builder
		for _, p := range pictures {
			fmt.Fprintf(&line, "%-*s", widest+4, p[r])
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// savePicture writes a gray image as PNG, from which training and predict read the same numbers where it was made of bytes.
func savePicture(path string, x tensor.Tensor) error {
	img := image.NewGray(image.Rect(0, 0, x.Shape().Dim(-1), x.Shape().Dim(-2)))
	for i := range img.Pix {
		img.Pix[i] = uint8(math.Round(255 * x.At(i)))
	}
	return atomicfile.Write(path, func(w io.Writer) error { return png.Encode(w, img) })
}
