package tensor_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	. "github.com/cortado-ml/cortado/tensor"
)

func TestDType(t *testing.T) {
	want := map[DType]struct {
		name       string
		size       int
		float, int bool
	}{
		None: {"none", 0, false, false}, F32: {"f32", 4, true, false}, F64: {"f64", 8, true, false}, BF16: {"bf16", 2, true, false},
		F16: {"f16", 2, true, false}, I32: {"i32", 4, false, true}, I64: {"i64", 8, false, true}, U8: {"u8", 1, false, true},
		Bool: {"bool", 1, false, false}, 200: {"tensor.DType(200)", 0, false, false},
	}
	for d, w := range want {
		if d.String() != w.name || d.Size() != w.size || d.Float() != w.float || d.Int() != w.int {
			t.Errorf("%v: size %d, float %v, int %v", d, d.Size(), d.Float(), d.Int())
		}
	}
	if len(DTypes) != len(want)-2 {
		t.Errorf("DTypes has %d types", len(DTypes))
	}
	types := []DType{TypeOf[float32](), TypeOf[float64](), TypeOf[BFloat16](), TypeOf[Float16](), TypeOf[int32](), TypeOf[int64](), TypeOf[uint8](), TypeOf[bool]()}
	if !slices.Equal(types, DTypes[:]) {
		t.Errorf("TypeOf gives %v", types)
	}
}

func TestSpec(t *testing.T) {
	s := SpecOf(BF16, 2, 3)
	if s.String() != "bf16[2 3]" || s.Bytes() != 12 || s.Check() != nil {
		t.Errorf("%v of %d bytes, %v", s, s.Bytes(), s.Check())
	}
	for _, bad := range []Spec{{}, SpecOf(None, 2), SpecOf(99, 2), SpecOf(F32, -1)} {
		if err := bad.Check(); err == nil || !strings.HasPrefix(err.Error(), "tensor: ") {
			t.Errorf("%v: %v", bad, err)
		}
		if !New(bad).IsNone() || !Full(bad, 1).IsNone() {
			t.Errorf("%v: an array was made", bad)
		}
	}
}

func TestShapeError(t *testing.T) {
	err := &ShapeError{Msg: "inner dimensions differ", In: []Spec{SpecOf(F32, 3, 4), SpecOf(F32, 5, 6)}}
	if got := err.Error(); got != "inner dimensions differ (f32[3 4], f32[5 6])" {
		t.Error(got)
	}
	if got := (&ShapeError{Msg: "no operands"}).Error(); got != "no operands" {
		t.Error(got)
	}
}

// zeroCopy wraps data and finds the very same memory again.
func zeroCopy[T Elem](t *testing.T, data ...T) {
	u, err := From(data)
	if err != nil {
		t.Fatal(err)
	}
	if u.Spec() != SpecOf(TypeOf[T](), len(data)) || u.Len() != len(data) {
		t.Errorf("%v", u.Spec())
	}
	back := Data[T](u)
	if len(back) != len(data) || unsafe.SliceData(back) != unsafe.SliceData(data) {
		t.Errorf("%v: Data is a copy", u.Spec())
	}
	if bytes := u.Bytes(); len(bytes) != u.Spec().Bytes() || unsafe.Pointer(&bytes[0]) != unsafe.Pointer(&data[0]) {
		t.Errorf("%v: Bytes is a copy", u.Spec())
	}
	data[0], data[1] = data[1], data[0]
	if u.At(0) != 1 || u.At(1) != 0 {
		t.Errorf("%v does not see a change of its slice", u)
	}
	if w := Wrap(u.Spec(), unsafe.Pointer(&data[0])); !w.Same(u) {
		t.Errorf("Wrap gives %v", w)
	}
	scalar := Scalar(data[0])
	if scalar.Spec() != SpecOf(TypeOf[T]()) || scalar.At(0) != 1 {
		t.Errorf("Scalar gives %v", scalar)
	}
}

func TestZeroCopy(t *testing.T) {
	zeroCopy[float32](t, 0, 1)
	zeroCopy[float64](t, 0, 1)
	zeroCopy(t, BFloat16(0), ToBFloat16(1))
	zeroCopy(t, Float16(0), ToFloat16(1))
	zeroCopy[int32](t, 0, 1)
	zeroCopy[int64](t, 0, 1)
	zeroCopy[uint8](t, 0, 1)
	zeroCopy(t, false, true)
}

func TestDataOfAnotherType(t *testing.T) {
	u := New(SpecOf(F32, 2))
	if Data[int32](u) != nil || Data[float64](u) != nil || Data[float32](Tensor{}) != nil || Data[bool](Tensor{}) != nil {
		t.Error("Data reads an array as another type")
	}
}

func TestFromErrors(t *testing.T) {
	for _, dims := range [][]int{{5}, {2, 2}, {3, -2}, {6, 0}, {1, 1, 1, 1, 1, 1, 1, 1, 6}, {1 << 41}} {
		if u, err := From(make([]float32, 6), dims...); err == nil || !strings.HasPrefix(err.Error(), "tensor: ") || !u.IsNone() {
			t.Errorf("%v: %v, %v", dims, u, err)
		}
	}
	if u, err := From([]float32(nil)); err != nil || u.IsNone() || u.Spec() != SpecOf(F32, 0) {
		t.Errorf("nothing: %v, %v", u, err)
	}
	if u, err := From([]float32{}, 3, 0); err != nil || u.IsNone() || u.Len() != 0 || len(Data[float32](u)) != 0 || len(u.Bytes()) != 0 {
		t.Errorf("empty: %v, %v", u, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Must did not panic")
		}
	}()
	Must(From([]float32{1}, 2))
}

