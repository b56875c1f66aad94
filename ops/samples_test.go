package ops

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

var floats = []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16}

// eachSample runs f for every row of every operation's table.
func eachSample(t *testing.T, f func(t *testing.T, s Sample)) {
	for _, op := range Registry() {
		t.Run(reflect.TypeOf(op).Name(), func(t *testing.T) {
			for _, s := range op.Samples() {
				t.Run(s.Name, func(t *testing.T) { f(t, s) })
			}
		})
	}
}

// accepted reports whether the row runs.
func (s Sample) accepted() bool { return s.Refused == "" && s.Fails == "" }

// as is the operands with floats of type dt.
func (s Sample) as(dt tensor.DType) []tensor.Tensor {
	in := make([]tensor.Tensor, len(s.In))
	for i, x := range s.In {
		in[i] = to(dt, x)
	}
	return in
}

func specsOf(ts []tensor.Tensor) []tensor.Spec {
	specs := make([]tensor.Spec, len(ts))
	for i, x := range ts {
		specs[i] = x.Spec()
	}
	return specs
}

// ref infers and runs op on operands; the outputs are garbage before. An output in skip is none.
func ref(op Op, in []tensor.Tensor, poison byte, skip int) ([]tensor.Tensor, error) {
	specs, err := op.Infer(specsOf(in))
	if err != nil {
		return nil, err
	}
	out := make([]tensor.Tensor, len(specs))
	for j, s := range specs {
		if j != skip {
			out[j] = garbage(s, poison)
		}
	}
	return out, op.Ref(out, in)
}

func mustRef(t *testing.T, op Op, in []tensor.Tensor) []tensor.Tensor {
	t.Helper()
	out, err := ref(op, in, 0xff, -1)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInfer: rows are accepted, or refused with the words that they name, and the rule knows how many operands there are.
func TestInfer(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		for _, dt := range floats {
			in := specsOf(s.as(dt))
			out, err := s.Op.Infer(in)
			if s.Refused != "" {
				var shape *tensor.ShapeError
				if !errors.As(err, &shape) || !strings.Contains(err.Error(), s.Refused) {
					t.Fatalf("%v: refused with %v, want a ShapeError with %q", dt, err, s.Refused)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%v: %v", dt, err)
			}
			for j, o := range out {
				if err := o.Check(); err != nil {
					t.Errorf("%v: output %d: %v", dt, j, err)
				}
			}
			if c := s.Op.Cost(in, out); !(c.FLOPs >= 0 && c.Bytes >= 0) || math.IsInf(c.FLOPs, 0) {
				t.Errorf("cost %+v", c)
			}
		}
	})
	for _, op := range Registry() {
		for n := range 8 {
			for _, spec := range []tensor.Spec{{}, tensor.SpecOf(tensor.F32), tensor.SpecOf(tensor.I64, 2, 2), tensor.SpecOf(tensor.F32, 1, 1, 1, 1, 1, 1, 1, 1), tensor.SpecOf(tensor.F32, -1)} {
				in := make([]tensor.Spec, n)
				for i := range in {
					in[i] = spec
				}
				op.Infer(in) // does not panic
			}
		}
	}
}

// TestRef: every element of every output is written, whatever was there; none is skipped; operands stay as they are. A result is what
// float64 gives, rounded once.
func TestRef(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		if s.Refused != "" {
			return
		}
		for _, dt := range floats {
			in := s.as(dt)
			var before []tensor.Tensor
			for _, x := range in {
				before = append(before, x.Clone())
			}
			out, err := ref(s.Op, in, 0xff, -1)
			if s.Fails != "" {
				var index *IndexError
				if err == nil || !strings.Contains(err.Error(), s.Fails) || !errors.As(err, &index) {
					t.Fatalf("%v: fails with %v, want %q", dt, err, s.Fails)
				}
				if !Fallible(s.Op) {
					t.Error("an op that fails must not embed total")
				}
				continue
			}
			if err != nil {
				t.Fatalf("%v: %v", dt, err)
			}
			again, err := ref(s.Op, in, 0x3b, -1)
			for j := range out {
				if err != nil || !out[j].Same(again[j]) {
					t.Errorf("%v: output %d depends on what was there before: %v and %v, %v", dt, j, out[j], again[j], err)
				}
				if len(out) == 1 {
					continue
				}
				rest, err := ref(s.Op, in, 0xff, j)
				for k := range rest {
					if err != nil || k != j && !rest[k].Same(out[k]) {
						t.Errorf("%v: without output %d: output %d is %v, %v", dt, j, k, rest[k], err)
					}
				}
			}
			for i := range in {
				if !in[i].Same(before[i]) {
					t.Errorf("%v: operand %d was changed", dt, i)
				}
			}
			oneRounding(t, s, dt, in, out)
		}
	})
}

