package text_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/cortado-ml/cortado/data/opticks"
	"github.com/cortado-ml/cortado/data/text"
	"github.com/cortado-ml/cortado/tensor"
)

func newton(t testing.TB) string {
	t.Helper()
	s, err := opticks.Text()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func train(t testing.TB, s string, size int) *text.BPE {
	t.Helper()
	b, err := text.TrainBPE(strings.NewReader(s), size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// file is b as a file.
func file(t testing.TB, b *text.BPE) string {
	t.Helper()
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// plain learns as the definition says, by counting all pairs anew for each token. Words are given.
func plain(words []string, size int) (merges [][2]int32) {
	var texts [][]int32
	for _, w := range words {
		texts = append(texts, text.Bytes{}.Encode(w))
	}
	for 256+len(merges) < size {
		counts := map[[2]int32]int{}
		for _, w := range texts {
			for i := 1; i < len(w); i++ {
				counts[[2]int32{w[i-1], w[i]}]++
			}
		}
		best, most := [2]int32{}, 1
		for p, n := range counts {
			if n > most || n == most && n > 1 && slices.Compare(p[:], best[:]) < 0 {
				best, most = p, n
			}
		}
		if most < 2 {
			break
		}
		token := int32(256 + len(merges))
		merges = append(merges, best)
		for k, w := range texts {
			var joined []int32
			for i := 0; i < len(w); i++ {
				if i+1 < len(w) && w[i] == best[0] && w[i+1] == best[1] {
					joined = append(joined, token)
					i++
				} else {
					joined = append(joined, w[i])
				}
			}
			texts[k] = joined
		}
	}
	return merges
}

// TestTrain compares with the definition, on words that repeat within themselves.
func TestTrain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var words []string
		for range 1 + random.IntN(60) {
			w := make([]byte, 1+random.IntN(9))
			for i := range w {
				w[i] = "abc"[random.IntN(3)]
			}
			words = append(words, " "+string(w))
		}
		size := 256 + random.IntN(40)
		want := plain(words, size)
		got := train(t, strings.Join(words, ""), size)
		if got.Size() != 256+len(want) {
			t.Fatalf("%q: %d tokens, want %d", words, got.Size(), 256+len(want))
		}
		parts := func(k int32) string { s, _ := got.Decode([]int32{k}); return s }
		for i, m := range want {
			if parts(int32(256+i)) != parts(m[0])+parts(m[1]) {
				t.Fatalf("%q: token %d is %q, want %q and %q", words, 256+i, parts(int32(256+i)), parts(m[0]), parts(m[1]))
			}
		}
	}
}

// TestOpticks: a tokenizer of a whole book. The numbers were seen once; what they guard is that files stay what they were.
func TestOpticks(t *testing.T) {
	book := newton(t)
	b := train(t, book, 1024)
	tokens := b.Encode(book)
	back, err := b.Decode(tokens)
	if err != nil || back != book {
		t.Fatal("the book is not what it was", err)
	}
	if b.Size() != 1024 || len(tokens) != 190_352 {
		t.Errorf("%d tokens, %d in the text", b.Size(), len(tokens))
	}
	again := train(t, book, 1024)
	if file(t, b) != file(t, again) {
		t.Error("trained again it is another")
	}
	smaller := train(t, book, 300)
	if len(smaller.Encode(book)) <= len(tokens) {
		t.Error("fewer tokens make a shorter text")
	}
	for _, s := range []string{"the", " the", " Light", " Refraction"} {
		if n := len(b.Encode(s)); n > 2 {
			t.Errorf("%q is %d tokens", s, n)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	b := train(t, newton(t)[:50_000], 400)
	for _, s := range []string{"", " ", "  ", "a", " a", "  a", "a ", "\n\n a", "ä.重み", "x\x00\xff\xfe", string(all), strings.Repeat("a", 10_000), strings.Repeat(" ", 10_000), strings.Repeat(" \n", 999) + "b"} {
		for _, tok := range []text.Tokenizer{b, text.Bytes{}} {
			tokens := tok.Encode(s)
			if back, err := tok.Decode(tokens); err != nil || back != s {
				t.Errorf("%T: %.40q became %.40q, %v", tok, s, back, err)
			}
			for _, k := range tokens {
				if k < 0 || int(k) >= tok.Size() {
					t.Errorf("%T: token %d of %d", tok, k, tok.Size())
				}
			}
		}
	}
	for _, tok := range []text.Tokenizer{b, text.Bytes{}} {
		for _, k := range []int32{-1, int32(tok.Size())} {
			if _, err := tok.Decode([]int32{0, k}); err == nil || !strings.HasPrefix(err.Error(), "text: token ") {
				t.Errorf("%T: token %d: %v", tok, k, err)
			}
		}
	}
}

func TestTrainFaults(t *testing.T) {
	for _, size := range []int{-1, 0, 255, text.MaxTokens + 1} {
		if _, err := text.TrainBPE(strings.NewReader("a"), size); err == nil || !strings.Contains(err.Error(), "from 256 to 262144") {
			t.Error(size, err)
		}
	}
	broken := errors.New("broken")
	if _, err := text.TrainBPE(io.MultiReader(strings.NewReader("abab"), iotest.ErrReader(broken)), 300); !errors.Is(err, broken) {
		t.Error(err)
	}
	if b := train(t, "", 300); b.Size() != 256 {
		t.Error(b.Size())
	}
	if b := train(t, "abcd", 300); b.Size() != 256 {
		t.Errorf("pairs that are there once became %d tokens", b.Size()-256)
	}
}

func TestFile(t *testing.T) {
	b := train(t, song, 280)
	kept := file(t, b)
	back, err := text.ReadBPE(strings.NewReader(kept))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Encode(song), b.Encode(song)) || file(t, back) != kept {
		t.Error("what was read is another")
	}
	var doubling strings.Builder
	doubling.WriteString(`{"format":"cortado bpe 1","merges":[[97,97]`)
	for k := range 60 {
		doubling.WriteString(strings.ReplaceAll(",[N,N]", "N", string(rune('0'+(256+k)/100))+string(rune('0'+(256+k)/10%10))+string(rune('0'+(256+k)%10))))
	}
	doubling.WriteString("]}")
	for content, want := range map[string]string{
		"":                                      "EOF",
		kept[:len(kept)/2]:                      "unexpected EOF",
		kept + "x":                              "there is more behind it",
		kept + kept:                             "there is more behind it",
		"null":                                  `its format is ""`,
		"[]":                                    "cannot unmarshal",
		`{"format":"gpt2"}`:                     `its format is "gpt2", not "cortado bpe 1"`,
		`{"format":"cortado bpe 1","vocab":{}}`: `unknown field "vocab"`,
		`{"format":"cortado bpe 1","merges":[[1]]}`:             "merge 0 is of 1 tokens",
		`{"format":"cortado bpe 1","merges":[[1,2,3]]}`:         "merge 0 is of 3 tokens",
		`{"format":"cortado bpe 1","merges":[[1,2],[1,2]]}`:     "merge 1, of 1 and 2, is there twice",
		`{"format":"cortado bpe 1","merges":[[1,2],[256,257]]}`: "merge 1 is of 256 and 257, but there are 257 tokens before it",
		`{"format":"cortado bpe 1","merges":[[-1,2]]}`:          "merge 0 is of -1 and 2",
		`{"format":"cortado bpe 1","merges":[[1,4294967297]]}`:  "cannot unmarshal number 4294967297",
		doubling.String(): "merge 8 has 512 bytes: 256 are possible",
		`{"format":"` + strings.Repeat("x", 16<<20):                                      "it has more than 16777216 bytes",
		strings.Repeat("[", 100_000):                                                     "exceeded max depth",
		`{"format":"cortado bpe 1","merges":[` + strings.Repeat("[],", 300_000) + "[]]}": "300001 merges: 261888 are possible",
	} {
		b, err := text.ReadBPE(strings.NewReader(content))
		if b != nil || err == nil || !strings.HasPrefix(err.Error(), "text: a BPE file: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", content, err, want)
		}
	}
}

func TestWindows(t *testing.T) {
	tokens := []int32{10, 11, 12, 13, 14, 15, 16}
	for _, c := range []struct{ length, stride, n int }{{3, 3, 2}, {3, 1, 4}, {3, 2, 2}, {6, 6, 1}, {6, 1, 1}, {1, 1, 6}, {1, 5, 2}, {2, 100, 1}} {
		d, err := text.Windows(tokens, c.length, c.stride)
		if err != nil || d.Len() != c.n {
			t.Fatalf("%+v: %v", c, err)
		}
		xs, ys := d.Specs()
		x, y := tensor.New(xs), tensor.New(ys)
		for i := range c.n {
			if err := d.Sample(i, x, y); err != nil {
				t.Fatal(err)
			}
			for k := range c.length {
				if want := int64(10 + i*c.stride + k); x.Int(k) != want || y.Int(k) != want+1 {
					t.Errorf("%+v: sample %d is %v, %v", c, i, x, y)
				}
			}
		}
		for _, err := range []error{d.Sample(-1, x, y), d.Sample(c.n, x, y), d.Sample(0, x, tensor.Tensor{})} {
			if err == nil || !strings.HasPrefix(err.Error(), "text: ") {
				t.Error(err)
			}
		}
	}
	for _, c := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {7, 1}, {8, 1}, {math.MaxInt, 1}} {
		if _, err := text.Windows(tokens, c[0], c[1]); err == nil || !strings.HasPrefix(err.Error(), "text: ") {
			t.Error(c, err)
		}
	}
}

// TestSource: read in pieces, of whatever size the reader gives, the windows are those of the whole text.
func TestSource(t *testing.T) {
	book := newton(t)[:200_000]
	b := train(t, book, 500)
	const length = 100
	want, err := text.Windows(b.Encode(book), length, length)
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]io.Reader{"whole": strings.NewReader(book), "by halves": iotest.HalfReader(strings.NewReader(book)), "with the end": iotest.DataErrReader(strings.NewReader(book))} {
		s, err := text.NewSource(r, b, length)
		if err != nil {
			t.Fatal(err)
		}
		xs, ys := s.Specs()
		x, y, wantX, wantY := tensor.New(xs), tensor.New(ys), tensor.New(xs), tensor.New(ys)
		for i := range want.Len() {
			if err := errors.Join(s.Next(x, y), want.Sample(i, wantX, wantY)); err != nil || !x.Same(wantX) || !y.Same(wantY) {
				t.Fatalf("%s: window %d: %v", what, i, err)
			}
		}
		if err := s.Next(x, y); err != io.EOF {
			t.Errorf("%s: %v", what, err)
		}
	}
	broken := errors.New("broken")
	s, err := text.NewSource(io.MultiReader(strings.NewReader(book), iotest.ErrReader(broken)), text.Bytes{}, 150_000)
	if err != nil {
		t.Fatal(err)
	}
	xs, ys := s.Specs()
	x, y := tensor.New(xs), tensor.New(ys)
	if err := s.Next(x, y); err != nil {
		t.Error(err)
	}
	if err := s.Next(x, y); !errors.Is(err, broken) || err.Error() != "text: broken" {
		t.Error(err)
	}
	if _, err := text.NewSource(nil, b, 0); err == nil {
		t.Error("a window of no token")
	}
}

