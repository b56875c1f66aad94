package text

import (
	"fmt"
	"math"
)

// Tokenizer turns text into tokens, numbers from 0 to Size()-1. Decoding what it has encoded gives the same bytes, whatever they are. Its methods
// may be called concurrently.
type Tokenizer interface {
	// Size is the number of different tokens.
	Size() int
	// Encode gives the tokens of a text.
	Encode(text string) []int32
	// Decode joins the bytes of the tokens. A token that there is not is an error.
	Decode(tokens []int32) (string, error)
}

// Bytes is the Tokenizer whose tokens are the 256 bytes.
type Bytes struct{}

// Size is 256.
func (Bytes) Size() int { return 256 }

// Encode gives the bytes.
func (Bytes) Encode(text string) []int32 {
	tokens := make([]int32, len(text))
	for i := range len(text) {
		tokens[i] = int32(text[i])
	}
	return tokens
}

// Decode joins the bytes.
func (Bytes) Decode(tokens []int32) (string, error) {
	text := make([]byte, len(tokens))
	for i, t := range tokens {
		if t < 0 || t > 255 {
			return "", badToken(t, i, 256)
		}
		text[i] = byte(t)
	}
	return string(text), nil
}

func badToken(t int32, i, size int) error {
	return fmt.Errorf("text: token %d at %d: there are %d tokens", t, i, size)
}

// BitsPerCharacter is what a mean loss in nats, as ops.CrossEntropy gives it, over that many tokens comes to when they stand for so many
// characters. It compares models whose tokens differ.
func BitsPerCharacter(loss float64, tokens, characters int) float64 {
	return loss / math.Ln2 * float64(tokens) / float64(characters)
}
