package main

import (
	"strings"
	"testing"
)

// TestHelp asks for help in every way: it goes to standard output, names every flag, and nothing has gone wrong.
func TestHelp(t *testing.T) {
	flags := map[string][]string{
		"":         {"-model", "-data", "-epochs", "-steps", "-batch", "-lr", "-optimizer", "-schedule", "-seed", "-out", "-resume", "-checkpoint-every", "-devices", "-precision", "-clip", "-accumulate", "-limit-batches", "-overfit-batches", "-patience", "-detect-anomaly", "-log", "-tensorboard", "-json", "predict", "bench"},
		"predict":  {"-model-file", "-invert", "-json", "FILE"},
		"generate": {"-model-file", "-prompt", "-length", "-temperature", "-top-k", "-seed"},
		"devices":  {"-json"},
		"summary":  {"-model"},
		"bench":    {"-workload", "-threads", "-precision", "-seconds", "-json", "-profile", "gemm-N", "peak"},
	}
	for command, want := range flags {
		for _, args := range [][]string{{command, "-h"}, {command, "-help"}, {command, "--help"}, {"help", command}, {command, "-json", "-h"}} {
			if (command == "summary" || command == "generate") && len(args) == 3 {
				continue // has no -json
			}
			var list []string
			for _, a := range args {
				if a != "" {
					list = append(list, a)
				}
			}
			folder := t.TempDir()
			o := demo(t, folder, list...)
			o.wants(t, 0)
			if o.err != "" || !strings.HasPrefix(o.out, "usage: demo "+command) {
				t.Errorf("demo %v: standard error %q, output %.60q", list, o.err, o.out)
			}
			for _, w := range want {
				if !strings.Contains(o.out, w) {
					t.Errorf("demo %v does not explain %s", list, w)
				}
			}
			if left := names(t, folder); len(left) > 0 {
				t.Errorf("demo %v left %v", list, left)
			}
		}
	}
}

// TestUsage makes mistakes on the command line: the exit status is 2, the message names the mistake, and nothing else is printed or written.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-nosuch", "-nosuch"},
		{"-epochs x", `"x" for flag -epochs`},
		{"-epochs", "-epochs"},
		{"-epochs -1", "-epochs -1"},
		{"-epochs 0", "-epochs 0"},
		{"-batch 0", "-batch 0"},
		{"-limit-batches 0", "-limit-batches 0"},
		{"-patience 0", "-patience 0"},
		{"-lr 0", "-lr 0"},
		{"-clip 0", "-clip 0"},
		{"-epochs 9223372036854775807", "-epochs 9223372036854775807"},
		{"-steps -1", "-steps -1"},
		{"-batch -5", "-batch -5"},
		{"-batch 9223372036854775807", "-batch 9223372036854775807"},
		{"-checkpoint-every -1", "-checkpoint-every -1"},
		{"-lr -0.1", "-lr -0.1"},
		{"-lr NaN", "-lr NaN"},
		{"-lr Inf", "-lr +Inf"},
		{"-lr x", "-lr"},
		{"-seed -1", "-seed"},
		{"-seed 1.5", "-seed"},
		{"-model lenet", `no model "lenet": there are cnn, g`},
		{"-optimizer lion", `no optimizer "lion": there are sgd`},
		{"-schedule step", `no schedule "step": there are constant`},
		{"-precision f64", `-precision "f64": want f32 or bf16`},
		{"-clip -1", "-clip -1"},
		{"-clip NaN", "-clip NaN"},
		{"-accumulate -1", "-accumulate -1"},
		{"-patience -1", "-patience -1"},
		{"-limit-batches -1", "-limit-batches -1"},
		{"-overfit-batches -1", "-overfit-batches -1"},
		{"-overfit-batches 1 -limit-batches 1", "want one of them"},
		{"-devices cuda", `no device "cuda": there is cpu`},
		{"-devices cpu,", `no device ""`},
		{"-out=", "-out is empty"},
		{"-json=maybe", "maybe"},
		{"-model mlp train", `what is "train"?`},
		{"train", `no command "train": there are predict`},
		{"help nosuch", `no command "nosuch"`},
		{"predict", "which FILE?"},
		{"predict -nosuch", "-nosuch"},
		{"predict -model-file", "-model-file"},
		{"generate Light", `what is "Light"?`},
		{"generate -length -1", "-length -1"},
		{"generate -length 9223372036854775807", "-length 9223372036854775807"},
		{"generate -temperature -1", "-temperature -1"},
		{"generate -temperature NaN", "-temperature NaN"},
		{"generate -temperature Inf", "-temperature +Inf"},
		{"generate -top-k -1", "-top-k -1"},
		{"generate -seed -1", "-seed"},
		{"devices cpu", `what is "cpu"?`},
		{"summary -model lenet", `no model "lenet"`},
		{"summary cnn", `what is "cnn"?`},
		{"bench", "which -workload?"},
		{"bench gemm-256", `what is "gemm-256"?`},
		{"bench -workload fft", `no workload "fft"`},
		{"bench -workload gemm", `no workload "gemm"`},
		{"bench -workload gemm-0", `no workload "gemm-0"`},
		{"bench -workload gemm-x", `no workload "gemm-x"`},
		{"bench -workload gemm-99999999999999999999", "no workload"},
		{"bench -workload rnn-5", `no workload "rnn-5"`},
		{"bench -workload gemm-8 -precision f8", `-precision "f8": want f32`},
		{"bench -workload gemm-8 -threads -1", "-threads -1"},
		{"bench -workload gemm-8 -threads 10000", "-threads 10000"},
		{"bench -workload gemm-8 -seconds 0", "-seconds 0"},
		{"bench -workload gemm-8 -seconds NaN", "-seconds NaN"},
		{"bench -workload gemm-8 -seconds Inf", "-seconds +Inf"},
		{"bench -workload gemm-8 -profile -json", "-profile"},
		{"bench -workload peak -precision f64", "-workload peak"},
	} {
		folder := t.TempDir()
		o := demo(t, folder, strings.Fields(c.args)...)
		o.wants(t, 2, "demo: ", c.want)
		if o.out != "" || strings.Count(o.err, "\n") != 2 {
			t.Errorf("demo %s: standard output %q, error %q", c.args, o.out, o.err)
		}
		if left := names(t, folder); len(left) > 0 {
			t.Errorf("demo %s left %v", c.args, left)
		}
	}
}

// TestEnvironment is told of what makes no sense in the environment.
func TestEnvironment(t *testing.T) {
	for env, want := range map[string]string{
		"CORTADO_ISA=avx1024": `CORTADO_ISA="avx1024"`,
		"CORTADO_THREADS=0":   `CORTADO_THREADS is "0"`,
		"CORTADO_THREADS=two": `CORTADO_THREADS is "two"`,
		"CORTADO_THREADS=-3":  `CORTADO_THREADS is "-3"`,
	} {
		for _, args := range []string{"-model mlp -steps 1", "devices", "bench -workload gemm-8 -seconds 0.01"} {
			folder := t.TempDir()
			o := demoIn(t, folder, []string{env}, strings.Fields(args)...)
			o.wants(t, 1, "demo: ", want)
			if left := names(t, folder); len(left) > 0 || o.out != "" {
				t.Errorf("%s demo %s left %v and wrote %q", env, args, left, o.out)
			}
		}
	}
}
