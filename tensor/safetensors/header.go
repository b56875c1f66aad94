package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// header is what stands before the elements.
type header struct {
	entries  []entry // in the order of the file
	metadata map[string]string
}

// parseHeader reads the JSON text strictly. Package json alone would take the last of two equal keys, any number of nested brackets, and
// broken text; here each is an error that says what and where.
func parseHeader(text []byte) (*header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, fmt.Errorf("the header is no JSON object: it starts with %.16q", text)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("the header is not valid UTF-8")
	}
	if err := checkSurrogates(text); err != nil {
		return nil, err
	}
	p := parser{json.NewDecoder(bytes.NewReader(text))}
	p.UseNumber()
	h := &header{metadata: map[string]string{}}
	err := p.object(func(key string) error {
		if key == metadataKey {
			return p.object(func(key string) (err error) {
				h.metadata[key], err = p.text()
				return err
			})
		}
		if err := checkName(key); err != nil {
			return err
		}
		e, err := p.entry()
		e.name = key
		h.entries = append(h.entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if _, err := p.Token(); err != io.EOF {
		return nil, fmt.Errorf("header: more text behind the object")
	}
	return h, nil
}

// checkSurrogates refuses escapes such as \ud800 that are half of a character, for which package json would put the character U+FFFD.
func checkSurrogates(text []byte) error {
	half := func(i int) uint64 { // the code unit escaped at i, or 0
		if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
			return 0
		}
		u, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
		return u
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch u := half(i); {
		case u >= 0xd800 && u < 0xdc00 && half(i+6)&^0x3ff == 0xdc00:
			i += 11
		case u >= 0xd800 && u < 0xe000:
			return fmt.Errorf("the header escapes half a character: %s", text[i:i+6])
		default:
			i++ // whatever is escaped is no start of an escape
		}
	}
	return nil
}

// parser reads JSON values of known kinds.
type parser struct{ *json.Decoder }

// next reads a token where one must follow.
func (p parser) next() (json.Token, error) {
	t, err := p.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return t, err
}

// delim reads one bracket.
func (p parser) delim(want json.Delim) error {
	got, err := p.next()
	if err == nil && got != want {
		err = fmt.Errorf("%v where %v was expected", got, want)
	}
	return err
}

// text reads a string.
func (p parser) text() (string, error) {
	got, err := p.next()
	if err != nil {
		return "", err
	}
	s, ok := got.(string)
	if !ok {
		return "", fmt.Errorf("%v where text was expected", got)
	}
	return s, nil
}

// object reads an object and lets field read the value of each key.
func (p parser) object(field func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		key, err := p.text()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("%q: the key appears twice", key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	return p.delim('}')
}

// maxNumbers bounds lists: no program knows arrays of so many axes.
const maxNumbers = 64

// numbers reads a list of whole numbers from 0 on.
func (p parser) numbers() ([]int, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	list := []int{}
	for p.More() {
		got, err := p.next()
		if err != nil {
			return nil, err
		}
		s, _ := got.(json.Number)
		n, err := strconv.ParseUint(string(s), 10, 63)
		if err != nil || n > math.MaxInt {
			return nil, fmt.Errorf("%v where a whole number from 0 on was expected", got)
		}
		if len(list) == maxNumbers {
			return nil, fmt.Errorf("a list of more than %d numbers", maxNumbers)
		}
		list = append(list, int(n))
	}
	return list, p.delim(']')
}

// entry reads the description of one array.
func (p parser) entry() (entry, error) {
	var e entry
	var offsets []int
	err := p.object(func(key string) (err error) {
		switch key {
		case "dtype":
			e.dtype, err = p.text()
		case "shape":
			e.shape, err = p.numbers()
		case "data_offsets":
			offsets, err = p.numbers()
		default:
			err = fmt.Errorf("the format has no such key")
		}
		return err
	})
	switch {
	case err != nil:
		return e, err
	case e.dtype == "" || e.shape == nil || offsets == nil:
		return e, fmt.Errorf("dtype, shape or data_offsets is missing")
	case len(offsets) != 2:
		return e, fmt.Errorf("%d data_offsets instead of 2", len(offsets))
	}
	e.begin, e.end = int64(offsets[0]), int64(offsets[1])
	return e, nil
}

// check holds the entries against each other and against the number of bytes behind the header: every array has just the bytes that its type
// and shape ask for, and together they fill the file.
func (h *header) check(size int64) error {
	order := slices.Clone(h.entries)
	slices.SortStableFunc(order, func(a, b entry) int {
		if a.begin != b.begin {
			return int(max(-1, min(1, a.begin-b.begin)))
		}
		return int(max(-1, min(1, a.end-b.end)))
	})
	at := int64(0)
	for _, e := range order {
		want, err := e.bytes()
		switch {
		case err != nil:
			return fmt.Errorf("tensor %q: %w", e.name, err)
		case e.end < e.begin || e.end-e.begin != want:
			return fmt.Errorf("tensor %q: data_offsets %d and %d, but %s%v has %d bytes", e.name, e.begin, e.end, e.dtype, e.shape, want)
		case e.end > size:
			return fmt.Errorf("tensor %q: ends at byte %d of the data, of which there are %d: the file is cut off", e.name, e.end, size)
		case e.begin != at:
			return fmt.Errorf("tensor %q: begins at byte %d of the data, but the one before it ends at %d: a gap or an overlap", e.name, e.begin, at)
		}
		at = e.end
	}
	if at != size {
		return fmt.Errorf("the tensors end at byte %d of the data, of which there are %d", at, size)
	}
	return nil
}

// bytes is the size that the type and the shape ask for.
func (e entry) bytes() (int64, error) {
	d, ok := dtypes[e.dtype]
	if !ok {
		return 0, fmt.Errorf("the format has no type %q", e.dtype)
	}
	if slices.Contains(e.shape, 0) {
		return 0, nil
	}
	n := uint64(d.bits)
	for _, dim := range e.shape {
		high, low := bits.Mul64(n, uint64(dim))
		if high != 0 {
			return 0, fmt.Errorf("shape %v has more elements than any file", e.shape)
		}
		n = low
	}
	if n%8 != 0 {
		return 0, fmt.Errorf("%s%v does not fill whole bytes", e.dtype, e.shape)
	}
	return int64(n / 8), nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func sortedEntries(list []entry) []entry {
	return slices.SortedFunc(slices.Values(list), func(a, b entry) int { return strings.Compare(a.name, b.name) })
}
