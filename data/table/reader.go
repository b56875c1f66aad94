package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says where in a file something is wrong.
type Error struct {
	File   string // its name, if what was read has one, as a file has
	Line   int    // from 1; 0 where no line is meant
	Column string // empty where no column is meant
	Err    error
}

func (e *Error) Error() string {
	var where []string
	if e.File != "" {
		where = append(where, e.File)
	}
	if e.Line > 0 {
		where = append(where, "line "+strconv.Itoa(e.Line))
	}
	if e.Column != "" {
		where = append(where, "column "+strconv.Quote(e.Column))
	}
	if where == nil {
		return fmt.Sprintf("table: %v", e.Err)
	}
	return fmt.Sprintf("table: %s: %v", strings.Join(where, ", "), e.Err)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// maxRecord is the most bytes that a row may have. Without a limit a quote that is never closed would read the rest of any file.
const maxRecord = 16 << 20

// reader reads rows of as many cells as the file has columns.
type reader struct {
	csv     *csv.Reader
	in      *limited
	file    string
	columns []string
	first   []string // the first row, where it had to be read to count the columns
	line    int      // of the row that was read last
}

// fileName is the name of what is read, if that is a file.
func fileName(r io.Reader) string {
	if s, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := s.Stat(); err == nil {
			return info.Name()
		}
	}
	return ""
}

// newReader reads the header. The name is for errors.
func newReader(file string, r io.Reader, f Format) (*reader, error) {
	if r == nil {
		return nil, &Error{Err: errors.New("there is nothing to read")}
	}
	in := &limited{r: bufio.NewReader(r), left: maxRecord}
	t := &reader{in: in, csv: csv.NewReader(in), file: file}
	if err := f.check(); err != nil {
		return nil, t.fail(0, "", err)
	}
	t.csv.ReuseRecord, t.csv.FieldsPerRecord, t.csv.Comment = true, -1, f.Comment
	if f.Comma != 0 {
		t.csv.Comma = f.Comma
	}
	start, err := in.r.Peek(3)
	if err != nil && err != io.EOF {
		return nil, t.fail(0, "", err)
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		in.r.Discard(3)
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return nil, t.fail(0, "", errors.New("it is UTF-16: save it as UTF-8"))
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return nil, t.fail(0, "", errors.New("it is gzipped: read it through package gzip"))
	}
	row, err := t.read()
	if err == io.EOF {
		return nil, t.fail(0, "", errors.New("it is empty"))
	}
	if err != nil {
		return nil, err
	}
	return t, t.name(slices.Clone(row), f)
}

// name gives the columns their names.
func (t *reader) name(row []string, f Format) error {
	seen := map[string]bool{}
	for i, name := range row {
		if f.NoHeader || name == "" {
			name = strconv.Itoa(i + 1)
		}
		if seen[name] {
			return t.fail(t.line, name, errors.New("a second column of that name"))
		}
		seen[name] = true
		t.columns = append(t.columns, name)
	}
	if f.NoHeader {
		t.first = row
	}
	var unknown []string
	for name := range f.Kinds {
		if !seen[name] {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return t.fail(0, "", fmt.Errorf("Format.Kinds has %s, but there is no such column: there are %s", strings.Join(unknown, ", "), quoted(t.columns)))
	}
	return nil
}

// quoted lists some names for an error.
func quoted(names []string) string {
	const most = 20
	var b strings.Builder
	for i, n := range names[:min(most, len(names))] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(shown(n)))
	}
	if len(names) > most {
		fmt.Fprintf(&b, " and %d more", len(names)-most)
	}
	return b.String()
}

// next is the next row, which the row after it overwrites; io.EOF behind the last.
func (t *reader) next() ([]string, error) {
	if row := t.first; row != nil {
		t.first = nil
		return row, nil
	}
	row, err := t.read()
	if err != nil {
		return nil, err
	}
	if len(row) != len(t.columns) {
		return nil, t.fail(t.line, "", fmt.Errorf("%d cells, but there are %d columns", len(row), len(t.columns)))
	}
	return row, nil
}

// read is a line of cells, however many.
func (t *reader) read() ([]string, error) {
	t.in.left = maxRecord
	row, err := t.csv.Read()
	if err == io.EOF {
		return nil, err
	}
	if err != nil {
		line := 0
		var p *csv.ParseError
		if errors.As(err, &p) {
			line, err = p.Line, p.Err
			if p.Line != p.StartLine {
				err = fmt.Errorf("%w, in the row that begins at line %d", p.Err, p.StartLine)
			}
		} else if errors.Is(err, errRecord) {
			line = t.line + 1
		}
		return nil, t.fail(line, "", err)
	}
	t.line, _ = t.csv.FieldPos(0)
	for i, cell := range row {
		row[i] = strings.TrimSpace(cell)
		if !utf8.ValidString(cell) {
			column := strconv.Itoa(i + 1)
			if i < len(t.columns) {
				column = t.columns[i]
			}
			return nil, t.fail(t.line, column, fmt.Errorf("%q is not UTF-8", shown(cell)))
		}
	}
	return row, nil
}

func (t *reader) fail(line int, column string, err error) error {
	return &Error{t.file, line, column, err}
}

var errRecord = fmt.Errorf("a row of more than %d bytes: a quote that is not closed, perhaps", maxRecord)

// limited is a reader that gives no more than left bytes.
type limited struct {
	r    *bufio.Reader
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 && len(b) > 0 {
		return 0, errRecord
	}
	n, err := l.r.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}
