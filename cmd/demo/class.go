package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// classifier is what all tasks have in common whose models tell classes apart.
type classifier struct {
	size    tensor.Spec // of one sample
	classes []string
}

// Metadata of a classifier.
const (
	metaClasses = "cortado.classes" // their names, as a JSON list
	metaInput   = "cortado.input"   // the shape of a sample, as a JSON list
)

func (c classifier) input() tensor.Spec { return c.size }

func (c classifier) outputs() int { return len(c.classes) }

func (c classifier) loss(logits, labels ops.Value) ops.Value { return ops.CrossEntropy(logits, labels) }

func (c classifier) metrics() []train.Metric { return []train.Metric{train.Accuracy()} }

func (c classifier) metadata() map[string]string {
	classes, _ := json.Marshal(c.classes) // strings and numbers always have JSON
	size, _ := json.Marshal(c.size.Shape.Dims())
	return map[string]string{metaClasses: string(classes), metaInput: string(size)}
}

// restoreClassifier makes a classifier, of samples of that rank, of the metadata that it once gave.
func restoreClassifier(meta map[string]string, rank int) (c classifier, err error) {
	if err := json.Unmarshal([]byte(meta[metaClasses]), &c.classes); err != nil {
		return c, fmt.Errorf("%s: %w", metaClasses, err)
	}
	var dims []int
	if err := json.Unmarshal([]byte(meta[metaInput]), &dims); err != nil {
		return c, fmt.Errorf("%s: %w", metaInput, err)
	}
	c.size = tensor.SpecOf(tensor.F32, dims...)
	if err := c.size.Check(); err != nil || len(dims) != rank || c.size.Shape.Size() > maxInput {
		return c, fmt.Errorf("%s: %v is no shape of a sample: want %d axes", metaInput, dims, rank)
	}
	return c, nil
}

// verdict is a line on how good the model is, and one on where it is.
func (c classifier) verdict(r result, samples string) string {
	return fmt.Sprintf("test accuracy %.2f %%, loss %.4f, on %d %s; %.1f s\nthe model is in %s\n",
		100*r.Validation["accuracy"], r.Validation["loss"], r.test.Len(), samples, r.seconds, r.path)
}

// classify runs a net on one sample and gives the classes with the probability of each, the likeliest first.
func classify(ctx context.Context, eng *sched.Engine, net *layers.Net, x tensor.Tensor) ([]guess, error) {
	batch, err := x.Reshape(append([]int{1}, x.Shape().Dims()...)...)
	if err != nil {
		return nil, err
	}
	tape := autograd.New(eng)
	res, err := tape.Eval(ctx, net.Forward(tape, tape.Input("x", batch), layers.Eval).Softmax(-1))
	if err != nil {
		return nil, err
	}
	return guesses(res[0]), nil
}

// guess is a class with its probability.
type guess struct {
	class       int
	probability float64
}

// guesses are the classes of a row of probabilities, the likeliest first.
func guesses(p tensor.Tensor) []guess {
	list := make([]guess, p.Len())
	for i := range list {
		list[i] = guess{i, p.At(i)}
	}
	slices.SortStableFunc(list, func(a, b guess) int { return cmp.Compare(b.probability, a.probability) })
	return list
}

// tell prints the likeliest classes of what a file holds.
func (c classifier) tell(out io.Writer, file string, list []guess) {
	fmt.Fprintf(out, "%s:", file)
	for i, g := range list[:min(3, len(list))] {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, " %s %.1f %%", className(c.classes, g.class), 100*g.probability)
	}
	fmt.Fprintln(out)
}

// className is the name of a class, or its number.
func className(classes []string, i int) string {
	if i >= 0 && i < len(classes) {
		return classes[i]
	}
	return fmt.Sprint("class ", i)
}
