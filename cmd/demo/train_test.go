package main

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// TestJSON reads every line of a run of nine steps over two epochs and a bit.
func TestJSON(t *testing.T) {
	folder := t.TempDir()
	o := demo(t, folder, "-json", "-model", "mlp", "-data", idx(t), "-batch", "16", "-steps", "9", "-checkpoint-every", "3")
	o.wants(t, 0)
	if o.err != "" {
		t.Errorf("standard error: %s", o.err)
	}
	var got []string
	seconds := 0.0
	for _, e := range events(t, o.out) {
		if e.Seconds < seconds {
			t.Errorf("time goes back: %+v", e)
		}
		seconds = e.Seconds
		switch e.Event {
		case "step":
			got = append(got, fmt.Sprintf("step %d of epoch %d", e.Step, e.Epoch))
			if e.Loss <= 0 || float64(float32(e.Loss)) != e.Loss {
				t.Errorf("loss %v is not what a float32 was", e.Loss)
			}
		case "epoch":
			got = append(got, fmt.Sprintf("epoch %d at step %d", e.Epoch, e.Step))
			if e.Loss <= 0 || e.Validation["loss"] <= 0 || len(e.Validation) != 2 {
				t.Errorf("%+v", e)
			}
		case "checkpoint":
			got = append(got, fmt.Sprintf("checkpoint %d", e.Step))
			if _, err := os.Stat(filepath.Join(folder, e.File)); err != nil {
				t.Error(err)
			}
		case "done":
			got = append(got, fmt.Sprintf("done %s after %d, %s", e.Model, e.Steps, filepath.ToSlash(e.File)))
			if a := e.Test["accuracy"]; a <= 0 || a > 1 || math.Abs(a*testImages-math.Round(a*testImages)) > 1e-9 || e.Test["loss"] <= 0 || len(e.Test) != 2 {
				t.Errorf("%+v", e)
			}
		default:
			t.Errorf("%+v", e)
		}
	}
	want := []string{
		"step 1 of epoch 1", "step 2 of epoch 1", "step 3 of epoch 1", "checkpoint 3", "step 4 of epoch 1", "epoch 1 at step 4",
		"step 5 of epoch 2", "step 6 of epoch 2", "checkpoint 6", "step 7 of epoch 2", "step 8 of epoch 2", "epoch 2 at step 8",
		"step 9 of epoch 3", "checkpoint 9", "done mlp after 9, cortado-demo/mlp.safetensors",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if first, _, _ := strings.Cut(o.out, "\n"); !strings.HasPrefix(first, `{"event":"step","step":1,"epoch":1,"loss":2.`) {
		t.Errorf("the first line is %s", first)
	}
}

// TestNumber has no JSON for what is no number, but null.
func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0.1: "0.1", 1e300: "1e+300", math.Inf(1): "null", math.Inf(-1): "null"} {
		if b, err := number(x).MarshalJSON(); err != nil || string(b) != want {
			t.Errorf("%v: %s, %v", x, b, err)
		}
	}
	if b, _ := number(math.NaN()).MarshalJSON(); string(b) != "null" {
		t.Errorf("NaN: %s", b)
	}
}

// TestForPeople reads what a run prints without -json, into a pipe.
func TestForPeople(t *testing.T) {
	folder := t.TempDir()
	data := idx(t)
	o := demo(t, folder, "-data", data, "-batch", "16", "-epochs", "2")
	o.wants(t, 0)
	lines := strings.Split(o.out, "\n")
	for i, want := range []string{
		"cnn, two convolutions with batch-norm, with ", data + ": 60 images to train on, 20 to test", "epoch 1  step 1/8  loss 2.3026", "the first checkpoint is cortado-demo",
		"epoch 1/2  training loss ", "epoch 2  step 8/8  loss ", "epoch 2/2  training loss ",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
	}
	for _, want := range []string{"test accuracy ", "on 20 images it has never seen; ", "the model is in cortado-demo", "try: go run ./cmd/demo predict " + filepath.Join("cortado-demo", "example.png")} {
		if !strings.Contains(o.out, "\n"+want) && !strings.Contains(o.out, want) {
			t.Errorf("%q is not in\n%s", want, o.out)
		}
	}
	if strings.ContainsAny(o.out, "\r\x1b") || o.err != "" {
		t.Errorf("control characters, or something on standard error: %q", o.err)
	}
	for i, line := range lines {
		if len(line) > 79 && i > 1 { // the first two name the processor and the folder
			t.Errorf("line %d has %d characters: %s", i+1, len(line), line)
		}
	}
	if d := cmp.Diff([]string{"cortado-demo/cnn.safetensors", "cortado-demo/example.png", "cortado-demo/step-000000004.safetensors", "cortado-demo/step-000000008.safetensors"}, names(t, folder)); d != "" {
		t.Error(d)
	}

	again := demo(t, folder, "-data", data, "-batch", "16", "-epochs", "1")
	again.wants(t, 0)
	if want := "the checkpoints of an earlier run now lie in " + filepath.Join("cortado-demo", "before"); !strings.Contains(again.out, want) {
		t.Errorf("%q is not in\n%s", want, again.out)
	}
}

