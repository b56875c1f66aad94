package text_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/text"
)

// FuzzBPE learns from any bytes and takes any others apart and together again.
func FuzzBPE(f *testing.F) {
	f.Add(song, "merrily\xff\n\n  row")
	f.Add(strings.Repeat("a", 600), strings.Repeat("a", 700))
	f.Add(" \n \t  x", "\xc3")
	f.Fuzz(func(t *testing.T, learned, s string) {
		b := train(t, learned, 300)
		for _, s := range []string{s, learned, s + learned} {
			tokens := b.Encode(s)
			if back, err := b.Decode(tokens); err != nil || back != s {
				t.Fatalf("%q became %q, %v", s, back, err)
			}
		}
		back, err := text.ReadBPE(strings.NewReader(file(t, b)))
		if err != nil {
			t.Fatal(err)
		}
		if file(t, back) != file(t, b) {
			t.Fatal("what was read is another")
		}
	})
}

// FuzzReadBPE reads any file; what is not refused is written as it was read.
func FuzzReadBPE(f *testing.F) {
	f.Add(file(f, train(f, song, 270)))
	f.Add(`{"format":"cortado bpe 1","merges":[[97,97],[256,256],[257,257]]}`)
	f.Add(`{"format":"cortado bpe 1","merges":null}`)
	f.Fuzz(func(t *testing.T, content string) {
		b, err := text.ReadBPE(strings.NewReader(content))
		if err != nil {
			return
		}
		back, err := text.ReadBPE(strings.NewReader(file(t, b)))
		if err != nil || back.Size() != b.Size() {
			t.Fatal(err)
		}
		if s, err := b.Decode(b.Encode(content)); err != nil || s != content {
			t.Fatalf("%q, %v", s, err)
		}
	})
}
