package tensor_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/cortado-ml/cortado/tensor"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		dims    []int
		size    int
		strides [MaxRank]int
		text    string
	}{
		{nil, 1, [MaxRank]int{}, "[]"},
		{[]int{7}, 7, [MaxRank]int{1}, "[7]"},
		{[]int{2, 3, 4}, 24, [MaxRank]int{12, 4, 1}, "[2 3 4]"},
		{[]int{2, 0, 4}, 0, [MaxRank]int{0, 4, 1}, "[2 0 4]"},
		{[]int{1, 1, 1, 1, 1, 1, 1, 1}, 1, [MaxRank]int{1, 1, 1, 1, 1, 1, 1, 1}, "[1 1 1 1 1 1 1 1]"},
		{[]int{1 << 20, 1 << 20}, 1 << 40, [MaxRank]int{1 << 20, 1}, "[1048576 1048576]"},
	} {
		s := Of(c.dims...)
		if err := s.Check(); err != nil {
			t.Errorf("%v: %v", c.dims, err)
		}
		if s.Rank() != len(c.dims) || !slices.Equal(s.Dims(), c.dims) || s.Size() != c.size || s.Strides() != c.strides || s.String() != c.text {
			t.Errorf("%v: rank %d, dims %v, size %d, strides %v, text %s", c.dims, s.Rank(), s.Dims(), s.Size(), s.Strides(), s)
		}
		if s != Of(c.dims...) {
			t.Errorf("%v: two such shapes differ", c.dims)
		}
	}
	if Of(2, 3) == Of(3, 2) || Of(1) == Of() || Of(0) == Of() {
		t.Error("different shapes are equal")
	}
	if (Shape{}) != Of() {
		t.Error("the zero Shape is not a scalar's")
	}
}

func TestInvalidShape(t *testing.T) {
	for _, dims := range [][]int{
		{-1}, {3, -2}, {0, -1}, {1, 1, 1, 1, 1, 1, 1, 1, 1},
		{1<<40 + 1}, {1 << 20, 1<<20 + 1}, {1 << 32, 1 << 32}, {1 << 62, 2}, {0, 1 << 32, 1 << 32}, {1 << 32, 1 << 32, 0},
	} {
		s := Of(dims...)
		if err := s.Check(); err == nil || !strings.HasPrefix(err.Error(), "tensor: ") {
			t.Errorf("%v: Check gives %v", dims, err)
		}
		if s.Rank() != 0 || s.Dim(0) != 1 || s.Size() != 1 || s.String() != "[invalid]" {
			t.Errorf("%v: rank %d, dim %d, size %d, text %v", dims, s.Rank(), s.Dim(0), s.Size(), s)
		}
		if s == Of() || s.With(0, 1).Check() == nil {
			t.Errorf("%v became a valid shape", dims)
		}
		if _, ok := Broadcast(s, Of(2)); ok {
			t.Errorf("%v broadcasts", dims)
		}
		if _, ok := Broadcast(Of(2), s); ok {
			t.Errorf("something broadcasts with %v", dims)
		}
		if !New(Spec{F32, s}).IsNone() {
			t.Errorf("%v: an array was made", dims)
		}
	}
}

func TestShapeDim(t *testing.T) {
	s := Of(2, 3, 4)
	for i, want := range map[int]int{0: 2, 1: 3, 2: 4, -1: 4, -3: 2, 3: 1, -4: 1, 1 << 40: 1} {
		if got := s.Dim(i); got != want {
			t.Errorf("Dim(%d) = %d, want %d", i, got, want)
		}
	}
	dims := s.Dims()
	dims[0] = 9
	if s.Dim(0) != 2 {
		t.Error("Dims shares the shape's memory")
	}
}

