package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func must(t testing.TB, list ...error) {
	t.Helper()
	if err := errors.Join(list...); err != nil {
		t.Fatal(err)
	}
}

func steps(t *testing.T, path string) (list []int) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	for e, err := range Read(f) {
		must(t, err)
		list = append(list, e.Step)
	}
	return list
}

func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	must(t, os.WriteFile(path, []byte("an older log"), 0o666))
	l, err := Create(path)
	must(t, err)
	at := time.Date(2026, 1, 2, 15, 4, 5, 678_900_000, time.FixedZone("", 3600))
	l.now = func() time.Time { return at }
	values := map[string]float64{"loss": 0.1, "a\n\"b": 0, "rate": 1e-300, "huge": math.MaxFloat64, "nan": math.NaN(), "up": math.Inf(1), "down": math.Inf(-1), "λ": 3}
	must(t, l.Write(3, values), l.Write(4, nil))
	want := `{"step":3,"time":"2026-01-02T14:04:05.678Z","a\n\"b":0,"down":"-Inf","huge":1.7976931348623157e+308,"loss":0.1,"nan":"NaN","rate":1e-300,"up":"+Inf","λ":3}` + "\n" +
		`{"step":4,"time":"2026-01-02T14:04:05.678Z"}` + "\n"
	content, err := os.ReadFile(path) // while the log is open
	must(t, err)
	if string(content) != want {
		t.Errorf("%s\nwant\n%s", content, want)
	}
	for _, name := range []string{"step", "time", "\xff"} {
		if err := l.Write(5, map[string]float64{name: 1}); err == nil || !strings.HasPrefix(err.Error(), "jsonl: a number cannot have the name") {
			t.Error(err)
		}
	}
	must(t, l.Close())
	if err := l.Write(5, nil); !errors.Is(err, os.ErrClosed) || steps(t, path)[1] != 4 {
		t.Error(err)
	}
	for e, err := range Read(bytes.NewReader(content)) {
		must(t, err)
		if e.Step == 3 {
			if d := cmp.Diff(Entry{3, time.Date(2026, 1, 2, 14, 4, 5, 678_000_000, time.UTC), values}, e, cmpopts.EquateNaNs()); d != "" {
				t.Error(d)
			}
		}
	}
}

// TestResume: a run that was killed in the middle of a line goes on from an earlier step, and the log is that of a run that was not.
func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l, err := Resume(path, 7) // there is none yet
	must(t, err)
	for step := range 5 {
		must(t, l.Write(step, map[string]float64{"loss": 1 / float64(step+1)}))
	}
	must(t, l.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(path, whole[:cut], 0o666))
		l, err := Resume(path, 3)
		must(t, err)
		must(t, l.file.Close())
		got, err := os.ReadFile(path)
		must(t, err)
		want := ""
		for _, line := range lines[:3] {
			if len(want)+len(line) <= cut {
				want += line
			}
		}
		if string(got) != want {
			t.Fatalf("cut to %d bytes: %s", cut, got)
		}
	}
	l, err = Resume(path, 3)
	must(t, err, l.Write(3, nil), l.Close())
	if s := fmt.Sprint(steps(t, path)); s != "[0 1 2 3]" {
		t.Error(s)
	}
}

// TestResumeWhere keeps the lines that it is told to, in their order.
func TestResumeWhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l, err := Create(path)
	must(t, err)
	for step := range 4 {
		must(t, l.Write(step, nil), l.Write(step, map[string]float64{"epoch": 1}))
	}
	must(t, l.Close())
	l, err = ResumeWhere(path, func(e Entry) bool { return e.Step < 2 || e.Step == 2 && e.Values["epoch"] == 0 })
	must(t, err, l.Close())
	if s := fmt.Sprint(steps(t, path)); s != "[0 0 1 1 2]" {
		t.Error(s)
	}
	if _, err := ResumeWhere(path, nil); err == nil || err.Error() != "jsonl: nobody says which lines to keep" {
		t.Error(err)
	}
}

