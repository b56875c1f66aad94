package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"
)

// Entry is a line of a log.
type Entry struct {
	Step   int
	Time   time.Time // in UTC, to the millisecond
	Values map[string]float64
}

// maxLine is the longest line that is read.
const maxLine = 1 << 20

// Read is the entries of a log. An error, which is the last thing the loop sees, says in which line it is; it wraps io.ErrUnexpectedEOF where the
// last line has no end.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	in := bufio.NewReaderSize(r, maxLine)
	return func(yield func(Entry, error) bool) {
		if r == nil {
			yield(Entry{}, errors.New("jsonl: there is nothing to read"))
			return
		}
		for n := 1; ; n++ {
			line, err := in.ReadSlice('\n')
			switch {
			case err == io.EOF && len(line) == 0:
				return
			case err == io.EOF:
				err = io.ErrUnexpectedEOF
			case err == bufio.ErrBufferFull:
				err = fmt.Errorf("it has more than %d bytes", maxLine)
			}
			var e Entry
			if err == nil {
				e, err = parseLine(line)
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("jsonl: line %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// parseLine reads an entry. Of a name that is there twice the last counts.
func parseLine(line []byte) (Entry, error) {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	err := d.Decode(&all)
	if err == io.EOF {
		err = errors.New("it is empty")
	}
	if err != nil {
		return Entry{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Entry{}, fmt.Errorf("more than one value")
	}
	e := Entry{Values: make(map[string]float64, len(all))}
	step, _ := all["step"].(json.Number)
	at, _ := all["time"].(string)
	if e.Step, err = strconv.Atoi(string(step)); err != nil {
		return Entry{}, fmt.Errorf(`"step" is %v, not a whole number`, all["step"])
	}
	if e.Time, err = time.Parse(timeFormat, at); err != nil {
		return Entry{}, fmt.Errorf(`"time" is %v, not a time such as %s`, all["time"], timeFormat)
	}
	if e.Time = e.Time.UTC(); e.Time.Year() < 0 || e.Time.Year() > 9999 { // a zone can lead out of the years that four digits hold
		return Entry{}, fmt.Errorf(`"time" is %v, in UTC a year without four digits`, all["time"])
	}
	delete(all, "step")
	delete(all, "time")
	for name, v := range all {
		if e.Values[name], err = number(v); err != nil {
			return Entry{}, fmt.Errorf("%q is %v, not a number", name, v)
		}
	}
	return e, nil
}

// number is a finite number, or one of the strings for the others.
func number(v any) (float64, error) {
	switch v := v.(type) {
	case json.Number:
		return v.Float64()
	case string:
		switch v {
		case "NaN":
			return math.NaN(), nil
		case "+Inf":
			return math.Inf(1), nil
		case "-Inf":
			return math.Inf(-1), nil
		}
	}
	return 0, strconv.ErrSyntax
}
