package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/cortado-ml/cortado/train"
)

// These are the lines of -json, one object each. The test of a done event and the validation of an epoch hold the loss and the task's metrics.
type (
	stepEvent struct {
		Event   string  `json:"event"`
		Step    int     `json:"step"`
		Epoch   int     `json:"epoch"`
		Loss    float64 `json:"loss"`
		Seconds float64 `json:"seconds"` // since the program started
	}
	epochEvent struct {
		Event      string            `json:"event"`
		Epoch      int               `json:"epoch"`
		Step       int               `json:"step"`
		Loss       float64           `json:"loss"`
		Validation map[string]number `json:"validation"`
		Seconds    float64           `json:"seconds"`
	}
	// fileEvent is a checkpoint, best, resumed, restarted, damaged or set-aside event.
	fileEvent struct {
		Event   string  `json:"event"`
		Step    int     `json:"step,omitempty"`
		File    string  `json:"file,omitempty"`
		Note    string  `json:"note,omitempty"`
		Seconds float64 `json:"seconds"`
	}
	doneEvent struct {
		Event   string            `json:"event"`
		Model   string            `json:"model"`
		Steps   int               `json:"steps"`
		Seconds float64           `json:"seconds"`
		Test    map[string]number `json:"test"`
		File    string            `json:"file"`
	}
)

// number is null in JSON, which has no word for it, if it is not finite.
type number float64

// numbers are metrics as JSON has them.
func numbers(metrics map[string]float64) map[string]number {
	m := map[string]number{}
	for name, x := range metrics {
		m[name] = number(x)
	}
	return m
}

func (n number) MarshalJSON() ([]byte, error) {
	x := float64(n)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, x, 'g', -1, 64), nil
}

// jsonEvents prints events as JSON, one a line. Floats are printed so that they read back to the same bits. Writing errors are out's own
// concern.
func jsonEvents(out io.Writer, start time.Time) func(train.Event) {
	enc := json.NewEncoder(out)
	return func(e train.Event) {
		seconds := time.Since(start).Seconds()
		switch e := e.(type) {
		case train.Step:
			enc.Encode(stepEvent{"step", e.Step, e.Epoch, e.Loss, seconds})
		case train.Epoch:
			enc.Encode(epochEvent{"epoch", e.Epoch, e.Step, e.Loss, numbers(e.Validation), seconds})
		case train.Saved:
			enc.Encode(fileEvent{"checkpoint", e.Step, e.Path, "", seconds})
		case train.SavedBest:
			enc.Encode(fileEvent{"best", e.Step, e.Path, fmt.Sprintf("%s %v", e.Name, e.Value), seconds})
		case train.Resumed:
			if e.Path == "" {
				enc.Encode(fileEvent{"restarted", 0, "", "there is no checkpoint to resume from", seconds})
				return
			}
			enc.Encode(fileEvent{"resumed", e.Step, e.Path, e.Note, seconds})
		case train.Skipped:
			enc.Encode(fileEvent{"damaged", 0, e.Path, e.Err.Error(), seconds})
		case train.SetAside:
			enc.Encode(fileEvent{"set-aside", 0, e.Folder, "", seconds})
		}
	}
}
