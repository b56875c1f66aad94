package data_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// counting is a source of the numbers from 0 to n-1, with their squares as targets.
type counting struct {
	n, at  int
	fault  error // instead of sample failAt
	failAt int
	open   *int
}

func (c *counting) Specs() (x, y tensor.Spec) {
	return tensor.SpecOf(tensor.F32, 2), tensor.SpecOf(tensor.I64)
}

func (c *counting) Next(x, y tensor.Tensor) error {
	if c.fault != nil && c.at == c.failAt {
		return c.fault
	}
	if c.at == c.n {
		return io.EOF
	}
	x.Set(0, float64(c.at))
	x.Set(1, 0)
	y.SetInt(0, int64(c.at*c.at))
	c.at++
	return nil
}

func (c *counting) Close() error {
	if c.open != nil {
		*c.open--
	}
	return nil
}

func stream(n int) Stream {
	return Stream{Batch: 4, Seed: 5, Open: func(int) (Source, error) { return &counting{n: n}, nil }}
}

// jitter is a Transform that writes a random number.
func jitter(random *rand.Rand, x tensor.Tensor) error {
	x.Set(1, random.Float64())
	return nil
}

// streamedSamples is what an epoch gives: inputs, numbers, and where each batch ends.
type streamedSamples struct {
	X     []float64
	Index []int
	Next  []Position
}

func run(t *testing.T, s Stream, from Position) streamedSamples {
	t.Helper()
	var all streamedSamples
	for b, err := range s.Batches(context.Background(), from) {
		if err != nil {
			t.Fatal(err)
		}
		if b.X.Shape().Dim(0) != len(b.Index) || b.Y.Len() != len(b.Index) {
			t.Fatalf("%d samples, %v, %v", len(b.Index), b.X.Spec(), b.Y.Spec())
		}
		for r, i := range b.Index {
			if b.X.Row(r).At(0) != float64(i) || b.Y.Int(r) != int64(i*i) {
				t.Fatalf("sample %d is %v, %v", i, b.X.Row(r), b.Y.Row(r))
			}
		}
		all.X = append(all.X, b.X.Floats()...)
		all.Index = append(all.Index, b.Index...)
		all.Next = append(all.Next, b.Next)
	}
	return all
}

func TestStreamOrder(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 8, 23} {
		for _, shuffle := range []int{0, 1, 2, 7, 23, 100} {
			for _, drop := range []bool{false, true} {
				if drop && n < 4 {
					continue
				}
				s := stream(n)
				s.Shuffle, s.DropLast, s.Transform = shuffle, drop, jitter
				got := run(t, s, Position{Epoch: 3})
				want := n
				if drop {
					want = n / 4 * 4
				}
				sorted := slices.Clone(got.Index)
				slices.Sort(sorted)
				if len(sorted) != want || len(slices.Compact(sorted)) != want || shuffle < 2 && !slices.IsSorted(got.Index) {
					t.Errorf("%d samples, shuffle %d: %v", n, shuffle, got.Index)
				}
				for k, i := range got.Index {
					if i >= k+max(1, shuffle) {
						t.Errorf("sample %d at %d, but only %d wait", i, k, shuffle)
					}
				}
				for k, p := range got.Next {
					at := Position{3, (k + 1) * 4}
					if k == len(got.Next)-1 {
						at = Position{Epoch: 4}
					}
					if p != at {
						t.Errorf("%d samples, drop %v: batch %d ends at %v, want %v", n, drop, k, p, at)
					}
				}
				// From any batch on, the rest is the same.
				for k, p := range got.Next[:len(got.Next)-1] {
					rest := run(t, s, p)
					if !reflect.DeepEqual(rest, streamedSamples{got.X[(k+1)*8:], got.Index[(k+1)*4:], got.Next[k+1:]}) {
						t.Errorf("%d samples, shuffle %d, drop %v: from %v on other samples", n, shuffle, drop, p)
					}
				}
			}
		}
	}
	s := stream(50)
	s.Shuffle = 20
	a, b := run(t, s, Position{}).Index, run(t, s, Position{Epoch: 1}).Index
	s.Seed++
	if c := run(t, s, Position{}).Index; slices.Equal(a, b) || slices.Equal(a, c) || slices.IsSorted(a) {
		t.Errorf("orders: %v, %v, %v", a, b, c)
	}
}

// TestStreamDraws: a pool as large as the data gives each sample any place.
func TestStreamDraws(t *testing.T) {
	const n, epochs = 5, 2000
	var first [n]int
	s := stream(n)
	s.Shuffle = n
	for e := range epochs {
		first[run(t, s, Position{Epoch: e}).Index[0]]++
	}
	for i, c := range first {
		if c < epochs/n-100 || c > epochs/n+100 {
			t.Errorf("sample %d is first %d times of %d", i, c, epochs)
		}
	}
}

