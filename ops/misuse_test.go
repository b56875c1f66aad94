package ops

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
)

// A userOp goes wrong in the way of its kind.
type userOp struct{ Kind userKind }

type userKind int

const (
	good userKind = iota
	refuses
	panicsInInfer
	invalidSpec
	givesNothing
	failsInGrad
	panicsInGrad
	wrongGrad
	drawsInGrad
)

var errUser = errors.New("the user's own words")

func (userOp) Name() string                    { return "user's" }
func (userOp) Cost(in, out []tensor.Spec) Cost { return Cost{} }
func (userOp) Ref(out, in []tensor.Tensor) error {
	out[0].CopyFrom(in[0])
	return nil
}
func (o userOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	switch o.Kind {
	case refuses:
		return nil, errUser
	case panicsInInfer:
		panic("Infer went wrong")
	case invalidSpec:
		return []tensor.Spec{{}}, nil
	case givesNothing:
		return nil, nil
	}
	return in[:1], nil
}
func (o userOp) Grad(b *Backward) {
	switch o.Kind {
	case failsInGrad:
		b.Fail(errUser)
	case panicsInGrad:
		panic("Grad went wrong")
	case wrongGrad:
		b.Set(0, b.DyOrZero(0).Sum())
	case drawsInGrad:
		b.Set(0, Dropout(b.DyOrZero(0), 0.5))
	default:
		b.Set(0, b.DyOrZero(0))
	}
}

// fails expects an error with a cause, words; cause nil is any.
func fails(t *testing.T, err, cause error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want %q", words)
		return
	}
	if cause != nil && !errors.Is(err, cause) {
		t.Errorf("%v: the cause is not %v", err, cause)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v: no %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "%!") {
		t.Errorf("%v", err)
	}
}

