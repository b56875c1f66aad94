package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// trained is a folder with a perceptron that tells left from right, in m.safetensors beside other files of its run.
func trained(t testing.TB) (folder, model string) {
	t.Helper()
	folder = t.TempDir()
	o := demo(t, folder, "-json", "-model", "mlp", "-data", classes(t), "-epochs", "8", "-batch", "12", "-out", "run")
	o.wants(t, 0)
	done := find(events(t, o.out), "done")
	if done.Test["accuracy"] != 1 {
		t.Fatalf("it has not learned: %+v", done)
	}
	return folder, done.File
}

// predictions runs predict on images.
func predictions(t testing.TB, folder, model string, args ...string) (list []prediction) {
	t.Helper()
	o := demo(t, folder, append([]string{"predict", "-json", "-model-file", model}, args...)...)
	o.wants(t, 0)
	for line := range strings.Lines(o.out) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var p prediction
		if err := d.Decode(&p); err != nil {
			t.Fatalf("%v in the line %s", err, line)
		}
		list = append(list, p)
	}
	return list
}

func asJPEG(w io.Writer, img image.Image) error {
	return jpeg.Encode(w, img, &jpeg.Options{Quality: 100})
}

// turned is img as a camera stores it that was held so that orientation says how to turn it back.
func turned(img *image.Gray, orientation int) *image.Gray {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	sw, sh := w, h
	if orientation >= 5 {
		sw, sh = h, w
	}
	out := image.NewGray(image.Rect(0, 0, sw, sh))
	for y := range sh {
		for x := range sw {
			var ux, uy int // the place of this pixel in the upright image
			switch orientation {
			case 1:
				ux, uy = x, y
			case 2:
				ux, uy = w-1-x, y
			case 3:
				ux, uy = w-1-x, h-1-y
			case 4:
				ux, uy = x, h-1-y
			case 5:
				ux, uy = y, x
			case 6:
				ux, uy = w-1-y, x
			case 7:
				ux, uy = w-1-y, h-1-x
			case 8:
				ux, uy = y, h-1-x
			}
			out.SetGray(x, y, img.GrayAt(ux, uy))
		}
	}
	return out
}

// withExif adds an Exif segment with an orientation to a JPEG file.
func withExif(file []byte, orientation int) []byte {
	exif := []byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	exif = append(exif, 0, byte(orientation), 0, 0, 0, 0, 0, 0)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	return bytes.Join([][]byte{file[:2], segment, exif, file[2:]}, nil)
}

// TestPredict tells pictures of several formats, sizes and ways up apart, and names their classes after the folders of the training data.
func TestPredict(t *testing.T) {
	folder, model := trained(t)
	// The bright side of a picture is opposite to its class. This one is higher than wide, and grows darker downwards.
	pixels := make([]byte, 40*60)
	for p := range pixels {
		pixels[p] = 20
		if p%40 >= 20 {
			pixels[p] = byte(230 - p/40)
		}
	}
	upright := gray(40, pixels)
	inverse := image.NewGray(upright.Rect)
	for i, x := range upright.Pix {
		inverse.Pix[i] = 255 - x
	}
	png1 := write(t, filepath.Join(folder, "upright.png"), encode(t, upright, png.Encode))
	list := predictions(t, folder, model, png1)
	if len(list) != 1 || list[0].Class != "left" || list[0].Index != 0 || list[0].Image != png1 || list[0].Probability < 0.7 || list[0].Probability > 1 {
		t.Fatalf("%+v", list)
	}
	want := list[0].Probability
	if inverted := predictions(t, folder, model, "-invert", write(t, filepath.Join(folder, "inverse.png"), encode(t, inverse, png.Encode))); math.Abs(inverted[0].Probability-want) > 1e-3 || inverted[0].Class != "left" {
		t.Errorf("inverted: %+v", inverted)
	}

	var files []string
	for o := 1; o <= 8; o++ {
		files = append(files, write(t, filepath.Join(folder, fmt.Sprintf("turned %d.JPEG", o)), withExif(encode(t, turned(upright, o), asJPEG), o)))
	}
	list = predictions(t, folder, model, files...)
	if len(list) != 8 {
		t.Fatalf("%d lines", len(list))
	}
	for i, p := range list {
		if p.Image != files[i] || p.Class != "left" || math.Abs(p.Probability-want) > 0.01 {
			t.Errorf("orientation %d: %+v, want %v", i+1, p, want)
		}
	}
	asIs := write(t, filepath.Join(folder, "mirrored.jpg"), encode(t, turned(upright, 2), asJPEG))
	if p := predictions(t, folder, model, asIs); p[0].Class != "right" {
		t.Errorf("mirrored, and nothing says so: %+v", p)
	}

	o := demo(t, folder, "predict", "-model-file", model, png1, asIs)
	o.wants(t, 0)
	lines := strings.Split(o.out, "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], png1+": left ") || !strings.Contains(lines[0], " %, right ") || !strings.HasPrefix(lines[1], asIs+": right ") {
		t.Errorf("it says\n%s", o.out)
	}
}