// oneRounding compares a result in a narrow type with that in float64 on the same, rounded operands.
func oneRounding(t *testing.T, s Sample, dt tensor.DType, in, out []tensor.Tensor) {
	if _, ok := s.Op.(interface{ dependsOnType() }); ok {
		return
	}
	wide := make([]tensor.Tensor, len(in))
	for i := range in {
		wide[i] = to(tensor.F64, in[i])
	}
	for j, w := range mustRef(t, s.Op, wide) {
		if err := near(out[j], to(out[j].DType(), w), 0); err != nil {
			t.Errorf("%v: output %d is not rounded once: %v", dt, j, err)
		}
	}
}

// graph records s.Op on inputs of type dt.
func (s Sample) record(dt tensor.DType) (r *Recorder, in []Value, out []Value) {
	r = NewRecorder()
	in = inputs(r, s.as(dt)...)
	if len(in) == 0 {
		return r, in, nil
	}
	y := r.recordBoxed(s.Op, in)
	if r.err != nil {
		return r, in, nil
	}
	for j := range r.path[y.id].Out {
		out = append(out, y.Output(j))
	}
	return r, in, out
}

// float keeps the values that have gradients.
func float(vs []Value) (fs []Value) {
	for _, v := range vs {
		if v.DType().Float() {
			fs = append(fs, v)
		}
	}
	return fs
}

// weights records an input of arbitrary numbers for each value.
func weights(r *Recorder, seed int, vs []Value) (ws []Value) {
	for i, v := range vs {
		ws = append(ws, r.Input(fmt.Sprintf("weight %d.%d", seed, i), to(v.DType(), ramp(seed+i, v.Shape().Dims()...)), -1))
	}
	return ws
}

// dot records the sum of all products.
func dot(xs, ys []Value) (sum Value) {
	for i := range xs {
		s := xs[i].Mul(ys[i]).Sum()
		if sum.IsNone() {
			sum = s
		} else {
			sum = sum.Add(s)
		}
	}
	return sum
}

// TestGradient compares every gradient with central differences in float64, for each output alone and for all together; where the
// function is smooth, the gradient's own gradient too. In the other types the gradient must record and run.
func TestGradient(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		if !s.accepted() {
			return
		}
		for _, dt := range floats {
			r, in, out := s.record(dt)
			wrt, ys := float(in), float(out)
			if len(wrt) == 0 || len(ys) == 0 {
				return
			}
			ws := weights(r, 10, ys)
			_, fused := s.Op.(Fused)
			if hasNoGrad(s.Op) && !fused {
				r.Grad(ys[0], ws[0], wrt...)
				if !errors.Is(r.Err(), ErrNotDifferentiable) || !strings.Contains(r.Err().Error(), s.Op.Name()) {
					t.Errorf("%v: a gradient fails with %v", dt, r.Err())
				}
				return
			}
			for j := range ys {
				first(t, s, dt, r, ys[j:j+1], ws[j:j+1], wrt)
			}
			if len(ys) > 1 {
				first(t, s, dt, r, ys, ws, wrt)
			}
			if dt == tensor.F64 && !s.Rough && !s.ValueOnly {
				second(t, s, r, ys, ws, wrt)
			}
		}
	})
}

// first checks the gradient of the sum of ws times ys.
func first(t *testing.T, s Sample, dt tensor.DType, r *Recorder, ys, ws, wrt []Value) {
	t.Helper()
	var dx []Value
	loss := dot(ys, ws)
	from := r.Len()
	if len(ys) == 1 {
		dx = r.Grad(ys[0], ws[0], wrt...)
	} else {
		dx = r.Grad(loss, Value{}, wrt...)
	}
	if !hasNoGrad(s.Op) { // a decomposition records its values, of which gradients need some
		needless(t, r, from, dx)
	}
	if dt != tensor.F64 || s.ValueOnly {
		eval(t, r, dx...)
		return
	}
	differences(t, "gradient", r, loss, wrt, dx)
}