// TestMisuse: every wrong use of values has words and the user's line, and the next recording works.
func TestMisuse(t *testing.T) {
	r, other := NewRecorder(), NewRecorder()
	w := NewVariable("w", farr(d(2), 1, 2))
	x := farr(d(2), 1, 2)
	stale := r.Input("x", x, -1).Exp()
	foreign := other.Input("x", x, -1)
	try := func(cause error, words string, f func(v Value) Value) {
		t.Helper()
		r.Begin()
		_, err := r.Graph(true, f(r.Input("x", x, -1)))
		fails(t, err, cause, words, "misuse_test.go:")
		r.Begin()
		check(t, "works again", eval(t, r, r.Input("x", x, -1).Neg())[0], -1, -2)
		r.Begin()
	}
	try(ErrMisuse, "argument 1 is a stale Value", func(v Value) Value { return v.Add(stale) })
	try(ErrMisuse, "argument 0 is a stale Value", func(Value) Value { return stale.Neg() })
	try(ErrMisuse, "result 0 is a stale Value", func(Value) Value { return stale })
	try(ErrMisuse, "argument 1 is a Value of another tape", func(v Value) Value { return v.Add(foreign) })
	try(ErrMisuse, "argument 1 is the zero Value", func(v Value) Value { return v.Add(Value{}) })
	try(ErrMisuse, "argument 0 is the zero Value", func(v Value) Value { return Value{}.Add(v) })
	try(ErrMisuse, "result 0 is the zero Value", func(Value) Value { return Value{}.Add(Value{}) })
	try(ErrMisuse, `input "x" is recorded twice`, func(Value) Value { return r.Input("x", x, -1) })
	try(ErrMisuse, `input "y" is no tensor`, func(Value) Value { return r.Input("y", tensor.Tensor{}, -1) })
	try(ErrMisuse, "has no output 1", func(v Value) Value { return v.Neg().Output(1) })
	try(ErrMisuse, "has no output -1", func(v Value) Value { return v.Neg().Output(-1) })
	try(ErrMisuse, "stale", func(v Value) Value { r.Assign(w, stale); return v })
	try(ErrMisuse, "stale", func(v Value) Value { r.Watch(stale, nil); return v })
	try(ErrMisuse, "the value to differentiate is a stale Value", func(v Value) Value { return r.Grad(stale, Value{}, v)[0] })
	try(ErrMisuse, "variable 1 is a stale Value", func(v Value) Value { return r.Grad(v.Sum(), Value{}, v, stale)[0] })
	try(ErrMisuse, "the weight is a Value of another tape", func(v Value) Value { return r.Grad(v, foreign, v)[0] })
	try(ErrMisuse, "sum: argument 0 is a stale Value", func(Value) Value { return stale.Sum(4) })
	try(nil, "variable w is f64[2] and cannot hold the value (f64[])", func(v Value) Value { r.Assign(w, v.Sum()); return v })
	try(nil, "gradient: the loss must be one number", func(v Value) Value { return r.Grad(v, Value{}, v)[0] })
	try(nil, "gradient: the weight has not the value's spec", func(v Value) Value { return r.Grad(v, v.Sum(), v)[0] })
	try(ErrNotDifferentiable, "argmax", func(v Value) Value { return r.Grad(v.ArgMax(0), Value{}, v)[0] })
	try(ErrNotDifferentiable, "the variable is i64", func(v Value) Value { return r.Grad(v.Sum(), Value{}, v.ArgMax(0))[0] })
	try(ErrNotDifferentiable, "cut by greater", func(v Value) Value { return r.Grad(v.Greater(v).Cast(tensor.F64).Sum(), Value{}, v)[0] })
	try(errUser, "user's: the user's own words", func(v Value) Value { return Apply(userOp{refuses}, v) })
	try(nil, "user's: panic in Infer: Infer went wrong", func(v Value) Value { return Apply(userOp{panicsInInfer}, v) })
	try(nil, "user's: Infer gives no output", func(v Value) Value { return Apply(userOp{givesNothing}, v).Neg() })
	try(ErrMisuse, "the variable is nil", func(v Value) Value { return v.Add(r.Var(nil)) })
	try(ErrMisuse, "the variable to assign is nil", func(v Value) Value { r.Assign(nil, v); return v })
	try(nil, "no element type none", func(v Value) Value { return Apply(userOp{invalidSpec}, v) })
	grad := func(k userKind) func(v Value) Value {
		return func(v Value) Value { return r.Grad(Apply(userOp{k}, v).Sum(), Value{}, v)[0] }
	}
	try(errUser, "user's: gradient: the user's own words", grad(failsInGrad))
	try(nil, "user's: panic in the gradient rule: Grad went wrong", grad(panicsInGrad))
	try(nil, "user's: gradient rule: input 0 wants its own spec (f64[], f64[2])", grad(wrongGrad))
	try(nil, "sum: there is no axis 1 in rank 1", func(v Value) Value { return v.Sum(1) })
	try(nil, "mean: there is no axis -2 in rank 1", func(v Value) Value { return v.Mean(-2) })
	try(nil, "max: axis 0 is given twice", func(v Value) Value { return v.Max(0, -1) })
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		try(nil, "delta, or SmoothL1's beta, is", func(v Value) Value { return Huber(v, v, bad) })
		try(nil, "delta, or SmoothL1's beta, is", func(v Value) Value { return SmoothL1(v, v, bad) })
		try(nil, "ClassLoss.Smoothing is", func(v Value) Value {
			return CrossEntropyWith(v.Reshape(1, 2), Zeros(r, tensor.SpecOf(tensor.I64, 1)), ClassLoss{Smoothing: bad})
		})
		try(nil, "ClassLoss.Smoothing is", func(v Value) Value { return NLLWith(v, v, ClassLoss{Smoothing: bad}) })
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		try(nil, "LeakyReLU's slope is", func(v Value) Value { return v.LeakyReLU(bad) })
	}
	try(nil, "Huber's delta", func(v Value) Value { return Huber(v, v, 0) })
	try(nil, "SumTo: [3] does not broadcast to the value (f64[2])", func(v Value) Value { return v.SumTo(tensor.Of(3)) })
}

// TestSite: an error names the line of the builder that the user called, also where a layer of the engine calls the op.
func TestSite(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", ramp(1, 3, 4), -1)
	_, _, n, _ := runtime.Caller(0)
	Linear(x, r.Input("w", ramp(1, 6, 5), -1), Value{}) // one line below the call of Caller
	want := fmt.Sprintf("matmul: inner dimensions differ: 4 (axis 1 of lhs [3 4]) vs 5 (axis 1 of rhs [6 5]) at misuse_test.go:%d", n+1)
	if r.Err() == nil || r.Err().Error() != want {
		t.Errorf("%v, want %s", r.Err(), want)
	}
	var shape *tensor.ShapeError
	var op *OpError
	if !errors.As(r.Err(), &shape) || !errors.As(r.Err(), &op) || op.Site != fmt.Sprintf("misuse_test.go:%d", n+1) {
		t.Errorf("%#v", r.Err())
	}
}

