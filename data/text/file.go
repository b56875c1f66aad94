package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// format names what a BPE file holds, and with it how a text is cut into words.
const format = "cortado bpe 1"

// maxFile is more than the longest BPE file, of MaxTokens tokens, has.
const maxFile = 16 << 20

// file is a BPE as JSON.
type file struct {
	Format string     `json:"format"`
	Merges [][2]int32 `json:"merges"` // merges[i] are the two tokens that token 256+i stands for
}

// Write writes b as JSON, for ReadBPE.
func (b *BPE) Write(w io.Writer) error {
	if w == nil {
		return errors.New("text: there is nothing to write to")
	}
	f := file{format, make([][2]int32, len(b.merges))}
	for i, p := range b.merges {
		f.Merges[i] = [2]int32{p.left, p.right}
	}
	if err := json.NewEncoder(w).Encode(f); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	return nil
}

// ReadBPE reads what Write has written. A file that cannot have come from it is an error, and is not believed as to how much memory it takes: a
// token of more than 256 bytes, which pairs of pairs soon are, is one.
func ReadBPE(r io.Reader) (*BPE, error) {
	b, err := readBPE(r)
	if err != nil {
		return nil, fmt.Errorf("text: a BPE file: %w", err)
	}
	return b, nil
}

func readBPE(r io.Reader) (*BPE, error) {
	if r == nil {
		return nil, errors.New("there is nothing to read")
	}
	whole, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(whole) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	var f struct {
		Format string    `json:"format"`
		Merges [][]int32 `json:"merges"` // of any length, which package json would cut to two
	}
	d := json.NewDecoder(bytes.NewReader(whole))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more behind it")
	}
	if f.Format != format {
		return nil, fmt.Errorf("its format is %q, not %q", f.Format, format)
	}
	if len(f.Merges) > MaxTokens-256 {
		return nil, fmt.Errorf("%d merges: %d are possible", len(f.Merges), MaxTokens-256)
	}
	b := newBPE(256 + len(f.Merges))
	for i, m := range f.Merges {
		if len(m) != 2 {
			return nil, fmt.Errorf("merge %d is of %d tokens", i, len(m))
		}
		p := pair{m[0], m[1]}
		if min(p.left, p.right) < 0 || int(max(p.left, p.right)) >= b.Size() {
			return nil, fmt.Errorf("merge %d is of %d and %d, but there are %d tokens before it", i, p.left, p.right, b.Size())
		}
		if _, twice := b.rank[p]; twice {
			return nil, fmt.Errorf("merge %d, of %d and %d, is there twice", i, p.left, p.right)
		}
		if n := len(b.tokens[p.left]) + len(b.tokens[p.right]); n > maxWord {
			return nil, fmt.Errorf("merge %d has %d bytes: %d are possible", i, n, maxWord)
		}
		b.add(p)
	}
	return b, nil
}
