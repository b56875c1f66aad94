package text

import (
	"math"
	"strings"
)

// BPE is a Tokenizer whose tokens are the 256 bytes and pairs of tokens, each pair a token of its own. (Source: P. Gage, "A new algorithm for data
// compression", C Users Journal 12, 1994; R. Sennrich, B. Haddow and A. Birch, "Neural machine translation of rare words with subword units", 2016.)
type BPE struct {
	merges []pair         // merges[i] becomes token 256+i
	rank   map[pair]int32 // the token of each pair
	tokens []string       // the bytes of each
}

// pair is two tokens, one behind the other.
type pair struct{ left, right int32 }

// newBPE makes the empty BPE, with room for n tokens.
func newBPE(n int) *BPE {
	b := &BPE{rank: map[pair]int32{}, tokens: make([]string, 256, n)}
	for i := range 256 {
		b.tokens[i] = string([]byte{byte(i)})
	}
	return b
}

// add makes p a token.
func (b *BPE) add(p pair) int32 {
	t := int32(len(b.tokens))
	b.merges = append(b.merges, p)
	b.rank[p] = t
	b.tokens = append(b.tokens, b.tokens[p.left]+b.tokens[p.right])
	return t
}

// Size is the number of tokens, at least 256.
func (b *BPE) Size() int { return len(b.tokens) }

// Encode cuts the text into words and joins the bytes of each to tokens, the pairs that were learned first before the others.
func (b *BPE) Encode(text string) []int32 {
	known := map[string][]int32{}
	var tokens []int32
	for len(text) > 0 {
		w := text[:word(text)]
		text = text[len(w):]
		list, ok := known[w]
		if !ok {
			list = b.word(w)
			known[w] = list
		}
		tokens = append(tokens, list...)
	}
	return tokens
}

// word is the tokens of one word.
func (b *BPE) word(w string) []int32 {
	tokens := Bytes{}.Encode(w)
	for {
		first, best := int32(math.MaxInt32), pair{}
		for i := 1; i < len(tokens); i++ {
			p := pair{tokens[i-1], tokens[i]}
			if t, ok := b.rank[p]; ok && t < first {
				first, best = t, p
			}
		}
		if first == math.MaxInt32 {
			return tokens
		}
		tokens = join(tokens, best, first)
	}
}

// join replaces the pair by a token, in place, from the left.
func join(tokens []int32, p pair, t int32) []int32 {
	n := 0
	for i := 0; i < len(tokens); i++ {
		if i+1 < len(tokens) && tokens[i] == p.left && tokens[i+1] == p.right {
			tokens[n] = t
			i++
		} else {
			tokens[n] = tokens[i]
		}
		n++
	}
	return tokens[:n]
}

// Decode joins the bytes of the tokens. Where they end within a character, so does the text.
func (b *BPE) Decode(tokens []int32) (string, error) {
	var text strings.Builder
	for i, t := range tokens {
		if t < 0 || int(t) >= len(b.tokens) {
			return "", badToken(t, i, len(b.tokens))
		}
		text.WriteString(b.tokens[t])
	}
	return text.String(), nil
}
