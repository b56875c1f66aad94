package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/data/text"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
	"github.com/cortado-ml/cortado/train"
)

// TestJudged counts by how many windows each token of a text is judged: one, which sees half a window of what comes before it at least.
func TestJudged(t *testing.T) {
	for _, length := range []int{1, 2, 5, 8} {
		for n := 1; n < 20; n++ {
			var before, after []int32
			for i := range 10 {
				before = append(before, int32(1000+i))
			}
			for i := range n {
				after = append(after, int32(i))
			}
			set := newJudged(before, after, length)
			var got []int32
			for i := range set.Len() {
				xs, ys := tensor.New(tensor.SpecOf(tensor.I64, length)), tensor.New(tensor.SpecOf(tensor.I64, length))
				if err := set.Sample(i, xs, ys); err != nil {
					t.Fatal(err)
				}
				for k := range length {
					y := ys.Int(k)
					if y >= 0 {
						got = append(got, int32(y))
						if k+1 < length/2 {
							t.Errorf("%d tokens in windows of %d: token %d is told from %d", n, length, y, k+1)
						}
					} else {
						y = -1 - y
					}
					if k+1 < length && xs.Int(k+1) != y {
						t.Errorf("%d tokens in windows of %d: behind token %d comes %d, not %d", n, length, xs.Int(k), xs.Int(k+1), y)
					}
				}
			}
			if d := cmp.Diff(after, got); d != "" {
				t.Errorf("%d tokens in windows of %d: %s", n, length, d)
			}
		}
	}
}

// TestBits judges a model that expects all tokens alike: each costs the logarithm of their number.
func TestBits(t *testing.T) {
	file := smallText(t)
	set, err := openText(file, recipe{tokens: 300, window: 16, passes: 1})
	if err != nil {
		t.Fatal(err)
	}
	book, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut := len(book) / 10 * 9
	tokens := set.task.(textTask).tokens
	want := float64(len(tokens.Encode(string(book[cut:])))) * math.Log2(300) / float64(len(book)-cut)
	if bpe, err := text.TrainBPE(bytes.NewReader(book[:cut]), 300); err != nil || !cmp.Equal(bpe.Encode(string(book)), tokens.Encode(string(book))) {
		t.Errorf("the tokens are not those of the first nine tenths; %v", err)
	}
	eng, closeAll, err := openEngine("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	even := layers.Func(func(c *layers.Context, x ops.Value) ops.Value {
		row := c.Param("row", tensor.Of(300), layers.Zeros)
		return row.Expand(x.Dim(0), x.Dim(1), 300)
	})
	net, err := layers.Build(even, tensor.SpecOf(tensor.I64, 1, 16), 1, tensor.F32)
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{1, 4, 1000} {
		got, err := train.Evaluate(t.Context(), eng, net, set.test, batch, set.loss, set.metrics()...)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got[bitsName]/want-1) > 1e-6 || math.Abs(got["loss"]/math.Log(300)-1) > 1e-6 {
			t.Errorf("batches of %d: %v, want %v bits", batch, got, want)
		}
	}
}

// writer is a folder with a model that has learned a little.
func writer(t testing.TB, model string) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	o := demo(t, folder, "-json", "-model", model, "-data", smallText(t), "-batch", "4", "-steps", "4")
	o.wants(t, 0)
	return folder, find(events(t, o.out), "done").File
}

// TestGenerate writes with each model: as often as asked with the same flags, the same; beyond the window of the model; behind any bytes.
func TestGenerate(t *testing.T) {
	for model := range textKind.recipes {
		folder, file := writer(t, model)
		write := func(args ...string) string {
			t.Helper()
			o := demo(t, folder, append([]string{"generate", "-model-file", file}, args...)...)
			o.wants(t, 0)
			if o.err != "" || !utf8.ValidString(o.out) || !strings.HasSuffix(o.out, "\n") {
				t.Errorf("%s %v: it wrote %q, and on standard error %q", model, args, o.out, o.err)
			}
			return o.out
		}
		first := write("-prompt", "The Light", "-length", "90", "-seed", "3")
		if !strings.HasPrefix(first, "The Light") || len(first) < 90 {
			t.Errorf("%s: it wrote %q", model, first)
		}
		for i, args := range [][]string{{"-seed", "3"}, {"-seed", "4"}, {"-seed", "3", "-temperature", "2"}, {"-seed", "3", "-top-k", "2"}} {
			again := write(append(args, "-prompt", "The Light", "-length", "90")...)
			if (again == first) != (i == 0) {
				t.Errorf("%s %v: it wrote %q behind %q", model, args, again, first)
			}
		}
		sure := write("-temperature", "0", "-seed", "1", "-prompt", "A")
		if sure != write("-temperature", "0", "-seed", "2", "-prompt", "A") || sure != write("-top-k", "1", "-prompt", "A") {
			t.Errorf("%s: the likeliest is not always the same", model)
		}
		if got := write("-prompt", "Ray", "-length", "0"); got != "Ray\n" {
			t.Errorf("%s: without a token it wrote %q", model, got)
		}
		if got := write("-prompt", "ünd\x1b[31m \xff", "-length", "0"); got != "ünd\uFFFD[31m \uFFFD\n" {
			t.Errorf("%s: it wrote %q", model, got)
		}
		long := strings.Repeat("of the Colours ", 100)
		if got := write("-prompt", long, "-length", "70"); !strings.HasPrefix(got, long) || len(got) < len(long)+70 {
			t.Errorf("%s: behind a long prompt it wrote %q", model, got)
		}
	}
}

