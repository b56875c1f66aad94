package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/internal/atomicfile"
)

// Log is a file that lines are added to. Its methods may be called concurrently.
type Log struct {
	mu   sync.Mutex
	file *os.File
	now  func() time.Time
	line []byte
	err  error // of the file; it stays
}

var errZero = errors.New("jsonl: a Log has a file by Create or Resume alone")

// Create begins a log, in place of a file that is there.
func Create(path string) (*Log, error) {
	return open(path, func(io.Writer) error { return nil })
}

// Resume goes on with a log, or begins one where there is no file. Lines of the given step and of later ones are removed, since the run is about to
// write them again, and so is a last line that was cut off. If that fails the file is as it was.
func Resume(path string, step int) (*Log, error) {
	return ResumeWhere(path, func(e Entry) bool { return e.Step < step })
}

// ResumeWhere goes on with a log as Resume does, with the lines of which keep says so.
func ResumeWhere(path string, keep func(Entry) bool) (*Log, error) {
	if keep == nil {
		return nil, errors.New("jsonl: nobody says which lines to keep")
	}
	return open(path, func(w io.Writer) error {
		old, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer old.Close()
		var line []byte
		for e, err := range Read(old) {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return err
			}
			if !keep(e) {
				continue
			}
			if line, err = appendLine(line[:0], e); err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// open replaces the file by what write writes, and opens it for more.
func open(path string, write func(io.Writer) error) (*Log, error) {
	if err := atomicfile.Write(path, write); err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	return &Log{file: f, now: time.Now}, nil
}

// Write adds the numbers of a step. Names come in the order of their bytes; "step" and "time" are taken.
func (l *Log) Write(step int, values map[string]float64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errZero
	}
	if l.err != nil {
		return l.err
	}
	line, err := appendLine(l.line[:0], Entry{step, l.now(), values})
	if err != nil {
		return err
	}
	if len(line) > maxLine {
		return fmt.Errorf("jsonl: %d numbers make a line of more than %d bytes, which Read would refuse", len(values), maxLine)
	}
	l.line = line
	if _, err := l.file.Write(line); err != nil {
		l.err = fmt.Errorf("jsonl: %w", err)
	}
	return l.err
}

// Close ends the log when its lines are on the disk.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errZero
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("jsonl: %w", err)
	}
	err = l.err
	l.err = fmt.Errorf("jsonl: %w", os.ErrClosed)
	return err
}

// timeFormat has milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// appendLine appends an entry as a line.
func appendLine(b []byte, e Entry) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"step":`...), int64(e.Step), 10)
	b = e.Time.UTC().AppendFormat(append(b, `,"time":"`...), timeFormat)
	b = append(b, '"')
	for _, name := range slices.Sorted(maps.Keys(e.Values)) {
		if name == "step" || name == "time" || !utf8.ValidString(name) {
			return nil, fmt.Errorf("jsonl: a number cannot have the name %q", name)
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, fmt.Errorf("jsonl: %w", err)
		}
		b = append(append(append(b, ','), quoted...), ':')
		v := e.Values[name]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(strconv.AppendFloat(append(b, '"'), v, 'g', -1, 64), '"')
		} else {
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		}
	}
	return append(b, "}\n"...), nil
}
