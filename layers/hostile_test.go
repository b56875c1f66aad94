package layers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileModules: a module that cannot be is an error of Build in words, never a panic.
func TestHostileModules(t *testing.T) {
	image, rows := tensor.SpecOf(tensor.F32, 2, 3, 8, 8), tensor.SpecOf(tensor.F32, 2, 5)
	for what, c := range map[string]struct {
		m  layers.Module
		in tensor.Spec
	}{
		"no module":              {nil, rows},
		"no module within":       {layers.Sequential{layers.ReLU{}, nil}, rows},
		"a nil function":         {layers.Func(nil), rows},
		"no input":               {layers.Linear{Out: 1}, tensor.Spec{}},
		"an odd input":           {layers.Linear{Out: 1}, tensor.Spec{DType: 99}},
		"a shape that cannot be": {layers.Linear{Out: 1}, tensor.SpecOf(tensor.F32, -1)},
		"no outputs":             {layers.Linear{}, rows},
		"negative outputs":       {layers.Linear{Out: math.MinInt}, rows},
		"endless outputs":        {layers.Linear{Out: math.MaxInt}, rows},
		"a linear of a number":   {layers.Linear{Out: 3}, tensor.SpecOf(tensor.F32)},
		"no kernel":              {layers.Conv2D{Out: 1}, image},
		"an endless kernel":      {layers.Conv2D{Out: 1, Kernel: math.MaxInt}, image},
		"endless padding":        {layers.Conv2D{Out: 1, Kernel: 1, Padding: math.MaxInt}, image},
		"an endless stride":      {layers.Sequential{layers.Conv2D{Out: 1, Kernel: 9, Stride: math.MaxInt}}, image},
		"a conv of rows":         {layers.Conv2D{Out: 1, Kernel: 1}, rows},
		"no window":              {layers.MaxPool2D{}, image},
		"a window of MinInt":     {layers.AvgPool2D{Size: math.MinInt}, image},
		"an endless window":      {layers.MaxPool2D{Size: math.MaxInt}, image},
		"a pool of rows":         {layers.AvgPool2D{Size: 1}, rows},
		"momentum NaN":           {layers.BatchNorm2D{Momentum: math.NaN()}, image},
		"eps -1":                 {layers.BatchNorm2D{Eps: -1}, image},
		"a norm of numbers":      {layers.BatchNorm2D{}, tensor.SpecOf(tensor.F32)},
		"dropout NaN":            {layers.Dropout{P: math.NaN()}, rows},
		"dropout 2":              {layers.Dropout{P: 2}, rows},
		"no table":               {layers.Embedding{}, tensor.SpecOf(tensor.I64, 2)},
		"an endless table":       {layers.Embedding{Rows: math.MaxInt, Size: math.MaxInt}, tensor.SpecOf(tensor.I64, 2)},
		"a table of floats":      {layers.Embedding{Rows: 2, Size: 2}, rows},
		"a function's mistake":   {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(-1), nil) }), rows},
		"a function's nil init":  {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(1), nil) }), rows},
		"a function's nothing":   {layers.Sequential{layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return ops.Value{} }), layers.ReLU{}}, rows},
		"a function's nil":       {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Run("x", nil, x) }), rows},
		"a function's nil error": {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Fail(nil) }), rows},
	} {
		calm(t, what, func() {
			net, err := layers.Build(c.m, c.in, 1, tensor.F32)
			switch {
			case err == nil:
				t.Errorf("%s: no error, but %v", what, net)
			case !strings.HasPrefix(err.Error(), "layers: "):
				t.Errorf("%s: %q does not say that it is of layers", what, err)
			}
		})
	}
	calm(t, "odd types", func() {
		for _, d := range []tensor.DType{tensor.None, tensor.I64, tensor.Bool, 99} {
			if _, err := layers.Build(layers.ReLU{}, rows, 1, d); err == nil {
				t.Errorf("parameters of type %v", d)
			}
		}
	})
	calm(t, "the zero net", func() {
		var n layers.Net
		_ = fmt.Sprint(&n, n.Params(), n.State(), n.Summary())
		tape := autograd.New(nil)
		n.Forward(tape, tape.Input("x", tensor.New(rows)), layers.Train)
		if tape.Err() == nil {
			t.Error("no error")
		}
	})
}

// calm turns a panic into a failure.
func calm(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", what, p)
		}
	}()
	f()
}
