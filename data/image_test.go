package data_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// tiff is an Exif structure with an orientation of the given type, 3 for short or 4 for long, behind another tag.
func tiff(order binary.AppendByteOrder, kind uint16, value int) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	entry := func(tag, kind uint16, value int) {
		b = order.AppendUint16(b, tag)
		b = order.AppendUint16(b, kind)
		b = order.AppendUint32(b, 1)
		if kind == 4 {
			b = order.AppendUint32(b, uint32(value))
		} else {
			b = order.AppendUint16(b, uint16(value))
			b = order.AppendUint16(b, 0xbeef) // the rest of the field is nobody's
		}
	}
	entry(0x0100, 3, 7)
	entry(0x0112, kind, value)
	return order.AppendUint32(b, 0)
}

// segment is a JPEG segment.
func segment(marker byte, contents string) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(contents)+2)), contents...)
}

// jpegOf is the image as a JPEG file, with segments put behind its first two bytes.
func jpegOf(m image.Image, segments ...[]byte) []byte {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}); err != nil {
		panic(err)
	}
	return slices.Concat(append([][]byte{b.Bytes()[:2]}, append(segments, b.Bytes()[2:])...)...)
}

// withChunk is a PNG file with a chunk put behind its header.
func withChunk(file []byte, name string, contents []byte) []byte {
	const header = 8 + 12 + 13
	return slices.Concat(file[:header], chunk(name, contents), file[header:])
}

// seen is an image of h x w pixels as rows of digits, 0 for black and 9 for white.
func seen(t *testing.T, file []byte, h, w int) string {
	t.Helper()
	x, err := DecodeImage(bytes.NewReader(file), tensor.SpecOf(tensor.F32, 1, h, w))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, v := range x.Floats() {
		if i > 0 && i%w == 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.0f", v*9)
	}
	return b.String()
}

// TestOrientation: report 1, phone photos enter the network sideways. All eight orientations, in both byte orders, as JPEG and as PNG, with other
// segments before; the answer of a folder and of a single image is the same.
func TestOrientation(t *testing.T) {
	stored := gray(4, 2, func(x, y int) uint8 { // 9630 over 0000
		return []uint8{255, 170, 85, 0, 0, 0, 0, 0}[4*y+x]
	})
	upright := []string{"9630 0000", "0369 0000", "0000 0369", "0000 9630", "90 60 30 00", "09 06 03 00", "00 03 06 09", "00 30 60 90"}
	for i, want := range upright {
		h, w := 2, 4
		if i >= 4 {
			h, w = 4, 2
		}
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for kind := uint16(3); kind <= 4; kind++ {
				exif := tiff(order, kind, i+1)
				jpg := jpegOf(stored, segment(0xe0, "JFIF\x00\x01\x02\x00\x00\x01\x00\x01\x00\x00"), segment(0xe1, "http://ns.adobe.com/xap/1.0/\x00<x/>"),
					[]byte{0xff, 0xff}, segment(0xe1, "Exif\x00\x00"+string(exif)))
				png := withChunk(withChunk(pngOf(stored), "eXIf", exif), "tEXt", []byte("a\x00b"))
				for kind, file := range map[string][]byte{"jpg": jpg, "png": png} {
					if got := seen(t, file, h, w); got != want {
						t.Errorf("%s, %v, orientation %d: %s, want %s", kind, order, i+1, got, want)
					}
				}
			}
		}
	}
}