// TestBaseline is the figure that a model of the text has to beat: 2.195 bits per character on the last tenth of the book.
func TestBaseline(t *testing.T) {
	book := newton(t)
	cut := len(book) * 9 / 10
	m, err := text.NewNGram(5)
	if err != nil {
		t.Fatal(err)
	}
	m.Learn(book[:cut])
	bits := m.Bits(book, cut)
	perByte, perCharacter := bits/float64(len(book)-cut), bits/float64(utf8.RuneCountInString(book[cut:]))
	if math.Abs(perByte-2.1943893426241123) > 1e-9 { // by a program in Python that follows the paper
		t.Errorf("%v bits a byte", perByte)
	}
	if math.Round(perCharacter*1000) != 2195 {
		t.Errorf("%v bits a character", perCharacter)
	}
}

// TestNGram follows the formula by hand, and finds that probabilities add up to 1.
func TestNGram(t *testing.T) {
	for order := 1; order <= 8; order++ {
		m, err := text.NewNGram(order)
		if err != nil {
			t.Fatal(err)
		}
		m.Learn("abracadabra, abracadabra\xff\x00")
		for _, past := range []string{"", "a", "abracadab", "xyz", "\xff\x00\xff\x00\xff\x00\xff\x00"} {
			sum := 0.0
			for b := range 256 {
				sum += math.Exp2(-m.Bits(past+string([]byte{byte(b)}), len(past)))
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("order %d behind %q: %v", order, past, sum)
			}
		}
	}
	m, err := text.NewNGram(2)
	if err != nil {
		t.Fatal(err)
	}
	m.Learn("aab")
	low := (1 + 2.0/256) / 5 // of b: 3 seen, 2 different
	if want := -math.Log2((1 + 2*low) / 4); math.Abs(m.Bits("ab", 1)-want) > 1e-12 {
		t.Errorf("%v, want %v", m.Bits("ab", 1), want)
	}
	for _, order := range []int{-1, 0, 9} {
		if _, err := text.NewNGram(order); err == nil {
			t.Error(order)
		}
	}
}

func TestBitsPerCharacter(t *testing.T) {
	if got := text.BitsPerCharacter(math.Ln2*3, 50, 100); math.Abs(got-1.5) > 1e-15 {
		t.Error(got)
	}
}
