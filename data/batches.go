package data

import (
	"context"
	"fmt"
	"iter"

	"github.com/cortado-ml/cortado/tensor"
)

// Batches is where training gets its batches from: a Loader, Buckets, a Stream, or a type of the user's own.
type Batches interface {
	// Batches are those of an epoch from a position on, which is the start of an epoch or the Next of a batch; Loader.Batches says what else
	// holds. The same position gives the same batches, or a run that is resumed there does not go on as it would have.
	Batches(ctx context.Context, from Position) iter.Seq2[Batch, error]

	// Layout is what is known of an epoch before its first batch is read, or an error of what would make Batches fail.
	Layout() (Layout, error)
}

// Layout is what is known of the batches of an epoch before any is read.
type Layout struct {
	// Shapes are the kinds of batches that each epoch has; none if nobody knows before they are read, as of a Stream.
	Shapes []BatchShape
	// Order says in words what decides which sample comes when. A run is not resumed with another.
	Order string
}

// BatchShape is the specs that some batches share, and how many there are in an epoch.
type BatchShape struct {
	X, Y    tensor.Spec // [n, …]; Y is the zero Spec where there are no targets
	Lengths tensor.Spec // of Batch.Lengths
	Count   int
}

// Len is the number of batches in an epoch, 0 if that is not known.
func (l Layout) Len() (n int) {
	for _, s := range l.Shapes {
		n += s.Count
	}
	return n
}

// add counts batches of n samples, unless there are none.
func (l *Layout) add(d Dataset, n, count int) {
	if n == 0 || count == 0 {
		return
	}
	x, y := d.Specs()
	s := BatchShape{X: batchSpec(x, n), Y: batchSpec(y, n), Count: count}
	if _, padded := d.(long); padded {
		s.Lengths = tensor.SpecOf(tensor.I64, n)
	}
	l.Shapes = append(l.Shapes, s)
}

// addAll counts the batches that samples are cut into.
func (l *Layout) addAll(d Dataset, samples, batch int, dropLast bool) {
	l.add(d, batch, samples/batch)
	if !dropLast {
		l.add(d, samples%batch, 1)
	}
}

// orderText is the words for an order of samples.
func orderText(what string, batch int, shuffle bool, seed uint64, dropLast bool) string {
	s := fmt.Sprintf("%s in batches of %d", what, batch)
	if shuffle {
		s += fmt.Sprintf(", shuffled with seed %d", seed)
	} else {
		s += ", in their own order"
	}
	if dropLast {
		s += ", without short batches"
	}
	return s
}

// Layout has full batches and, unless it is left out, a short one.
func (l Loader) Layout() (Layout, error) {
	if err := l.check(Position{}); err != nil {
		return Layout{}, err
	}
	n := l.Data.Len()
	batch := min(l.Batch, n)
	if err := checkBatch(l.Data, batch); err != nil {
		return Layout{}, err
	}
	layout := Layout{Order: orderText(fmt.Sprintf("%d samples", n), batch, l.Shuffle, l.Seed, l.DropLast)}
	layout.addAll(l.Data, n, batch, l.DropLast)
	return layout, nil
}

// Layout has full batches of each bound and, unless they are left out, short ones. It asks for the length of every sample.
func (b Buckets) Layout() (Layout, error) {
	if err := b.check(Position{}); err != nil {
		return Layout{}, err
	}
	sets, err := b.sets()
	if err != nil {
		return Layout{}, err
	}
	count := make([]int, len(sets))
	for i := range b.Data.Len() {
		k, err := b.bucket(i)
		if err != nil {
			return Layout{}, err
		}
		count[k]++
	}
	layout := Layout{Order: orderText(fmt.Sprintf("%d samples with bounds %v", b.Data.Len(), b.Bounds), b.Batch, b.Shuffle, b.Seed, b.DropLast)}
	for k, n := range count {
		layout.addAll(sets[k], n, b.Batch, b.DropLast)
	}
	if layout.Len() == 0 {
		return Layout{}, b.nothingLeft()
	}
	return layout, nil
}

// Layout knows no shapes: a source tells nothing of its samples before it is opened, and not how many there are before it has ended.
func (s Stream) Layout() (Layout, error) {
	if err := s.check(Position{}); err != nil {
		return Layout{}, err
	}
	what := "a stream"
	if s.Shuffle > 1 {
		what = fmt.Sprintf("a stream of which %d samples wait", s.Shuffle)
	}
	return Layout{Order: orderText(what, s.Batch, s.Shuffle > 1, s.Seed, s.DropLast)}, nil
}
