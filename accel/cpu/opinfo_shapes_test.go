package cpu_test

import (
	"math"
	"slices"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// shapeBuilders move elements.
var shapeBuilders = map[string]build{
	"reshape": one(func(c *opCall) ops.Value { return c.value(0, "").Reshape(c.ints(1, "shape")...) }),
	"permute": one(func(c *opCall) ops.Value {
		if c.value(0, "").Rank() == 0 {
			return c.value(0, "")
		}
		return c.value(0, "").Transpose(c.ints(1, "dims")...)
	}),
	"transpose": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		if x.Rank() == 0 {
			return x
		}
		var perm []int
		for i := range x.Rank() {
			perm = append(perm, i)
		}
		i, j := (c.int(1, "", 0)+x.Rank())%x.Rank(), (c.int(2, "", 0)+x.Rank())%x.Rank()
		perm[i], perm[j] = perm[j], perm[i]
		return x.Transpose(perm...)
	}),
	"squeeze": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		if axes := c.ints(1, "dim"); axes != nil && (x.Rank() == 0 || len(axes) == 0) {
			return x
		} else {
			return x.Squeeze(axes...)
		}
	}),
	"unsqueeze":    one(func(c *opCall) ops.Value { return c.value(0, "").Unsqueeze(c.int(1, "dim", 0)) }),
	"expand":       one(func(c *opCall) ops.Value { return c.value(0, "").Expand(c.ints(1, "size")...) }),
	"broadcast_to": one(func(c *opCall) ops.Value { return c.value(0, "").Expand(c.ints(1, "size")...) }),
	"cat": one(func(c *opCall) ops.Value {
		var parts []ops.Value
		for _, x := range c.list(0) {
			if x.Shape() != tensor.Of(0) { // PyTorch drops empty vectors
				parts = append(parts, x)
			}
		}
		if len(parts) == 0 {
			parts = c.list(0)
		}
		return ops.Concat(c.int(1, "dim", 0), parts...)
	}),
	"stack": one(func(c *opCall) ops.Value { return ops.Stack(c.int(1, "dim", 0), c.list(0)...) }),
	"split": func(c *opCall) (parts []ops.Value) {
		x, axis := c.value(0, ""), c.int(2, "dim", 0)
		sizes := c.ints(1, "")
		if _, number := c.Args[1].(float64); number {
			each := sizes[0]
			sizes = nil
			for at := 0; at < x.Dim(axis); at += each {
				sizes = append(sizes, min(each, x.Dim(axis)-at))
			}
		}
		at := 0
		for _, n := range sizes {
			parts = append(parts, x.Narrow(axis, at, n))
			at += n
		}
		return parts
	},
	"chunk": func(c *opCall) []ops.Value { return c.value(0, "").Chunk(c.int(2, "dim", 0), c.int(1, "", 1)) },
	"narrow": one(func(c *opCall) ops.Value {
		start := c.int(2, "start", 0)
		if m, ok := c.Args[2].(map[string]any); ok {
			start = int(c.opCase.in[int(m["t"].(float64))].Int(0))
		}
		x, axis := c.value(0, ""), c.int(1, "dim", 0)
		if start < 0 {
			start += x.Dim(axis)
		}
		return x.Narrow(axis, start, c.int(3, "length", 0))
	}),
	"__getitem__": one(getItem),
	"flip": one(func(c *opCall) ops.Value {
		if axes := c.ints(1, "dims"); len(axes) > 0 {
			return c.value(0, "").Flip(axes...)
		}
		return c.value(0, "")
	}),
	"roll": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		shifts, axes := c.ints(1, "shifts"), c.ints(2, "dims")
		if len(axes) == 0 {
			return x.Reshape(-1).Roll(0, shifts[0]).Reshape(x.Shape().Dims()...)
		}
		for i, a := range axes {
			x = x.Roll(a, shifts[i])
		}
		return x
	}),
	"tile":   one(func(c *opCall) ops.Value { return c.value(0, "").Tile(c.ints(1, "dims")...) }),
	"repeat": one(func(c *opCall) ops.Value { return c.value(0, "").Tile(c.ints(1, "repeats")...) }),
	"tril":   one(func(c *opCall) ops.Value { return c.value(0, "").Tril(c.int(1, "diagonal", 0)) }),
	"triu":   one(func(c *opCall) ops.Value { return c.value(0, "").Triu(c.int(1, "diagonal", 0)) }),
	"topk": func(c *opCall) []ops.Value {
		largest := true
		if b, ok := c.arg(3, "largest").(bool); ok {
			largest = b
		}
		return pair(c, func(x ops.Value) (ops.Value, ops.Value) {
			return ops.TopKAlong(x, c.int(2, "dim", -1), c.int(1, "k", 1), !largest)
		})
	},
	"sort": func(c *opCall) []ops.Value {
		return pair(c, func(x ops.Value) (ops.Value, ops.Value) {
			return ops.Sort(x, c.int(1, "dim", -1), c.bool(2, "descending"))
		})
	},
	"gather": one(func(c *opCall) ops.Value {
		x, idx, axis := line(c.value(0, "")), line(c.value(2, "index")), c.int(1, "dim", 0)
		if idx.Shape().Size() == 0 { // of any type and shape
			return ops.Zeros(c.tape.Recorder(), tensor.Spec{DType: c.dt, Shape: c.value(2, "index").Shape()}).Add(x.Sum().Scale(0))
		}
		y := inside(x, idx, axis).TakeAlong(axis, idx)
		return y.Reshape(c.value(2, "index").Shape().Dims()...)
	}),
	"scatter_add": one(func(c *opCall) ops.Value {
		x, idx, axis := line(c.value(0, "")), line(c.value(2, "index")), c.int(1, "dim", 0)
		src := line(c.value(3, "src"))
		for i := range src.Rank() {
			src = src.Narrow(i, 0, idx.Dim(i))
		}
		axis = (axis + x.Rank()) % x.Rank()
		sum := ops.Apply(ops.AddAlongOp{Axis: int8(axis), Size: x.Dim(axis)}, src, idx)
		for i := range x.Rank() {
			sum = sum.Pad(i, 0, x.Dim(i)-sum.Dim(i), 0)
		}
		return x.Add(sum).Reshape(c.value(0, "").Shape().Dims()...)
	}),
	"index_select": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		y := line(x).Gather(c.int(1, "dim", 0), line(c.value(2, "index")))
		return y.Reshape(c.opCase.out[0].Shape().Dims()...)
	}),
	"nn.functional.embedding": one(func(c *opCall) ops.Value { return ops.Embedding(c.value(0, ""), c.value(1, "")) }),
	"nn.functional.pad":       one(pad),
	"nn.functional.pixel_shuffle": one(func(c *opCall) ops.Value {
		return ops.PixelShuffle(c.value(0, ""), c.int(1, "upscale_factor", 1))
	}),
	"nn.functional.interpolate": one(interpolate),
}