// TestFolderAndSingleImage sees the same in training as in prediction: the very bits.
func TestFolderAndSingleImage(t *testing.T) {
	photo := image.NewNRGBA(image.Rect(0, 0, 37, 23))
	for i := range photo.Pix {
		photo.Pix[i] = uint8(i * i)
	}
	folder := t.TempDir()
	files := map[string][]byte{
		"a/photo.jpg": jpegOf(photo, segment(0xe1, "Exif\x00\x00"+string(tiff(binary.BigEndian, 3, 6)))), "b/photo.PNG": pngOf(photo),
	}
	for name, b := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, channels := range []int{1, 3} {
		spec := tensor.SpecOf(tensor.F32, channels, 28, 30)
		d, err := OpenFolder(os.DirFS(folder), spec)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Len() {
			x, _ := sample(t, d, i)
			y, err := OpenImage(filepath.Join(folder, d.Name(i)), spec)
			if err != nil || !x.Same(y) {
				t.Errorf("%s: a folder's image differs from a single one, %v", d.Name(i), err)
			}
			z, err := DecodeImage(bytes.NewReader(files[d.Name(i)]), spec)
			if err != nil || !x.Same(z) {
				t.Errorf("%s: a folder's image differs from a reader's, %v", d.Name(i), err)
			}
		}
	}
}

// TestDamagedExif says nothing, and hinders nothing.
func TestDamagedExif(t *testing.T) {
	stored := gray(4, 2, func(x, y int) uint8 { return uint8(255 * (1 - min(1, x+y))) })
	exif := tiff(binary.LittleEndian, 3, 6)
	for n := range exif {
		if n == len(exif)-4 {
			break // the end of the directory is not needed
		}
		if got := seen(t, jpegOf(stored, segment(0xe1, "Exif\x00\x00"+string(exif[:n]))), 2, 4); got != "9000 0000" {
			t.Errorf("%d bytes of Exif: %s", n, got)
		}
	}
	for _, value := range []int{0, 9, 65535} {
		if got := seen(t, jpegOf(stored, segment(0xe1, "Exif\x00\x00"+string(tiff(binary.LittleEndian, 3, value)))), 2, 4); got != "9000 0000" {
			t.Errorf("orientation %d: %s", value, got)
		}
	}
	far := bytes.Clone(exif)
	binary.LittleEndian.PutUint32(far[4:], math.MaxUint32)
	text := tiff(binary.LittleEndian, 2, 6) // the right tag of the wrong type
	for _, b := range [][]byte{far, text, []byte("what is this?")} {
		if got := seen(t, jpegOf(stored, segment(0xe1, "Exif\x00\x00"+string(b))), 2, 4); got != "9000 0000" {
			t.Errorf("%q: %s", b, got)
		}
	}
}

