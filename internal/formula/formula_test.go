package formula

import "testing"

// TestElement compares with the published outputs of SplitMix64 for the state 0.
func TestElement(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := element(0, i); got != want {
			t.Errorf("element %d is %#x, want %#x", i, got, want)
		}
	}
}

// TestFill compares with what testdata/goldens/formula.py prints.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		seed  uint64
		scale float64
		want  [4]float64
	}{
		{0, 1, [4]float64{0x1.8882ap-2, -0x1.18762p-4, -0x1.e4ee8cp-2, 0x1.e22eep-2}},
		{7, 0.0625, [4]float64{-0x1.c341fp-8, -0x1.eecf1p-6, 0x1.9a61p-6, 0x1.53aebp-8}},
		{1<<64 - 1, 3, [4]float64{0x1.2e8c53p+0, 0x1.3cdfe8p+0, -0x1.aee03p-1, -0x1.c537380000000p-3}},
	} {
		var got [4]float64
		if Fill(got[:], c.seed, c.scale); got != c.want {
			t.Errorf("seed %d, scale %v: %x, want %x", c.seed, c.scale, got, c.want)
		}
	}
}

// TestFillLong does so for a long stream. All values are multiples of 2^-23, so their sum is exact in any order.
func TestFillLong(t *testing.T) {
	x := make([]float64, 100_000)
	Fill(x, 3, 2)
	var sum float64
	for i, v := range x {
		sum += v
		if v < -1 || v >= 1 || float64(float32(v)) != v {
			t.Fatalf("element %d is %x: outside [-1, 1) or not a float32", i, v)
		}
	}
	if want := 0x1.b7494p-5; x[99_999] != want {
		t.Errorf("the last is %x, want %x", x[99_999], want)
	}
	if want := -0x1.788fbd7p+7; sum != want {
		t.Errorf("the sum is %x, want %x", sum, want)
	}
}

func TestLabels(t *testing.T) {
	var got [12]int64
	Labels(got[:], 5, 10)
	if want := [12]int64{1, 7, 1, 8, 7, 8, 2, 0, 6, 2, 7, 4}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
