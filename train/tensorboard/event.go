package tensorboard

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Event is one record of a file: its version, which comes first, a restart, or values.
type Event struct {
	Time    time.Time // to the microsecond or so
	Step    int64
	Version string  // of the file, "brain.Event:2"; else empty
	Restart bool    // what earlier files say of Step and later ones is void
	Values  []Value // those of a kind that this package does not write have only a tag
}

// Value is a number, a text or a histogram with a name.
type Value struct {
	Tag       string
	Scalar    *float32
	Text      *string
	Histogram *Histogram
}

// Histogram is how many numbers lie where: Counts[i] of them are at most Limits[i] and above the limit before it, or from Min on.
type Histogram struct {
	Min, Max, Num, Sum, SumSquares float64
	Limits, Counts                 []float64
}

// The numbers of the fields, and the constants, of TensorFlow's event.proto, summary.proto, tensor.proto and tensor_shape.proto.
const (
	eventTime, eventStep, eventVersion, eventSummary, eventSession = 1, 2, 3, 5, 7

	sessionStatus, sessionStart = 1, 1

	summaryValue                                              = 1
	valueTag, valueScalar, valueHisto, valueTensor, valueMeta = 1, 2, 5, 8, 9
	metaPlugin, pluginName                                    = 1, 1
	tensorType, tensorShape, tensorString, typeString         = 1, 2, 8, 7
	shapeDim, dimSize                                         = 2, 1
	histoMin, histoMax, histoNum, histoSum, histoSquares      = 1, 2, 3, 4, 5
	histoLimits, histoCounts                                  = 6, 7
)

// appendEvent appends e as a protocol buffer, with fields in ascending order and without those that are zero, as Google's own library does.
func appendEvent(b []byte, e Event) []byte {
	b = appendDouble(b, eventTime, seconds(e.Time))
	if e.Step != 0 {
		b = appendVarint(b, eventStep, uint64(e.Step))
	}
	if e.Version != "" {
		b = appendBytes(b, eventVersion, []byte(e.Version))
	}
	if len(e.Values) > 0 {
		var s []byte
		for _, v := range e.Values {
			s = appendBytes(s, summaryValue, appendValue(nil, v))
		}
		b = appendBytes(b, eventSummary, s)
	}
	if e.Restart {
		b = appendBytes(b, eventSession, appendVarint(nil, sessionStatus, sessionStart))
	}
	return b
}

// seconds is a time as a number.
func seconds(t time.Time) float64 { return float64(t.Unix()) + float64(t.Nanosecond())/1e9 }

func appendValue(b []byte, v Value) []byte {
	b = appendBytes(b, valueTag, []byte(v.Tag))
	switch {
	case v.Scalar != nil:
		b = protowire.AppendTag(b, valueScalar, protowire.Fixed32Type)
		b = protowire.AppendFixed32(b, math.Float32bits(*v.Scalar))
	case v.Histogram != nil:
		b = appendBytes(b, valueHisto, appendHistogram(nil, v.Histogram))
	case v.Text != nil:
		t := appendVarint(nil, tensorType, typeString)
		t = appendBytes(t, tensorShape, appendBytes(nil, shapeDim, appendVarint(nil, dimSize, 1)))
		t = appendBytes(t, tensorString, []byte(*v.Text))
		b = appendBytes(b, valueTensor, t)
		b = appendBytes(b, valueMeta, appendBytes(nil, metaPlugin, appendBytes(nil, pluginName, []byte("text"))))
	}
	return b
}

func appendHistogram(b []byte, h *Histogram) []byte {
	b = appendDouble(b, histoMin, h.Min)
	b = appendDouble(b, histoMax, h.Max)
	b = appendDouble(b, histoNum, h.Num)
	b = appendDouble(b, histoSum, h.Sum)
	b = appendDouble(b, histoSquares, h.SumSquares)
	b = appendDoubles(b, histoLimits, h.Limits)
	return appendDoubles(b, histoCounts, h.Counts)
}

// appendDouble leaves out a positive zero.
func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

// appendDoubles appends a packed list.
func appendDoubles(b []byte, field protowire.Number, list []float64) []byte {
	if len(list) == 0 {
		return b
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(8*len(list)))
	for _, v := range list {
		b = protowire.AppendFixed64(b, math.Float64bits(v))
	}
	return b
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}