// TestPixelFormats: report 24, 16-bit, palette and transparent PNG.
func TestPixelFormats(t *testing.T) {
	deep := image.NewGray16(image.Rect(0, 0, 4, 1))
	for i, v := range []uint16{0, 0x4000, 0x8000, 0xffff} {
		deep.SetGray16(i, 0, color.Gray16{v})
	}
	palette := image.NewPaletted(image.Rect(0, 0, 4, 1), color.Palette{color.NRGBA{51, 102, 153, 255}, color.NRGBA{255, 0, 0, 0}})
	copy(palette.Pix, []uint8{0, 1, 1, 0})
	bit := image.NewPaletted(image.Rect(0, 0, 4, 1), color.Palette{color.Gray{0}, color.Gray{255}})
	copy(bit.Pix, []uint8{0, 1, 1, 0})
	clear8, clear16 := image.NewNRGBA(image.Rect(0, 0, 4, 1)), image.NewNRGBA64(image.Rect(0, 0, 4, 1))
	for i, alpha := range []uint8{0, 1, 128, 255} {
		clear8.SetNRGBA(i, 0, color.NRGBA{255, 0, 51, alpha})
		clear16.SetNRGBA64(i, 0, color.NRGBA64{0xffff, 0, 0x3333, uint16(alpha) * 0x101})
	}
	opaque16 := image.NewRGBA64(image.Rect(0, 0, 4, 1))
	opaque8 := image.NewRGBA(image.Rect(0, 0, 4, 1))
	for i := range 4 {
		opaque16.SetRGBA64(i, 0, color.RGBA64{uint16(i) * 0x5555, 0xffff, 0, 0xffff})
		opaque8.SetRGBA(i, 0, color.RGBA{uint8(i) * 0x55, 255, 0, 255})
	}
	red := image.NewNRGBA(image.Rect(0, 0, 4, 1))
	copy(red.Pix, bytes.Repeat([]byte{255, 0, 0, 255}, 4))
	// Gray with transparency, which package png does not write: colour type 4, two bytes a pixel.
	grayAlpha := rawPNG(4, 1, 8, 4, nil, []byte{0, 0, 0, 51, 0, 102, 128, 255, 255})
	gray1 := rawPNG(4, 1, 1, 0, nil, []byte{0, 0b0110_0000})
	gray2 := rawPNG(4, 1, 2, 0, nil, []byte{0, 0b00_01_10_11})
	grayKey := rawPNG(4, 1, 8, 0, []byte{0, 51}, []byte{0, 0, 51, 102, 255}) // gray 51 is transparent
	for what, c := range map[string]struct {
		file []byte
		want []float64 // red, green and blue
	}{
		"16-bit gray":          {pngOf(deep), []float64{0, .25, .5, 1, 0, .25, .5, 1, 0, .25, .5, 1}},
		"palette":              {pngOf(palette), []float64{.2, 1, 1, .2, .4, 0, 0, .4, .6, 0, 0, .6}},
		"palette of two grays": {pngOf(bit), []float64{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
		"1-bit gray":           {gray1, []float64{0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0}},
		"2-bit gray":           {gray2, []float64{0, 1. / 3, 2. / 3, 1, 0, 1. / 3, 2. / 3, 1, 0, 1. / 3, 2. / 3, 1}},
		"gray and alpha":       {grayAlpha, []float64{0, .2, .4, 1, 0, .2, .4, 1, 0, .2, .4, 1}},
		"a transparent gray":   {grayKey, []float64{0, .2, .4, 1, 0, .2, .4, 1, 0, .2, .4, 1}},
		"colour and alpha":     {pngOf(clear8), []float64{1, 1, 1, 1, 0, 0, 0, 0, .2, .2, .2, .2}},
		"16-bit, with alpha":   {pngOf(clear16), []float64{1, 1, 1, 1, 0, 0, 0, 0, .2, .2, .2, .2}},
		"16-bit colour":        {pngOf(opaque16), []float64{0, 1. / 3, 2. / 3, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
		"8-bit colour":         {pngOf(opaque8), []float64{0, 1. / 3, 2. / 3, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
		"gray JPEG":            {jpegOf(gray(4, 1, func(x, y int) uint8 { return 102 })), slices.Repeat([]float64{.4}, 12)},
		"colour JPEG":          {jpegOf(red), []float64{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		x, err := DecodeImage(bytes.NewReader(c.file), tensor.SpecOf(tensor.F32, 3, 1, 4))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		near := 1e-5 // 0x4000 is not quite a quarter of 0xffff
		if strings.Contains(what, "JPEG") {
			near = 0.01
		}
		y, err := DecodeImage(bytes.NewReader(c.file), tensor.SpecOf(tensor.F32, 1, 1, 4))
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for i, w := range c.want {
			if got := x.At(i); math.Abs(got-w) > near {
				t.Errorf("%s: %v, want %v", what, x, c.want)
				break
			}
			if i < 4 {
				if luma := .299*c.want[i] + .587*c.want[4+i] + .114*c.want[8+i]; math.Abs(y.At(i)-luma) > near {
					t.Errorf("%s in gray: %v", what, y)
				}
			}
		}
	}
}

// TestSameAsIDX: an image of bytes gives the very bits that it gives out of an IDX file.
func TestSameAsIDX(t *testing.T) {
	file := pngOf(gray(16, 16, func(x, y int) uint8 { return uint8(16*y + x) }))
	x, err := DecodeImage(bytes.NewReader(file), tensor.SpecOf(tensor.F32, 1, 16, 16))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range tensor.Data[float32](x) {
		if v != float32(i)/255 {
			t.Errorf("%d became %v", i, v)
		}
	}
}

// TestResize has the results of PyTorch 2.15: torch.nn.functional.interpolate(mode="bilinear", antialias=True, align_corners=False), in float64.
func TestResize(t *testing.T) {
	const factor = 15 // so that the pixels fill their range
	file := pngOf(gray(7, 5, func(x, y int) uint8 { return uint8((7*y + x) * (7*y + x) % 17 * factor) }))
	for size, want := range map[[2]int][]float64{
		{2, 3}: {7.623376623, 8.032085561, 8.116883117, 8.116883117, 8.032085561, 7.623376623},
		{5, 7}: {
			0, 1, 4, 9, 16, 8, 2, 15, 13, 13, 15, 2, 8, 16, 9, 4, 1, 0, 1, 4, 9, 16, 8, 2, 15, 13, 13, 15, 2, 8, 16, 9, 4, 1, 0,
		},
		{9, 4}: {
			0.619047619, 4.8, 12.44, 5.238095238, 5.095238095, 7.72, 10.573333333, 7.46031746, 12.555555556, 12.586666667, 7.462222222, 11.164021164,
			10.682539683, 8.12, 4.386666667, 9.492063492, 6.476190476, 1.32, 1.32, 6.476190476, 9.492063492, 4.386666667, 8.12, 10.682539683,
			11.164021164, 7.462222222, 12.586666667, 12.555555556, 7.46031746, 10.573333333, 7.72, 5.095238095, 5.238095238, 12.44, 4.8, 0.619047619,
		},
		{1, 1}: {7.721194879},
		{3, 14}: {
			6.428571429, 6.357142857, 6.214285714, 6.571428571, 7.428571429, 8.785714286, 10.642857143, 11.178571429, 10.392857143, 9.5, 8.5, 8, 8, 8,
			11.888888889, 10.638888889, 8.138888889, 6.138888889, 4.638888889, 4.583333333, 5.972222222, 5.972222222, 4.583333333, 4.638888889,
			6.138888889, 8.138888889, 10.638888889, 11.888888889, 8, 8, 8, 8.5, 9.5, 10.392857143, 11.178571429, 10.642857143, 8.785714286, 7.428571429,
			6.571428571, 6.214285714, 6.357142857, 6.428571429,
		},
	} {
		for _, channels := range []int{1, 3} {
			x, err := DecodeImage(bytes.NewReader(file), tensor.SpecOf(tensor.F32, channels, size[0], size[1]))
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Len() {
				if got, w := x.At(i)*255/factor, want[i%len(want)]; math.Abs(got-w) > 1e-5 {
					t.Errorf("%v: pixel %d is %v, want %v", size, i, got, w)
				}
			}
		}
	}
}

// TestBadImages names what is wrong. Sizes are checked before memory is asked for.
func TestBadImages(t *testing.T) {
	good := pngOf(gray(9, 9, func(x, y int) uint8 { return uint8(x * y) }))
	jpg := jpegOf(gray(9, 9, func(x, y int) uint8 { return uint8(x * y) }))
	flat := rawPNG(1, 1, 8, 0, nil, []byte{0, 0})
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":               {nil, `neither a PNG nor a JPEG image: it starts with ""`},
		"a web page":          {[]byte("<!DOCTYPE html>"), `it starts with "<!DOCTYP"`},
		"GIF":                 {[]byte("GIF89a\x01\x00\x01\x00"), `it starts with "GIF89a`},
		"PNG cut in its data": {good[:len(good)-20], "cannot be decoded"},
		"PNG cut early":       {good[:20], "cannot be decoded"},
		"JPEG cut early":      {jpg[:20], "cannot be decoded"},
		"JPEG cut":            {jpg[:len(jpg)-20], "cannot be decoded"},
		"0 x 0":               {rawPNG(0, 0, 8, 0, nil, nil), "cannot be decoded"},
		"0 x 1":               {rawPNG(0, 1, 8, 0, nil, []byte{0}), "cannot be decoded"},
		"a bomb":              {resized(flat, 60000, 60000), "60000 x 60000 pixels are more than"},
		"a larger bomb":       {resized(flat, math.MaxInt32, math.MaxInt32), "annot"},
		"a small bomb":        {resized(flat, 10000, 10000), "bytes cannot hold the 10000 x 10000 pixels"},
	} {
		var x tensor.Tensor
		var err error
		allocated := memory(func() { x, err = DecodeImage(bytes.NewReader(c.file), tensor.SpecOf(tensor.F32, 1, 28, 28)) })
		if !x.IsNone() || err == nil || !strings.HasPrefix(err.Error(), "data: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if allocated > 1<<20 {
			t.Errorf("%s: %d bytes of memory were asked for", what, allocated)
		}
	}
	for _, size := range [][2]int{{1, 65535}, {65535, 1}} {
		file := pngOf(image.NewGray(image.Rect(0, 0, size[0], size[1])))
		if _, err := DecodeImage(bytes.NewReader(file), tensor.SpecOf(tensor.F32, 3, 28, 28)); err != nil {
			t.Errorf("%v: %v", size, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(good[:40]), brokenReader{})
	if _, err := DecodeImage(broken, tensor.SpecOf(tensor.F32, 1, 28, 28)); err == nil || !strings.Contains(err.Error(), "the disk is broken") {
		t.Errorf("a reader's error became %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.png")
	if _, err := OpenImage(path, tensor.SpecOf(tensor.F32, 1, 28, 28)); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	if err := os.WriteFile(path, good[:50], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenImage(path, tensor.SpecOf(tensor.F32, 1, 28, 28)); err == nil || !strings.HasPrefix(err.Error(), "data: "+path+": ") {
		t.Error(err)
	}
}

// TestImageSpec refuses what an image cannot be read as.
func TestImageSpec(t *testing.T) {
	file := pngOf(gray(2, 2, func(x, y int) uint8 { return 0 }))
	for _, s := range []tensor.Spec{
		{}, tensor.SpecOf(tensor.F64, 1, 2, 2), tensor.SpecOf(tensor.F32, 2, 2), tensor.SpecOf(tensor.F32, 2, 2, 2), tensor.SpecOf(tensor.F32, 1, 0, 2),
		tensor.SpecOf(tensor.F32, 1, 2, 2, 2), tensor.SpecOf(tensor.F32, 1, -1, 2),
	} {
		if _, err := DecodeImage(bytes.NewReader(file), s); err == nil || !strings.Contains(err.Error(), "data: an image is read as f32[channels height width]") {
			t.Errorf("%v: %v", s, err)
		}
		if _, err := OpenFolder(fstest.MapFS{"a/b.png": {Data: file}}, s); err == nil || !strings.Contains(err.Error(), "data: an image is read as f32[channels height width]") {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// FuzzDecodeImage decodes anything to values from 0 to 1.
func FuzzDecodeImage(f *testing.F) {
	stored := gray(4, 2, func(x, y int) uint8 { return uint8(60*x + y) })
	exif := tiff(binary.BigEndian, 3, 6)
	f.Add(jpegOf(stored, segment(0xe1, "Exif\x00\x00"+string(exif))))
	f.Add(withChunk(pngOf(stored), "eXIf", exif))
	f.Add(rawPNG(4, 1, 8, 4, nil, []byte{0, 0, 0, 51, 0, 102, 128, 255, 255}))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := DecodeImage(bytes.NewReader(b), tensor.SpecOf(tensor.F32, 3, 3, 5))
		if err != nil {
			return
		}
		for _, v := range x.Floats() {
			if !(v >= 0 && v <= 1.00001) {
				t.Fatalf("%v", x)
			}
		}
	})
}