// TestFirstError: the first error is kept, whatever follows.
func TestFirstError(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", farr(d(2), 1, 2), -1)
	bad := x.Reshape(3)
	first := r.Err()
	bad.MatMul(x).Add(Value{})
	r.Input("x", tensor.Tensor{}, -1)
	r.Grad(bad, bad, x)
	r.Assign(NewVariable("v", farr(d(1), 1)), bad)
	r.Fail(errUser)
	if _, err := r.Graph(true, bad); err != first || r.Err() != first || first == nil {
		t.Errorf("%v, want %v", err, first)
	}
}

// Op types that do not compare by content.
type (
	floatField struct {
		userOp
		Rate float64
	}
	nestedField struct {
		userOp
		Inner struct{ List [2]float32 }
	}
	complexField struct {
		userOp
		C complex128
	}
	anyField struct {
		userOp
		Any any
	}
	pointerField struct {
		userOp
		P *int
	}
	chanField struct {
		userOp
		C chan int
	}
	sliceField struct {
		userOp
		S []int
	}
	bitsField struct {
		userOp
		Rate  Bits
		Label string
		Axes  [3]int8
	}
)

// TestOpTypes: a type whose fields do not compare by content is refused, and the field is named.
func TestOpTypes(t *testing.T) {
	apply := func(f func(x Value) Value) error {
		r := NewRecorder()
		f(r.Input("x", farr(d(1), 1), -1))
		return r.Err()
	}
	nan := math.NaN()
	fails(t, apply(func(x Value) Value { return Apply(floatField{Rate: nan}, x) }), ErrMisuse, "floatField.Rate is a float64", "store ops.Bits", "user's")
	fails(t, apply(func(x Value) Value { return Apply(nestedField{}, x) }), ErrMisuse, "nestedField.Inner.List[] is a float32")
	fails(t, apply(func(x Value) Value { return Apply(complexField{}, x) }), ErrMisuse, "complexField.C is a complex128")
	fails(t, apply(func(x Value) Value { return Apply(anyField{Any: []int{1}}, x) }), ErrMisuse, "anyField.Any", "does not compare by content")
	fails(t, apply(func(x Value) Value { return Apply(pointerField{}, x) }), ErrMisuse, "pointerField.P is a pointer")
	fails(t, apply(func(x Value) Value { return Apply(chanField{}, x) }), ErrMisuse, "chanField.C")
	fails(t, apply(func(x Value) Value { return Apply(&userOp{}, x) }), ErrMisuse, "userOp is a pointer", "by value")
	fails(t, apply(func(x Value) Value { return Apply[Op](sliceField{}, x) }), ErrMisuse, "sliceField.S is a []int") // as an Op it escapes the compiler
	for range 2 {                                                                                                    // the verdict is remembered
		if err := apply(func(x Value) Value { return Apply(bitsField{Rate: F(nan)}, x) }); err != nil {
			t.Error(err)
		}
	}
	if again := F(math.NaN()); F(nan) != again || F(0) == F(math.Copysign(0, -1)) || F(-2.5).Float() != -2.5 || F(nan).Float() == F(nan).Float() {
		t.Error("bits")
	}
}

// TestTotal: no builder and no accessor panics: on values that are none, stale, poisoned, of another recording or good, with any other
// argument.
func TestTotal(t *testing.T) {
	r, other := NewRecorder(), NewRecorder()
	x := ramp(1, 2, 3)
	stale := r.Input("x", x, -1)
	foreign := other.Input("x", x, -1)
	for name, receiver := range map[string]func() Value{
		"none":    func() Value { return Value{} },
		"stale":   func() Value { return stale },
		"foreign": func() Value { return foreign },
		"good":    func() Value { return r.Input("x", x, -1) },
		"ints":    func() Value { return r.Input("x", iarr(d(2), 1, 0), -1) },
		"scalar":  func() Value { return r.Input("x", farr(nil, 1), -1) },
		"poison":  func() Value { return r.Input("x", x, -1).Reshape(7) },
	} {
		for seed := range 23 {
			args := &arguments{seed: seed}
			typ := reflect.TypeFor[Value]()
			for i := range typ.NumMethod() {
				r.Begin()
				args.values = []Value{{}, stale, receiver(), r.Input("y", x, -1)}
				call(t, name+"."+typ.Method(i).Name, typ.Method(i).Func, reflect.ValueOf(args.values[2]), args)
			}
			all := maps.Clone(builders)
			all["Input"], all["Scalar"], all["Grad"], all["Var"], all["Assign"], all["Watch"] = r.Input, r.Scalar, r.Grad, r.Var, r.Assign, r.Watch
			for fname, f := range all {
				r.Begin()
				args.values = []Value{{}, stale, receiver(), r.Input("y", x, -1)}
				args.r = r
				call(t, name+" "+fname, reflect.ValueOf(f), reflect.Value{}, args)
			}
		}
	}
}

