package data

import (
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// Sequences is samples of different lengths: sentences, sounds. Its methods may be called concurrently, and always say the same.
type Sequences interface {
	// Len is the number of samples.
	Len() int
	// Length is how long sample i is, 0 or more. A batch of samples that are filled up says it, as Batch.Lengths.
	Length(i int) int
	// Specs describe a sample of a length: the first axis of x, and of y if that goes along with x, is as long.
	Specs(length int) (x, y tensor.Spec)
	// Sample writes sample i, from 0, into x and y, which have the Specs of its length.
	Sample(i int, x, y tensor.Tensor) error
}

// Padding is what fills a sample up behind its end. The zero Padding is zeros; a Y that the loss ignores keeps what is no target out of it.
type Padding struct{ X, Y float64 }

// ragged is arrays of different lengths.
type ragged struct{ x, y []tensor.Tensor }

// Ragged is the samples x[i], y[i], which share a type and all axes but the first. The targets either are as long as the inputs, each as its
// own, or all have one Spec; without targets y is nil.
func Ragged(x, y []tensor.Tensor) (Sequences, error) {
	if len(x) == 0 {
		return nil, fmt.Errorf("data: no inputs")
	}
	if y != nil && len(y) != len(x) {
		return nil, fmt.Errorf("data: %d inputs, but %d targets", len(x), len(y))
	}
	along := y != nil // the targets are as long as the inputs
	for i := range x {
		if x[i].IsNone() || x[i].Shape().Rank() == 0 {
			return nil, fmt.Errorf("data: input %d is %v, which has no length", i, x[i].Spec())
		}
		along = along && y[i].Shape().Rank() > 0 && y[i].Shape().Dim(0) == x[i].Shape().Dim(0)
	}
	for i := range x {
		if x[i].DType() != x[0].DType() || rowSpec(x[i]) != rowSpec(x[0]) {
			return nil, fmt.Errorf("data: input %d is %v, but input 0 is %v", i, x[i].Spec(), x[0].Spec())
		}
		if y == nil {
			continue
		}
		if y[i].IsNone() || along && rowSpec(y[i]) != rowSpec(y[0]) || !along && y[i].Spec() != y[0].Spec() {
			return nil, fmt.Errorf("data: target %d is %v, but target 0 is %v", i, y[i].Spec(), y[0].Spec())
		}
	}
	r := &ragged{x: x, y: y}
	if along {
		return r, nil
	}
	return &labelled{r}, nil
}

func (r *ragged) Len() int { return len(r.x) }

func (r *ragged) Length(i int) int { return r.x[i].Shape().Dim(0) }

func (r *ragged) Specs(length int) (x, y tensor.Spec) {
	return longSpec(r.x[0], length), longSpec(r.y[0], length)
}

func (r *ragged) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= r.Len() {
		return fmt.Errorf("data: there is no sample %d: there are %d", i, r.Len())
	}
	if !x.CopyFrom(r.x[i]) && r.x[i].Len() > 0 {
		return fmt.Errorf("data: sample %d is %v, not %v", i, r.x[i].Spec(), x.Spec())
	}
	if r.y != nil && !y.CopyFrom(r.y[i]) && r.y[i].Len() > 0 {
		return fmt.Errorf("data: target %d is %v, not %v", i, r.y[i].Spec(), y.Spec())
	}
	return nil
}

// longSpec is the Spec of t with another length.
func longSpec(t tensor.Tensor, length int) tensor.Spec {
	return tensor.Spec{DType: t.DType(), Shape: t.Shape().With(0, length)}
}

// labelled is arrays of different lengths whose targets, if there are any, are all alike.
type labelled struct{ *ragged }

func (l *labelled) Specs(length int) (x, y tensor.Spec) {
	if l.y != nil {
		y = l.y[0].Spec()
	}
	return longSpec(l.x[0], length), y
}

// sequencesSubset is some of other sequences.
type sequencesSubset struct {
	Sequences
	index []int
}

// SubsetSequences is the samples of s that index lists, in that order, as Subset is of a data set: parts to train and to validate on for Buckets.
func SubsetSequences(s Sequences, index []int) (Sequences, error) {
	if s == nil {
		return nil, fmt.Errorf("data: a subset of no sequences")
	}
	if err := checkPart(index, s.Len()); err != nil {
		return nil, err
	}
	return &sequencesSubset{s, slices.Clone(index)}, nil
}

func (s *sequencesSubset) Len() int { return len(s.index) }

func (s *sequencesSubset) Length(i int) int { return s.Sequences.Length(s.index[i]) }

func (s *sequencesSubset) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= s.Len() {
		return fmt.Errorf("data: there is no sample %d: there are %d", i, s.Len())
	}
	return s.Sequences.Sample(s.index[i], x, y)
}

// padded is a data set of sequences that are filled up to one length.
type padded struct {
	Sequences
	length  int
	padding Padding
	x, y    tensor.Spec
}

// Pad is the samples of s, filled up to the length. A longer one is an error, and so is padding that is no number of the samples' type: -1 among bytes.
func Pad(s Sequences, length int, p Padding) (Dataset, error) {
	d, err := newPadded(s, length, p)
	if err != nil {
		return nil, err
	}
	for i := range s.Len() {
		if n := s.Length(i); n > length {
			return nil, fmt.Errorf("data: sample %d has the length %d, which is more than %d", i, n, length)
		}
	}
	return d, nil
}

func newPadded(s Sequences, length int, p Padding) (*padded, error) {
	if s == nil {
		return nil, fmt.Errorf("data: no sequences to fill up")
	}
	if length < 1 {
		return nil, fmt.Errorf("data: samples of length %d", length)
	}
	d := &padded{Sequences: s, length: length, padding: p}
	d.x, d.y = s.Specs(length)
	if err := d.x.Check(); err != nil {
		return nil, fmt.Errorf("data: samples of length %d: %w", length, err)
	}
	_, other := s.Specs(length - 1)
	for _, err := range []error{canPad(d.x.DType, p.X, true), canPad(d.y.DType, p.Y, d.y != other)} {
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// canPad refuses padding that is none of a type's whole numbers, if any is needed.
func canPad(d tensor.DType, v float64, needed bool) error {
	if !needed || !d.Int() {
		return nil
	}
	if held := tensor.Full(tensor.SpecOf(d), v).At(0); held != v {
		return fmt.Errorf("data: samples of %v cannot be filled up with %v, which would become %v", d, v, held)
	}
	return nil
}

// long is a data set that knows how long its samples were before they were filled up.
type long interface{ Length(i int) int }

func (d *padded) Specs() (x, y tensor.Spec) { return d.x, d.y }

func (d *padded) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(d, i, x, y); err != nil {
		return err
	}
	xs, ys := d.Sequences.Specs(d.Length(i))
	return d.Sequences.Sample(i, fill(x, xs, d.padding.X), fill(y, ys, d.padding.Y))
}

// fill writes v behind what s needs of t, and gives the part before it.
func fill(t tensor.Tensor, s tensor.Spec, v float64) tensor.Tensor {
	if t.Spec() == s {
		return t
	}
	n := s.Shape.Dim(0)
	rest := t.Rows(n, t.Shape().Dim(0))
	for i := range rest.Len() {
		rest.Set(i, v)
	}
	return t.Rows(0, n)
}