func TestStreamErrors(t *testing.T) {
	broken := errors.New("broken")
	with := func(c counting) Stream {
		s := stream(0)
		s.Open = func(int) (Source, error) { return &c, nil }
		return s
	}
	wrong := stream(3)
	wrong.Open = func(int) (Source, error) { return nil, broken }
	panicking := stream(3)
	panicking.Transform = func(*rand.Rand, tensor.Tensor) error { panic("oh") }
	failing := stream(9)
	failing.Transform = func(_ *rand.Rand, x tensor.Tensor) error {
		if x.At(0) == 6 {
			return broken
		}
		return nil
	}
	short := stream(3)
	short.DropLast = true
	empty := stream(3)
	empty.Open = func(int) (Source, error) { return nil, nil }
	none, zero, negative := Stream{Batch: 1}, stream(3), stream(3)
	zero.Batch, negative.Shuffle = 0, -1
	for want, c := range map[string]struct {
		s       Stream
		from    Position
		batches int
	}{
		"data: the stream has no Open":                                       {none, Position{}, 0},
		"data: a batch of 0 samples":                                         {zero, Position{}, 0},
		"data: Shuffle is -1":                                                {negative, Position{}, 0},
		"data: no position at sample -1":                                     {stream(3), Position{0, -1}, 0},
		"data: no position at sample 3 of epoch 0: the source has 3 samples": {stream(3), Position{0, 3}, 0},
		"data: Open gave no source":                                          {empty, Position{}, 0},
		"data: broken":                                                       {wrong, Position{}, 0},
		"data: the source of epoch 0 is empty":                               {stream(0), Position{}, 0},
		"data: sample 9: broken":                                             {with(counting{n: 20, fault: broken, failAt: 9}), Position{}, 2},
		"data: sample 0: broken":                                             {with(counting{n: 20, fault: broken}), Position{}, 0},
		"data: sample 6: broken":                                             {failing, Position{}, 1},
		"panic: oh":                                                          {panicking, Position{}, 0},
		"data: nothing is left: DropLast":                                    {short, Position{}, 0},
		"unexpected EOF":                                                     {with(counting{n: 20, fault: fmt.Errorf("cut: %w", io.ErrUnexpectedEOF), failAt: 4}), Position{}, 0},
	} {
		batches := 0
		var last error
		for _, err := range c.s.Batches(context.Background(), c.from) {
			if last != nil {
				t.Errorf("%s: more after the error", want)
			}
			if last = err; err == nil {
				batches++
			}
		}
		if last == nil || !strings.Contains(last.Error(), want) || batches != c.batches {
			t.Errorf("%d batches and %v, want %d and %s", batches, last, c.batches, want)
		}
	}
}

// TestStreamOfAnySize: a batch or a pool that is larger than the data takes no more memory than these.
func TestStreamOfAnySize(t *testing.T) {
	s := stream(150)
	s.Batch, s.Shuffle = math.MaxInt, math.MaxInt
	var got streamedSamples
	if took := memory(func() { got = run(t, s, Position{}) }); took > 1<<20 {
		t.Errorf("it took %d bytes", took)
	}
	sorted := slices.Sorted(slices.Values(got.Index))
	if len(got.Next) != 1 || len(sorted) != 150 || sorted[149] != 149 || slices.IsSorted(got.Index) {
		t.Errorf("%d batches, %v", len(got.Next), got.Index)
	}
	s.Batch = 7
	if again := run(t, s, Position{}); !slices.Equal(again.Index, got.Index) {
		t.Error("another order in small batches")
	}
}

// TestStreamEnds: whoever leaves the loop, by whatever way, leaves no goroutine and no open source behind.
func TestStreamEnds(t *testing.T) {
	open := 0
	s := stream(0)
	s.Shuffle = 10
	s.Open = func(int) (Source, error) {
		open++
		return &counting{n: 1 << 40, open: &open}, nil
	}
	before := runtime.NumGoroutine()
	for range 200 {
		n := 0
		for _, err := range s.Batches(context.Background(), Position{}) {
			if n++; err != nil || n == 3 {
				break
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		var last error
		for _, err := range s.Batches(ctx, Position{Sample: 8}) {
			cancel()
			last = err
		}
		cancel()
		if !errors.Is(last, context.Canceled) {
			t.Fatalf("the error is %v", last)
		}
	}
	if now := goroutines(before); now > before || open != 0 {
		t.Errorf("%d goroutines, before %d; %d open sources", now, before, open)
	}
}
