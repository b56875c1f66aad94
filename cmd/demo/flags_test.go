package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train/jsonl"
	"github.com/cortado-ml/cortado/train/tensorboard"
)

// TestPrecision trains each model with parameters of 16 bits: the same bits with other numbers of processors and when the run is stopped and resumed, other
// ones than in float32; and the model is read again.
func TestPrecision(t *testing.T) {
	eachModel(t, func(t *testing.T, model string, args []string) {
		args = append(args, "-json", "-schedule", "constant", "-lr", "1e-3", "-steps", "4")
		wide := demo(t, t.TempDir(), args...)
		wide.wants(t, 0)
		args = append(args, "-precision", "bf16")
		folder := t.TempDir()
		whole := demo(t, folder, args...)
		whole.wants(t, 0)
		want := lossBits(events(t, whole.out))
		if len(want) != 4 || cmp.Equal(want, lossBits(events(t, wide.out))) {
			t.Errorf("the losses are those of float32: %v", want)
		}
		stopped := t.TempDir()
		first := demoIn(t, stopped, []string{"GOMAXPROCS=1"}, append(args, "-steps", "2")...)
		first.wants(t, 0)
		rest := demo(t, stopped, append(args, "-resume")...)
		rest.wants(t, 0)
		if d := cmp.Diff(want, lossBits(events(t, first.out+rest.out))); d != "" {
			t.Error(d)
		}
		done := find(events(t, whole.out), "done")
		if a, b := done.Test, find(events(t, rest.out), "done").Test; !cmp.Equal(a, b) {
			t.Errorf("it ends with %v and %v", a, b)
		}
		path := filepath.Join(folder, done.File)
		m, err := loadModel(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range m.net.Params() {
			if v.Spec().DType != tensor.BF16 {
				t.Errorf("%s is %v", v.Name(), v.Spec())
			}
		}
	})
}

// TestLogs writes lines and event files, which go on where a run is resumed.
func TestLogs(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-json", "-model", "mlp", "-data", idx(t), "-batch", "16", "-log", "log.jsonl", "-tensorboard", "events"}
	demo(t, folder, append(args, "-steps", "4")...).wants(t, 0)
	o := demo(t, folder, append(args, "-steps", "8", "-resume")...)
	o.wants(t, 0)
	b, err := os.ReadFile(filepath.Join(folder, "log.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[int]int{}
	for e, err := range jsonl.Read(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		steps[e.Step]++
	}
	for n := 1; n <= 8; n++ {
		if want := 1 + (4-n%4)/4; steps[n] != want { // an epoch has a line of its own
			t.Errorf("%d lines of step %d, want %d", steps[n], n, want)
		}
	}
	last := 0
	for _, name := range names(t, filepath.Join(folder, "events")) {
		b, err := os.ReadFile(filepath.Join(folder, "events", name))
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range tensorboard.Read(bytes.NewReader(b)) {
			if err != nil {
				t.Fatal(err)
			}
			last = max(last, int(e.Step))
		}
	}
	if last != 8 {
		t.Errorf("the last event is of step %d", last)
	}
}

// TestLimits has fewer steps with each flag that says so.
func TestLimits(t *testing.T) {
	data := idx(t)
	for _, c := range []struct {
		flags string
		steps int
	}{
		{"-epochs 2", 8},
		{"-epochs 2 -accumulate 3", 4},
		{"-epochs 2 -limit-batches 3", 6},
		{"-epochs 2 -limit-batches 3 -accumulate 2", 4},
		{"-epochs 20 -overfit-batches 1", 20},
		{"-epochs 50 -patience 1 -lr 0.5 -optimizer sgd", -1},
	} {
		folder := t.TempDir()
		o := demo(t, folder, append([]string{"-json", "-model", "mlp", "-data", data, "-batch", "16"}, strings.Fields(c.flags)...)...)
		o.wants(t, 0)
		list := events(t, o.out)
		if n := len(lossBits(list)); n != c.steps && (c.steps > 0 || n >= 200) {
			t.Errorf("%s: %d steps, want %d", c.flags, n, c.steps)
		}
		if loss := find(list, "step").Loss; strings.Contains(c.flags, "overfit") && loss > 0.5 {
			t.Errorf("%s: the loss is %v", c.flags, loss)
		}
		best := find(list, "best")
		if _, err := os.Stat(filepath.Join(folder, "cortado-demo", "best.safetensors")); (err == nil) != strings.Contains(c.flags, "patience") || (best.File != "") != (err == nil) {
			t.Errorf("%s: the best checkpoint: %+v, %v", c.flags, best, err)
		}
		if best.File == "" {
			continue
		}
		lowest, last := math.Inf(1), math.NaN()
		for _, e := range list {
			if e.Event == "epoch" {
				last = e.Validation["loss"]
				lowest = min(lowest, last)
			}
		}
		if got := find(list, "done").Test["loss"]; got != lowest || last == lowest {
			t.Errorf("%s: it ends with a loss of %v; the epochs had %v at best and %v at last", c.flags, got, lowest, last)
		}
	}
}

// TestClip makes a first step that would be large as small as it is told.
func TestClip(t *testing.T) {
	var weights []tensor.Tensor
	for _, flags := range []string{"-clip 1e-12", "-clip 1e-3", "-clip 1e9", "-lr 1"} {
		folder := t.TempDir()
		args := append([]string{"-json", "-model", "mlp", "-data", idx(t), "-steps", "1", "-optimizer", "sgd", "-lr", "1"}, strings.Fields(flags)...)
		demo(t, folder, args...).wants(t, 0)
		f, err := safetensors.Open(filepath.Join(folder, "cortado-demo", "mlp.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w, err := f.Tensor("3.weight")
		if err != nil {
			t.Fatal(err)
		}
		weights = append(weights, w)
	}
	far := func(a, b tensor.Tensor) (d float64) {
		for i := range a.Len() {
			d += math.Pow(a.At(i)-b.At(i), 2)
		}
		return math.Sqrt(d)
	}
	if d := far(weights[0], weights[1]); d > 1e-3 || d < 1e-5 {
		t.Errorf("a clipped step has moved a weight by %v", d)
	}
	if far(weights[2], weights[3]) != 0 || far(weights[0], weights[3]) < 0.1 {
		t.Error("a step within its limits is not as without them")
	}
}

// TestAnomaly names the operation where numbers end.
func TestAnomaly(t *testing.T) {
	o := demo(t, t.TempDir(), "-json", "-model", "mlp", "-data", idx(t), "-batch", "16", "-optimizer", "sgd", "-lr", "1e30", "-detect-anomaly")
	o.wants(t, 1, "demo: train: ", "matmul")
}
