package cpu_test

import (
	"math"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// opCall is a case being recorded; its methods read PyTorch's arguments, and panic on what no case has.
type opCall struct {
	*opCase
	tape *autograd.Tape
	dt   tensor.DType
	in   []ops.Value
	host []tensor.Tensor // what they are
}

// arg is argument i, or the one of that name; nil if there is neither.
func (c *opCall) arg(i int, name string) any {
	a := c.Kwargs[name]
	if i >= 0 && i < len(c.Args) {
		a = c.Args[i]
	}
	if s, ok := a.(string); ok {
		if x, ok := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[s]; ok {
			return x
		}
	}
	return a
}

// value is a tensor argument; the zero Value if it is not there. A number becomes one of rank 0.
func (c *opCall) value(i int, name string) ops.Value { return c.valueOf(c.arg(i, name)) }

func (c *opCall) valueOf(a any) ops.Value {
	switch a := a.(type) {
	case map[string]any:
		return c.in[int(a["t"].(float64))]
	case float64:
		return ops.Full(c.tape.Recorder(), tensor.Spec{DType: c.dt}, a)
	}
	return ops.Value{}
}

// variable is a tensor argument as a variable, nil if it is not there.
func (c *opCall) variable(name string) *ops.Variable {
	if a, ok := c.arg(-1, name).(map[string]any); ok {
		return ops.NewVariable(name, c.host[int(a["t"].(float64))])
	}
	return nil
}

// list is a list of tensors.
func (c *opCall) list(i int) (vs []ops.Value) {
	for _, a := range c.Args[i].([]any) {
		vs = append(vs, c.valueOf(a))
	}
	return vs
}

func (c *opCall) float(i int, name string, otherwise float64) float64 {
	if x, ok := c.arg(i, name).(float64); ok {
		return x
	}
	return otherwise
}

func (c *opCall) int(i int, name string, otherwise int) int {
	return int(c.float(i, name, float64(otherwise)))
}

func (c *opCall) bool(i int, name string) bool {
	b, _ := c.arg(i, name).(bool)
	return b
}

func (c *opCall) string(i int, name string) string {
	s, _ := c.arg(i, name).(string)
	return s
}

// ints is a list of numbers, or one number as a list; nil if it is not there.
func (c *opCall) ints(i int, name string) (list []int) {
	switch a := c.arg(i, name).(type) {
	case float64:
		return []int{int(a)}
	case []any:
		list = []int{}
		for _, x := range a {
			list = append(list, int(x.(float64)))
		}
	}
	return list
}

// each is ints with one number for each of n axes.
func (c *opCall) each(n, i int, name string, otherwise int) []int {
	list := c.ints(i, name)
	if list == nil {
		list = []int{otherwise}
	}
	for len(list) < n {
		list = append(list, list[0])
	}
	return list
}

// line is x, or a vector of one element of an x of rank 0: there PyTorch takes the axes 0 and -1 all the same.
func line(x ops.Value) ops.Value {
	if x.Rank() == 0 {
		return x.Reshape(1)
	}
	return x
}

// at is x with the axes of an operation f on line(x) undone.
func at(x ops.Value, f func(x ops.Value) ops.Value) []ops.Value {
	y := f(line(x))
	if x.Rank() == 0 && y.Rank() == 1 {
		y = y.Reshape()
	}
	return []ops.Value{y}
}

type build = func(c *opCall) []ops.Value

func one(f func(c *opCall) ops.Value) build {
	return func(c *opCall) []ops.Value { return []ops.Value{f(c)} }
}

func unary(f func(x ops.Value) ops.Value) build {
	return one(func(c *opCall) ops.Value { return f(c.value(0, "")) })
}

func binary2(f func(x, y ops.Value) ops.Value) build {
	return one(func(c *opCall) ops.Value { return f(c.value(0, ""), c.value(1, "other")) })
}

// compared is binary2 for relations and logic, whose results PyTorch's files have as bytes.
func logic(f func(x, y ops.Value) ops.Value) build {
	return one(func(c *opCall) ops.Value { return f(c.value(0, ""), c.value(1, "other")).Cast(tensor.U8) })
}

// reduction folds axes; fold gets them from the start, and none for rank 0.
func reduction(fold func(c *opCall, x ops.Value, axes []int) ops.Value) build {
	return one(func(c *opCall) ops.Value {
		x := line(c.value(0, ""))
		axes := c.ints(1, "dim")
		if b, ok := c.arg(1, "").(bool); ok && b || len(axes) == 0 { // the flag of std(x, unbiased)
			axes = nil
			for i := range x.Rank() {
				axes = append(axes, i)
			}
		}
		y := fold(c, x, axes)
		if c.bool(2, "keepdim") && c.value(0, "").Rank() > 0 {
			dims := x.Shape().Dims()
			for _, a := range axes {
				dims[(a+x.Rank())%x.Rank()] = 1
			}
			y = y.Reshape(dims...)
		}
		return y
	})
}

func fold(f func(x ops.Value, axes ...int) ops.Value) build {
	return reduction(func(_ *opCall, x ops.Value, axes []int) ops.Value { return f(x, axes...) })
}

func winner(f func(x ops.Value, axis int) ops.Value) build {
	return reduction(func(c *opCall, x ops.Value, axes []int) ops.Value {
		if c.arg(1, "dim") == nil {
			return f(x.Reshape(-1), 0)
		}
		return f(x, axes[0])
	})
}

// correction is that of var and std.
func correction(c *opCall) float64 {
	if u, ok := c.arg(1, "unbiased").(bool); ok && !u {
		return 0
	}
	if u, ok := c.Kwargs["unbiased"].(bool); ok && !u {
		return 0
	}
	return c.float(-1, "correction", 1)
}

// builders say each of PyTorch's operations in ours; those that move elements are in shapeBuilders.
var builders = map[string]build{
	"neg": unary(ops.Value.Neg), "abs": unary(ops.Value.Abs), "sign": unary(ops.Value.Sign), "exp": unary(ops.Value.Exp), "expm1": unary(ops.Value.Expm1),
	"log": unary(ops.Value.Log), "log1p": unary(ops.Value.Log1p), "sqrt": unary(ops.Value.Sqrt), "rsqrt": unary(ops.Value.Rsqrt),
	"square": unary(ops.Value.Square), "reciprocal": unary(ops.Value.Reciprocal), "sin": unary(ops.Value.Sin), "cos": unary(ops.Value.Cos),
	"tanh": unary(ops.Value.Tanh), "sigmoid": unary(ops.Value.Sigmoid), "erf": unary(ops.Value.Erf), "floor": unary(ops.Value.Floor), "ceil": unary(ops.Value.Ceil),
	"nn.functional.relu": unary(ops.Value.ReLU), "nn.functional.silu": unary(ops.Value.SiLU), "nn.functional.logsigmoid": unary(ops.Value.LogSigmoid),
	"round": one(func(c *opCall) ops.Value { return c.value(0, "").RoundTo(c.int(-1, "decimals", 0)) }),
	"nn.functional.gelu": one(func(c *opCall) ops.Value {
		if c.string(1, "approximate") == "tanh" {
			return c.value(0, "").GELUTanh()
		}
		return c.value(0, "").GELU()
	}),
	"nn.functional.leaky_relu": one(func(c *opCall) ops.Value { return c.value(0, "").LeakyReLU(c.float(1, "negative_slope", 0.01)) }),
	"nn.functional.elu":        one(func(c *opCall) ops.Value { return c.value(0, "").ELU(c.float(1, "alpha", 1)) }),
	"nn.functional.hardtanh": one(func(c *opCall) ops.Value {
		x, lo, hi := c.value(0, ""), c.float(1, "min_val", -1), c.float(2, "max_val", 1)
		number := func(n float64) ops.Value { return ops.Full(c.tape.Recorder(), tensor.Spec{DType: c.dt}, n) }
		inside := x.Greater(number(lo)).And(x.Less(number(hi)))
		return ops.Where(inside, x, x.Clip(lo, hi).StopGradient()) // no gradient on the bounds, where PyTorch's clamp has one
	}),
	"nn.functional.softplus": one(func(c *opCall) ops.Value {
		x, beta := c.value(0, ""), c.float(1, "beta", 1)
		threshold := ops.Full(c.tape.Recorder(), tensor.Spec{DType: c.dt}, c.float(2, "threshold", 20))
		return ops.Where(x.Scale(beta).Greater(threshold), x, x.Scale(beta).Softplus().Scale(1/beta))
	}),
	"clamp": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		if lo := c.value(1, "min"); !lo.IsNone() {
			x = x.Maximum(lo.Cast(c.dt))
		}
		if hi := c.value(2, "max"); !hi.IsNone() {
			x = x.Minimum(hi.Cast(c.dt))
		}
		return x
	}),
	"add": one(func(c *opCall) ops.Value { return c.value(0, "").Add(c.value(1, "").Scale(c.float(-1, "alpha", 1))) }),
	"sub": one(func(c *opCall) ops.Value { return c.value(0, "").Sub(c.value(1, "").Scale(c.float(-1, "alpha", 1))) }),
	"mul": binary2(ops.Value.Mul), "pow": binary2(ops.Value.Pow), "maximum": binary2(ops.Value.Maximum), "minimum": binary2(ops.Value.Minimum),
	"div": one(func(c *opCall) ops.Value {
		x, y := c.value(0, ""), c.value(1, "")
		switch c.string(-1, "rounding_mode") {
		case "floor":
			return x.FloorDiv(y)
		case "trunc":
			return x.TruncDiv(y)
		}
		return x.Div(y)
	}),
	"eq": logic(ops.Value.Equal), "ne": logic(ops.Value.NotEqual), "lt": logic(ops.Value.Less), "le": logic(ops.Value.LessEqual),
	"gt": logic(ops.Value.Greater), "ge": logic(ops.Value.GreaterEqual),
	"logical_and": logic(ops.Value.And), "logical_or": logic(ops.Value.Or), "logical_xor": logic(ops.Value.Xor),
	"logical_not": one(func(c *opCall) ops.Value { return c.value(0, "").Not().Cast(tensor.U8) }),
	"where": one(func(c *opCall) ops.Value {
		return ops.Where(c.value(1, "").Cast(tensor.Bool), c.value(0, ""), c.value(2, ""))
	}),

	"sum": fold(ops.Value.Sum), "mean": fold(ops.Value.Mean), "amax": fold(ops.Value.Max), "amin": fold(ops.Value.Min), "prod": fold(ops.Value.Prod),
	"logsumexp": fold(ops.Value.LogSumExp), "argmax": winner(ops.Value.ArgMax), "argmin": winner(ops.Value.ArgMin),
	"var": reduction(func(c *opCall, x ops.Value, axes []int) ops.Value { return x.Var(correction(c), axes...) }),
	"std": reduction(func(c *opCall, x ops.Value, axes []int) ops.Value { return x.Std(correction(c), axes...) }),
	"cumsum": func(c *opCall) []ops.Value {
		return at(c.value(0, ""), func(x ops.Value) ops.Value { return x.Cumsum(c.int(1, "dim", 0)) })
	},
	"softmax": func(c *opCall) []ops.Value {
		return at(c.value(0, ""), func(x ops.Value) ops.Value { return x.Softmax(c.int(1, "dim", 0)) })
	},
	"log_softmax": func(c *opCall) []ops.Value {
		return at(c.value(0, ""), func(x ops.Value) ops.Value { return x.LogSoftmax(c.int(1, "dim", 0)) })
	},

	"matmul": one(func(c *opCall) ops.Value { return matmul(c.value(0, ""), c.value(1, "")) }),
	"bmm":    one(func(c *opCall) ops.Value { return matmul(c.value(0, ""), c.value(1, "")) }),
	"mm":     one(func(c *opCall) ops.Value { return matmul(c.value(0, ""), c.value(1, "")) }),
	"addmm": one(func(c *opCall) ops.Value {
		return c.value(0, "").Scale(c.float(-1, "beta", 1)).Add(c.value(1, "").MatMul(c.value(2, "")).Scale(c.float(-1, "alpha", 1)))
	}),
	"nn.functional.linear": one(func(c *opCall) ops.Value {
		x, w, b := c.value(0, ""), c.value(1, ""), c.value(2, "bias")
		if w.Rank() == 1 {
			y := matmul(x, w)
			if !b.IsNone() {
				y = y.Add(b)
			}
			return y
		}
		if x.Rank() == 1 {
			return ops.Linear(x.Unsqueeze(0), w, b).Squeeze(0)
		}
		return ops.Linear(x, w, b)
	}),
}

// builderOf finds an operation in the tables, with or without the variant behind its name.
func builderOf(op string) build {
	if i := strings.LastIndexByte(op, '.'); i > len("nn.functional") || i > 0 && !strings.HasPrefix(op, "nn.") {
		op = op[:i]
	}
	for _, table := range []map[string]build{builders, shapeBuilders, lossBuilders, imageBuilders} {
		if f := table[op]; f != nil {
			return f
		}
	}
	return nil
}

// matmul treats vectors as PyTorch does.
func matmul(a, b ops.Value) ops.Value {
	switch {
	case a.Rank() == 1 && b.Rank() == 1:
		return a.Mul(b).Sum()
	case a.Rank() == 1:
		return a.Unsqueeze(0).MatMul(b).Squeeze(-2)
	case b.Rank() == 1:
		return a.MatMul(b.Unsqueeze(-1)).Squeeze(-1)
	}
	return a.MatMul(b)
}
