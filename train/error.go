package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/tensor"
)

// NotFiniteError ends a run whose loss or model is no number any more. The model is of no use from that step on, and no checkpoint is
// written of it.
type NotFiniteError struct {
	Step     int     // the one whose loss is not finite, or after which Variable is not
	Loss     float64 // of that step
	Variable string  // the first variable that holds NaN, or the first parameter that holds an infinite number; empty if the loss is to blame
	Last     string  // the last good checkpoint, if there is one
	// Origin says where the first such number appeared, if Config.DetectAnomaly is set: an *ops.OpError with the operation, its scope and its call site.
	Origin error
}

func (e *NotFiniteError) Error() string {
	what := fmt.Sprintf("the loss is %v at step %d", e.Loss, e.Step)
	if e.Variable != "" {
		what = fmt.Sprintf("after step %d, whose loss was %v, there are values in %s that are no numbers or infinite", e.Step, e.Loss, e.Variable)
	}
	if e.Origin != nil {
		return fmt.Sprintf("train: %s: it begins in %v%s", what, e.Origin, lastGood(e.Last))
	}
	return fmt.Sprintf("train: %s: lower the learning rate, or look for such values in the data; Config.DetectAnomaly finds the operation%s", what, lastGood(e.Last))
}

// Unwrap is the Origin.
func (e *NotFiniteError) Unwrap() error { return e.Origin }

// lastGood is the end of a sentence that names the last good checkpoint.
func lastGood(path string) string {
	if path == "" {
		return ""
	}
	return "; the last good checkpoint is " + path
}

// stoppedError is the end of a run whose context was done.
type stoppedError struct {
	step       int
	cause, err error // context.Cause, and the context's error
}

func (e *stoppedError) Error() string {
	return fmt.Sprintf("train: stopped after step %d: %v", e.step, e.cause)
}

// Unwrap is both, so that errors.Is finds context.Canceled even where the context has a cause of its own.
func (e *stoppedError) Unwrap() []error { return []error{e.cause, e.err} }

// saveError says that a checkpoint could not be written.
type saveError struct {
	err  error
	last string
}

func (e *saveError) Error() string {
	return fmt.Sprintf("train: no checkpoint could be written: %v%s", e.err, lastGood(e.last))
}

func (e *saveError) Unwrap() error { return e.err }

// cause is why a step of a tape has failed, without the number that the tape has for it: the run counts otherwise, from 1, and all batches of a step as one.
func cause(err error) error {
	if e, ok := err.(*autograd.StepError); ok {
		return e.Err
	}
	return err
}

// explain makes err, which ends the run early, the one to return. The state after the last step is whole unless it is the reason, and is
// saved: the run can be resumed when the cause is gone.
func (r *run) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = &stoppedError{r.report.Steps, cause, ctx.Err()}
	}
	var ruined *NotFiniteError
	var unsaved *saveError
	if errors.As(err, &ruined) || errors.As(err, &unsaved) {
		return err
	}
	if also := r.save(ctx); also != nil {
		return errors.Join(err, also)
	}
	if r.report.Checkpoint != "" {
		err = fmt.Errorf("%w; resume from %s", err, r.report.Checkpoint)
	}
	return err
}

// sound reports whether no element is NaN, nor infinite unless that is allowed.
func sound(t tensor.Tensor, infinite bool) bool {
	if !t.DType().Float() {
		return true
	}
	for i := range t.Len() {
		if x := t.At(i); math.IsNaN(x) || math.IsInf(x, 0) && !infinite {
			return false
		}
	}
	return true
}