// TestTrainingAndPredict read a file the same way: a class folder holds the very numbers that predict gives the network.
func TestTrainingAndPredict(t *testing.T) {
	folder := t.TempDir()
	pixels := make([]byte, 50*30)
	for p := range pixels {
		pixels[p] = byte(p * 31)
	}
	for i := range 8 {
		write(t, filepath.Join(folder, "left", fmt.Sprint(i+1, ".jpg")), withExif(encode(t, gray(50, pixels), asJPEG), i+1))
		write(t, filepath.Join(folder, "right", fmt.Sprint(i+1, ".png")), encode(t, gray(50, pixels), png.Encode))
	}
	set, err := openImageFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	x, y := set.train.Specs()
	img, label := tensor.New(x), tensor.New(y)
	for i := range 8 {
		if err := set.train.Sample(i, img, label); err != nil {
			t.Fatal(err)
		}
		single, err := data.OpenImage(filepath.Join(folder, "left", fmt.Sprint(i+1, ".jpg")), x)
		if err != nil {
			t.Fatal(err)
		}
		if !single.Same(img) || label.Int(0) != 0 {
			t.Errorf("picture %d differs, or its label is %v", i, label)
		}
	}
}

// TestExample predicts the picture that training has left, and gets what the test data gave: the same numbers, the same bits.
func TestExample(t *testing.T) {
	folder, source := t.TempDir(), idx(t)
	demo(t, folder, "-data", source, "-batch", "16", "-epochs", "2", "-out", "run").wants(t, 0)
	path := filepath.Join(folder, "run", "cnn.safetensors")
	m, err := loadModel(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := openImageFiles(source)
	if err != nil {
		t.Fatal(err)
	}
	x, y := set.test.Specs()
	img, label := tensor.New(x), tensor.New(y)
	if err := set.test.Sample(0, img, label); err != nil {
		t.Fatal(err)
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	want, err := classify(t.Context(), eng, m.net, img)
	if err != nil {
		t.Fatal(err)
	}
	got := predictions(t, folder, path, filepath.Join("run", "example.png"))[0]
	if got.Probability != want[0].probability || got.Index != want[0].class {
		t.Errorf("predict says %+v, the test data %+v", got, want[0])
	}
}

// TestPredictMistakes names the file that is wrong.
func TestPredictMistakes(t *testing.T) {
	folder, model := trained(t)
	good := write(t, filepath.Join(folder, "good.png"), encode(t, gray(28, make([]byte, 784)), png.Encode))
	at := func(name string, b []byte) string { return write(t, filepath.Join(folder, name), b) }
	whole, err := os.ReadFile(filepath.Join(folder, model))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	header := `{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`
	foreign := at("foreign.safetensors", append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header+"1234"...))
	checkpoint := ""
	for _, n := range names(t, folder) {
		if strings.Contains(n, "step-") {
			checkpoint = filepath.Join(folder, n)
		}
	}
	picture, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		model, image string
		want         []string
	}{
		"no model":           {"none.safetensors", good, []string{"there is no model none.safetensors: train one first"}},
		"a folder":           {folder, good, []string{folder, "not a regular file"}},
		"empty":              {at("empty", nil), good, []string{"empty: malformed file: 0 bytes"}},
		"cut off":            {at("half", whole[:len(whole)/2]), good, []string{"half: malformed file"}},
		"a byte short":       {at("short", whole[:len(whole)-1]), good, []string{"short: malformed file"}},
		"a flipped bit":      {at("flipped", flipped), good, []string{"flipped: ", "malformed file: its checksum"}},
		"a picture":          {good, good, []string{"good.png: malformed file"}},
		"another program's":  {foreign, good, []string{foreign, `no model of the demo: its metadata name the model ""`}},
		"a checkpoint":       {checkpoint, good, []string{checkpoint, "a checkpoint perhaps"}},
		"no image":           {model, "none.png", []string{"none.png", "no such file"}},
		"a folder as image":  {model, folder, []string{folder, "is a directory"}},
		"text as image":      {model, at("text.png", []byte("hello")), []string{"text.png: it is "}},
		"half an image":      {model, at("half.png", picture[:len(picture)/2]), []string{"half.png: "}},
		"an empty image":     {model, at("empty.jpg", nil), []string{"empty.jpg"}},
		"a model as picture": {model, filepath.Join(folder, model), []string{model, "it is "}},
	} {
		o := demo(t, folder, "predict", "-model-file", c.model, c.image)
		o.wants(t, 1, append(c.want, "demo: ")...)
		if o.out != "" || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%s: it printed %q and said %s", what, o.out, o.err)
		}
	}
	if o := demo(t, t.TempDir(), "predict", good); o.code != 1 || !strings.Contains(o.err, "there is no model cortado-demo") {
		t.Errorf("without a model it says %s", o.err)
	}
}

