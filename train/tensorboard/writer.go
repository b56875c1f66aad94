package tensorboard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/tensor"
)

// Writer adds events to a file. Its methods may be called concurrently. Each event is handed to the system at once, so that TensorBoard shows it
// while the program runs, and nothing is lost when that is killed. The first error of the file is kept, and every later call returns it.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	file *os.File // out, if it was made by Create
	now  func() time.Time
	buf  []byte
	err  error
}

// version is what the first event of a file says.
const version = "brain.Event:2"

// Create begins a file in the folder, and makes the folder where it is missing. Each call begins another file: TensorBoard reads all of a folder
// as one run.
func Create(folder string) (*Writer, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("tensorboard: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // it is only part of a name
	}
	for n := 0; ; n++ {
		name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d", time.Now().Unix(), host, os.Getpid(), n)
		f, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("tensorboard: %w", err)
		}
		w, err := newWriter(f, time.Now)
		if err != nil {
			f.Close()
			return nil, err
		}
		w.file = f
		return w, nil
	}
}

// NewWriter begins a file that w takes.
func NewWriter(w io.Writer) (*Writer, error) {
	if w == nil {
		return nil, errors.New("tensorboard: there is nothing to write to")
	}
	return newWriter(w, time.Now)
}

func newWriter(out io.Writer, now func() time.Time) (*Writer, error) {
	w := &Writer{out: out, now: now}
	return w, w.write(Event{Version: version})
}

// write adds an event of this moment.
func (w *Writer) write(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out == nil {
		return errors.New("tensorboard: a Writer has a file by Create or NewWriter alone")
	}
	if w.err != nil {
		return w.err
	}
	e.Time = w.now()
	w.buf = appendRecord(w.buf[:0], appendEvent(nil, e))
	if _, err := w.out.Write(w.buf); err != nil {
		w.err = fmt.Errorf("tensorboard: %w", err)
	}
	return w.err
}

// value adds a value.
func (w *Writer) value(step int, v Value) error {
	if v.Tag == "" || !utf8.ValidString(v.Tag) {
		return fmt.Errorf("tensorboard: a value cannot have the name %q", v.Tag)
	}
	return w.write(Event{Step: int64(step), Values: []Value{v}})
}

// Scalar adds a number, which is rounded to a float32. What stands before a slash in the name groups the charts: "loss/train".
func (w *Writer) Scalar(tag string, step int, value float64) error {
	v := float32(value)
	return w.value(step, Value{Tag: tag, Scalar: &v})
}

// Text adds a text, which is shown as Markdown. Bytes that are no UTF-8 become U+FFFD.
func (w *Writer) Text(tag string, step int, text string) error {
	text = strings.ToValidUTF8(text, "\ufffd")
	return w.value(step, Value{Tag: tag, Text: &text})
}

// Histogram adds how the elements of a tensor are distributed, as NewHistogram counts them.
func (w *Writer) Histogram(tag string, step int, values tensor.Tensor) error {
	h, err := NewHistogram(values)
	if err != nil {
		return fmt.Errorf("%w, in %q", err, tag)
	}
	return w.value(step, Value{Tag: tag, Histogram: h})
}

// Restart says that what earlier files of the folder say of this step and later ones is void: a run that was resumed says so before it does these
// steps again.
func (w *Writer) Restart(step int) error { return w.write(Event{Step: int64(step), Restart: true}) }

// Flush returns when what was written to a file of Create is on the disk.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.file != nil {
		if err := w.file.Sync(); err != nil {
			w.err = fmt.Errorf("tensorboard: %w", err)
		}
	}
	return w.err
}

// Close ends a file of Create, and says if anything of it failed. What comes later is an error.
func (w *Writer) Close() error {
	err := w.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		if e := w.file.Close(); e != nil && err == nil {
			err = fmt.Errorf("tensorboard: %w", e)
		}
	}
	w.err = fmt.Errorf("tensorboard: %w", os.ErrClosed)
	return err
}