// builders are the functions of the package that make values.
var builders = map[string]any{
	"Where": Where, "MatMulT": MatMulT, "Linear": Linear, "CrossEntropy": CrossEntropy, "OneHot": OneHot, "Zeros": Zeros, "Full": Full, "Concat": Concat,
	"SliceStep": SliceStep, "DynamicSlice": DynamicSlice, "Embedding": Embedding, "ScatterAdd": ScatterAdd, "TopK": TopK, "Conv2D": Conv2D,
	"MaxPool2D": MaxPool2D, "AvgPool2D": AvgPool2D, "BatchNorm": BatchNorm, "BatchNormInfer": BatchNormInfer, "Dropout": Dropout, "Uniform": Uniform, "Normal": Normal,
	"Stack": Stack, "PixelShuffle": PixelShuffle, "PixelUnshuffle": PixelUnshuffle, "Iota": Iota, "DynamicUpdate": DynamicUpdate, "Resize": Resize,
	"SquaredError": SquaredError, "MSE": MSE, "AbsoluteError": AbsoluteError, "L1": L1, "Huber": Huber, "SmoothL1": SmoothL1, "XLogY": XLogY,
	"BinaryCrossEntropy": BinaryCrossEntropy, "BCEWithLogits": BCEWithLogits, "WeightedBCEWithLogits": WeightedBCEWithLogits,
	"KLDivergence": KLDivergence, "KLDivergenceLog": KLDivergenceLog, "CrossEntropyWith": CrossEntropyWith, "NLLWith": NLLWith,
	"CrossEntropyRows": CrossEntropyRows, "NLLRows": NLLRows, "Normalize": Normalize, "CosineSimilarity": CosineSimilarity,
	"MaxPool1D": MaxPool1D, "AvgPool1D": AvgPool1D, "AvgPool": AvgPool, "AdaptiveAvgPool2D": AdaptiveAvgPool2D,
	"GlobalAvgPool": GlobalAvgPool, "GlobalMaxPool": GlobalMaxPool, "Conv1D": Conv1D, "ConvTranspose1D": ConvTranspose1D, "ConvTranspose2D": ConvTranspose2D, "TransposeConv": TransposeConv,
	"Attention": Attention, "LSTM": LSTM, "GRU": GRU, "LayerNorm": LayerNorm, "RMSNorm": RMSNorm, "GroupNorm": GroupNorm,
	"Sort": Sort, "TopKAlong": TopKAlong,
}

// arguments makes arbitrary arguments, another list for every seed.
type arguments struct {
	seed, n int
	values  []Value
	r       *Recorder
}

func pick[T any](a *arguments, list ...T) T {
	a.n++
	return list[(a.seed*7+a.n*(a.seed+3))%len(list)]
}