func TestShapeWith(t *testing.T) {
	s := Of(2, 3)
	if got := s.With(0, 5); got != Of(5, 3) {
		t.Errorf("With(0, 5) = %v", got)
	}
	if got := s.With(-1, 0); got != Of(2, 0) {
		t.Errorf("With(-1, 0) = %v", got)
	}
	if s != Of(2, 3) {
		t.Error("With changed the shape itself")
	}
	for _, bad := range []Shape{s.With(2, 1), s.With(-3, 1), s.With(0, -1), s.With(0, 1<<40), Of().With(0, 1)} {
		if bad.Check() == nil {
			t.Errorf("an impossible With gave %v", bad)
		}
	}
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct{ a, b, want Shape }{
		{Of(), Of(), Of()},
		{Of(2, 3), Of(), Of(2, 3)},
		{Of(2, 3), Of(3), Of(2, 3)},
		{Of(2, 1), Of(1, 3), Of(2, 3)},
		{Of(4, 1, 3), Of(2, 1), Of(4, 2, 3)},
		{Of(1), Of(0), Of(0)},
		{Of(0, 3), Of(1), Of(0, 3)},
		{Of(1, 1), Of(1), Of(1, 1)},
	} {
		for _, p := range [][2]Shape{{c.a, c.b}, {c.b, c.a}} {
			if got, ok := Broadcast(p[0], p[1]); !ok || got != c.want {
				t.Errorf("%v with %v gives %v, %v, want %v", p[0], p[1], got, ok, c.want)
			}
		}
	}
	for _, c := range [][2]Shape{{Of(2), Of(3)}, {Of(2, 3), Of(2)}, {Of(0), Of(2)}, {Of(1<<30, 1), Of(1, 1<<30)}} {
		if got, ok := Broadcast(c[0], c[1]); ok {
			t.Errorf("%v with %v gives %v", c[0], c[1], got)
		}
	}
}

// TestBroadcastStrides walks the larger shape and finds each element of the smaller one by the strides.
func TestBroadcastStrides(t *testing.T) {
	for _, c := range []struct {
		s, to Shape
		want  [MaxRank]int
	}{
		{Of(3), Of(2, 3), [MaxRank]int{0, 1}},
		{Of(2, 1), Of(2, 3), [MaxRank]int{1, 0}},
		{Of(), Of(2, 3), [MaxRank]int{}},
		{Of(4, 1, 3), Of(4, 2, 3), [MaxRank]int{3, 0, 1}},
		{Of(2, 3), Of(2, 3), [MaxRank]int{3, 1}},
		{Of(1, 1), Of(5, 4, 6), [MaxRank]int{}},
	} {
		if got := BroadcastStrides(c.s, c.to); got != c.want {
			t.Errorf("%v to %v: %v, want %v", c.s, c.to, got, c.want)
		}
	}
}

// FuzzShape holds shapes to their definitions, whatever the dimensions.
func FuzzShape(f *testing.F) {
	f.Add(2, 3, 4, 1, 3, 1)
	f.Add(0, 1<<20, 1<<20, 1<<20, 1, 1<<20)
	f.Add(-1, 1<<62, 1<<62, 5, 5, 5)
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g int) {
		s, u := Of(a, b, c), Of(d, e, g)
		if s.Check() == nil && (s.Size() < 0 || s.Size() > 1<<40 || s.Dim(0) != a || s.Dim(-1) != c) {
			t.Errorf("Of(%d, %d, %d) = %v of size %d", a, b, c, s, s.Size())
		}
		out, ok := Broadcast(s, u)
		if back, ok2 := Broadcast(u, s); ok != ok2 || ok && out != back {
			t.Errorf("%v with %v is not symmetric: %v, %v", s, u, out, back)
		}
		if !ok {
			return
		}
		for i := range 3 {
			if x, y := s.Dim(i), u.Dim(i); out.Dim(i) != x && out.Dim(i) != y || x != y && x != 1 && y != 1 {
				t.Errorf("%v with %v gives %v", s, u, out)
			}
		}
		if out.Check() != nil {
			t.Errorf("%v with %v gives the impossible %v", s, u, out)
		}
	})
}
