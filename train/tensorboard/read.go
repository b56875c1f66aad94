package tensorboard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Read is the events of a file. An error, which is the last thing the loop sees, wraps io.ErrUnexpectedEOF where the file is cut off, as one is that
// is still being written.
func Read(r io.Reader) iter.Seq2[Event, error] {
	in := bufio.NewReader(r)
	return func(yield func(Event, error) bool) {
		if r == nil {
			yield(Event{}, errors.New("tensorboard: there is nothing to read"))
			return
		}
		for n := 0; ; n++ {
			data, err := readRecord(in)
			if err == io.EOF {
				return
			}
			var e Event
			if err == nil {
				e, err = parseEvent(data)
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("tensorboard: record %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// field is a part of a message: its number and, by its type, one of the others.
type field struct {
	number protowire.Number
	kind   protowire.Type
	whole  uint64 // of a varint, or the bits of a fixed number
	bytes  []byte
}

// fields calls f for every field of a message.
func fields(message []byte, f func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		p := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			p.whole, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			p.whole, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(message)
			p.whole = uint64(bits)
		case protowire.BytesType:
			p.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// is reports whether a field has the number, in the type that it must have.
func (p field) is(number protowire.Number, kind protowire.Type) bool {
	return p.number == number && p.kind == kind
}

func (p field) float() float64 { return math.Float64frombits(p.whole) }

func parseEvent(message []byte) (Event, error) {
	e := Event{Time: time.Unix(0, 0)}
	err := fields(message, func(p field) error {
		switch {
		case p.is(eventTime, protowire.Fixed64Type):
			s := p.float()
			if !(math.Abs(s) < 1<<33) { // some 270 years
				return fmt.Errorf("the time %v", s)
			}
			whole, part := math.Modf(s)
			e.Time = time.Unix(int64(whole), int64(math.Round(part*1e9)))
		case p.is(eventStep, protowire.VarintType):
			e.Step = int64(p.whole)
		case p.is(eventVersion, protowire.BytesType):
			e.Version = string(p.bytes)
		case p.is(eventSession, protowire.BytesType):
			return fields(p.bytes, func(p field) error {
				e.Restart = e.Restart || p.is(sessionStatus, protowire.VarintType) && p.whole == sessionStart
				return nil
			})
		case p.is(eventSummary, protowire.BytesType):
			return fields(p.bytes, func(p field) error {
				if !p.is(summaryValue, protowire.BytesType) {
					return nil
				}
				v, err := parseValue(p.bytes)
				e.Values = append(e.Values, v)
				return err
			})
		}
		return nil
	})
	return e, err
}

func parseValue(message []byte) (Value, error) {
	var v Value
	var text *string
	isText := false
	err := fields(message, func(p field) error {
		switch {
		case p.is(valueTag, protowire.BytesType):
			v.Tag = string(p.bytes)
		case p.is(valueScalar, protowire.Fixed32Type):
			s := math.Float32frombits(uint32(p.whole))
			v.Scalar = &s
		case p.is(valueHisto, protowire.BytesType):
			h, err := parseHistogram(p.bytes)
			v.Histogram = h
			return err
		case p.is(valueTensor, protowire.BytesType):
			return fields(p.bytes, func(p field) error {
				if p.is(tensorString, protowire.BytesType) && text == nil {
					s := string(p.bytes)
					text = &s
				}
				return nil
			})
		case p.is(valueMeta, protowire.BytesType):
			return fields(p.bytes, func(p field) error {
				if !p.is(metaPlugin, protowire.BytesType) {
					return nil
				}
				return fields(p.bytes, func(p field) error {
					isText = isText || p.is(pluginName, protowire.BytesType) && string(p.bytes) == "text"
					return nil
				})
			})
		}
		return nil
	})
	if isText {
		v.Text = text
	}
	return v, err
}

func parseHistogram(message []byte) (*Histogram, error) {
	h := new(Histogram)
	err := fields(message, func(p field) error {
		singles := [...]*float64{histoMin: &h.Min, histoMax: &h.Max, histoNum: &h.Num, histoSum: &h.Sum, histoSquares: &h.SumSquares}
		lists := map[protowire.Number]*[]float64{histoLimits: &h.Limits, histoCounts: &h.Counts}
		list := lists[p.number]
		switch {
		case p.kind == protowire.Fixed64Type && list != nil:
			*list = append(*list, p.float())
		case p.kind == protowire.Fixed64Type && int(p.number) < len(singles):
			*singles[p.number] = p.float()
		case p.kind == protowire.BytesType && list != nil:
			for b := p.bytes; len(b) > 0; {
				bits, n := protowire.ConsumeFixed64(b)
				if n < 0 {
					return protowire.ParseError(n)
				}
				*list = append(*list, math.Float64frombits(bits))
				b = b[n:]
			}
		}
		return nil
	})
	if err == nil && len(h.Limits) != len(h.Counts) {
		err = errors.New("a histogram has another number of limits than of counts")
	}
	return h, err
}
