package acceltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// values runs every sample of every operation in every float type, and where it has i64 operands also with i32 ones.
func (s *suite) values() {
	d := s.device()
	for _, op := range s.registry {
		for _, row := range op.Samples() {
			for _, in := range variants(row.In) {
				s.sample(d, row, in)
			}
		}
	}
}

// variants are the operands in each type that they may have.
func variants(in []tensor.Tensor) (all [][]tensor.Tensor) {
	floats := []tensor.DType{tensor.F32, tensor.F64, tensor.BF16, tensor.F16}
	if !slices.ContainsFunc(in, func(t tensor.Tensor) bool { return t.DType().Float() }) {
		floats = floats[:1]
	}
	ints := []tensor.DType{tensor.I64, tensor.I32}
	if !slices.ContainsFunc(in, func(t tensor.Tensor) bool { return t.DType() == tensor.I64 }) {
		ints = ints[:1]
	}
	for _, f := range floats {
		for _, i := range ints {
			var v []tensor.Tensor
			for _, t := range in {
				if t.DType() == tensor.I64 && i != tensor.I64 {
					t = narrowed(t, i)
				}
				v = append(v, rounded(t, f))
			}
			all = append(all, v)
		}
	}
	return all
}

// narrowed is t in another integer type.
func narrowed(t tensor.Tensor, d tensor.DType) tensor.Tensor {
	r := tensor.New(tensor.Spec{DType: d, Shape: t.Shape()})
	for i := range t.Len() {
		r.SetInt(i, t.Int(i))
	}
	return r
}

// sample runs one row on operands of one type.
func (s *suite) sample(d accel.Device, row ops.Sample, in []tensor.Tensor) {
	s.Helper()
	inSpecs := specs(in)
	outSpecs, err := row.Op.Infer(inSpecs)
	if err != nil || slices.ContainsFunc(outSpecs, func(o tensor.Spec) bool { return o.Check() != nil }) {
		return // a row that is refused, or a type that the operation does not have
	}
	label := label(row.Op, inSpecs, outSpecs)
	var all []int
	for o := range outSpecs {
		all = append(all, o)
	}
	g := single(row.Op, inSpecs, outSpecs, all...)
	if d.Supports(&g.Nodes[g.Params]) != nil {
		s.refused(d, g)
		s.missing[label] = true
		return
	}
	if row.Fails != "" {
		s.fails(d, g, in, row, label)
		return
	}
	want, tolerance, err := meaning(row, in, outSpecs)
	if err != nil {
		s.Errorf("%s, %s: the reference fails: %v", label, row.Name, err)
		return
	}
	for o, got := range s.twice(d, g, in) {
		if why := differ(got, want[o], tolerance[o]); why != "" {
			s.Errorf("%s, %s: output %d: %s%s", label, row.Name, o, why, text(g))
		}
	}
	if len(outSpecs) == 1 {
		return
	}
	for o := range outSpecs { // the other outputs are not asked for
		for _, got := range s.twice(d, single(row.Op, inSpecs, outSpecs, o), in) {
			if why := differ(got, want[o], tolerance[o]); why != "" {
				s.Errorf("%s, %s: output %d alone: %s", label, row.Name, o, why)
			}
		}
	}
}

func specs(ts []tensor.Tensor) []tensor.Spec {
	list := make([]tensor.Spec, len(ts))
	for i, t := range ts {
		list[i] = t.Spec()
	}
	return list
}

// label is an operation's name and the types of its operands; of its outputs, if it has no operands.
func label(op ops.Op, in, out []tensor.Spec) string {
	var types []string
	if len(in) == 0 {
		in = out
	}
	for _, spec := range in {
		if name := spec.DType.String(); !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return op.Name() + " " + strings.Join(types, ",")
}

// meaning is what an operation's reference gives, which computes in float64 and rounds once, and how far each output may be from that.
// What an operation moves without computing, it moves exactly.
func meaning(row ops.Sample, in []tensor.Tensor, out []tensor.Spec) (want []tensor.Tensor, tolerance []float64, err error) {
	for _, spec := range out {
		want = append(want, tensor.New(spec))
	}
	if err := row.Op.Ref(want, in); err != nil {
		return nil, nil, err
	}
	bound := row.ULP
	switch {
	case row.Op.Cost(specs(in), out).FLOPs == 0:
		bound = 0
	case bound == 0:
		bound = 4
	}
	for _, t := range want {
		u := ulp(t.DType(), largest(t))
		if t.DType() == tensor.F64 {
			u *= narrow
		}
		tolerance = append(tolerance, bound*u)
	}
	return want, tolerance, nil
}

// narrow is how much farther off a float64 result may be: what narrower types accumulate in float64, float64 has to accumulate in itself.
const narrow = 128

// fails runs a row that must fail at run time, with the reference's own error.
func (s *suite) fails(d accel.Device, g *accel.Graph, in []tensor.Tensor, row ops.Sample, label string) {
	s.Helper()
	_, want := evaluate(g, in)
	out := make([]accel.Buffer, len(g.Outs))
	p := s.compile(d, g)
	defer p.Close()
	refused, err := start(p, host(in...), out)
	s.noError("Run", refused)
	defer free(out...)
	if why := nodeError(err, g.Params, want); why != "" || !strings.Contains(fmt.Sprint(err), row.Fails) {
		s.Errorf("%s, %s: %s: %v does not say %q", label, row.Name, why, err, row.Fails)
	}
}

// nodeError is empty if err names the node, and its cause is the reference's: the same index and limit, if it is about an index.
func nodeError(err error, node int, want error) string {
	var ne *accel.NodeError
	if !errors.As(err, &ne) {
		return fmt.Sprintf("%v is no NodeError", err)
	}
	if ne.Node != node {
		return fmt.Sprintf("%v names node %d, want %d", err, ne.Node, node)
	}
	var wantIndex, gotIndex *ops.IndexError
	if errors.As(want, &wantIndex) && (!errors.As(err, &gotIndex) || *gotIndex != *wantIndex) {
		return fmt.Sprintf("%v is not %v", err, wantIndex)
	}
	return ""
}
