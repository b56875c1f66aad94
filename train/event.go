package train

// Event is what happens in a run: a Step, an Epoch, a Saved, a SavedBest, a Resumed, a Skipped, a SetAside or, last, an Ended.
type Event interface{ event() }

// Step is the end of a training step.
type Step struct {
	Step  int     // from 1
	Epoch int     // from 1
	Of    int     // steps in the run; 0 if nobody knows, as of a stream
	Loss  float64 // the mean over the samples of the step, before the update
	// Weight is how many losses that is the mean of: the samples, or what MeanOf counts. It is 0 where every target is ignored, and the loss then too.
	Weight float64
	Size   int     // samples in the step
	Rate   float64 // of the update, as optim.RateOf says
	// Measures are what optim.Measures tells of the update: "gradient_norm" with a Clip, "loss_scale" and "skipped" with a LossScale. Nil if there are none.
	Measures map[string]float64
}

// Epoch is the end of an epoch.
type Epoch struct {
	Epoch      int                // from 1
	Epochs     int                // in the run; 0 if Config.Steps alone says how long it is
	Step       int                // steps so far
	Loss       float64            // mean over the epoch's samples, or what MeanOf counts, each before the update that it was part of; NaN where nothing counts
	Validation map[string]float64 // "loss" and the metrics; nil without validation data
}

// Saved says that a checkpoint has been written.
type Saved struct {
	Path string
	Step int
}

// SavedBest says that the epoch was the best so far, and that its checkpoint has been written.
type SavedBest struct {
	Path  string
	Step  int
	Name  string // of the number that is monitored
	Value float64
}

// Resumed says that the run continues from a checkpoint, or that there is none and the run starts anew.
type Resumed struct {
	Path string // empty if the run starts anew
	Step int
	Note string // what differs, without harm, from the run that wrote it: another level of instructions, say, which gives other last bits
}

// Skipped says that a checkpoint is damaged and an older one is tried.
type Skipped struct {
	Path string
	Err  error
}

// SetAside says that the folder had checkpoints of an earlier run, which now lie in another one.
type SetAside struct{ Folder string }

// Ended says that the run is over: it has done all its steps or has stopped early, or Err is what ended it.
type Ended struct {
	Err     error
	Stopped string // why it has stopped early, as in the Report
}

func (Step) event()      {}
func (Epoch) event()     {}
func (Saved) event()     {}
func (SavedBest) event() {}
func (Resumed) event()   {}
func (Skipped) event()   {}
func (SetAside) event()  {}
func (Ended) event()     {}
