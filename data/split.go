package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// SplitRandom draws which of n samples validate and which train: Subset makes data sets of them. The fraction, rounded to whole samples, validates;
// where there are two samples and the fraction is neither 0 nor 1, each part has one at least. The draw is a pure function of the seed; both
// parts are in ascending order.
func SplitRandom(n int, fraction float64, seed uint64) (train, validation []int, err error) {
	if n < 0 {
		return nil, nil, fmt.Errorf("data: %d samples", n)
	}
	return SplitClasses(make([]int, n), fraction, seed)
}

// SplitClasses is SplitRandom for each class on its own, so that both parts have the classes in equal shares. Labels are the classes of the samples,
// numbered in any way.
func SplitClasses(labels []int, fraction float64, seed uint64) (train, validation []int, err error) {
	if !(fraction >= 0 && fraction <= 1) {
		return nil, nil, fmt.Errorf("data: a fraction of %v: from 0 to 1 is possible", fraction)
	}
	count := map[int]int{}
	for _, label := range labels {
		count[label]++
	}
	left := map[int]int{} // how many of each class are still to be drawn for validation
	for label, n := range count {
		k := int(math.Round(fraction * float64(n)))
		if n > 1 && fraction > 0 && fraction < 1 {
			k = max(1, min(n-1, k))
		}
		left[label] = k
	}
	for _, i := range permutation(&source{seed: seed, stream: splitStream}, len(labels)) {
		if left[labels[i]] > 0 {
			left[labels[i]]--
			validation = append(validation, i)
		} else {
			train = append(train, i)
		}
	}
	slices.Sort(train)
	slices.Sort(validation)
	return train, validation, nil
}

// Labels are the classes of all samples of d, for SplitClasses: d's own Labels() []int if it has such a method, or if it is a part of data or filled-up
// data that have it; else each sample is read for its target, which must be one whole number.
func Labels(d Dataset) ([]int, error) {
	if d == nil {
		return nil, fmt.Errorf("data: no data set to have labels")
	}
	if labels, ok := labelsOf(d); ok {
		return labels, nil
	}
	xs, ys := d.Specs()
	if ys.Shape.Size() != 1 || !ys.DType.Int() {
		return nil, fmt.Errorf("data: targets are %v, which are no classes", ys)
	}
	x, y := tensor.New(xs), tensor.New(ys)
	labels := make([]int, d.Len())
	for i := range labels {
		if err := d.Sample(i, x, y); err != nil {
			return nil, &SampleError{i, err}
		}
		labels[i] = int(y.Int(0))
	}
	return labels, nil
}

// labelsOf are the labels that a data set or sequences know without reading samples.
func labelsOf(d any) (labels []int, ok bool) {
	var index []int
	switch d := d.(type) {
	case interface{ Labels() []int }:
		return d.Labels(), true
	case *padded:
		return labelsOf(d.Sequences)
	case *longSubset:
		return labelsOf(d.subset)
	case *subset:
		labels, ok = labelsOf(d.Dataset)
		index = d.index
	case *sequencesSubset:
		labels, ok = labelsOf(d.Sequences)
		index = d.index
	}
	if !ok {
		return nil, false
	}
	some := make([]int, len(index))
	for k, i := range index {
		some[k] = labels[i]
	}
	return some, true
}

// Labels are those of all images.
func (d *Images) Labels() []int {
	labels := make([]int, len(d.labels))
	for i, l := range d.labels {
		labels[i] = int(l)
	}
	return labels
}

// Labels are those of all images, as their folders tell.
func (d *Folder) Labels() []int { return slices.Clone(d.list.Labels) }
