package tensor_test

import (
	"math"
	"math/big"
	"testing"

	. "github.com/cortado-ml/cortado/tensor"
)

// half is one of the two 16-bit formats, with bits as uint16 so that one set of tests serves both.
type half struct {
	name     string
	fraction uint   // bits of fraction
	inf      uint16 // bits of +infinity
	limit    float64
	to       func(float32) uint16
	from     func(uint16) float32
	set      func(float64) uint16 // by way of Tensor.Set
	setInt   func(int64) uint16
}

var halves = []half{
	{
		name: "bf16", fraction: 7, inf: 0x7f80, limit: 0x1p128,
		to:     func(x float32) uint16 { return uint16(ToBFloat16(x)) },
		from:   func(b uint16) float32 { return BFloat16(b).Float32() },
		set:    func(x float64) uint16 { return uint16(Data[BFloat16](Full(SpecOf(BF16, 1), x))[0]) },
		setInt: func(x int64) uint16 { t := New(SpecOf(BF16, 1)); t.SetInt(0, x); return uint16(Data[BFloat16](t)[0]) },
	},
	{
		name: "f16", fraction: 10, inf: 0x7c00, limit: 0x1p16,
		to:     func(x float32) uint16 { return uint16(ToFloat16(x)) },
		from:   func(b uint16) float32 { return Float16(b).Float32() },
		set:    func(x float64) uint16 { return uint16(Data[Float16](Full(SpecOf(F16, 1), x))[0]) },
		setInt: func(x int64) uint16 { t := New(SpecOf(F16, 1)); t.SetInt(0, x); return uint16(Data[Float16](t)[0]) },
	},
}

// value is what bits mean by the definition of the format. The bits of infinity stand for the value that the next exponent would have,
// which is what IEEE 754 rounds against.
func (h half) value(bits uint16) float64 {
	if bits&0x7fff == h.inf {
		return math.Copysign(h.limit, 0.5-float64(bits>>15))
	}
	exp, frac := int(bits&0x7fff>>h.fraction), float64(bits&(1<<h.fraction-1))
	bias := 1<<(14-h.fraction) - 1
	sign := 1 - 2*float64(bits>>15)
	if exp == 0 {
		return sign * math.Ldexp(frac, 1-bias-int(h.fraction))
	}
	return sign * math.Ldexp(frac+float64(int(1)<<h.fraction), exp-bias-int(h.fraction))
}

// TestHalfToFloat32 reads all 65,536 values and writes them back.
func TestHalfToFloat32(t *testing.T) {
	for _, h := range halves {
		for i := range 1 << 16 {
			bits := uint16(i)
			x := h.from(bits)
			switch mag := bits & 0x7fff; {
			case mag > h.inf:
				if x == x || math.Signbit(float64(x)) != (bits>>15 == 1) {
					t.Fatalf("%s %#x: %v is not a NaN of its sign", h.name, bits, x)
				}
				quiet := bits | 1<<(h.fraction-1)
				if got := h.to(x); got != quiet {
					t.Fatalf("%s %#x: NaN came back as %#x", h.name, bits, got)
				}
				if h.name == "f16" && math.Float32bits(x) != math.Float32bits(h.from(quiet)) { // as processors convert it
					t.Fatalf("%s %#x: NaN gives %#x, which is not quiet", h.name, bits, math.Float32bits(x))
				}
				continue
			case mag == h.inf:
				if !math.IsInf(float64(x), 1-2*int(bits>>15)) {
					t.Fatalf("%s %#x: %v is not infinite", h.name, bits, x)
				}
			case float64(x) != h.value(bits) || math.Signbit(float64(x)) != (bits>>15 == 1):
				t.Fatalf("%s %#x: %v, want %v", h.name, bits, x, h.value(bits))
			}
			if got := h.to(x); got != bits {
				t.Fatalf("%s %#x: came back as %#x", h.name, bits, got)
			}
		}
	}
}

// TestHalfTies checks every place where rounding can change its mind: the middle between each value and the next, and the numbers just
// beside it, as float32 and as float64. Together with TestHalfMonotone that is a proof for all numbers.
func TestHalfTies(t *testing.T) {
	for _, h := range halves {
		for lo := range h.inf {
			hi := lo + 1
			even := lo + lo&1
			for sign := range uint16(2) {
				s := sign << 15
				mid := (h.value(lo|s) + h.value(hi|s)) / 2
				out := math.Copysign(math.Inf(1), mid)
				check := func(what string, got, want uint16) {
					if got != want|s {
						t.Fatalf("%s: %s between %#x and %#x: %#x, want %#x", h.name, what, lo|s, hi|s, got, want|s)
					}
				}
				check("the middle as float64", h.set(mid), even)
				check("below the middle as float64", h.set(math.Nextafter(mid, 0)), lo)
				check("above the middle as float64", h.set(math.Nextafter(mid, out)), hi)
				mid32 := float32(mid)
				if float64(mid32) != mid {
					t.Fatalf("%s: the middle %v is no float32", h.name, mid)
				}
				check("the middle", h.to(mid32), even)
				check("below the middle", h.to(math.Nextafter32(mid32, 0)), lo)
				check("above the middle", h.to(math.Nextafter32(mid32, float32(out))), hi)
			}
		}
	}
}