// TestFirstWord is out before the data are opened.
func TestFirstWord(t *testing.T) {
	o := demo(t, t.TempDir(), "-data", "missing")
	o.wants(t, 1, "demo: -data missing: no such file or directory")
	if !strings.HasPrefix(o.out, "cnn, ") {
		t.Errorf("it says %q", o.out)
	}
}

// TestFirstLoss is that of a guess among all classes, for each model and several seeds.
func TestFirstLoss(t *testing.T) {
	eachModel(t, func(t *testing.T, model string, args []string) {
		want := blindLoss(t, args)
		if want == 0 {
			t.Skip("the loss of a number depends on the batch")
		}
		for _, seed := range []string{"1", "2", "3"} {
			o := demo(t, t.TempDir(), append(args, "-json", "-steps", "1", "-seed", seed)...)
			o.wants(t, 0)
			loss := find(events(t, o.out), "step").Loss
			if math.Abs(loss/want-1) > 0.1 {
				t.Errorf("seed %s: the first loss is %v, not %v", seed, loss, want)
			}
		}
	})
}

// blindLoss is the loss of one who knows no more than how many classes there are; 0 where a number is learned.
func blindLoss(t *testing.T, args []string) float64 {
	t.Helper()
	s, err := parseSettings(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	set, err := s.kind.open(s.data, s.recipe)
	if err != nil {
		t.Fatal(err)
	}
	return math.Log(float64(set.outputs()))
}

// TestLearns is the promise of the demo, in its shortest form: the perceptron on the sample that the program brings along. PyTorch reaches
// 83.3 % on the mean of three seeds.
func TestLearns(t *testing.T) {
	o := demo(t, t.TempDir(), "-json", "-model", "mlp", "-epochs", "5", "-batch", "64", "-optimizer", "adam", "-lr", "1e-3")
	o.wants(t, 0)
	if a := find(events(t, o.out), "done").Test["accuracy"]; a < 0.82 {
		t.Errorf("accuracy %v", a)
	}
}

// TestProcessors trains each model with several numbers of processors: the losses have the same bits.
func TestProcessors(t *testing.T) {
	eachModel(t, func(t *testing.T, model string, args []string) {
		var want map[int]uint64
		for _, env := range [][]string{{"GOMAXPROCS=1"}, {"GOMAXPROCS=2"}, {"GOMAXPROCS=7"}, {"CORTADO_THREADS=5"}} {
			o := demoIn(t, t.TempDir(), env, append(args, "-json", "-steps", "9")...)
			o.wants(t, 0)
			got := lossBits(events(t, o.out))
			if want == nil {
				want = got
			}
			if d := cmp.Diff(want, got); d != "" || len(got) != 9 {
				t.Errorf("%v: %s", env, d)
			}
		}
	})
}

// TestCompiles trains each model through several epochs: after the first one nothing is compiled.
func TestCompiles(t *testing.T) {
	eachModel(t, func(t *testing.T, model string, args []string) {
		s, err := parseSettings(append(args, "-epochs", "3", "-out", t.TempDir()), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		set, err := s.kind.open(s.data, s.recipe)
		if err != nil {
			t.Fatal(err)
		}
		opt, err := s.optimize(s.length(set.train))
		if err != nil {
			t.Fatal(err)
		}
		eng, closeAll, err := openEngine("cpu", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll()
		var compiles []int
		_, err = train.Fit(t.Context(), s.config(eng, set, opt, func(e train.Event) {
			if _, ok := e.(train.Epoch); ok {
				compiles = append(compiles, int(eng.Stats().Compiles))
			}
		}), set.train)
		if err != nil {
			t.Fatal(err)
		}
		if len(compiles) != 3 || compiles[0] == 0 || compiles[0] > 4 || compiles[2] != compiles[0] {
			t.Errorf("programs after each epoch: %v", compiles)
		}
	})
}

// TestAugmentation trains the network as the program does, in this process: the losses have the same bits, and others without augmentation.
func TestAugmentation(t *testing.T) {
	folder := idx(t)
	o := demo(t, t.TempDir(), "-json", "-data", folder, "-batch", "16", "-steps", "4", "-optimizer", "sgd", "-schedule", "constant", "-lr", "0.1")
	o.wants(t, 0)
	want := lossBits(events(t, o.out))
	set, err := openImageFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	for _, transform := range []data.Transform{data.FlipHorizontal, nil} {
		got := map[int]uint64{}
		_, err := train.Fit(t.Context(), train.Config{
			Engine: eng, Model: imageKind.recipes["cnn"].build(len(set.classes)), Loss: ops.CrossEntropy, Optimizer: &optim.SGD{LR: 0.1}, Batch: 16, Steps: 4, Seed: 1, Transform: transform,
			Observe: func(e train.Event) {
				if s, ok := e.(train.Step); ok {
					got[s.Step] = math.Float64bits(s.Loss)
				}
			},
		}, set.train)
		if err != nil {
			t.Fatal(err)
		}
		if same := cmp.Equal(want, got); same != (transform != nil) {
			t.Errorf("augmented: %v, but the same losses: %v", transform != nil, same)
		}
	}
}

// TestOptimizersAndSchedules trains with each: the loss falls, and none is the other.
func TestOptimizersAndSchedules(t *testing.T) {
	data := idx(t)
	seen := map[float64]string{}
	for _, args := range []string{"sgd constant 0.1", "momentum constant 0.02", "adam constant 0.001", "adamw constant 0.001", "adam cosine 0.001", "adam onecycle 0.003"} {
		var optimizer, schedule, rate string
		fmt.Sscan(args, &optimizer, &schedule, &rate)
		o := demo(t, t.TempDir(), "-json", "-model", "mlp", "-data", data, "-batch", "30", "-epochs", "10", "-optimizer", optimizer, "-schedule", schedule, "-lr", rate)
		o.wants(t, 0)
		loss := find(events(t, o.out), "epoch").Loss
		if loss > 1.6 {
			t.Errorf("%s: the loss is %v after 10 epochs", args, loss)
		}
		if other, ok := seen[loss]; ok {
			t.Errorf("%s and %s have the same loss", args, other)
		}
		seen[loss] = args
	}
}

// TestBigBatch is larger than the data: one short batch an epoch.
func TestBigBatch(t *testing.T) {
	o := demo(t, t.TempDir(), "-json", "-model", "mlp", "-data", idx(t), "-batch", "100000", "-epochs", "3")
	o.wants(t, 0)
	list := events(t, o.out)
	if bits := lossBits(list); len(bits) != 3 || math.Float64frombits(bits[3]) >= math.Float64frombits(bits[1]) {
		t.Errorf("losses %v", bits)
	}
}

// TestData names what is wrong with the images, and leaves nothing.
func TestData(t *testing.T) {
	whole := idx(t)
	// with is a copy of whole with one file changed.
	with := func(name string, change func([]byte) []byte) string {
		folder := t.TempDir()
		for _, n := range names(t, whole) {
			b, err := os.ReadFile(filepath.Join(whole, n))
			if err != nil {
				t.Fatal(err)
			}
			if n == name {
				b = change(b)
			}
			if b != nil {
				write(t, filepath.Join(folder, n), b)
			}
		}
		return folder
	}
	const trainPixels, trainLabels = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
	_, labels := images(t, trainImages)
	picture := encode(t, gray(28, make([]byte, 784)), png.Encode)
	few, one, differ, notest, empty := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for i := range 12 {
		name := fmt.Sprintf("%02d.png", i)
		write(t, filepath.Join(one, "cat", name), picture)
		if i < 4 {
			write(t, filepath.Join(few, []string{"cat", "dog"}[i%2], name), picture)
			write(t, filepath.Join(differ, "train", []string{"cat", "dog"}[i%2], name), picture)
			write(t, filepath.Join(differ, "test", []string{"cat", "eel"}[i%2], name), picture)
			write(t, filepath.Join(notest, "train", []string{"cat", "dog"}[i%2], name), picture)
		}
	}
	for what, c := range map[string]struct {
		data string
		want []string
	}{
		"nothing there":      {filepath.Join(empty, "none"), []string{"no such file"}},
		"a file":             {write(t, filepath.Join(t.TempDir(), "a.png"), picture), []string{"it is a file: want a folder"}},
		"an empty folder":    {empty, []string{"no folders"}},
		"an empty class":     {filepath.Dir(filepath.Dir(write(t, filepath.Join(t.TempDir(), "cat", "readme.txt"), nil))), []string{"the folder cat holds no"}},
		"one class":          {one, []string{`all images are of the class ["cat"]`}},
		"few pictures":       {few, []string{"4 pictures are too few"}},
		"other test classes": {differ, []string{`different classes: ["cat" "dog"] and ["cat" "eel"]`}},
		"no test":            {notest, []string{"test: ", "no such file"}},
		"labels missing":     {with(trainLabels, func([]byte) []byte { return nil }), []string{"train-labels-idx1-ubyte"}},
		"a web page":         {with(trainPixels, func([]byte) []byte { return []byte("<!DOCTYPE html>") }), []string{trainPixels, "<!DOCTYP"}},
		"cut off":            {with(trainPixels, func(b []byte) []byte { return b[:len(b)-8] }), []string{trainPixels}},
		"a label less": {with(trainLabels, func([]byte) []byte {
			path := filepath.Join(t.TempDir(), "labels")
			writeGzip(t, path, []uint32{0x801, trainImages - 1}, labels[1:])
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}), []string{trainLabels, "60 images but 59 labels"}},
	} {
		folder := t.TempDir()
		o := demo(t, folder, "-model", "mlp", "-steps", "2", "-data", c.data)
		o.wants(t, 1, append(c.want, "demo: -data "+c.data+": ")...)
		if left := names(t, folder); len(left) > 0 || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%s: it left %v and said %s", what, left, o.err)
		}
	}
}

// TestBrokenPicture meets a picture that cannot be read in the middle of training. What was trained until then is kept; without the picture
// the run goes on.
func TestBrokenPicture(t *testing.T) {
	data, folder := classes(t), t.TempDir()
	bad := filepath.Join(data, "right", "15.png")
	whole, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	write(t, bad, whole[:len(whole)/2])
	args := []string{"-json", "-model", "mlp", "-data", data, "-batch", "4", "-epochs", "2"}
	o := demo(t, folder, args...)
	o.wants(t, 1, "right/15.png", "resume from cortado-demo")
	first := events(t, o.out)
	if n := find(first, "checkpoint").Step; n != len(lossBits(first)) || n == 0 {
		t.Errorf("checkpoint after step %d of %d", n, len(lossBits(first)))
	}
	write(t, bad, whole)
	o = demo(t, folder, append(args, "-resume")...)
	o.wants(t, 0)
	for step, bits := range lossBits(events(t, demo(t, t.TempDir(), args...).out)) {
		if got := lossBits(append(first, events(t, o.out)...))[step]; got != bits {
			t.Errorf("step %d: loss %x, want %x", step, got, bits)
		}
	}
}

// TestOut refuses, before training, a folder that cannot be one.
func TestOut(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "file"), nil)
	for _, out := range []string{"file", filepath.Join("file", "run")} {
		o := demo(t, folder, "-json", "-model", "mlp", "-data", idx(t), "-steps", "3", "-out", out)
		o.wants(t, 1, "demo: train: the folder of checkpoints: ", "file")
		if o.out != "" {
			t.Errorf("it printed %s", o.out)
		}
	}
}

