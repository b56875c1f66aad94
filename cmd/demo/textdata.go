package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cortado-ml/cortado/data/opticks"
	"github.com/cortado-ml/cortado/data/text"
	"github.com/cortado-ml/cortado/tensor"
)

// openText opens the text that -data names: "opticks", the book that the program brings along, or a file. The first 90 % of its bytes are to train
// on, the rest to test: not one of its tokens is learned from, nor does it take part in what the tokens are.
func openText(name string, r recipe) (c corpus, err error) {
	book, err := readText(name)
	if err != nil {
		return c, err
	}
	cut := len(book) / 10 * 9
	tokens, err := text.TrainBPE(strings.NewReader(book[:cut]), r.tokens)
	if err != nil {
		return c, err
	}
	learned, judged := tokens.Encode(book[:cut]), tokens.Encode(book[cut:])
	if len(learned) < 2*r.window || len(judged) == 0 {
		return c, fmt.Errorf("%d bytes are too few to learn to write from", len(book))
	}
	if c.train, err = text.Windows(learned, r.window, max(1, r.window/r.passes)); err != nil {
		return c, err
	}
	c.test = newJudged(learned, judged, r.window)
	c.task = textTask{tokens: tokens, window: r.window, bytes: len(book) - cut}
	c.what = fmt.Sprintf("%d bytes to train on, %d to test, in %d tokens of %d kinds", cut, len(book)-cut, len(learned)+len(judged), tokens.Size())
	return c, nil
}

// maxText is more than the demo has the time to learn from.
const maxText = 1 << 28

func readText(name string) (string, error) {
	if name == "opticks" {
		return opticks.Text()
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", errors.Unwrap(err)
	case info.IsDir():
		return "", errors.New("it is a folder: want a file of text")
	case info.Size() > maxText:
		return "", fmt.Errorf("it has %d bytes: more than %d are too many to keep in memory", info.Size(), maxText)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	if bytes.IndexByte(b, 0) >= 0 {
		return "", errors.New("it is no text: it has bytes of 0")
	}
	return string(b), nil
}

// judged is windows in which each token of a text is to be predicted once, from half a window of what comes before it at least. A target that only another
// window is judged by is -1-t instead of t.
type judged struct {
	tokens []int32 // of the text, behind a window of what comes before
	length int
}

// newJudged judges a text that comes behind another one, which fills a window.
func newJudged(before, text []int32, length int) *judged {
	return &judged{append(before[len(before)-length:len(before):len(before)], text...), length}
}

// step is how far apart windows are.
func (j *judged) step() int { return max(1, j.length/2) }

func (j *judged) Len() int { return (len(j.tokens) - j.length + j.step() - 1) / j.step() }

func (j *judged) Specs() (x, y tensor.Spec) {
	s := tensor.SpecOf(tensor.I64, j.length)
	return s, s
}

func (j *judged) Sample(i int, x, y tensor.Tensor) error {
	if i < 0 || i >= j.Len() {
		return fmt.Errorf("there is no window %d: there are %d", i, j.Len())
	}
	from := j.length + i*j.step()            // the first that this window is judged by
	end := min(from+j.step(), len(j.tokens)) // behind the last
	xs, ys := tensor.Data[int64](x), tensor.Data[int64](y)
	for k := range j.length {
		at := end - j.length + k // of the target
		xs[k], ys[k] = int64(j.tokens[at-1]), int64(j.tokens[at])
		if at < from {
			ys[k] = -1 - ys[k]
		}
	}
	return nil
}
