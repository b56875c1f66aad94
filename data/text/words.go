package text

import (
	"errors"
	"io"
)

// maxWord is the most bytes of a word, and so of a token.
const maxWord = 256

// The kinds of bytes that a word is made of.
const (
	letter = iota // also every byte of a character beyond ASCII
	digit
	space
	other
)

func kind(b byte) int {
	switch {
	case b >= 0x80, 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z':
		return letter
	case '0' <= b && b <= '9':
		return digit
	case b == ' ', '\t' <= b && b <= '\r':
		return space
	}
	return other
}

// word is the length of the first word of a text: no token goes beyond one. A word is a run of one kind of byte, with the blank before it if there is
// one. (The cut is that of A. Radford et al., "Language models are unsupervised multitask learners", 2019, but for the apostrophe and for
// letters that are not told from other characters beyond ASCII.)
func word(text string) int {
	i := 0
	if text[0] == ' ' && len(text) > 1 && kind(text[1]) != space {
		i = 1
	}
	k := kind(text[i])
	end := i + 1
	for end < len(text) && end < maxWord && kind(text[end]) == k {
		end++
	}
	if k == space && end > 1 && end < len(text) && text[end-1] == ' ' && kind(text[end]) != space {
		end-- // this blank belongs to the word behind it
	}
	return end
}

// chunks reads a text piece by piece.
type chunks struct {
	from io.Reader
	rest []byte // read, but not given
	err  error
}

// chunk is the most bytes of a piece.
const chunk = 1 << 16

// next is the next piece; io.EOF behind the last. A piece ends behind the end of a line, where nothing but a word begins, so that its words are
// those of the whole text. A piece without such a place ends anywhere.
func (c *chunks) next() (string, error) {
	if c.from == nil {
		return "", errors.New("there is nothing to read")
	}
	if c.err == nil {
		have := len(c.rest)
		c.rest = append(c.rest, make([]byte, chunk-have)...)
		var n int
		n, c.err = io.ReadFull(c.from, c.rest[have:])
		c.rest = c.rest[:have+n]
	}
	if c.err == io.ErrUnexpectedEOF {
		c.err = io.EOF
	}
	if c.err != nil && c.err != io.EOF {
		return "", c.err
	}
	if len(c.rest) == 0 {
		return "", io.EOF
	}
	end := len(c.rest)
	if c.err == nil {
		for i := end - 1; i > 0; i-- {
			if c.rest[i-1] == '\n' && kind(c.rest[i]) != space {
				end = i
				break
			}
		}
	}
	piece := string(c.rest[:end])
	c.rest = append(c.rest[:0], c.rest[end:]...)
	return piece, nil
}
