package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrStop is what a callback returns to end a run as if it had done all its steps.
var ErrStop = errors.New("train: stop")

// EarlyStopping ends a run that gets no better.
type EarlyStopping struct {
	// Patience is how many epochs in a row, 1 at least, may pass without improvement: the run ends after that many. The first epoch is not one of
	// them, so that no run ends with it.
	Patience int
	// MinDelta is by how much more than this a number must be better than the best so far to be an improvement. With 0 it is one that is better at all.
	MinDelta float64
}

// bestName is the checkpoint of the best epoch.
const bestName = "best" + suffix

// monitor is what is known of the number that tells whether a model gets better. What is no finite number is never better.
type monitor struct {
	best      float64 // of all epochs; NaN before there is one
	reference float64 // the last improvement by more than MinDelta
	waited    int     // epochs since then
}

func newMonitor() monitor { return monitor{best: math.NaN(), reference: math.NaN()} }

// checkMonitor finds what would fail after the first epoch.
func (c *Config) checkMonitor() error {
	if e := c.EarlyStopping; e != nil {
		switch {
		case e.Patience < 1:
			return fmt.Errorf("train: Config.EarlyStopping has a Patience of %d: 1 epoch at least", e.Patience)
		case !(e.MinDelta >= 0) || math.IsInf(e.MinDelta, 1):
			return fmt.Errorf("train: Config.EarlyStopping has a MinDelta of %v: want 0 or more", e.MinDelta)
		}
	}
	if c.KeepBest && c.Checkpoint == "" {
		return errors.New("train: Config.Checkpoint is needed: the folder to keep the best checkpoint in")
	}
	known := []string{lossName}
	if c.Validation != nil || c.ValidationBatches != nil {
		for _, m := range c.Metrics {
			known = append(known, m.Name)
		}
	}
	name, _, _ := strings.Cut(c.monitored(), "/") // parts are known when there are some
	if !slices.Contains(known, name) {
		return fmt.Errorf("train: Config.Monitor is %q: there are %q", c.Monitor, known)
	}
	return nil
}

// monitored is the name of the number.
func (c *Config) monitored() string { return cmp.Or(c.Monitor, lossName) }

// maximizes reports whether more of the number is better.
func (c *Config) maximizes() bool {
	name, _, _ := strings.Cut(c.monitored(), "/")
	i := slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == name })
	return i >= 0 && c.Metrics[i].Maximize
}

// better reports whether x is better than another number by more than delta.
func (c *Config) better(x, than, delta float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case math.IsNaN(than):
		return true
	case c.maximizes():
		return x > than+delta
	}
	return x < than-delta
}

// judged is the number after an evaluation.
func (r *run) judged() (float64, error) {
	if r.valid == nil {
		return r.report.Loss, nil
	}
	x, ok := r.report.Validation[r.monitored()]
	if !ok {
		return 0, fmt.Errorf("train: there is no %q to monitor: there are %q", r.monitored(), slices.Sorted(maps.Keys(r.report.Validation)))
	}
	return x, nil
}

// keepBest writes the checkpoint of the best epoch, if this is it.
func (r *run) keepBest(ctx context.Context) error {
	x, err := r.judged()
	if err != nil || !r.better(x, r.best, 0) {
		return err
	}
	if r.KeepBest {
		path := filepath.Join(r.Checkpoint, bestName)
		if err := r.write(context.WithoutCancel(ctx), path); err != nil {
			return r.notSaved(err)
		}
		r.report.Best = path
		r.tell(SavedBest{Path: path, Step: r.report.Steps, Name: r.monitored(), Value: x})
	}
	r.best = x
	return nil
}

// wait counts the epochs without improvement, and ends the run when there are too many.
func (r *run) wait() error {
	x, err := r.judged()
	if err != nil || r.EarlyStopping == nil {
		return err
	}
	switch {
	case r.better(x, r.reference, r.EarlyStopping.MinDelta):
		r.reference, r.waited = x, 0
	case r.report.Epochs > 1:
		r.waited++
	}
	if r.waited >= r.EarlyStopping.Patience {
		r.report.Stopped = fmt.Sprintf("no better %s than %v for %d epochs", r.monitored(), r.reference, r.waited)
	}
	return nil
}

// findBest says where the best checkpoint is that an earlier part of the run has written.
func (r *run) findBest() {
	path := filepath.Join(r.Checkpoint, bestName)
	if _, err := os.Stat(path); err == nil && r.KeepBest && !math.IsNaN(r.best) {
		r.report.Best = path
	}
}