func (a *arguments) make(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	switch p := v.Addr().Interface().(type) {
	case *Value:
		*p = pick(a, a.values...)
	case *int:
		*p = pick(a, 0, 1, -1, 2, 9, -9, 300, math.MaxInt, math.MinInt)
	case *[]int:
		*p = pick(a, nil, d(0), d(1, 0), d(-1, 2), d(0, 0), d(-1, -1), d(9), d(math.MinInt), d(1, 1, 1, 1, 1, 1, 1, 1, 1, 1), d(2, 3))
	case *[]Value:
		*p = pick(a, nil, a.values, a.values[2:], a.values[3:])
	case *float64:
		*p = pick(a, 0.5, math.NaN(), -1, math.Inf(1))
	case *bool:
		*p = pick(a, true, false)
	case *string:
		*p = pick(a, "x", "z")
	case *tensor.DType:
		*p = pick(a, tensor.F32, tensor.None, 77, tensor.I64)
	case *tensor.Shape:
		*p = pick(a, tensor.Of(), tensor.Of(2, 3), tensor.Of(-1), tensor.Of(0, 3))
	case *tensor.Spec:
		*p = pick(a, tensor.SpecOf(tensor.F32, 2), tensor.Spec{}, tensor.SpecOf(tensor.F64, -1))
	case *tensor.Tensor:
		*p = pick(a, tensor.Tensor{}, ramp(1, 2))
	case *[2]int:
		*p = pick(a, [2]int{}, [2]int{1, 0}, [2]int{-1, 3}, [2]int{math.MaxInt, 0})
	case *Conv2DOp:
		*p = pick(a, Conv2DOp{}, Conv2DOp{Stride: [2]int{1, 1}}, Conv2DOp{Groups: -1}, Conv2DOp{Groups: 2, Dilation: [2]int{math.MaxInt, 1}}, Conv2DOp{Pad: [4]int{math.MaxInt, math.MaxInt}})
	case *AvgPool2DOp:
		*p = pick(a, AvgPool2DOp{}, AvgPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{3, 3}, CountPad: true}, AvgPool2DOp{Size: [2]int{math.MaxInt, 1}, Stride: [2]int{1, 1}})
	case *Attend:
		*p = pick(a, Attend{}, Attend{Causal: true, Past: math.MinInt, Mask: pick(a, a.values...)}, Attend{Dropout: 2})
	case *Gates:
		*p = Gates{Input: pick(a, a.values...), Hidden: pick(a, a.values...), InputBias: pick(a, a.values...)}
	case *Sequence:
		*p = pick(a, Sequence{}, Sequence{Lengths: pick(a, a.values...), H: pick(a, a.values...), Reverse: true})
	case *Conv:
		*p = pick(a, Conv{}, Conv{Same: true}, Conv{Same: true, Dilation: 1 << 40}, Conv{Groups: -1}, Conv{Groups: math.MaxInt, Dilation: 2}, Conv{Stride: -1, Padding: 1 << 40}, Conv{Stride: 1, Padding: -1})
	case *Pool:
		*p = pick(a, Pool{}, Pool{Size: 2}, Pool{Size: -1}, Pool{Size: 1 << 40, Stride: 1 << 40}, Pool{Size: 2, Stride: 3, Ceil: true})
	case *PadMode:
		*p = pick(a, Reflect, Circular, Replicate, 9)
	case *int64:
		*p = pick[int64](a, -100, 0, math.MaxInt64)
	case *ClassLoss:
		*p = pick(a, ClassLoss{}, ClassLoss{Ignore: true, Ignored: math.MaxInt64}, ClassLoss{Smoothing: 0.1, Weight: pick(a, NewVariable("w", ramp(1, 2)), &Variable{})})
	case *Scaling:
		*p = pick(a, Scaling{}, Scaling{Size: d(2)}, Scaling{Size: d(math.MaxInt)}, Scaling{Size: d(1, 1, 1)}, Scaling{Mode: 9, Size: d(1)}, Scaling{Size: d(2), Factor: d64(0)})
	case **Recorder:
		*p = pick(a, a.r, nil)
	case **Variable:
		*p = NewVariable("v", ramp(1, 2))
	case *func(tensor.Tensor):
	default:
		panic("no argument of type " + typ.String())
	}
	return v
}

func call(t *testing.T, name string, f, receiver reflect.Value, a *arguments) {
	t.Helper()
	var in []reflect.Value
	for i := range f.Type().NumIn() {
		if i == 0 && receiver.IsValid() {
			in = append(in, receiver)
		} else {
			in = append(in, a.make(f.Type().In(i)))
		}
	}
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s%v panics: %v", name, in, p)
		}
	}()
	var out []reflect.Value
	if f.Type().IsVariadic() {
		out = f.CallSlice(in)
	} else {
		out = f.Call(in)
	}
	for _, y := range out {
		if v, ok := y.Interface().(Value); ok {
			if v.Spec() == (tensor.Spec{}) && (v.Dim(0) != 1 || v.Dim(-1) != 1 || v.Rank() != 0 || v.Shape().Size() != 1) {
				t.Errorf("%s%v has no spec but shape %v", name, in, v.Shape())
			}
		}
	}
}

// TestPrinted: what fmt prints of a Value and of a Variable is for people, whatever state they are in.
func TestPrinted(t *testing.T) {
	r := NewRecorder()
	x := r.Input("x", farr(d(2), 1, 2), -1)
	poisoned := NewRecorder().Fail(errUser)
	check := func(want string, v any) {
		t.Helper()
		if got := fmt.Sprint(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("f64[] of sum", x.Sum())
	check("f64[2] of input x", x)
	check("poisoned value", poisoned)
	check("no value", Value{})
	check("w f64[2]", NewVariable("w", farr(d(2), 1, 2)))
	r.Begin()
	check("stale value", x)
}
