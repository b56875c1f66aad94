package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	o := demo(t, t.TempDir(), "summary", "-model", "mlp")
	o.wants(t, 0)
	want := `layer  kind     output      parameters            FLOPs   bytes moved
0      Flatten  f32[1 784]  0                     0       6272
1      Linear   f32[1 128]  100480                200832  406592
2      ReLU     f32[1 128]  0                     128     1024
3      Linear   f32[1 10]   1290                  2570    5792
all                         101770, 407080 bytes  203530  419680

a step on a batch of 64, with `
	if layers, step, _ := strings.Cut(o.out, "threads of"); !strings.HasPrefix(layers, want) || !strings.Contains(step, "\nmatmul") || !strings.Contains(step, "\nall ") {
		t.Errorf("it prints\n%s\nwant at first\n%s", o.out, want)
	}
	if o := demo(t, t.TempDir(), "summary"); !strings.Contains(o.out, "Conv2D       f32[1 32 28 28]  320 ") || !strings.Contains(o.out, "25386, 101544 bytes") {
		t.Errorf("the default is\n%s", o.out)
	}
	for _, k := range kinds() {
		for model := range k.recipes {
			if k == &tableKind || testing.Short() && k == &textKind {
				continue
			}
			o := demo(t, t.TempDir(), "summary", "-model", model)
			o.wants(t, 0)
			if !strings.HasPrefix(o.out, "layer ") || !strings.Contains(o.out, "\na step on a batch of ") {
				t.Errorf("%s:\n%s", model, o.out)
			}
		}
	}
}

func TestDevices(t *testing.T) {
	o := demoIn(t, t.TempDir(), []string{"CORTADO_THREADS=3", "CORTADO_ISA=generic"}, "devices", "-json")
	o.wants(t, 0)
	var line deviceLine
	if err := json.Unmarshal([]byte(o.out), &line); err != nil {
		t.Fatal(err)
	}
	if line.Device != "cpu:0" || line.ISA != "generic" || line.Threads != 3 || line.Simulated || len(line.Levels) == 0 || line.Levels[0] != "generic" {
		t.Errorf("%+v", line)
	}
	o = demoIn(t, t.TempDir(), []string{"CORTADO_THREADS=3"}, "devices")
	o.wants(t, 0)
	lines := strings.Split(o.out, "\n")
	if len(lines) != 3 || strings.Fields(lines[0])[0] != "device" || !strings.HasPrefix(lines[1], "cpu:0 ") || !strings.HasSuffix(lines[1], " hardware") {
		t.Errorf("it says\n%s", o.out)
	}
}

// TestTwoDevices opens two; the first one trains, with the same bits as if it were alone.
func TestTwoDevices(t *testing.T) {
	data := idx(t)
	args := []string{"-json", "-model", "mlp", "-data", data, "-batch", "16", "-steps", "5"}
	one, two := demo(t, t.TempDir(), args...), demo(t, t.TempDir(), append(args, "-devices", "cpu,cpu")...)
	two.wants(t, 0)
	if d := cmp.Diff(lossBits(events(t, one.out)), lossBits(events(t, two.out))); d != "" {
		t.Error(d)
	}
}

// TestBench measures small things of each kind.
func TestBench(t *testing.T) {
	for workload, unit := range map[string]string{"gemm-32": "gflops", "mlp-8": "gflops", "cnn-2": "gflops", "resnet18-1": "gflops"} {
		for _, precision := range []string{"f32", "f64"} {
			o := demo(t, t.TempDir(), "bench", "-workload", workload, "-threads", "1", "-precision", precision, "-seconds", "0.001", "-json")
			o.wants(t, 0)
			var line map[string]any
			if err := json.Unmarshal([]byte(o.out), &line); err != nil {
				t.Fatal(err)
			}
			ms, _ := line["ms"].(float64)
			best, _ := line["best_ms"].(float64)
			rate, _ := line[unit].(float64)
			if !(best > 0 && ms >= best && rate > 0) || line["workload"] != workload || line["precision"] != precision || line["threads"] != 1.0 {
				t.Errorf("%s", o.out)
			}
		}
	}
	o := demo(t, t.TempDir(), "bench", "-workload", "mlp-8", "-seconds", "0.001", "-profile")
	o.wants(t, 0)
	if lines := strings.Split(o.out, "\n"); len(lines) < 5 || !strings.HasPrefix(lines[0], "mlp-8 f32, ") || !strings.Contains(lines[1], " us ") {
		t.Errorf("it says\n%s", o.out)
	}
}