// TestHalfMonotone walks every float32 exponent, with every upper half of the bits and many lower halves: the results never decrease.
func TestHalfMonotone(t *testing.T) {
	lows := []uint32{0, 1, 2, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0x3001, 0x5555, 0x7fff, 0x8000, 0x8001, 0xaaaa, 0xefff, 0xf000, 0xf001, 0xffff}
	for _, h := range halves {
		last := uint16(0)
		for high := range uint32(0x7f80) {
			for _, low := range lows {
				x := math.Float32frombits(high<<16 | low)
				bits := h.to(x)
				if bits < last || bits > h.inf {
					t.Fatalf("%s: %v gives %#x after %#x", h.name, x, bits, last)
				}
				if neg := h.to(-x); neg != bits|0x8000 {
					t.Fatalf("%s: %v gives %#x but its negative %#x", h.name, x, bits, neg)
				}
				last = bits
			}
		}
		if last != h.inf {
			t.Errorf("%s: the largest float32 gives %#x, not infinity", h.name, last)
		}
	}
}

func TestHalfSpecial(t *testing.T) {
	quiet := math.Float32frombits(0x7fc00000)
	for _, h := range halves {
		for _, c := range []struct {
			x    float32
			want uint16
		}{
			{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {float32(math.Inf(1)), h.inf}, {float32(math.Inf(-1)), h.inf | 0x8000},
			{quiet, h.inf | 1<<(h.fraction-1)},
			{math.Float32frombits(0x7f800001), h.inf | 1<<(h.fraction-1)}, // a signalling NaN whose payload does not fit: still a NaN
			{math.Float32frombits(0xff800001), h.inf | 1<<(h.fraction-1) | 0x8000},
			{math.Float32frombits(0x7fffffff), 0x7fff},
		} {
			if got := h.to(c.x); got != c.want {
				t.Errorf("%s: %#x gives %#x, want %#x", h.name, math.Float32bits(c.x), got, c.want)
			}
		}
		for _, x := range []float64{1e300, math.Inf(1), math.MaxFloat64} {
			if got := h.set(x); got != h.inf {
				t.Errorf("%s: %v gives %#x, want infinity", h.name, x, got)
			}
		}
		if got := h.set(math.NaN()) & 0x7fff; got <= h.inf {
			t.Errorf("%s: NaN from float64 gives %#x", h.name, got)
		}
		if got := h.set(-math.SmallestNonzeroFloat64); got != 0x8000 {
			t.Errorf("%s: the least negative float64 gives %#x, want -0", h.name, got)
		}
	}
}

// TestHalfFromInt rounds once from int64, whose 63 bits not even a float64 holds.
func TestHalfFromInt(t *testing.T) {
	for _, h := range halves {
		for lo := h.to(1); lo < h.to(math.MaxInt64) && lo < h.inf; lo++ {
			mid := int64((h.value(lo) + h.value(lo+1)) / 2)
			if float64(mid) != (h.value(lo)+h.value(lo+1))/2 {
				continue // not an integer
			}
			for d := int64(-1); d <= 1; d++ {
				want := lo + lo&1
				if d != 0 {
					want = lo + uint16(d+1)/2
				}
				if got := h.setInt(mid + d); got != want {
					t.Fatalf("%s: %d gives %#x, want %#x", h.name, mid+d, got, want)
				}
				if got := h.setInt(-mid - d); got != want|0x8000 {
					t.Fatalf("%s: %d gives %#x, want %#x", h.name, -mid-d, got, want|0x8000)
				}
			}
		}
	}
	if got := halves[0].setInt(math.MinInt64); got != 0xdf00 {
		t.Errorf("bf16: MinInt64 gives %#x, want -2^63", got)
	}
}

// nearest is the format's rounding of x by exact arithmetic: the closest value, of two the even one.
func (h half) nearest(x float64) uint16 {
	s := uint16(math.Float64bits(x) >> 63 << 15)
	x = math.Abs(x)
	if math.IsInf(x, 0) {
		return h.inf | s
	}
	lo, hi := uint16(0), h.inf // value(lo) <= x, and x < value(hi) or hi is infinity
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; h.value(mid) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(2200).SetFloat64(x) } // 2^1024 down to 2^-1074
	sum := exact(h.value(lo))
	sum.Add(sum, exact(h.value(hi)))
	switch twice := exact(x); twice.Add(twice, exact(x)).Cmp(sum) {
	case -1:
		return lo | s
	case 1:
		return hi | s
	}
	return lo + lo&1 | s
}

// FuzzHalf compares float64 to 16 bits, and float32 on the way, with exact arithmetic.
func FuzzHalf(f *testing.F) {
	for _, x := range []float64{0, 1, -1.00390625, 65519.999999999993, 65520, 0x1p-25, 0x1.0000000001p-25, 0x1p-134, 3.39e38, 5e-324, 1e308} {
		f.Add(math.Float64bits(x))
	}
	f.Fuzz(func(t *testing.T, b uint64) {
		x := math.Float64frombits(b)
		for _, h := range halves {
			if x != x {
				if got := h.set(x) & 0x7fff; got <= h.inf {
					t.Errorf("%s: NaN gives %#x", h.name, got)
				}
				continue
			}
			if got, want := h.set(x), h.nearest(x); got != want {
				t.Errorf("%s: %v gives %#x, want %#x", h.name, x, got, want)
			}
			if f := float32(x); h.to(f) != h.nearest(float64(f)) {
				t.Errorf("%s: float32 %v gives %#x, want %#x", h.name, f, h.to(f), h.nearest(float64(f)))
			}
		}
	})
}
