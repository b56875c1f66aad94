package data

import (
	"fmt"
	"io"

	"github.com/cortado-ml/cortado/tensor"
)

// shelf is memory for up to most samples of a source, which grows as they come: how many there will be nobody knows.
type shelf struct {
	x, y          tensor.Tensor // [n, …]
	xSpec, ySpec  tensor.Spec   // of a sample
	samples, most int           // n, and what it may become
}

func newShelf(from Source, most int) *shelf {
	x, y := from.Specs()
	return &shelf{xSpec: x, ySpec: y, most: most}
}

// room makes sure that there is a place for sample i, and keeps what is in those before it.
func (s *shelf) room(i int) error {
	if i < s.samples {
		return nil
	}
	n := min(s.most, max(64, 2*s.samples))
	x, y := batchSpec(s.xSpec, n), batchSpec(s.ySpec, n)
	for _, spec := range []tensor.Spec{x, y} {
		if err := spec.Check(); err != nil && spec != (tensor.Spec{}) {
			return fmt.Errorf("data: room for %d samples: %w", n, err)
		}
	}
	oldX, oldY := s.x, s.y
	s.x, s.y, s.samples = tensor.New(x), tensor.New(y), n
	s.x.Rows(0, i).CopyFrom(oldX)
	s.y.Rows(0, i).CopyFrom(oldY)
	return nil
}

// pool is samples of a source that wait to be drawn.
type pool struct {
	*shelf
	from   Source
	index  []int // of the samples in the source
	size   int   // samples that wait
	next   int   // the number of the next sample of the source
	ended  bool
	random *source
}

// newPool fills a pool of n samples.
func newPool(from Source, n int, random *source) (*pool, error) {
	p := &pool{shelf: newShelf(from, n), from: from, random: random}
	for p.size < n && !p.ended {
		if err := p.put(p.size); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// put reads the source's next sample into place i, if there is one. The place is one that has been used, or the next.
func (p *pool) put(i int) error {
	if err := p.room(i); err != nil {
		return err
	}
	err := p.from.Next(p.x.Row(i), p.y.Row(i))
	if err == io.EOF {
		p.ended = true
		return nil
	}
	if err != nil {
		return &SampleError{p.next, err}
	}
	if i == p.size {
		p.index = append(p.index, 0)
		p.size++
	}
	p.index[i] = p.next
	p.next++
	return nil
}

// draw moves a random sample into x and y, or nowhere if they are none, and gives its number. The source's next takes its place.
func (p *pool) draw(x, y tensor.Tensor) (int, error) {
	i := below(p.random, p.size)
	drawn := p.index[i]
	x.CopyFrom(p.x.Row(i))
	y.CopyFrom(p.y.Row(i))
	if !p.ended {
		if err := p.put(i); err != nil {
			return 0, err
		}
	}
	if p.ended {
		p.size--
		p.x.Row(i).CopyFrom(p.x.Row(p.size))
		p.y.Row(i).CopyFrom(p.y.Row(p.size))
		p.index[i] = p.index[p.size]
	}
	return drawn, nil
}
