package data_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// numbers is a data set whose sample i is the pair i and -i, with target i.
func numbers(t *testing.T, n int) Dataset {
	t.Helper()
	x, y := tensor.New(tensor.SpecOf(tensor.F32, n, 2)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		x.Set(2*i, float64(i))
		x.Set(2*i+1, -float64(i))
		y.SetInt(i, int64(i))
	}
	d, err := Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// funcs is a data set made of functions.
type funcs struct {
	n      int
	sample func(i int, x, y tensor.Tensor) error
}

func (f funcs) Len() int { return f.n }
func (f funcs) Specs() (x, y tensor.Spec) {
	return tensor.SpecOf(tensor.F64, 2), tensor.SpecOf(tensor.I64)
}
func (f funcs) Sample(i int, x, y tensor.Tensor) error { return f.sample(i, x, y) }

// epoch is the samples from a position to the end of its epoch. It checks all that must hold of every batch.
func epoch(t *testing.T, l Loader, from Position) []int {
	t.Helper()
	ids := []int{}
	at := from
	for b, err := range l.Batches(context.Background(), from) {
		if err != nil {
			t.Fatal(err)
		}
		n := len(b.Index)
		if n == 0 || n > l.Batch || b.X.Shape().Dim(0) != n || !b.Y.IsNone() && b.Y.Shape().Dim(0) != n {
			t.Fatalf("%d samples in batches of %d: %v, %v", n, l.Batch, b.X.Spec(), b.Y.Spec())
		}
		ids = append(ids, b.Index...)
		at.Sample += n
		if b.Next != at && b.Next != (Position{Epoch: at.Epoch + 1}) {
			t.Fatalf("after sample %v comes %v", at, b.Next)
		}
		at = b.Next
	}
	if want := (Position{Epoch: from.Epoch + 1}); at != want && !l.DropLast {
		t.Fatalf("the epoch ended at %v", at)
	}
	return ids
}

func TestBatches(t *testing.T) {
	l := Loader{Data: numbers(t, 10), Batch: 4}
	var got []string
	for b, err := range l.Batches(context.Background(), Position{}) {
		got = append(got, fmt.Sprint(b.X, b.Y, b.Index, b.Next, err))
	}
	want := []string{
		"f32[4 2]{0 -0 1 -1 2 -2 3 -3} i64[4]{0 1 2 3} [0 1 2 3] {0 4} <nil>",
		"f32[4 2]{4 -4 5 -5 6 -6 7 -7} i64[4]{4 5 6 7} [4 5 6 7] {0 8} <nil>",
		"f32[2 2]{8 -8 9 -9} i64[2]{8 9} [8 9] {1 0} <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if l.Len() != 3 {
		t.Errorf("Len is %d", l.Len())
	}
	l.DropLast = true
	if ids := epoch(t, l, Position{}); len(ids) != 8 || l.Len() != 2 {
		t.Errorf("DropLast: %v, Len %d", ids, l.Len())
	}
	if ids := epoch(t, l, Position{Sample: 7}); len(ids) != 0 {
		t.Errorf("DropLast, from a position with three samples left: %v", ids)
	}
}

// TestShuffle has each sample once, in an order that depends on the seed and the epoch and on nothing else.
func TestShuffle(t *testing.T) {
	seen := map[string]string{}
	for seed := range uint64(3) {
		for e := range 3 {
			for _, workers := range []int{0, 1, 4, 16} {
				l := Loader{Data: numbers(t, 103), Batch: 8, Shuffle: true, Seed: seed, Workers: workers}
				ids := epoch(t, l, Position{Epoch: e})
				key, what := fmt.Sprint(ids), fmt.Sprintf("seed %d, epoch %d", seed, e)
				if other, ok := seen[key]; ok && other != what {
					t.Errorf("%s has the order of %s", what, other)
				} else if !ok && workers != 0 {
					t.Errorf("%s: another order with %d workers", what, workers)
				}
				seen[key] = what
				slices.Sort(ids)
				for i, id := range ids {
					if i != id {
						t.Fatalf("%s: the samples are %v", what, ids)
					}
				}
			}
		}
	}
	// The order is part of what a seed means: a checkpoint of an older version resumes in it.
	l := Loader{Data: numbers(t, 10), Batch: 10, Shuffle: true, Seed: 7}
	if got, was := epoch(t, l, Position{Epoch: 3}), []int{0, 8, 4, 6, 2, 5, 7, 1, 9, 3}; !slices.Equal(got, was) {
		t.Errorf("the order of seed 7, epoch 3 is %v, was %v", got, was)
	}
}

// TestShuffleIsFair counts where samples go over many epochs.
func TestShuffleIsFair(t *testing.T) {
	const n, epochs = 8, 4000
	var count [n][n]int
	d := numbers(t, n)
	for e := range epochs {
		for place, id := range epoch(t, Loader{Data: d, Batch: n, Shuffle: true, Workers: 1}, Position{Epoch: e}) {
			count[place][id]++
		}
	}
	for place := range n {
		for id := range n {
			if c := count[place][id]; c < epochs/n*8/10 || c > epochs/n*12/10 { // over four standard deviations
				t.Errorf("sample %d is at place %d in %d of %d epochs", id, place, c, epochs)
			}
		}
	}
}

// TestResume: report 18, resume replays epoch 0's order. A run that stops anywhere and goes on from the position that it kept sees the very samples
// of an unbroken run, also with another size of batch.
func TestResume(t *testing.T) {
	l := Loader{Data: numbers(t, 103), Batch: 8, Shuffle: true, Seed: 42}
	const epochs = 4
	var unbroken []int
	for e := range epochs {
		unbroken = append(unbroken, epoch(t, l, Position{Epoch: e})...)
	}
	for stop := 1; stop <= epochs*l.Len(); stop++ {
		var ids []int
		var kept []byte
		batches := 0
	run:
		for e := range epochs {
			for b, err := range l.Batches(context.Background(), Position{Epoch: e}) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, b.Index...)
				if batches++; batches == stop {
					kept, _ = json.Marshal(b.Next)
					break run
				}
			}
		}
		var at Position
		if err := json.Unmarshal(kept, &at); err != nil {
			t.Fatal(err)
		}
		again := l
		again.Batch = []int{8, 8, 5, 103}[stop%4]
		for ; at.Epoch < epochs; at = (Position{Epoch: at.Epoch + 1}) {
			ids = append(ids, epoch(t, again, at)...)
		}
		if !slices.Equal(ids, unbroken) {
			t.Fatalf("stopped after batch %d: %s", stop, cmp.Diff(unbroken, ids))
		}
	}
}