// TestForeignModels has metadata that name a model of the demo and make no sense otherwise: an error, and no memory for what they promise.
func TestForeignModels(t *testing.T) {
	for what, c := range map[string]struct{ model, classes, input, want string }{
		"no model":       {"", `["a"]`, `[1,28,28]`, `the model ""`},
		"unknown model":  {"vgg", `["a"]`, `[1,28,28]`, `the model "vgg"`},
		"no classes":     {"mlp", `[]`, `[1,28,28]`, "mlp.safetensors: "},
		"text":           {"mlp", `a`, `[1,28,28]`, "metadata cortado.classes"},
		"numbers":        {"mlp", `[1]`, `[1,28,28]`, "metadata cortado.classes"},
		"no input":       {"mlp", `["a"]`, ``, "metadata cortado.input"},
		"null":           {"mlp", `["a"]`, `null`, "metadata cortado.input"},
		"rank 2":         {"mlp", `["a"]`, `[28,28]`, "[28 28] is no shape of a sample"},
		"rank 9":         {"mlp", `["a"]`, `[1,1,1,1,1,1,1,1,1]`, "is no shape of a sample"},
		"negative":       {"mlp", `["a"]`, `[1,-28,-28]`, "is no shape of a sample"},
		"overflow":       {"mlp", `["a"]`, `[1,4294967296,4294967296]`, "is no shape of a sample"},
		"enormous":       {"mlp", `["a"]`, `[1,1048576,2]`, "is no shape of a sample"},
		"zero":           {"cnn", `["a"]`, `[1,0,28]`, "mlp.safetensors: "},
		"too small":      {"cnn", `["a"]`, `[1,1,1]`, "mlp.safetensors: "},
		"of other shape": {"mlp", `["a","b"]`, `[1,9,9]`, "mis-shaped: 1.weight is f32[128 784] in the file, f32[128 81] in the model"},
	} {
		path := filepath.Join(t.TempDir(), "mlp.safetensors")
		tensors := []safetensors.Named{
			{Name: "1.weight", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 128, 784))}, {Name: "1.bias", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 128))},
			{Name: "3.weight", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 2, 128))}, {Name: "3.bias", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 2))},
		}
		if err := safetensors.WriteFile(path, tensors, map[string]string{metaKind: "image", metaModel: c.model, metaClasses: c.classes, metaInput: c.input}); err != nil {
			t.Fatal(err)
		}
		if _, err := loadModel(t.Context(), path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}