// TestResumeDamaged leaves a file as it was that is no log.
func TestResumeDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	const other = "{\"step\":1,\"time\":\"2026-01-02T14:04:05.678Z\"}\nmy diary\n"
	must(t, os.WriteFile(path, []byte(other), 0o666))
	if _, err := Resume(path, 1); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != other {
		t.Errorf("%s, %v", content, err)
	}
	for _, f := range []func() (*Log, error){
		func() (*Log, error) { return Create(filepath.Join(path, "x")) },
		func() (*Log, error) { return Resume(filepath.Join(path, "x"), 0) },
		func() (*Log, error) { return Create(filepath.Dir(path)) },
	} {
		if _, err := f(); err == nil || !strings.HasPrefix(err.Error(), "jsonl: ") {
			t.Error(err)
		}
	}
}

func TestReadFaults(t *testing.T) {
	for _, err := range Read(nil) {
		if err == nil || err.Error() != "jsonl: there is nothing to read" {
			t.Error(err)
		}
	}
	const good = `{"step":1,"time":"2026-01-02T14:04:05.678Z"}` + "\n"
	for text, want := range map[string]string{
		good + good[:10]: "jsonl: line 2: unexpected EOF",
		good + "\n":      "jsonl: line 2: it is empty",
		"[]\n":           "cannot unmarshal array",
		`{"time":"2026-01-02T14:04:05.678Z"}` + "\n":                                 `"step" is <nil>, not a whole number`,
		`{"step":1.5,"time":"2026-01-02T14:04:05.678Z"}` + "\n":                      `"step" is 1.5, not a whole number`,
		`{"step":1,"time":"today"}` + "\n":                                           `"time" is today, not a time`,
		`{"step":1,"time":"2026-01-02T14:04:05.678Z","loss":"low"}` + "\n":           `"loss" is low, not a number`,
		`{"step":1,"time":"2026-01-02T14:04:05.678Z","loss":1e999}` + "\n":           `"loss" is 1e999, not a number`,
		`{"step":1,"time":"2026-01-02T14:04:05.678Z","loss":null}` + "\n":            `"loss" is <nil>, not a number`,
		strings.TrimSpace(good) + strings.TrimSpace(good) + "\n":                     "more than one value",
		`{"step":1,"time":"2026-01-02T14:04:05.678Z","` + strings.Repeat("a", 1<<20): "it has more than 1048576 bytes",
	} {
		var last error
		for _, err := range Read(strings.NewReader(text)) {
			last = err
		}
		if last == nil || !strings.HasPrefix(last.Error(), "jsonl: line ") || !strings.Contains(last.Error(), want) {
			t.Errorf("%.80q: %v, want %s", text, last, want)
		}
		if errors.Is(last, io.ErrUnexpectedEOF) != strings.Contains(want, "unexpected EOF") {
			t.Errorf("%.80q: %v", text, last)
		}
	}
}

func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	l, err := Create(path)
	must(t, err)
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for range 50 {
				if err := l.Write(k, map[string]float64{"loss": 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	must(t, l.Close())
	if n := len(steps(t, path)); n != 400 {
		t.Errorf("%d lines", n)
	}
}

// FuzzRead reads any file; what is read is written as a line that reads as the same.
func FuzzRead(f *testing.F) {
	f.Add(`{"step":1,"time":"2026-01-02T14:04:05.678Z","loss":"NaN","a":-0.0}` + "\n")
	f.Add(`{"step":1,"time":"2026-01-02T14:04:05.678+01:00","\u0000":1,"\ud800":2}` + "\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		for e, err := range Read(strings.NewReader(text)) {
			if err != nil {
				return
			}
			line, err := appendLine(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			for back, err := range Read(bytes.NewReader(line)) {
				if d := cmp.Diff(e, back, cmpopts.EquateNaNs()); err != nil || d != "" {
					t.Fatal(err, d)
				}
			}
		}
	})
}

// TestHostileLogs: what cannot be is an error in words, never a panic, and no line is written that could not be read again.
func TestHostileLogs(t *testing.T) {
	var zero Log
	for what, err := range map[string]error{"the zero log": zero.Write(1, nil), "the zero log, closed": zero.Close()} {
		if err == nil || !strings.HasPrefix(err.Error(), "jsonl: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	path := filepath.Join(t.TempDir(), "log")
	l, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	long := map[string]float64{strings.Repeat("a", 1<<20): 1}
	if err := l.Write(1, long); err == nil {
		t.Error("a line that is too long was written")
	}
	if err := errors.Join(l.Write(2, nil), l.Close()); err != nil {
		t.Fatal(err)
	}
	if l, err = Resume(path, 3); err != nil {
		t.Fatal(err)
	}
	l.Close()
}