// needless fails if a gradient has recorded nodes since from that its results do not need.
func needless(t *testing.T, r *Recorder, from int, dx []Value) {
	t.Helper()
	p, err := interpret(r, dx...)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < len(p.g.Nodes); i++ {
		used := false
		for j := range p.g.Nodes[i].Out {
			used = used || p.live[Edge{uint32(i), uint16(j)}]
		}
		if !used {
			t.Errorf("the gradient records a %s that nothing needs", p.g.Nodes[i].Op.Name())
		}
	}
}

// second checks the gradient of the gradient, weighted at random, with respect to the operands and to dy.
func second(t *testing.T, s Sample, r *Recorder, ys, ws, wrt []Value) {
	t.Helper()
	dx := r.Grad(dot(ys, ws), Value{}, wrt...)
	both := append(append([]Value(nil), wrt...), ws...)
	g := dot(dx, weights(r, 20, dx))
	differences(t, "second order", r, g, both, r.Grad(g, Value{}, both...))
}

// differences compares dx, the gradients of the number y, with differences of y.
func differences(t *testing.T, what string, r *Recorder, y Value, wrt, dx []Value) {
	t.Helper()
	given := eval(t, r, dx...)
	p, err := interpret(r, y)
	if err != nil {
		t.Fatal(err)
	}
	at := func() float64 {
		v, err := p.run()
		if err != nil {
			t.Fatal(err)
		}
		return v[0].At(0)
	}
	scale := 1 + math.Abs(at())
	const h = 1e-5
	for k, v := range wrt {
		feed := p.g.Feeds[v.id]
		x := p.feeds[feed]
		p.feeds[feed] = x.Clone()
		slope := func(dir tensor.Tensor) float64 {
			var y [2]float64
			for side, step := range [2]float64{h, -h} {
				for i := range x.Len() {
					p.feeds[feed].Set(i, x.At(i)+step*dir.At(i))
				}
				y[side] = at()
			}
			return (y[0] - y[1]) / (2 * h)
		}
		for name, dir := range directions(x.Shape()) {
			want, got := slope(dir), 0.0
			for i := range x.Len() {
				got += given[k].At(i) * dir.At(i)
			}
			if tol := 1e-7 * scale * (1 + math.Abs(want)); !(math.Abs(got-want) <= tol) {
				t.Errorf("%s of float operand %d, %s: %v, differences say %v", what, k, name, got, want)
			}
		}
		p.feeds[feed] = x
	}
}

// directions are each element of a small array by itself, a few of a large one, and two at random across all.
func directions(s tensor.Shape) map[string]tensor.Tensor {
	all := map[string]tensor.Tensor{"direction 1": ramp(31, s.Dims()...), "direction 2": ramp(32, s.Dims()...)}
	const most = 24
	stride := 1
	if s.Size() > most {
		stride = s.Size()/5 | 1
	}
	for i := 0; i < s.Size(); i += stride {
		e := tensor.New(tensor.Spec{DType: tensor.F64, Shape: s})
		e.Set(i, 1)
		all[fmt.Sprint("element ", i)] = e
	}
	return all
}

// TestDecompose: a fused operation equals its decomposition, special values included.
func TestDecompose(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		f, ok := s.Op.(Fused)
		if !ok || !s.accepted() {
			return
		}
		for _, dt := range floats[:2] {
			r, in, out := s.record(dt)
			parts := f.Decompose(in)
			if len(parts) != len(out) {
				t.Fatalf("%d outputs, want %d", len(parts), len(out))
			}
			tol := map[tensor.DType]float64{tensor.F64: 1e-12, tensor.F32: 1e-5}[dt]
			got, want := eval(t, r, parts...), eval(t, r, out...)
			for j := range want {
				if err := near(got[j], want[j], tol); err != nil {
					t.Errorf("%v: output %d: %v", dt, j, err)
				}
			}
		}
	})
}
