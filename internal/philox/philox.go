package philox

import (
	"math"
	"math/bits"
)

// The multipliers of a round, and what the key grows by from one to the next.
const (
	mul0  = 0xd2511f53
	mul1  = 0xcd9e8d57
	weyl0 = 0x9e3779b9
	weyl1 = 0xbb67ae85
)

// Rounds is the number of rounds of Philox4x32-10.
const Rounds = 10

// Cipher is Philox4x32-10 itself: it scrambles a counter under a key.
func Cipher(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range Rounds {
		hi0, lo0 := bits.Mul32(mul0, ctr[0])
		hi1, lo1 := bits.Mul32(mul1, ctr[2])
		ctr = [4]uint32{hi1 ^ ctr[1] ^ key[0], lo1, hi0 ^ ctr[3] ^ key[1], lo0}
		key[0] += weyl0
		key[1] += weyl1
	}
	return ctr
}

// Key is the key of a stream: the seed's bits, mixed with the stream's, so that both count in full.
func Key(seed, stream uint64) [2]uint32 {
	k := seed ^ mix(stream)
	return [2]uint32{uint32(k), uint32(k >> 32)}
}

// mix permutes the 64-bit numbers; 0 stays 0 (the finaliser of SplitMix64: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Block is four random words: those of the elements 4i to 4i+3 of a stream at a step. The counter is (i, step), so elements beyond 2^66
// and steps beyond 2^64 would repeat.
func Block(seed, stream, step, i uint64) [4]uint32 {
	return Cipher([4]uint32{uint32(i), uint32(i >> 32), uint32(step), uint32(step >> 32)}, Key(seed, stream))
}

// Uniform32 is the upper 24 bits of u as a multiple of 2^-24 in [0, 1).
func Uniform32(u uint32) float32 { return float32(u>>8) * 0x1p-24 }

// Normal32 turns four words into four standard normal values, two from each pair, by the transform of G. E. P. Box and M. E. Muller ("A
// note on the generation of random normal deviates", 1958): r*cos(t) and r*sin(t), with r = sqrt(-2 ln v), t = 2 pi w, v = (u+1) * 2^-32
// from the first word and w = u * 2^-32 from the second. No value is beyond 6.67, the root of 64 ln 2.
func Normal32(u [4]uint32) [4]float32 {
	var z [4]float32
	for i := 0; i < 4; i += 2 {
		r := math.Sqrt(-2 * math.Log((float64(u[i])+1)*0x1p-32))
		sin, cos := math.Sincos(2 * math.Pi * (float64(u[i+1]) * 0x1p-32))
		z[i], z[i+1] = float32(r*cos), float32(r*sin)
	}
	return z
}

// Uniform is element i of a stream at a step.
func Uniform(seed, stream, step, i uint64) float32 {
	return Uniform32(Block(seed, stream, step, i/4)[i%4])
}

// Normal is element i of a stream at a step.
func Normal(seed, stream, step, i uint64) float32 {
	return Normal32(Block(seed, stream, step, i/4))[i%4]
}
