package autograd

import "fmt"

// StepError says which step of a tape has failed, and why. A loop that counts for itself, by epochs say, tells Err and a number of its own.
type StepError struct {
	Step int64 // Tape.StepCount when it was recorded, from 0
	Err  error
}

// Error names the step.
func (e *StepError) Error() string { return fmt.Sprintf("autograd: step %d: %v", e.Step, e.Err) }

// Unwrap is Err.
func (e *StepError) Unwrap() error { return e.Err }
