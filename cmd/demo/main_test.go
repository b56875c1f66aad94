package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/fashion"
	"github.com/cortado-ml/cortado/data/opticks"
	"github.com/cortado-ml/cortado/tensor"
)

// binary is the program, as a user builds it.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "demo")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(folder, "demo.exe")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	status := 1
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
	} else {
		status = m.Run()
	}
	os.RemoveAll(folder)
	os.Exit(status)
}

// outcome is what a user sees of a run.
type outcome struct {
	code     int // of the exit; -1 for a signal
	out, err string
}

// command is a run in a folder, with additions to the environment.
func newCommand(t testing.TB, folder string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CORTADO_") && !strings.HasPrefix(e, "NO_COLOR=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// demo runs the program in a folder to its end. It never crashes.
func demo(t testing.TB, folder string, args ...string) outcome {
	t.Helper()
	return demoIn(t, folder, nil, args...)
}

func demoIn(t testing.TB, folder string, env []string, args ...string) outcome {
	t.Helper()
	cmd := newCommand(t, folder, env, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	o := outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
	noCrash(t, o)
	return o
}

// noCrash wants no trace of a panic.
func noCrash(t testing.TB, o outcome) {
	t.Helper()
	for _, word := range []string{"panic", "goroutine ", "SIGSEGV"} {
		if strings.Contains(o.err, word) || strings.Contains(o.out, word) {
			t.Errorf("it crashed: %s\n%s", o.out, o.err)
		}
	}
}

// wants checks the exit status and parts of the standard error.
func (o outcome) wants(t testing.TB, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit status %d, want %d\n%s%s", o.code, code, o.out, o.err)
	}
	for _, p := range parts {
		if !strings.Contains(o.err, p) {
			t.Errorf("it says %swant %q in it", o.err, p)
		}
	}
}

// event is any line of -json.
type event struct {
	Event      string             `json:"event"`
	Step       int                `json:"step"`
	Epoch      int                `json:"epoch"`
	Loss       float64            `json:"loss"`
	Seconds    float64            `json:"seconds"`
	Validation map[string]float64 `json:"validation"`
	Model      string             `json:"model"`
	Steps      int                `json:"steps"`
	Test       map[string]float64 `json:"test"`
	File       string             `json:"file"`
	Note       string             `json:"note"`
}

// events reads lines of -json, which hold nothing that is not known here.
func events(t testing.TB, out string) (list []event) {
	t.Helper()
	for line := range strings.Lines(out) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var e event
		if err := d.Decode(&e); err != nil || e.Event == "" || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("%v in the line %s", err, line)
		}
		list = append(list, e)
	}
	return list
}

// lossBits are the losses by step.
func lossBits(list []event) map[int]uint64 {
	m := map[int]uint64{}
	for _, e := range list {
		if e.Event == "step" {
			m[e.Step] = math.Float64bits(e.Loss)
		}
	}
	return m
}

// find is the last event of a kind.
func find(list []event, kind string) (found event) {
	for _, e := range list {
		if e.Event == kind {
			found = e
		}
	}
	return found
}

// images are the first of the embedded sample, for data sets that are quickly read.
func images(t testing.TB, n int) (pixels [][]byte, labels []byte) {
	t.Helper()
	set, _, err := data.OpenIDX(fashion.Files())
	if err != nil {
		t.Fatal(err)
	}
	x, y := set.Specs()
	img, label := tensor.New(x), tensor.New(y)
	for i := range n {
		if err := set.Sample(i, img, label); err != nil {
			t.Fatal(err)
		}
		row := make([]byte, img.Len())
		for j := range row {
			row[j] = byte(math.Round(255 * img.At(j)))
		}
		pixels, labels = append(pixels, row), append(labels, byte(label.Int(0)))
	}
	return pixels, labels
}

// trainImages and testImages are the sizes of the data set that idx writes.
const trainImages, testImages = 60, 20

// idx is a folder with the four files of a small data set.
func idx(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	pixels, labels := images(t, trainImages+testImages)
	for _, part := range []struct {
		name   string
		lo, hi int
	}{{"train", 0, trainImages}, {"t10k", trainImages, trainImages + testImages}} {
		n := uint32(part.hi - part.lo)
		writeGzip(t, filepath.Join(folder, part.name+"-images-idx3-ubyte.gz"), []uint32{0x803, n, 28, 28}, bytes.Join(pixels[part.lo:part.hi], nil))
		writeGzip(t, filepath.Join(folder, part.name+"-labels-idx1-ubyte.gz"), []uint32{0x801, n}, labels[part.lo:part.hi])
	}
	return folder
}

// smallData makes data of each kind that are quickly read, and the batch that cuts their training part into a few batches, of which the last is short.
var smallData = map[string]struct {
	make  func(t testing.TB) string
	batch string
}{
	"image": {idx, "16"},
	"text":  {smallText, "2"},
	"sound": {tones, "8"},
	"table": {func(t testing.TB) string { return "csv:" + houses(t, 80) }, "16"},
}

// eachModel runs f for every model of the demo, with flags that train it on small data. With -short, one model stands for those of text.
func eachModel(t *testing.T, f func(t *testing.T, model string, args []string)) {
	for _, k := range kinds() {
		small := smallData[k.name]
		data := small.make(t)
		for model := range k.recipes {
			if testing.Short() && k == &textKind && model != "gru" {
				continue
			}
			t.Run(k.name+"/"+model, func(t *testing.T) { f(t, model, []string{"-model", model, "-data", data, "-batch", small.batch}) })
		}
	}
}

// smallText is the beginning of the book.
func smallText(t testing.TB) string {
	t.Helper()
	book, err := opticks.Text()
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(t.TempDir(), "book.txt"), []byte(book[:2000]))
}

func writeGzip(t testing.TB, path string, header []uint32, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := errors.Join(binary.Write(w, binary.BigEndian, header), func() error { _, err := w.Write(body); return err }(), w.Close()); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.Bytes())
}

// write writes a file, and the folders above it.
func write(t testing.TB, path string, b []byte) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, b, 0o666)); err != nil {
		t.Fatal(err)
	}
	return path
}

// gray is a picture of bytes.
func gray(w int, pixels []byte) *image.Gray {
	return &image.Gray{Pix: pixels, Stride: w, Rect: image.Rect(0, 0, w, len(pixels)/w)}
}

// encode is a picture in a format.
func encode(t testing.TB, img image.Image, f func(io.Writer, image.Image) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// classes is a folder of pictures: 20 that are dark on the left, and 20 that are dark on the right.
func classes(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	for class, name := range []string{"left", "right"} {
		for i := range 20 {
			pixels := make([]byte, 28*28)
			for p := range pixels {
				pixels[p] = byte((p*7 + i*13) % 80)
				if p%28/14 != class {
					pixels[p] += 150
				}
			}
			write(t, filepath.Join(folder, name, fmt.Sprintf("%02d.png", i)), encode(t, gray(28, pixels), png.Encode))
		}
	}
	return folder
}

// names are the files below a folder.
func names(t testing.TB, folder string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(folder, path)
			list = append(list, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
