package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/train"
)

func trainCommand(ctx context.Context, args []string, out io.Writer) error {
	start := time.Now()
	s, err := parseSettings(args, out)
	if err != nil {
		return err
	}
	eng, closeAll, err := openEngine(s.devices, 0)
	if err != nil {
		return err
	}
	defer closeAll()
	talk, observe := out, train.Progress(out)
	if s.json {
		talk, observe = io.Discard, jsonEvents(out, start)
	}
	info := eng.Devices()[0].Info()
	fmt.Fprintf(talk, "%s, %s, with %d threads of %s, %s\n", s.model, s.what, info.Threads, info.Name, info.ISA)
	set, err := openImages(s.data)
	if err != nil {
		return err
	}
	fmt.Fprintf(talk, "%s: %d images to train on, %d to test\n", s.data, set.train.Len(), set.test.Len())
	steps := s.length(set.train)
	opt, err := s.optimize(steps)
	if err != nil {
		return err
	}
	report, err := train.Fit(ctx, train.Config{
		Engine: eng, Model: s.build(len(set.classes)), Loss: ops.CrossEntropy, Optimizer: opt, Batch: s.batch, Epochs: s.epochs, Steps: s.steps, Seed: s.seed,
		Transform: s.transform, Metrics: []train.Metric{train.Accuracy()}, Validation: set.test,
		Checkpoint: s.out, CheckpointEvery: s.every, Resume: s.resume, Observe: observe,
		Metadata: map[string]string{
			metaModel: s.model, "cortado.data": s.data, "cortado.optimizer": s.optimizer, "cortado.schedule": fmt.Sprintf("%s to %v in %d steps", s.schedule, s.rate, steps),
		},
	}, set.train)
	if err != nil {
		return err
	}
	path := filepath.Join(s.out, s.model+".safetensors")
	if err := saveModel(ctx, path, s.model, set, report.Net); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	if s.json {
		return json.NewEncoder(out).Encode(doneEvent{"done", s.model, report.Steps, took, testResult{number(report.Validation["accuracy"]), number(report.Validation["loss"])}, path})
	}
	return show(ctx, out, eng, set, report, path, took)
}

// show tells people how good the model is, and shows some of what it sees.
func show(ctx context.Context, out io.Writer, eng *sched.Engine, set imageSet, report *train.Report, path string, seconds float64) error {
	example, err := showSome(ctx, out, eng, report.Net, set, filepath.Dir(path))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "test accuracy %.2f %%, loss %.4f, on %d images it has never seen; %.1f s\nthe model is in %s\n",
		100*report.Validation["accuracy"], report.Validation["loss"], set.test.Len(), seconds, path)
	if example != "" {
		flag := ""
		if path != defaultModel {
			flag = "-model-file " + path + " "
		}
		fmt.Fprintf(out, "try: go run ./cmd/demo predict %s%s\n", flag, example)
	}
	return nil
}