// TestTooLittleData: report 13, a batch larger than the data trains nothing and reports success.
func TestTooLittleData(t *testing.T) {
	five := numbers(t, 5)
	if ids := epoch(t, Loader{Data: five, Batch: 1 << 40}, Position{}); len(ids) != 5 {
		t.Errorf("a batch of 2^40: %v", ids)
	}
	for what, c := range map[string]struct {
		l    Loader
		from Position
		want string
	}{
		"drop last":         {Loader{Data: five, Batch: 8, DropLast: true}, Position{}, "DropLast leaves out a short batch, and 5 samples do not fill one of 8"},
		"empty":             {Loader{Data: numbers(t, 0), Batch: 8}, Position{}, "the data set is empty"},
		"no data":           {Loader{Batch: 8}, Position{}, "no data set"},
		"batch 0":           {Loader{Data: five}, Position{}, "a batch of 0 samples"},
		"batch -1":          {Loader{Data: five, Batch: -1}, Position{}, "a batch of -1 samples"},
		"workers -1":        {Loader{Data: five, Batch: 1, Workers: -1}, Position{}, "-1 workers"},
		"beyond the data":   {Loader{Data: five, Batch: 1}, Position{Epoch: 2, Sample: 5}, "no position at sample 5 of epoch 2: the data set has 5 samples"},
		"before the data":   {Loader{Data: five, Batch: 1}, Position{Sample: -1}, "sample -1"},
		"before the start":  {Loader{Data: five, Batch: 1}, Position{Epoch: -1}, "epoch -1"},
		"larger than a run": {Loader{Data: huge{}, Batch: 1 << 30}, Position{}, "a batch of 1073741824 samples f32[1048576]: tensor: invalid shape"},
	} {
		seen := 0
		for b, err := range c.l.Batches(context.Background(), c.from) {
			seen++
			if !b.X.IsNone() || err == nil || !strings.HasPrefix(err.Error(), "data: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, %v", what, b, err)
			}
		}
		if seen != 1 {
			t.Errorf("%s: %d rounds of the loop", what, seen)
		}
	}
	for _, l := range []Loader{{}, {Data: five}, {Batch: 3}, {Data: five, Batch: 8, DropLast: true}} {
		if l.Len() != 0 {
			t.Errorf("%+v: Len is %d", l, l.Len())
		}
	}
}

