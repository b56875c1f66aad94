package tensorboard

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/tensor"
)

// clock counts the seconds of testdata/make.py.
func clock() func() time.Time {
	at := time.Unix(1_700_000_000, 250_000_000)
	return func() time.Time {
		now := at
		at = at.Add(time.Second)
		return now
	}
}

func tenNumbers() tensor.Tensor {
	return tensor.Must(tensor.From([]int32{9, 1, 2, 3, 0, 4, 5, 6, 7, 8}))
}

func must(t testing.TB, list ...error) {
	t.Helper()
	if err := errors.Join(list...); err != nil {
		t.Fatal(err)
	}
}

// events is a file, read.
func events(t *testing.T, file []byte) []Event {
	t.Helper()
	var list []Event
	for e, err := range Read(bytes.NewReader(file)) {
		must(t, err)
		list = append(list, e)
	}
	return list
}

// TestGolden: the bytes are those of TensorBoard's own writer.
func TestGolden(t *testing.T) {
	want, err := os.ReadFile("testdata/events.golden")
	must(t, err)
	var file bytes.Buffer
	w, err := newWriter(&file, clock())
	must(t, err,
		w.Scalar("loss/train", 0, 0.75),
		w.Scalar("loss/train", 1, 0),
		w.Scalar("λ", 300, math.NaN()),
		w.Text("note", 300, "**bold** ä"),
		w.Histogram("weights", 1<<40, tenNumbers()),
		w.Restart(2))
	if got := file.Bytes(); !bytes.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		t.Errorf("%d bytes, want %d; they differ from byte %d on", len(got), len(want), at)
	}
	list := events(t, want)
	zero, note := float32(0), "**bold** ä"
	if len(list) != 7 || list[0].Version != "brain.Event:2" || !list[6].Restart || list[6].Step != 2 || list[1].Restart ||
		!list[2].Time.Equal(time.Unix(1_700_000_002, 250_000_000)) ||
		!reflect.DeepEqual(list[2].Values, []Value{{Tag: "loss/train", Scalar: &zero}}) ||
		!math.IsNaN(float64(*list[3].Values[0].Scalar)) ||
		!reflect.DeepEqual(list[4].Values, []Value{{Tag: "note", Text: &note}}) {
		t.Errorf("%+v", list)
	}
	h, err := NewHistogram(tenNumbers())
	must(t, err)
	if !reflect.DeepEqual(list[5].Values, []Value{{Tag: "weights", Histogram: h}}) || list[5].Step != 1<<40 {
		t.Errorf("%+v, want %+v", list[5].Values[0].Histogram, h)
	}
}

// TestTensorBoard has TensorBoard's own reader read a run that was interrupted and resumed. It is skipped where that is not installed.
func TestTensorBoard(t *testing.T) {
	python := cmp.Or(os.Getenv("CORTADO_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import tensorboard").Run(); err != nil {
		t.Skipf("%s has no package tensorboard", python)
	}
	folder := t.TempDir()
	first, err := Create(folder)
	must(t, err)
	for step := range 10 {
		must(t, first.Scalar("loss", step, float64(step)))
	}
	must(t, first.Text("note", 3, "first\n\nsecond ä"), first.Histogram("w", 3, tenNumbers()), first.Close())
	second, err := Create(folder)
	must(t, err, second.Restart(5), second.Scalar("loss", 5, 50), second.Scalar("loss", 6, math.Inf(1)), second.Close())

	out, err := exec.Command(python, filepath.Join("testdata", "read.py"), folder).Output()
	must(t, err)
	var got struct {
		Scalars    map[string][][2]float64
		Histograms map[string][][3]any
		Texts      map[string][][2]any
	}
	must(t, json.Unmarshal(bytes.ReplaceAll(out, []byte("Infinity"), []byte("1e300")), &got))
	if want := [][2]float64{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 50}, {6, 1e300}}; !reflect.DeepEqual(got.Scalars["loss"], want) {
		t.Errorf("scalars %v", got.Scalars)
	}
	if s := fmt.Sprint(got.Texts["note"]); s != "[[3 first\n\nsecond ä]]" {
		t.Errorf("texts %s", s)
	}
	if h := got.Histograms["w"]; len(h) != 1 || h[0][0] != 3.0 || h[0][1] != 10.0 {
		t.Errorf("histograms %v", got.Histograms)
	}
}