// pair is an operation with indices, on a vector where PyTorch takes a number.
func pair(c *opCall, f func(x ops.Value) (ops.Value, ops.Value)) []ops.Value {
	x := c.value(0, "")
	values, indices := f(line(x))
	if x.Rank() == 0 {
		return []ops.Value{values.Reshape(), indices.Reshape()}
	}
	return []ops.Value{values, indices}
}

// inside is the part of x that indices of a smaller shape can reach.
func inside(x, idx ops.Value, axis int) ops.Value {
	axis = (axis + x.Rank()) % x.Rank()
	for i := range x.Rank() {
		if i != axis {
			x = x.Narrow(i, 0, idx.Dim(i))
		}
	}
	return x
}

// pad is a list of pairs, the last axis first.
func pad(c *opCall) ops.Value {
	x, list := c.value(0, ""), c.ints(1, "pad")
	mode := c.string(2, "mode")
	for i := 0; i < len(list)/2; i++ {
		axis, lo, hi := -1-i, list[2*i], list[2*i+1]
		switch mode {
		case "", "constant":
			x = x.Pad(axis, lo, hi, c.float(3, "value", 0))
		default:
			x = x.PadWith(map[string]ops.PadMode{"reflect": ops.Reflect, "replicate": ops.Replicate, "circular": ops.Circular}[mode], axis, lo, hi)
		}
	}
	return x
}

