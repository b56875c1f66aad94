package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/cortado-ml/cortado/optim"
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
	set, err := s.kind.open(s.data, s.recipe)
	if err != nil {
		return fmt.Errorf("-data %s: %w", s.data, err)
	}
	fmt.Fprintf(talk, "%s: %s\n", s.data, set.what)
	opt, err := s.optimize(s.length(set.train))
	if err != nil {
		return err
	}
	report, err := train.Fit(ctx, s.config(eng, set, opt, observe), set.train)
	if err != nil {
		return err
	}
	if report.Best != "" {
		if err := goBack(ctx, eng, s, set, report); err != nil {
			return err
		}
	}
	path := filepath.Join(s.out, s.model+".safetensors")
	if err := saveModel(ctx, path, s.kind, s.model, set, report.Net); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	if s.json {
		return json.NewEncoder(out).Encode(doneEvent{"done", s.model, report.Steps, took, numbers(report.Validation), path})
	}
	return set.show(ctx, out, result{report, set, eng, path, took})
}

// goBack makes the model that of the best epoch: what -patience waited for in vain is not what is kept and shown.
func goBack(ctx context.Context, eng *sched.Engine, s settings, set corpus, report *train.Report) error {
	if err := train.LoadModel(ctx, report.Best, report.Net); err != nil {
		return err
	}
	v, err := train.Evaluate(ctx, eng, report.Net, set.test, s.batch, set.loss, set.metrics()...)
	report.Validation = v
	return err
}

// config is what Fit goes by.
func (s settings) config(eng *sched.Engine, set corpus, opt optim.Optimizer, observe func(train.Event)) train.Config {
	c := train.Config{
		Engine: eng, Model: inType(s.build(set.outputs()), s.dtype()), Loss: set.loss, Optimizer: opt, Batch: s.batch, Epochs: s.epochs, Steps: s.steps, Seed: s.seed,
		DType: s.dtype(), Accumulate: s.accumulate, LimitBatches: s.limit, OverfitBatches: s.overfit,
		Transform: s.transform, Metrics: set.metrics(), Validation: set.test,
		Checkpoint: s.out, CheckpointEvery: s.every, Resume: s.resume, KeepBest: s.patience > 0,
		Observe: observe, Log: s.log, TensorBoard: s.board, DetectAnomaly: s.anomaly,
		Metadata: map[string]string{
			metaKind: s.kind.name, metaModel: s.model, "cortado.data": s.data, "cortado.optimizer": s.optimizer,
			"cortado.schedule": fmt.Sprintf("%s to %v in %d steps", s.schedule, s.rate, s.length(set.train)),
		},
	}
	if s.patience > 0 {
		c.EarlyStopping = &train.EarlyStopping{Patience: s.patience}
	}
	return c
}
