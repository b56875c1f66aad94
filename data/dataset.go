package data

import (
	"fmt"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// Dataset is a list of samples, each an input x and a target y. Its methods may be called concurrently, and always say the same.
type Dataset interface {
	// Len is the number of samples.
	Len() int
	// Specs describe one sample. A data set without targets gives the zero Spec for y, and Sample and batches then have none.
	Specs() (x, y tensor.Spec)
	// Sample writes sample i, from 0, into x and y, which have the Specs. It writes every element: the memory has been used before.
	// tensor.Data gives the elements as a Go slice, for the type of the spec alone: as []float64 those of f32 are nil.
	Sample(i int, x, y tensor.Tensor) error
}

// checkSample is what every Sample of this package asks first.
func checkSample(d Dataset, i int, x, y tensor.Tensor) error {
	if i < 0 || i >= d.Len() {
		return fmt.Errorf("data: there is no sample %d: there are %d", i, d.Len())
	}
	if wantX, wantY := d.Specs(); x.Spec() != wantX || y.Spec() != wantY {
		return fmt.Errorf("data: a sample is %v and %v, not %v and %v", wantX, wantY, x.Spec(), y.Spec())
	}
	return nil
}

// pairs is two arrays, whose first axis counts the samples.
type pairs struct {
	x, y         tensor.Tensor
	xSpec, ySpec tensor.Spec // of a sample
}

// Tensors is the samples x.Row(i), y.Row(i), sharing the arrays' memory. Without targets y may be the zero Tensor.
func Tensors(x, y tensor.Tensor) (Dataset, error) {
	if x.IsNone() {
		return nil, fmt.Errorf("data: no inputs")
	}
	for _, t := range []tensor.Tensor{x, y} {
		if !t.IsNone() && t.Shape().Rank() == 0 {
			return nil, fmt.Errorf("data: %v has no axis that counts samples", t.Spec())
		}
	}
	if !y.IsNone() && x.Shape().Dim(0) != y.Shape().Dim(0) {
		return nil, fmt.Errorf("data: %d inputs, %v, but %d targets, %v", x.Shape().Dim(0), x.Spec(), y.Shape().Dim(0), y.Spec())
	}
	d := &pairs{x: x, y: y, xSpec: rowSpec(x)}
	if !y.IsNone() {
		d.ySpec = rowSpec(y)
	}
	return d, nil
}

// rowSpec is the Spec of t.Row(i).
func rowSpec(t tensor.Tensor) tensor.Spec {
	return tensor.SpecOf(t.DType(), t.Shape().Dims()[1:]...)
}

func (p *pairs) Len() int { return p.x.Shape().Dim(0) }

func (p *pairs) Specs() (x, y tensor.Spec) { return p.xSpec, p.ySpec }

func (p *pairs) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(p, i, x, y); err != nil {
		return err
	}
	x.CopyFrom(p.x.Row(i))
	y.CopyFrom(p.y.Row(i))
	return nil
}

// subset is some samples of another data set.
type subset struct {
	Dataset
	index []int
}

// Subset is the samples of d that index lists, in that order; one may be there several times. If d knows the lengths of its samples, as Pad does, so
// does the subset.
func Subset(d Dataset, index []int) (Dataset, error) {
	if d == nil {
		return nil, fmt.Errorf("data: a subset of no data set")
	}
	if err := checkPart(index, d.Len()); err != nil {
		return nil, err
	}
	return newSubset(d, slices.Clone(index)), nil
}

// checkPart makes sure that there are the n samples that index lists.
func checkPart(index []int, n int) error {
	for _, i := range index {
		if i < 0 || i >= n {
			return fmt.Errorf("data: a subset wants sample %d of %d", i, n)
		}
	}
	return nil
}

// newSubset keeps what Pad knows of its samples.
func newSubset(d Dataset, index []int) Dataset {
	s := &subset{d, index}
	if l, ok := d.(long); ok {
		return &longSubset{s, l}
	}
	return s
}

func (s *subset) Len() int { return len(s.index) }

func (s *subset) Sample(i int, x, y tensor.Tensor) error {
	if err := checkSample(s, i, x, y); err != nil {
		return err
	}
	return s.Dataset.Sample(s.index[i], x, y)
}

// longSubset is some samples of a data set that knows their lengths.
type longSubset struct {
	*subset
	of long
}

func (s *longSubset) Length(i int) int { return s.of.Length(s.index[i]) }

// Split is the first n samples of d and the others, in their order: shuffled data give two random parts, sorted data do not.
func Split(d Dataset, n int) (first, rest Dataset, err error) {
	if d == nil {
		return nil, nil, fmt.Errorf("data: a split of no data set")
	}
	if n < 0 || n > d.Len() {
		return nil, nil, fmt.Errorf("data: %d samples cannot be split off from %d", n, d.Len())
	}
	index := inOrder(d.Len())
	return newSubset(d, index[:n:n]), newSubset(d, index[n:]), nil
}
