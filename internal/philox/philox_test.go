package philox_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/internal/philox"
)

// TestKnownAnswers has the vectors that Random123 publishes (kat_vectors).
func TestKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{ // the digits of pi
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox.Cipher(c.ctr, c.key); got != c.want {
			t.Errorf("Cipher(%08x, %08x) = %08x, want %08x", c.ctr, c.key, got, c.want)
		}
	}
	if got, want := philox.Block(0, 0, 0, 0), [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}; got != want {
		t.Errorf("Block(0, 0, 0, 0) = %08x, want %08x", got, want)
	}
}

// TestArguments checks that every bit of every argument counts.
func TestArguments(t *testing.T) {
	seen := map[[4]uint32]string{}
	for name, f := range map[string]func(x uint64) [4]uint32{
		"seed":   func(x uint64) [4]uint32 { return philox.Block(x, 3, 5, 7) },
		"stream": func(x uint64) [4]uint32 { return philox.Block(2, x, 5, 7) },
		"step":   func(x uint64) [4]uint32 { return philox.Block(2, 3, x, 7) },
		"index":  func(x uint64) [4]uint32 { return philox.Block(2, 3, 5, x) },
	} {
		for bit := range 64 {
			b := f(1<<bit ^ 0x5a5a)
			if other, ok := seen[b]; ok {
				t.Errorf("bit %d of %s gives the block of %s", bit, name, other)
			}
			seen[b] = name
		}
	}
}

func TestUniform(t *testing.T) {
	for u, want := range map[uint32]float32{0: 0, 0xff: 0, 0x100: 0x1p-24, 1 << 31: 0.5, math.MaxUint32: 1 - 0x1p-24} {
		if got := philox.Uniform32(u); got != want {
			t.Errorf("Uniform32(%#x) = %g, want %g", u, got, want)
		}
	}
	const n = 100_000
	var sum, squares float64
	for i := range uint64(n) {
		x := float64(philox.Uniform(1, 2, 3, i))
		sum += x
		squares += x * x
	}
	// Five standard deviations: sqrt(1/12n) of the mean, sqrt(4/45n) of the mean square.
	if mean := sum / n; math.Abs(mean-0.5) > 0.0046 {
		t.Errorf("mean %g", mean)
	}
	if square := squares / n; math.Abs(square-1./3) > 0.0048 {
		t.Errorf("mean square %g", square)
	}
}

func TestNormal(t *testing.T) {
	for _, u := range [][4]uint32{{}, {math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32}, {0, 1 << 30, 0, 1 << 31}} {
		for _, z := range philox.Normal32(u) {
			if !(math.Abs(float64(z)) <= 6.67) {
				t.Errorf("Normal32(%08x) has %g", u, z)
			}
		}
	}
	const n = 100_000
	var moment [5]float64
	var product, last float64
	for i := range uint64(n) {
		x := float64(philox.Normal(1, 2, 3, i))
		for k, p := 1, x; k <= 4; k, p = k+1, p*x {
			moment[k] += p / n
		}
		product += x * last / n
		last = x
	}
	// The standard deviations are 1, sqrt 2, sqrt 15, sqrt 96 and 1, over sqrt n = 316.
	for i, c := range []struct{ got, want, sigma float64 }{
		{moment[1], 0, 1}, {moment[2], 1, 1.42}, {moment[3], 0, 3.88}, {moment[4], 3, 9.8}, {product, 0, 1},
	} {
		if math.Abs(c.got-c.want) > 5*c.sigma/316 {
			t.Errorf("statistic %d is %g, want %g", i, c.got, c.want)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	for i := range uint64(b.N) {
		philox.Block(1, 2, 3, i)
	}
}