// interpolate has sizes, or factors from which they follow.
func interpolate(c *opCall) ops.Value {
	x := c.value(0, "")
	n := x.Rank() - 2
	s := ops.Scaling{Align: c.bool(-1, "align_corners"), Mode: map[string]ops.ResizeMode{
		"nearest": ops.Nearest, "nearest-exact": ops.NearestExact, "linear": ops.Bilinear, "bilinear": ops.Bilinear, "trilinear": ops.Bilinear,
		"bicubic": ops.Bicubic, "area": ops.Area,
	}[c.string(-1, "mode")]}
	if sizes := c.ints(1, "size"); sizes != nil {
		s.Size = c.each(n, 1, "size", 0)
		return ops.Resize(x, s)
	}
	factor := c.float(2, "scale_factor", 1)
	for i := range n {
		s.Size = append(s.Size, int(math.Floor(float64(x.Dim(2+i))*factor)))
		s.Factor = append(s.Factor, factor)
	}
	if c.bool(-1, "recompute_scale_factor") {
		s.Factor = nil
	}
	return ops.Resize(x, s)
}

// getItem indexes as numpy does. Lists of numbers that stand in several places run together, as one new axis: at the first of those places if
// they are neighbours, else in front.
func getItem(c *opCall) ops.Value {
	x := c.value(0, "")
	list, ok := c.Args[1].([]any)
	numbers := ok && !slices.ContainsFunc(list, func(a any) bool { _, is := a.(float64); return !is })
	if !ok || numbers { // numbers alone are a list of rows, not an element
		list = []any{c.Args[1]}
	}
	axis := 0
	var places []int
	var index []ops.Value
	for i, a := range list {
		switch a := a.(type) {
		case float64:
			x = x.Narrow(axis, int(a), 1).Squeeze(axis)
			continue
		case map[string]any:
			if _, ok := a["ellipsis"]; ok {
				axis = x.Rank() - (len(list) - 1 - i)
				continue
			}
			if s, ok := a["slice"].([]any); ok {
				bound := func(k, otherwise int) int {
					if f, ok := s[k].(float64); ok {
						return int(f)
					}
					return otherwise
				}
				x = ops.SliceStep(x, axis, bound(0, 0), bound(1, math.MaxInt), bound(2, 1))
				axis++
				continue
			}
			idx := c.valueOf(a)
			if c.opCase.in[int(a["t"].(float64))].DType() == tensor.U8 { // a mask, which is known
				mask := c.opCase.in[int(a["t"].(float64))]
				var at []int64
				for k := range mask.Len() {
					if mask.Int(k) != 0 {
						at = append(at, int64(k))
					}
				}
				idx = c.tape.Input("mask", tensor.Must(tensor.From(at)))
			}
			index = append(index, idx)
		case []any:
			var at []int64
			for _, v := range a {
				at = append(at, int64(v.(float64)))
			}
			index = append(index, c.tape.Input("index"+string(rune('a'+i)), tensor.Must(tensor.From(at))))
		}
		places = append(places, axis)
		axis++
	}
	switch len(index) {
	case 0:
		return x
	case 1:
		return x.Gather(places[0], index[0])
	}
	// The indexed axes become one, which a single number of each row indexes.
	var perm []int
	for i := range x.Rank() {
		if !slices.Contains(places, i) {
			perm = append(perm, i)
		}
	}
	to := 0
	if places[len(places)-1]-places[0] == len(places)-1 {
		to = places[0]
	}
	perm = slices.Insert(perm, to, places...)
	x = x.Transpose(perm...)
	dims := x.Shape().Dims()
	flat := index[0]
	n := dims[to]
	for k := 1; k < len(index); k++ {
		size := ops.Full(c.tape.Recorder(), tensor.Spec{DType: tensor.I64}, float64(dims[to+k]))
		flat = flat.Mul(size).Add(index[k])
		n *= dims[to+k]
	}
	dims = slices.Replace(dims, to, to+len(index), n)
	return x.Reshape(dims...).Gather(to, flat)
}
