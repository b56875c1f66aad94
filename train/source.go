package train

import (
	"context"
	"fmt"
	"iter"

	"github.com/cortado-ml/cortado/data"
)

// source is batches of which the first may have been looked at. It is not read a second time then: it may be a pipe.
type source struct {
	batches data.Batches
	first   data.Batch
	next    func() (data.Batch, error, bool) // the batches after the first, until somebody asks for batches
	stop    func()
}

// layout is that of the batches; the first batch tells the shape where nobody knows it.
func (s *source) layout(ctx context.Context) (data.Layout, error) {
	l, err := layoutOf("training", s.batches)
	if err != nil || len(l.Shapes) > 0 {
		return l, err
	}
	s.next, s.stop = iter.Pull2(s.batches.Batches(ctx, data.Position{}))
	first, err, ok := s.next()
	switch {
	case err != nil:
		return l, fmt.Errorf("train: the first batch: %w", err)
	case !ok:
		return l, errEmpty("training")
	case first.Y.IsNone():
		return l, fmt.Errorf("train: the training data have no targets")
	}
	s.first = first
	l.Shapes = []data.BatchShape{{X: first.X.Spec(), Y: first.Y.Spec(), Lengths: first.Lengths.Spec()}}
	return l, nil
}

// close ends the looking.
func (s *source) close() {
	if s.stop != nil {
		s.stop()
	}
	s.next, s.stop = nil, nil
}

// Batches goes on from the first batch where that is what is wanted.
func (s *source) Batches(ctx context.Context, from data.Position) iter.Seq2[data.Batch, error] {
	if s.next == nil || from != (data.Position{}) {
		s.close()
		return s.batches.Batches(ctx, from)
	}
	next := s.next
	s.next = nil
	return func(yield func(data.Batch, error) bool) {
		defer s.close()
		for b, err, ok := s.first, error(nil), true; ok && yield(b, err); b, err, ok = next() {
		}
	}
}
