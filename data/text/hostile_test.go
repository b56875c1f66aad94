package text_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/text"
	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileArguments: what cannot be is an error in words, never a panic.
func TestHostileArguments(t *testing.T) {
	two := func(_ any, err error) error { return err }
	for what, f := range map[string]func() error{
		"nothing to learn":              func() error { return two(text.TrainBPE(nil, 300)) },
		"no file":                       func() error { return two(text.ReadBPE(nil)) },
		"nowhere to write":              func() error { return new(text.BPE).Write(nil) },
		"a token of the zero tokenizer": func() error { return two(new(text.BPE).Decode([]int32{0})) },
		"no source":                     func() error { return two(text.NewSource(nil, text.Bytes{}, 3)) },
		"no tokenizer":                  func() error { return two(text.NewSource(strings.NewReader("abc"), nil, 3)) },
		"no windows":                    func() error { return two(text.Windows(nil, 1, 1)) },
		"a sample of no spec": func() error {
			d, err := text.Windows([]int32{1, 2}, 1, 1)
			if err != nil {
				return nil
			}
			return d.Sample(0, tensor.Tensor{}, tensor.Tensor{})
		},
	} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s: panic: %v", what, p)
				}
			}()
			if err := f(); err == nil || !strings.HasPrefix(err.Error(), "text: ") {
				t.Errorf("%s: %v", what, err)
			}
		}()
	}
}
