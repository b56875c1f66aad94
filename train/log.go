package train

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cortado-ml/cortado/train/jsonl"
	"github.com/cortado-ml/cortado/train/tensorboard"
)

// logs are the files that a run writes its numbers to: for each step the loss, the rate, the measures of the optimizer, the seconds that it took and the
// samples a second; for each epoch the mean loss, the numbers of validation and the seconds.
type logs struct {
	lines *jsonl.Log
	board *tensorboard.Writer
	step  time.Time // when the last one ended
	epoch time.Time
}

// openLogs begins the logs of a run, or goes on with those of the run that it continues: what they say of steps that are to come again is removed.
func (r *run) openLogs() (err error) {
	now := time.Now()
	r.logs.step, r.logs.epoch = now, now
	steps, pending := r.report.Steps, r.at.Sample == 0 && r.taken > 0 // the epoch is going to be judged, perhaps again
	if r.Log != "" {
		if steps == 0 {
			r.logs.lines, err = jsonl.Create(r.Log)
		} else {
			r.logs.lines, err = jsonl.ResumeWhere(r.Log, func(e jsonl.Entry) bool {
				_, epoch := e.Values[epochName]
				return e.Step < steps || e.Step == steps && !(epoch && pending)
			})
		}
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	if r.TensorBoard == "" {
		return nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("train: %w", err), r.logs.close())
		}
	}()
	if r.logs.board, err = tensorboard.Create(r.TensorBoard); err != nil {
		return err
	}
	if !pending {
		return r.logs.board.Restart(steps + 1) // what the folder has of an earlier run is void too: its first step is 1
	}
	// An event file is only added to: with the numbers of the epoch those of its last step go, and come again.
	if err := r.logs.board.Restart(steps); err != nil {
		return err
	}
	return r.logs.scalars(steps, "train/", map[string]float64{lossName: r.last})
}

// epochName is the number that a line of an epoch has, and one of a step has not.
const epochName = "epoch"

// write adds the numbers of a step or an epoch.
func (l *logs) write(e Event) error {
	if l.lines == nil && l.board == nil {
		return nil
	}
	now := time.Now()
	switch e := e.(type) {
	case Step:
		seconds := now.Sub(l.step).Seconds()
		l.step = now
		numbers := map[string]float64{lossName: e.Loss, "rate": e.Rate, "seconds": seconds, "samples_per_second": float64(e.Size) / max(seconds, 1e-9)}
		maps.Copy(numbers, e.Measures)
		return l.numbers(e.Step, numbers, "train/", nil)
	case Epoch:
		seconds := now.Sub(l.epoch).Seconds()
		l.epoch, l.step = now, now // validation is not part of a step
		return l.numbers(e.Step, map[string]float64{epochName: float64(e.Epoch), lossName: e.Loss, "seconds": seconds}, "epoch/", e.Validation)
	}
	return nil
}

// numbers writes numbers, and those of validation under that name.
func (l *logs) numbers(step int, numbers map[string]float64, prefix string, validation map[string]float64) error {
	if l.board != nil {
		if err := errors.Join(l.scalars(step, prefix, numbers), l.scalars(step, "validation/", validation)); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	if l.lines == nil {
		return nil
	}
	for name, x := range validation {
		numbers["validation_"+name] = x
	}
	if err := l.lines.Write(step, numbers); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

func (l *logs) scalars(step int, prefix string, numbers map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if err := l.board.Scalar(prefix+name, step, numbers[name]); err != nil {
			return err
		}
	}
	return nil
}

// close ends the logs.
func (l *logs) close() (err error) {
	if l.lines != nil {
		err = l.lines.Close()
	}
	if l.board != nil {
		err = errors.Join(err, l.board.Close())
	}
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}
