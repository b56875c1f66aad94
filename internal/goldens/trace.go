package goldens

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/formula"
)

// A Trace is what one network's training came to.
type Trace struct {
	Torch        string // the version of PyTorch
	Model, DType string
	Batch        int     // images a step
	Classes      int     // labels are 0 to Classes-1
	Rate         float64 // Adam's learning rate; its other settings are PyTorch's defaults
	Pattern      Stream  // the classes' patterns: one seed each, counting up
	Noise        Stream  // the noise over them: one seed a step, counting up
	Label        Stream  // the labels: one seed a step, counting up
	Parameters   []Parameter
	Buffers      []Buffer  // the running statistics at the end
	Losses       []float64 // one a step, before that step's update
}

// A Stream is a sequence of formula.Fill, or of formula.Labels, which has no scale.
type Stream struct {
	Seed  uint64
	Scale float64
}

// A Parameter tells a parameter's first value and what is known of its last.
type Parameter struct {
	Name  string // as in PyTorch's state dict: "4.weight" belongs to layer 4 of the sequence
	Shape []int
	Stream
	Constant     *float64 // the value of every element, instead of the stream, or nil
	Sum, Squares *float64 // of all elements at the end; nil for a parameter that has no effect on the loss
}

// A Buffer is a running statistic of a batch-norm.
type Buffer struct {
	Name   string
	Values []float64
}

// Load returns the trace of a model, "mlp" or "cnn", in a type, "f64" or "f32".
func Load(model, dtype string) (Trace, error) {
	var t Trace
	err := read(fmt.Sprintf("%s-%s.json", model, dtype), &t)
	return t, err
}

// Initial returns the parameter's first value. In a float32 trace it is rounded to float32.
func (p Parameter) Initial() []float64 {
	n := 1
	for _, d := range p.Shape {
		n *= d
	}
	x := make([]float64, n)
	if p.Constant == nil {
		formula.Fill(x, p.Seed, p.Scale)
		return x
	}
	for i := range x {
		x[i] = *p.Constant
	}
	return x
}

// side and square are the width of an image and of a pattern's squares, in pixels.
const side, square = 28, 4

// Images returns what step k trains on: Batch images of 1x28x28 pixels, and their labels. Every sum of noise and pattern
// is exact in float64, and is rounded to float32 in a float32 trace.
func (t Trace) Images(k int) (x []float64, labels []int64) {
	labels = make([]int64, t.Batch)
	formula.Labels(labels, t.Label.Seed+uint64(k), t.Classes)
	x = make([]float64, t.Batch*side*side)
	formula.Fill(x, t.Noise.Seed+uint64(k), t.Noise.Scale)
	pattern := make([]float64, side/square*side/square)
	for i, label := range labels {
		formula.Fill(pattern, t.Pattern.Seed+uint64(label), t.Pattern.Scale)
		image := x[i*side*side:][:side*side]
		for p := range image {
			row, column := p/side, p%side
			image[p] += pattern[row/square*(side/square)+column/square]
		}
	}
	return x, labels
}
