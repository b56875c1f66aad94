package goldens

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/formula"
)

// A Trace is what one network's training came to.
type Trace struct {
	Torch        string // the version of PyTorch
	Model, DType string
	Batch        int     // samples a step
	Shape        []int   // of a sample; empty for images of 1x28x28
	Classes      int     // labels are 0 to Classes-1
	Rate         float64 // Adam's learning rate, for images of 1x28x28; its other settings are PyTorch's defaults
	Pattern      Stream  // the classes' patterns: one seed each, counting up
	Noise        Stream  // the noise over them: one seed a step, counting up
	Label        Stream  // the labels: one seed a step, counting up
	Parameters   []Parameter
	Buffers      []Buffer  // the running statistics at the end, for images of 1x28x28
	Losses       []float64 // one a step, before that step's update
	Distance     float64   // the farthest loss from float64's of six float32 runs whose batches are shuffled; 0 for images of 1x28x28
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
	Sum, Squares *float64 // of all elements at the end; nil where nothing is said of it
}

// A Buffer is a running statistic of a batch-norm.
type Buffer struct {
	Name   string
	Values []float64
}

// Load returns the trace of a model, "mlp", "cnn", "resnet", "lstm", "gru" or "gpt", in a type, "f64" or "f32".
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

// Samples returns what step k of a trace with a Shape trains on: Batch samples, noise over the pattern of their class, and their labels.
func (t Trace) Samples(k int) (x []float64, labels []int64) {
	labels = make([]int64, t.Batch)
	formula.Labels(labels, t.Label.Seed+uint64(k), t.Classes)
	size := 1
	for _, d := range t.Shape {
		size *= d
	}
	x, pattern := make([]float64, t.Batch*size), make([]float64, size)
	formula.Fill(x, t.Noise.Seed+uint64(k), t.Noise.Scale)
	for i, label := range labels {
		formula.Fill(pattern, t.Pattern.Seed+uint64(label), t.Pattern.Scale)
		for p, v := range pattern {
			x[i*size+p] += v
		}
	}
	return x, labels
}

// Tokens returns what step k of a trace of tokens trains on: Batch sequences of Shape[0] tokens, and for each the token that follows.
func (t Trace) Tokens(k int) (x, next []int64) {
	steps := t.Shape[0]
	ways := make([]int64, t.Batch*(steps+1))
	formula.Labels(ways, t.Label.Seed+uint64(k), 4)
	for i := range t.Batch {
		token := int64(0)
		for j := range steps + 1 {
			token = (5*token + ways[i*(steps+1)+j]) % int64(t.Classes)
			if j < steps {
				x = append(x, token)
			}
			if j > 0 {
				next = append(next, token)
			}
		}
	}
	return x, next
}