// huge claims more data than there is memory.
type huge struct{}

func (huge) Len() int                               { return 1 << 40 }
func (huge) Specs() (x, y tensor.Spec)              { return tensor.SpecOf(tensor.F32, 1<<20), tensor.Spec{} }
func (huge) Sample(i int, x, y tensor.Tensor) error { return nil }

func TestNoTargets(t *testing.T) {
	d, err := Tensors(tensor.Must(tensor.From([]float32{1, 2, 3})), tensor.Tensor{})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range (Loader{Data: d, Batch: 3}).Batches(context.Background(), Position{}) {
		if err != nil || !b.Y.IsNone() || b.X.String() != "f32[3]{1 2 3}" {
			t.Errorf("%v, %v, %v", b.X, b.Y, err)
		}
	}
}

// TestRandomTransform: report 22, augmentation repeats. What a Transform draws differs by seed, epoch and sample and by nothing else: the number of
// workers, the size of the batches, the order, or a restart.
func TestRandomTransform(t *testing.T) {
	draw := func(r *rand.Rand, x tensor.Tensor) error {
		r.Uint32() // an odd number of draws
		x.Set(0, r.Float64())
		x.Set(1, float64(r.IntN(1<<50)))
		return nil
	}
	d := funcs{64, func(i int, x, y tensor.Tensor) error { return nil }}
	type key struct {
		seed      uint64
		epoch, id int
	}
	drawn := map[key][2]float64{}
	log := func(l Loader, from Position) {
		for b, err := range l.Batches(context.Background(), from) {
			if err != nil {
				t.Fatal(err)
			}
			for row, id := range b.Index {
				k, x := key{l.Seed, from.Epoch, id}, b.X.Row(row)
				got := [2]float64{x.At(0), x.At(1)}
				if old, ok := drawn[k]; ok && old != got {
					t.Fatalf("%+v: drew %v, then %v", k, old, got)
				}
				drawn[k] = got
			}
		}
	}
	for seed := range uint64(2) {
		for e := range 3 {
			for _, workers := range []int{1, 4, 16} {
				l := Loader{Data: d, Batch: 8, Seed: seed, Workers: workers, Transform: draw}
				log(l, Position{Epoch: e})
				log(l, Position{Epoch: e, Sample: 24})
				l.Batch, l.Shuffle = 5, true
				log(l, Position{Epoch: e})
			}
		}
	}
	unique := map[float64]bool{}
	for _, pair := range drawn {
		unique[pair[0]], unique[pair[1]] = true, true
	}
	if want := 2 * 2 * 3 * 64; len(unique) != want {
		t.Errorf("%d different numbers of %d", len(unique), want)
	}
}