// TestDiverges has a rate that no model survives: the error names the step and the last good checkpoint.
func TestDiverges(t *testing.T) {
	folder := t.TempDir()
	o := demo(t, folder, "-json", "-model", "mlp", "-data", idx(t), "-batch", "16", "-optimizer", "sgd", "-lr", "1e30", "-checkpoint-every", "1")
	o.wants(t, 1, "demo: train: ", "lower the learning rate")
	list := events(t, o.out)
	if last := find(list, "checkpoint"); last.File != "" {
		o.wants(t, 1, last.File)
	}
	for _, n := range names(t, folder) {
		f, err := safetensors.Open(filepath.Join(folder, n))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range f.Names() {
			x, err := f.Tensor(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range x.Len() {
				if v := x.At(i); math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s: %s holds %v", n, name, v)
				}
			}
		}
		f.Close()
	}
}

// TestResumeMistakes resumes with other flags, and from damaged files.
func TestResumeMistakes(t *testing.T) {
	data, folder := idx(t), t.TempDir()
	args := func(more ...string) []string {
		return append([]string{"-json", "-data", data, "-resume"}, more...)
	}
	first := demo(t, folder, "-json", "-data", data, "-model", "mlp", "-batch", "16", "-steps", "6")
	first.wants(t, 0)
	newest := find(events(t, first.out), "checkpoint").File
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"-model", "mlp", "-batch", "15"}, []string{newest, "60 samples in batches of 16, shuffled with seed 1; this run has 60 samples in batches of 15"}},
		{[]string{"-model", "mlp", "-batch", "16", "-seed", "7"}, []string{newest, "seed 1, not 7"}},
		{[]string{"-model", "cnn", "-batch", "16"}, []string{newest, "is of another model or optimizer: missing: 2.weight, ", "unexpected: 3.weight, ", "mis-shaped: 1.weight is f32[128 784] in the file", `cortado.model was "mlp", it is "cnn" now`}},
		{[]string{"-model", "mlp", "-batch", "16", "-optimizer", "sgd"}, []string{newest, "unexpected: 1.weight.exp_avg"}},
		{[]string{"-model", "mlp", "-batch", "16", "-data", classes(t)}, []string{newest, "60 samples in batches of 16, shuffled with seed 1; this run has 36 samples"}},
	} {
		o := demo(t, folder, args(c.flags...)...)
		o.wants(t, 1, append(c.want, "demo: train: resume: ")...)
		if o.out != "" {
			t.Errorf("%v: it printed %s", c.flags, o.out)
		}
	}

	o := demo(t, folder, args("-model", "mlp", "-batch", "16", "-steps", "8", "-lr", "0.002")...)
	o.wants(t, 0)
	if note := find(events(t, o.out), "resumed").Note; note != `cortado.schedule was "constant to 0.001 in 6 steps", it is "constant to 0.002 in 8 steps" now` {
		t.Errorf("the note is %s", note)
	}

	for _, n := range names(t, folder) {
		path := filepath.Join(folder, n)
		if b, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		} else if strings.Contains(n, "step-000000008") {
			write(t, path, b[:len(b)-1])
		}
	}
	o = demo(t, folder, args("-model", "mlp", "-batch", "16", "-steps", "8")...)
	o.wants(t, 0)
	if list := events(t, o.out); !strings.Contains(find(list, "damaged").File, "step-000000008") || find(list, "resumed").Step != 6 {
		t.Errorf("it printed %s", o.out)
	}
	for _, n := range names(t, folder) {
		if strings.Contains(n, "step-") {
			write(t, filepath.Join(folder, n), nil)
		}
	}
	o = demo(t, folder, args("-model", "mlp", "-batch", "16", "-steps", "8")...)
	o.wants(t, 1, "no checkpoint in cortado-demo is whole", "step-000000008", "step-000000006", "step-000000004")
}

// TestSameFile writes the same model twice, byte for byte.
func TestSameFile(t *testing.T) {
	data := idx(t)
	var files [2][]byte
	for i := range files {
		folder := t.TempDir()
		demo(t, folder, "-json", "-data", data, "-batch", "20", "-steps", "4", "-out", "run").wants(t, 0)
		b, err := os.ReadFile(filepath.Join(folder, "run", "cnn.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = b
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the models differ")
	}
}