func TestCreate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "er")
	names := map[string]bool{}
	for range 3 {
		w, err := Create(folder)
		must(t, err, w.Scalar("a", 1, 2))
		entries, err := os.ReadDir(folder)
		must(t, err)
		for _, e := range entries {
			names[e.Name()] = true
			if !strings.HasPrefix(e.Name(), "events.out.tfevents.") {
				t.Error(e.Name())
			}
			file, err := os.ReadFile(filepath.Join(folder, e.Name()))
			must(t, err)
			if n := len(events(t, file)); n != 2 { // before Close, and without Flush
				t.Errorf("%d events are there while the file is open", n)
			}
		}
		must(t, w.Flush(), w.Close())
		if err := w.Scalar("a", 2, 3); !errors.Is(err, os.ErrClosed) || err.Error() != "tensorboard: file already closed" {
			t.Error(err)
		}
		if err := w.Close(); !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	if len(names) != 3 {
		t.Errorf("files %v", names)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(blocked, nil, 0o666))
	if _, err := Create(blocked); err == nil || !strings.HasPrefix(err.Error(), "tensorboard: ") {
		t.Error(err)
	}
}

// failing takes n bytes.
type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(b), nil
}

func TestErrors(t *testing.T) {
	if _, err := NewWriter(&failing{}); err == nil || err.Error() != "tensorboard: no space left on device" {
		t.Error(err)
	}
	if _, err := NewWriter(nil); err == nil || err.Error() != "tensorboard: there is nothing to write to" {
		t.Error(err)
	}
	for _, err := range Read(nil) {
		if err == nil || err.Error() != "tensorboard: there is nothing to read" {
			t.Error(err)
		}
	}
	w, err := NewWriter(&failing{60})
	must(t, err)
	for range 3 {
		if err := w.Scalar("a", 0, 1); err == nil || err.Error() != "tensorboard: no space left on device" {
			t.Error(err)
		}
	}
	if w.Flush() == nil || w.Close() == nil {
		t.Error("the error was lost")
	}
	var file bytes.Buffer
	w, err = NewWriter(&file)
	must(t, err)
	before := file.Len()
	none := tensor.Must(tensor.From([]float64{math.NaN(), math.Inf(1)}))
	for want, err := range map[string]error{
		`tensorboard: a value cannot have the name ""`:           w.Scalar("", 0, 1),
		`tensorboard: a value cannot have the name "\xff"`:       w.Text("\xff", 0, "x"),
		`tensorboard: no finite number to count, in "w"`:         w.Histogram("w", 0, none),
		`tensorboard: no finite number to count, in "empty"`:     w.Histogram("empty", 0, tensor.New(tensor.SpecOf(tensor.F32, 0))),
		`tensorboard: no finite number to count, in "no tensor"`: w.Histogram("no tensor", 0, tensor.Tensor{}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if file.Len() != before {
		t.Error("something was written")
	}
	must(t, w.Text("a", -1, "x\xffy"), w.Close())
	if e := events(t, file.Bytes()); e[1].Step != -1 || *e[1].Values[0].Text != "x\ufffdy" {
		t.Errorf("%+v", e[1])
	}
}

func TestTogether(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file)
	must(t, err)
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for step := range 50 {
				if err := w.Scalar(fmt.Sprint(k), step, float64(step)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(events(t, file.Bytes())); n != 401 {
		t.Errorf("%d events", n)
	}
}

func TestHistogram(t *testing.T) {
	inf, huge := math.Inf(1), math.MaxFloat64
	for what, c := range map[string]struct {
		values         []float64
		num, low, high float64
		first, last    float64 // counts
	}{
		"one":            {[]float64{3}, 1, 3, 3, 1, 1},
		"equal":          {[]float64{-2, -2, -2}, 3, -2, -2, 3, 3},
		"two":            {[]float64{1, 2}, 2, 1, 2, 1, 1},
		"not finite":     {[]float64{1, math.NaN(), inf, -inf, 2, 2}, 3, 1, 2, 1, 2},
		"far apart":      {[]float64{-huge, huge, huge}, 3, -huge, huge, 1, 2},
		"side by side":   {[]float64{0, 5e-324}, 2, 0, 5e-324, 1, 0},
		"a large offset": {[]float64{1e16, 1e16 + 2, 1e16 + 2}, 3, 1e16, 1e16 + 2, 1, 0},
	} {
		h, err := NewHistogram(tensor.Must(tensor.From(c.values)))
		must(t, err)
		n, last := 0.0, len(h.Counts)-1
		for k, count := range h.Counts {
			n += count
			if k > 0 && h.Limits[k] < h.Limits[k-1] {
				t.Errorf("%s: limits %v", what, h.Limits)
			}
		}
		if h.Num != c.num || n != c.num || h.Min != c.low || h.Max != c.high || h.Counts[0] != c.first || h.Counts[last] != c.last || h.Limits[last] != c.high {
			t.Errorf("%s: %+v", what, h)
		}
	}
}

// TestDamage: a cut file gives what was whole and says so; a flipped bit is found wherever it is.
func TestDamage(t *testing.T) {
	whole, err := os.ReadFile("testdata/events.golden")
	must(t, err)
	ends := map[int]bool{0: true}
	at := 0
	for at < len(whole) {
		at += 16 + int(binary.LittleEndian.Uint64(whole[at:]))
		ends[at] = true
	}
	for n := range whole {
		var last error
		for _, err := range Read(bytes.NewReader(whole[:n])) {
			last = err
		}
		if errors.Is(last, io.ErrUnexpectedEOF) == ends[n] {
			t.Fatalf("cut to %d bytes: %v", n, last)
		}
		flipped := bytes.Clone(whole)
		flipped[n] ^= 4
		last = nil
		for _, err := range Read(bytes.NewReader(flipped)) {
			last = err
		}
		if !errors.Is(last, errDamaged) {
			t.Fatalf("byte %d changed: %v", n, last)
		}
	}
}

// TestPromises: a length is not believed, whatever its checksum.
func TestPromises(t *testing.T) {
	for n, want := range map[uint64]string{1 << 30: "unexpected EOF", 1<<30 + 1: "a record of 1073741825 bytes", math.MaxUint64: "a record of 18446744073709551615 bytes"} {
		head := binary.LittleEndian.AppendUint64(nil, n)
		head = binary.LittleEndian.AppendUint32(head, checksum(head))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var last error
		for _, err := range Read(bytes.NewReader(append(head, 1, 2, 3))) {
			last = err
		}
		runtime.ReadMemStats(&after)
		if last == nil || !strings.HasPrefix(last.Error(), "tensorboard: record 0: "+want) || after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%d: %v, %d bytes", n, last, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// FuzzRead reads any file to its end or its first fault.
func FuzzRead(f *testing.F) {
	whole, err := os.ReadFile("testdata/events.golden")
	must(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, err := range Read(bytes.NewReader(file)) {
			if err != nil {
				break
			}
		}
	})
}

// FuzzEvent parses any record, whose checksum would keep it from the parser in FuzzRead.
func FuzzEvent(f *testing.F) {
	whole, err := os.ReadFile("testdata/events.golden")
	must(f, err)
	for r := bytes.NewReader(whole); ; {
		data, err := readRecord(r)
		if err == io.EOF {
			break
		}
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEvent(data)
		if err != nil {
			return
		}
		written := appendEvent(nil, e)
		again, err := parseEvent(written)
		if err != nil {
			t.Fatal(err)
		}
		if once := appendEvent(nil, again); !bytes.Equal(once, written) {
			t.Fatalf("%x became %x", written, once)
		}
	})
}

// TestZeroWriter: a Writer that nobody made writes nowhere, and says so.
func TestZeroWriter(t *testing.T) {
	var w Writer
	for _, err := range []error{w.Scalar("a", 1, 1), w.Text("a", 1, "b"), w.Histogram("a", 1, tensor.Scalar(1.0)), w.Restart(1)} {
		if err == nil || !strings.HasPrefix(err.Error(), "tensorboard: a Writer has a file") {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