// TestSampleErrors come with the number of the sample and, from a folder, the name of the file; a panic is one of them.
func TestSampleErrors(t *testing.T) {
	cause := errors.New("no such sound")
	d := funcs{20, func(i int, x, y tensor.Tensor) error {
		switch i {
		case 13:
			return fmt.Errorf("data: x.wav: %w", cause)
		case 17:
			var none []int
			none[i]++
		}
		return nil
	}}
	for _, workers := range []int{1, 3} {
		good := 0
		var last error
		for b, err := range (Loader{Data: d, Batch: 4, Workers: workers}).Batches(context.Background(), Position{}) {
			if last = err; err == nil {
				good += len(b.Index)
			}
		}
		var sample *SampleError
		if good != 12 || !errors.As(last, &sample) || sample.Index != 13 || !errors.Is(last, cause) || last.Error() != "data: sample 13: x.wav: no such sound" {
			t.Errorf("%d samples, then %v", good, last)
		}
		for _, err := range (Loader{Data: d, Batch: 4, Workers: workers}).Batches(context.Background(), Position{Sample: 16}) {
			if !errors.As(err, &sample) || sample.Index != 17 || !strings.Contains(err.Error(), "data: sample 17: panic: runtime error: index out of range") {
				t.Errorf("a panic gave %v", err)
			}
		}
		bad := Loader{Data: d, Batch: 4, Workers: workers, Transform: func(*rand.Rand, tensor.Tensor) error { return cause }}
		for _, err := range bad.Batches(context.Background(), Position{}) {
			if !errors.As(err, &sample) || sample.Index != 0 || !errors.Is(err, cause) {
				t.Errorf("a transform gave %v", err)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	stop := errors.New("enough")
	for _, after := range []int{0, 1, 3} {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		if after == 0 {
			cancel(stop)
		}
		good, bad := 0, 0
		for _, err := range (Loader{Data: numbers(t, 100), Batch: 4, Workers: 3}).Batches(ctx, Position{}) {
			switch {
			case err == nil:
				if good++; good == after {
					cancel(stop)
				}
			case errors.Is(err, stop) && strings.HasPrefix(err.Error(), "data: "):
				bad++
			default:
				t.Error(err)
			}
		}
		if good != after || bad != 1 {
			t.Errorf("stopped after %d: %d batches and %d errors", after, good, bad)
		}
	}
}

// TestNothingOutlivesTheLoop: report 29, prefetchers outlive a loop that ends early. Loops that break, are cancelled, meet an error or panic leave
// no goroutine, no open file and no memory behind.
func TestNothingOutlivesTheLoop(t *testing.T) {
	files := &countingFS{MapFS: fstest.MapFS{}}
	for i := range 24 {
		files.MapFS[fmt.Sprintf("class/%02d.png", i)] = &fstest.MapFile{Data: pngOf(gray(4, 4, func(x, y int) uint8 { return uint8(i) }))}
	}
	files.MapFS["class/14.png"].Data = []byte("<!DOCTYPE html>")
	folder, err := OpenFolder(files, tensor.SpecOf(tensor.F32, 1, 4, 4))
	if err != nil {
		t.Fatal(err)
	}
	l := Loader{Data: folder, Batch: 4, Workers: 4}
	loop := func(i int) {
		defer func() { recover() }()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		for _, err := range l.Batches(ctx, Position{}) {
			n++
			switch {
			case i%4 == 0 && n == 3:
				return
			case i%4 == 1 && n == 3:
				cancel()
			case i%4 == 2 && err != nil:
				if !strings.Contains(err.Error(), "class/14.png") || n != 4 {
					t.Errorf("after %d batches: %v", n, err)
				}
			case i%4 == 3 && n == 3:
				panic("in the body")
			}
		}
	}
	loop(0)
	before, heap := runtime.NumGoroutine(), liveHeap()
	for i := range 1000 {
		loop(i)
	}
	if now := goroutines(before); now > before {
		t.Errorf("%d goroutines, before %d", now, before)
	}
	if open := files.open.Load(); open != 0 {
		t.Errorf("%d files are open", open)
	}
	if now := liveHeap(); now > heap+256<<10 {
		t.Errorf("%d bytes in use, before %d", now, heap)
	}
}

// TestNoSampleAfterTheLoop: when the loop is over, however it ended, nobody reads or changes samples any more.
func TestNoSampleAfterTheLoop(t *testing.T) {
	var active atomic.Int64
	d := funcs{100, func(i int, x, y tensor.Tensor) error {
		active.Add(1)
		defer active.Add(-1)
		for range 20 {
			runtime.Gosched()
		}
		if i == 50 {
			return errors.New("stop")
		}
		return nil
	}}
	for range 100 {
		n := 0
		for range (Loader{Data: d, Batch: 2, Workers: 8, Shuffle: true}).Batches(context.Background(), Position{}) {
			if n++; n == 3 {
				break
			}
		}
		if now := active.Load(); now != 0 {
			t.Fatalf("%d samples are being read", now)
		}
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryIsUsedAgain counts the objects that an epoch makes: ten times as many batches make no more.
func TestMemoryIsUsedAgain(t *testing.T) {
	objects := func(batches int) uint64 {
		l := Loader{Data: numbers(t, 4*batches), Batch: 4, Shuffle: true, Workers: 2, Transform: func(r *rand.Rand, x tensor.Tensor) error {
			x.Set(0, r.Float64())
			return nil
		}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, err := range l.Batches(context.Background(), Position{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	objects(10)
	few, many := objects(100), objects(1000)
	if many > few+100 {
		t.Errorf("%d objects for 100 batches, %d for 1000", few, many)
	}
}