func TestNone(t *testing.T) {
	var u Tensor
	if !u.IsNone() || u.Len() != 0 || u.Bytes() != nil || len(u.Floats()) != 0 || u.String() != "none" || !u.Clone().IsNone() {
		t.Errorf("the zero Tensor is %v", u)
	}
	if !u.Row(0).IsNone() || !u.Rows(0, 0).IsNone() || u.CopyFrom(u) || !u.Same(Tensor{}) || u.Same(Scalar(float32(0))) {
		t.Error("the zero Tensor has elements")
	}
	if !Wrap(SpecOf(F32, 2), nil).IsNone() {
		t.Error("an array without memory")
	}
}

func TestNewIsZeroAndAligned(t *testing.T) {
	for _, d := range DTypes {
		u := New(SpecOf(d, 3, 5))
		for _, b := range u.Bytes() {
			if b != 0 {
				t.Fatalf("%v: not zero", d)
			}
		}
		if at := uintptr(unsafe.Pointer(&u.Bytes()[0])); at%uintptr(d.Size()) != 0 {
			t.Errorf("%v at %#x", d, at)
		}
		if f := Full(SpecOf(d, 2), 1); f.At(0) != 1 || f.At(1) != 1 {
			t.Errorf("%v", f)
		}
	}
}

func TestReshape(t *testing.T) {
	u := Must(From([]int32{1, 2, 3, 4, 5, 6}, 2, 3))
	v, err := u.Reshape(3, 2)
	if err != nil || v.Shape() != Of(3, 2) {
		t.Fatal(v, err)
	}
	v.Set(0, 9)
	if u.At(0) != 9 {
		t.Error("Reshape copied")
	}
	for _, dims := range [][]int{{7}, {}, {-6, -1}, {6, 0}} {
		if _, err := u.Reshape(dims...); err == nil || !strings.HasPrefix(err.Error(), "tensor: ") {
			t.Errorf("%v: %v", dims, err)
		}
	}
	if s, err := Must(From([]int32{7})).Reshape(); err != nil || s.Shape() != Of() || s.At(0) != 7 {
		t.Error("one element has no scalar's shape", s, err)
	}
}

func TestRows(t *testing.T) {
	u := Must(From([]float64{0, 1, 2, 3, 4, 5}, 3, 2))
	r := u.Row(2)
	if r.Spec() != SpecOf(F64, 2) || !slices.Equal(r.Floats(), []float64{4, 5}) {
		t.Errorf("row 2 is %v", r)
	}
	r.Set(0, 9)
	if u.At(4) != 9 {
		t.Error("Row copied")
	}
	if m := u.Rows(1, 3); m.Spec() != SpecOf(F64, 2, 2) || !slices.Equal(m.Floats(), []float64{2, 3, 9, 5}) {
		t.Errorf("rows 1 to 3 are %v", m)
	}
	if e := u.Rows(3, 3); e.IsNone() || e.Spec() != SpecOf(F64, 0, 2) || e.Len() != 0 {
		t.Errorf("no rows are %v", e)
	}
	if s := Must(From([]int64{7, 8})).Row(1); s.Spec() != SpecOf(I64) || s.Int(0) != 8 {
		t.Errorf("a row of one axis is %v", s)
	}
	if e := New(SpecOf(F32, 2, 0)).Row(1); e.IsNone() || e.Spec() != SpecOf(F32, 0) {
		t.Errorf("an empty row is %v", e)
	}
	for _, none := range []Tensor{u.Row(-1), u.Row(3), u.Rows(-1, 2), u.Rows(2, 1), u.Rows(0, 4), Scalar(1.0).Row(0), Scalar(1.0).Rows(0, 1)} {
		if !none.IsNone() {
			t.Errorf("rows that are not there: %v", none)
		}
	}
}

func TestCopies(t *testing.T) {
	nan := math.NaN()
	u := Must(From([]float64{nan, math.Copysign(0, -1), 3}))
	c := u.Clone()
	if !c.Same(u) {
		t.Errorf("the clone is %v", c)
	}
	c.Set(1, 0)
	if c.Same(u) || u.At(2) != 3 {
		t.Error("Same compares values, not bits, or Clone shares memory")
	}
	if !c.CopyFrom(u) || !c.Same(u) {
		t.Errorf("after CopyFrom: %v", c)
	}
	if c.CopyFrom(New(SpecOf(F64, 3, 1))) || c.CopyFrom(New(SpecOf(I64, 3))) || !c.Same(u) {
		t.Error("CopyFrom takes another spec")
	}
}

func TestString(t *testing.T) {
	long := New(SpecOf(U8, 17))
	for want, u := range map[string]Tensor{
		"f32[2 2]{1 -0.5 NaN +Inf}": Must(From([]float32{1, -0.5, float32(math.NaN()), float32(math.Inf(1))}, 2, 2)),
		"f32[]{0.1}":                Scalar(float32(0.1)),
		"f64[]{0.1}":                Scalar(0.1),
		"i64[]{-9007199254740993}":  Scalar(int64(-9007199254740993)),
		"bool[2]{true false}":       Must(From([]bool{true, false})),
		"bf16[1]{1.5}":              Full(SpecOf(BF16, 1), 1.5),
		"f16[0 3]{}":                New(SpecOf(F16, 0, 3)),
		"u8[17]{0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ...}": long,
	} {
		if got := u.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
