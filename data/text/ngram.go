package text

import (
	"fmt"
	"math"
)

// NGram predicts a byte from the few before it, by how often what followed them: the baseline for models of bytes. Probabilities of contexts of
// each length are mixed as of I. H. Witten and T. C. Bell, "The zero-frequency problem", 1991: behind a context h that was seen n times, followed by
// t different bytes, p(b | h) = (count(h b) + t p(b | h')) / (n + t), where h' is h without its first byte, and at last p is 1/256.
type NGram struct {
	counts []map[uint64]int    // by the length of the context: of context and byte, the context's first byte highest
	after  []map[uint64]follow // by the length of the context
}

// follow is what was seen behind a context.
type follow struct{ n, different int }

// NewNGram makes one that has learned nothing. The order is how many bytes count, the predicted one among them, from 1 to 8.
func NewNGram(order int) (*NGram, error) {
	if order < 1 || order > 8 {
		return nil, fmt.Errorf("text: an n-gram of %d bytes: from 1 to 8 are possible", order)
	}
	m := &NGram{}
	for range order {
		m.counts = append(m.counts, map[uint64]int{})
		m.after = append(m.after, map[uint64]follow{})
	}
	return m, nil
}

// Learn counts a text. It costs time in proportion to the text and the order.
func (m *NGram) Learn(text string) {
	var past uint64 // the last 8 bytes, the last lowest
	for i := range len(text) {
		now := past<<8 | uint64(text[i])
		for k := 0; k < len(m.counts) && k <= i; k++ {
			context := tail(past, k)
			f := m.after[k][context]
			f.n++
			if at := tail(now, k+1); m.counts[k][at] == 0 {
				f.different++
				m.counts[k][at] = 1
			} else {
				m.counts[k][at]++
			}
			m.after[k][context] = f
		}
		past = now
	}
}

// tail is the lowest k bytes, of up to 8.
func tail(bytes uint64, k int) uint64 {
	if k == 8 {
		return bytes
	}
	return bytes & (1<<(8*k) - 1)
}

// Bits is -log2 of the probability of text[from:], byte by byte, each behind all those before it in the text.
func (m *NGram) Bits(text string, from int) float64 {
	bits := 0.0
	var past uint64
	for i := range len(text) {
		now := past<<8 | uint64(text[i])
		if i >= from {
			p := 1.0 / 256
			for k := 0; k < len(m.counts) && k <= i; k++ {
				f := m.after[k][tail(past, k)]
				if f.n == 0 {
					break
				}
				p = (float64(m.counts[k][tail(now, k+1)]) + float64(f.different)*p) / float64(f.n+f.different)
			}
			bits -= math.Log2(p)
		}
		past = now
	}
	return bits
}
