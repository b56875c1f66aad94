package data

import (
	"math/bits"
	"math/rand/v2"

	"github.com/cortado-ml/cortado/internal/philox"
)

// The streams of random numbers that the loader draws, far from those that a tape counts up from 0.
const (
	orderStream  = 0xda7a << 48
	sampleStream = 0xda7b << 48 // plus the sample's number
	poolStream   = 0xda7c << 48
	splitStream  = 0xda7d << 48
	bucketStream = 0xda7e << 48
)

// source is a rand.Source without a past: its numbers are a pure function of the seed, the stream and the epoch.
type source struct {
	seed, stream, epoch uint64
	drawn               uint64
	block               [4]uint32
}

// Uint64 is the next number.
func (s *source) Uint64() uint64 {
	at := s.drawn % 2 * 2
	if at == 0 {
		s.block = philox.Block(s.seed, s.stream, s.epoch, s.drawn/2)
	}
	s.drawn++
	return uint64(s.block[at+1])<<32 | uint64(s.block[at])
}

// below is a random number from 0 to n-1. It is written out here, since the order of an epoch must not depend on the version of Go; no
// number is likelier than another by more than n/2^64.
func below(s rand.Source, n int) int {
	high, _ := bits.Mul64(s.Uint64(), uint64(n))
	return int(high)
}

// permutation is a random order of n things (R. A. Fisher and F. Yates; R. Durstenfeld, "Algorithm 235", 1964).
func permutation(s *source, n int) []int {
	p := make([]int, n)
	for i := range p {
		j := below(s, i+1)
		p[i] = p[j]
		p[j] = i
	}
	return p
}