// TestAuthor writes through several windows: there are two programs, and each token is drawn by what a pass over the tokens that the session holds
// expects.
func TestAuthor(t *testing.T) {
	for model := range textKind.recipes {
		folder, file := writer(t, model)
		m, err := loadModel(t.Context(), filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		eng, closeAll, err := openEngine("cpu", 0)
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll()
		a := m.task.(textTask).author(eng, m.net, 0, 0, 1)
		tokens := a.tokens.Encode("The")
		fresh := func(seen []int32) int32 {
			b := m.task.(textTask).author(eng, m.net, 0, 0, 1)
			next, err := b.next(t.Context(), seen)
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		for i := range 100 {
			next, err := a.next(t.Context(), tokens)
			if err != nil {
				t.Fatal(err)
			}
			if i%9 == 0 {
				if want := fresh(tokens[len(tokens)-a.held:]); next != want {
					t.Errorf("%s: token %d is %d, want %d", model, i, next, want)
				}
			}
			tokens = append(tokens, next)
		}
		if n := eng.Stats().Compiles; n != 2 {
			t.Errorf("%s: %d programs", model, n)
		}
	}
}

// TestWriters and classifiers are not taken for each other.
func TestWriters(t *testing.T) {
	folder, file := writer(t, "gru")
	demo(t, folder, "predict", "-model-file", file, "x.png").wants(t, 1, "demo: "+file+": it is a model of text, which writes: use demo generate")
	images, model := trained(t)
	demo(t, images, "generate", "-model-file", model).wants(t, 1, "demo: "+model+": the model mlp does not write: use demo predict")
	demo(t, folder, "generate").wants(t, 1, "there is no model "+generateFile+": train one first")
	demo(t, folder, "predict", "-invert", "-model-file", file, "x.png").wants(t, 1, "use demo generate")
}

// TestTextForPeople reads what a run prints.
func TestTextForPeople(t *testing.T) {
	folder := t.TempDir()
	o := demo(t, folder, "-model", "gru", "-data", smallText(t), "-batch", "4", "-epochs", "1")
	o.wants(t, 0)
	for _, want := range []string{"gru, ", ": 1800 bytes to train on, 200 to test, in ", " validation bits per character ", "\nit writes:\n", "\ntest ", "try: go run ./cmd/demo generate -model-file " + filepath.Join("cortado-demo", "gru.safetensors")} {
		if !strings.Contains(o.out, want) {
			t.Errorf("%q is not in\n%s", want, o.out)
		}
	}
}

// TestTextData names what is wrong with a text.
func TestTextData(t *testing.T) {
	folder := t.TempDir()
	for data, want := range map[string]string{
		"none.txt": "no such file or directory",
		folder:     "it is a folder: want a file of text",
		write(t, filepath.Join(folder, "empty.txt"), nil):                                                "0 bytes are too few",
		write(t, filepath.Join(folder, "short.txt"), []byte("To be, or not to be")):                      "19 bytes are too few",
		write(t, filepath.Join(folder, "picture.txt"), append([]byte("\x89PNG"), make([]byte, 5000)...)): "it is no text: it has bytes of 0",
	} {
		o := demo(t, t.TempDir(), "-json", "-model", "gpt", "-data", data)
		o.wants(t, 1, fmt.Sprintf("demo: -data %s: ", data), want)
	}
	// One letter on each line is a text too.
	o := demo(t, t.TempDir(), "-json", "-model", "gru", "-steps", "2", "-batch", "2", "-data", write(t, filepath.Join(folder, "aaa.txt"), bytes.Repeat([]byte("é\n"), 3000)))
	o.wants(t, 0)
}

// TestForeignTexts has files whose metadata name a model of text and make no sense otherwise.
func TestForeignTexts(t *testing.T) {
	const tokens = `{"format":"cortado bpe 1","merges":[]}`
	for what, c := range map[string]struct{ window, tokens, want string }{
		"no window":    {"", tokens, `cortado.window: "" is no number of tokens`},
		"negative":     {"-1", tokens, `cortado.window: "-1" is no number of tokens`},
		"enormous":     {"99999999", tokens, `cortado.window: "99999999" is no number of tokens`},
		"no tokens":    {"64", "", "cortado.tokens: "},
		"wrong tokens": {"64", `{"format":"cortado bpe 1","merges":[[0,256]]}`, "cortado.tokens: text: a BPE file: merge 0"},
		"no weights":   {"64", tokens, "missing: "},
	} {
		path := filepath.Join(t.TempDir(), "gpt.safetensors")
		x := []safetensors.Named{{Name: "x", Tensor: tensor.New(tensor.SpecOf(tensor.F32, 1))}}
		if err := safetensors.WriteFile(path, x, map[string]string{metaKind: "text", metaModel: "gpt", metaWindow: c.window, metaTokens: c.tokens}); err != nil {
			t.Fatal(err)
		}
		if _, err := loadModel(t.Context(), path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
}
