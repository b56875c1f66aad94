package goldens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// A Case is one run of one operation.
type Case struct {
	Op, Name string          // what ran, and what is special about this run; together they are unique
	Attrs    json.RawMessage // the operation's attributes, an object; see [Case.Decode]
	In, Out  []Tensor
	Dy       []*Tensor // a weight for each output that has a gradient, nil for the others; empty if none has
	Dx       []*Tensor // for each input the derivative of the sum of all dy*out, nil where there is none
}

// Decode stores the attributes in v, a pointer to a struct. An attribute that v has no field for is an error, so that a
// test cannot overlook one.
func (c Case) Decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(c.Attrs))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("goldens: attributes of %s, %s: %w", c.Op, c.Name, err)
	}
	return nil
}

// A Tensor is an array in row-major order. Its type is named as by tensor.DType's String method; its elements are
// float64 whatever that type is, which holds every value here exactly.
type Tensor struct {
	DType string
	Shape []int
	Data  Numbers
}

// Numbers decodes from a JSON array of numbers and of the strings "NaN", "Inf" and "-Inf".
type Numbers []float64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Numbers) UnmarshalJSON(b []byte) error {
	var raw []any
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*n = make(Numbers, len(raw))
	for i, v := range raw {
		switch v := v.(type) {
		case float64:
			(*n)[i] = v
		case string:
			x, ok := map[string]float64{"NaN": math.NaN(), "Inf": math.Inf(1), "-Inf": math.Inf(-1)}[v]
			if !ok {
				return fmt.Errorf("%q is no number", v)
			}
			(*n)[i] = x
		default:
			return fmt.Errorf("%v is no number", v)
		}
	}
	return nil
}

// Ops returns all cases of ops.json, in the order of the file.
func Ops() ([]Case, error) {
	var file struct{ Cases []Case }
	if err := read("ops.json", &file); err != nil {
		return nil, err
	}
	return file.Cases, nil
}
