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
	image, rows, series := tensor.SpecOf(tensor.F32, 2, 3, 8, 8), tensor.SpecOf(tensor.F32, 2, 5), tensor.SpecOf(tensor.F32, 2, 3, 8)
	for what, c := range map[string]struct {
		m  layers.Module
		in tensor.Spec
	}{
		"no module":               {nil, rows},
		"no module within":        {layers.Sequential{layers.ReLU{}, nil}, rows},
		"a nil function":          {layers.Func(nil), rows},
		"no input":                {layers.Linear{Out: 1}, tensor.Spec{}},
		"an odd input":            {layers.Linear{Out: 1}, tensor.Spec{DType: 99}},
		"a shape that cannot be":  {layers.Linear{Out: 1}, tensor.SpecOf(tensor.F32, -1)},
		"no outputs":              {layers.Linear{}, rows},
		"negative outputs":        {layers.Linear{Out: math.MinInt}, rows},
		"endless outputs":         {layers.Linear{Out: math.MaxInt}, rows},
		"a linear of a number":    {layers.Linear{Out: 3}, tensor.SpecOf(tensor.F32)},
		"no kernel":               {layers.Conv2D{Out: 1}, image},
		"an endless kernel":       {layers.Conv2D{Out: 1, Kernel: math.MaxInt}, image},
		"endless padding":         {layers.Conv2D{Out: 1, Kernel: 1, Padding: math.MaxInt}, image},
		"an endless stride":       {layers.Sequential{layers.Conv2D{Out: 1, Kernel: 9, Stride: math.MaxInt}}, image},
		"a conv of rows":          {layers.Conv2D{Out: 1, Kernel: 1}, rows},
		"no window":               {layers.MaxPool2D{}, image},
		"a window of MinInt":      {layers.AvgPool2D{Size: math.MinInt}, image},
		"an endless window":       {layers.MaxPool2D{Size: math.MaxInt}, image},
		"a pool of rows":          {layers.AvgPool2D{Size: 1}, rows},
		"momentum NaN":            {layers.BatchNorm2D{Momentum: math.NaN()}, image},
		"eps -1":                  {layers.BatchNorm2D{Eps: -1}, image},
		"a norm of numbers":       {layers.BatchNorm2D{}, tensor.SpecOf(tensor.F32)},
		"dropout NaN":             {layers.Dropout{P: math.NaN()}, rows},
		"dropout 2":               {layers.Dropout{P: 2}, rows},
		"no table":                {layers.Embedding{}, tensor.SpecOf(tensor.I64, 2)},
		"an endless table":        {layers.Embedding{Rows: math.MaxInt, Size: math.MaxInt}, tensor.SpecOf(tensor.I64, 2)},
		"a table of floats":       {layers.Embedding{Rows: 2, Size: 2}, rows},
		"a window of conv1d":      {layers.Conv1D{Out: 1, Kernel: 9}, series},
		"conv1d of images":        {layers.Conv1D{Out: 1, Kernel: 1}, image},
		"endless dilation":        {layers.Conv1D{Out: 1, Kernel: 2, Dilation: math.MaxInt}, series},
		"endless groups":          {layers.Conv2D{Out: math.MaxInt, Kernel: 1, Groups: math.MaxInt}, image},
		"a transposed nothing":    {layers.ConvTranspose2D{}, image},
		"an endless adjoint":      {layers.ConvTranspose2D{Out: 1, Kernel: 1, Stride: math.MaxInt}, image},
		"an endless extra":        {layers.ConvTranspose1D{Out: 1, Kernel: 1, Stride: math.MaxInt, Extra: math.MaxInt - 1}, series},
		"an adjoint of images":    {layers.ConvTranspose1D{Out: 1, Kernel: 1}, image},
		"no parts":                {layers.AdaptiveAvgPool2D{}, image},
		"parts of MinInt":         {layers.AdaptiveMaxPool2D{Height: math.MinInt, Width: 1}, image},
		"parts of rows":           {layers.AdaptiveMaxPool1D{Size: 1}, rows},
		"endless parts":           {layers.AdaptiveAvgPool1D{Size: math.MaxInt}, series},
		"a global pool of rows":   {layers.GlobalMaxPool{}, rows},
		"no factor":               {layers.Upsample{}, image},
		"an endless factor":       {layers.Upsample{Factor: math.MaxInt}, image},
		"aligned neighbours":      {layers.Upsample{Factor: 2, Align: true}, image},
		"upsampled rows":          {layers.Upsample{Factor: 2}, rows},
		"no such resize":          {layers.Upsample{Factor: 2, Mode: 99}, image},
		"shuffled rows":           {layers.PixelShuffle{Factor: 2}, rows},
		"an endless shuffle":      {layers.PixelShuffle{Factor: math.MaxInt}, image},
		"an odd unshuffle":        {layers.PixelUnshuffle{Factor: 3}, image},
		"MinInt unshuffled":       {layers.PixelUnshuffle{Factor: math.MinInt}, image},
		"far padding":             {layers.ConstantPad2D{Top: math.MaxInt, Bottom: math.MaxInt}, image},
		"a reflection too far":    {layers.Pad2D{Left: 8}, image},
		"no such padding":         {layers.Pad2D{Mode: 99, Left: 1}, image},
		"padding of numbers":      {layers.Pad2D{Left: 1}, tensor.SpecOf(tensor.F32)},
		"nothing to clip to":      {layers.Hardtanh{Min: 2, Max: 1}, rows},
		"a NaN to clip to":        {layers.Hardtanh{Max: math.NaN()}, rows},
		"softmax of no axis":      {layers.Softmax{Axis: 2}, rows},
		"log-softmax of MinInt":   {layers.LogSoftmax{Axis: math.MinInt}, rows},
		"clip NaN of integers":    {layers.Hardtanh{Min: math.NaN()}, tensor.SpecOf(tensor.Bool, 2)},
		"softmax of a number":     {layers.Softmax{}, tensor.SpecOf(tensor.F32)},
		"gelu of integers":        {layers.GELU{}, tensor.SpecOf(tensor.I64, 2)},
		"too many axes":           {layers.LayerNorm{Axes: 3}, rows},
		"axes of MinInt":          {layers.RMSNorm{Axes: math.MinInt}, rows},
		"eps NaN":                 {layers.LayerNorm{Eps: math.NaN()}, rows},
		"eps inf":                 {layers.GroupNorm{Groups: 1, Eps: math.Inf(1)}, image},
		"a norm of integers":      {layers.RMSNorm{}, tensor.SpecOf(tensor.I64, 2, 2)},
		"no groups":               {layers.GroupNorm{}, image},
		"uneven groups":           {layers.GroupNorm{Groups: 2}, image},
		"groups of numbers":       {layers.GroupNorm{Groups: 1}, tensor.SpecOf(tensor.F32)},
		"no hidden":               {layers.LSTM{}, series},
		"endless hidden":          {layers.LSTM{Hidden: math.MaxInt}, series},
		"endless layers":          {layers.GRU{Hidden: 1, Layers: math.MaxInt}, series},
		"recurrent dropout":       {layers.GRU{Hidden: 1, Dropout: math.NaN()}, series},
		"an LSTM of rows":         {layers.LSTM{Hidden: 1}, rows},
		"a GRU of integers":       {layers.GRU{Hidden: 1}, tensor.SpecOf(tensor.I64, 1, 2, 3)},
		"no heads":                {layers.MultiHeadAttention{}, series},
		"heads of MinInt":         {layers.MultiHeadAttention{Heads: math.MinInt}, series},
		"heads that do not fit":   {layers.MultiHeadAttention{Heads: 3}, series},
		"groups of heads":         {layers.MultiHeadAttention{Heads: 4, KVHeads: 3}, series},
		"attention of images":     {layers.MultiHeadAttention{Heads: 1}, image},
		"attention dropout":       {layers.MultiHeadAttention{Heads: 1, Dropout: -1}, series},
		"no places":               {layers.Positions{}, series},
		"too few places":          {layers.Positions{Max: 2}, series},
		"places of rows":          {layers.Positions{Max: 2}, rows},
		"a block of rows":         {layers.TransformerBlock{Heads: 1}, rows},
		"a negative block":        {layers.TransformerBlock{Heads: 1, Hidden: -1}, series},
		"a block's dropout":       {layers.TransformerBlock{Heads: 1, Dropout: 7}, series},
		"a block of rows of 0":    {layers.TransformerBlock{Heads: 1}, tensor.SpecOf(tensor.F32, 1, 1, 0)},
		"no channels":             {layers.BasicBlock{}, image},
		"a stride of MinInt":      {layers.BasicBlock{Out: 1, Stride: math.MinInt}, image},
		"a block of numbers":      {layers.BasicBlock{Out: 1}, tensor.SpecOf(tensor.F32)},
		"a residual of nothing":   {layers.Residual{}, rows},
		"a residual that shrinks": {layers.Residual{Body: layers.Linear{Out: 1}}, rows},
		"a name with a dot":       {layers.Sequential{layers.Name("a.b", layers.ReLU{})}, rows},
		"an empty name":           {layers.Name("", layers.ReLU{}), rows},
		"a name of nothing":       {layers.Name("a", nil), rows},
		"a name twice":            {layers.Sequential{layers.Name("a", layers.ReLU{}), layers.Name("a", layers.ReLU{})}, rows},
		"a name that is taken":    {layers.Sequential{layers.ReLU{}, layers.Name("0", layers.ReLU{})}, rows},
		"a function's mistake":    {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(-1), nil) }), rows},
		"a function's nil init":   {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Param("w", tensor.Of(1), nil) }), rows},
		"a function's nothing":    {layers.Sequential{layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return ops.Value{} }), layers.ReLU{}}, rows},
		"a function's nil":        {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Run("x", nil, x) }), rows},
		"a function's nil error":  {layers.Func(func(c *layers.Context, x ops.Value) ops.Value { return c.Fail(nil) }), rows},
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
