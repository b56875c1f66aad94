package audio_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cortado-ml/cortado/data/audio"
	"github.com/cortado-ml/cortado/tensor"
)

var le = binary.LittleEndian

// chunk is a chunk of a WAV file, padded to an even length.
func chunk(name string, content []byte) []byte {
	b := append(le.AppendUint32([]byte(name), uint32(len(content))), content...)
	return append(b, make([]byte, len(content)&1)...)
}

// format is the content of a format chunk.
func format(code, channels uint16, rate uint32, bits uint16) []byte {
	b := le.AppendUint16(le.AppendUint16(nil, code), channels)
	block := channels * (bits / 8)
	b = le.AppendUint32(le.AppendUint32(b, rate), rate*uint32(block))
	return le.AppendUint16(le.AppendUint16(b, block), bits)
}

// extensible is the content of the format chunk of an extensible file.
func extensible(code, channels uint16, rate uint32, bits uint16, guid string) []byte {
	b := format(0xfffe, channels, rate, bits)
	b = le.AppendUint32(le.AppendUint16(le.AppendUint16(b, 22), bits), 3)
	return append(le.AppendUint16(b, code), guid...)
}

const guid = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// wav is a file of chunks.
func wav(chunks ...[]byte) []byte {
	b := append([]byte("WAVE"), slices.Concat(chunks...)...)
	return append(le.AppendUint32([]byte("RIFF"), uint32(len(b))), b...)
}

func f32(v float32) []byte { return le.AppendUint32(nil, math.Float32bits(v)) }
func f64(v float64) []byte { return le.AppendUint64(nil, math.Float64bits(v)) }

func TestReadWAV(t *testing.T) {
	list := chunk("LIST", []byte("odd"))
	pcm16 := chunk("fmt ", format(1, 1, 8000, 16))
	samples := chunk("data", []byte{0, 0, 0, 0x40, 0xff, 0x7f, 0, 0x80})
	want16 := [][]float32{{0, 0.5, 32767.0 / 32768, -1}}
	unknown := func(size uint32) []byte {
		return append(le.AppendUint32([]byte("data"), size), 0, 0, 0, 0x40, 0xff, 0x7f, 0, 0x80)
	}
	for what, c := range map[string]struct {
		file []byte
		want [][]float32
	}{
		"8 bits":            {wav(chunk("fmt ", format(1, 1, 8000, 8)), chunk("data", []byte{0, 128, 255, 192, 127})), [][]float32{{-1, 0, 127.0 / 128, 0.5, -1.0 / 128}}},
		"16 bits":           {wav(pcm16, samples), want16},
		"24 bits":           {wav(chunk("fmt ", format(1, 1, 8000, 24)), chunk("data", []byte{0, 0, 0x80, 0, 0, 0x40, 1, 0, 0, 0xff, 0xff, 0xff})), [][]float32{{-1, 0.5, 1.0 / (1 << 23), -1.0 / (1 << 23)}}},
		"32 bits":           {wav(chunk("fmt ", format(1, 1, 8000, 32)), chunk("data", []byte{0, 0, 0, 0x80, 0, 0, 0, 0x40, 1, 0, 0, 0})), [][]float32{{-1, 0.5, 1.0 / (1 << 31)}}},
		"float":             {wav(chunk("fmt ", format(3, 1, 8000, 32)), chunk("data", slices.Concat(f32(0.1), f32(-7), f32(float32(math.Inf(1)))))), [][]float32{{0.1, -7, float32(math.Inf(1))}}},
		"double":            {wav(chunk("fmt ", format(3, 1, 8000, 64)), chunk("data", slices.Concat(f64(0.1), f64(-7)))), [][]float32{{0.1, -7}}},
		"stereo":            {wav(chunk("fmt ", format(1, 2, 8000, 16)), samples), [][]float32{{0, 32767.0 / 32768}, {0.5, -1}}},
		"extensible":        {wav(chunk("fmt ", extensible(1, 1, 8000, 16, guid)), samples), want16},
		"extensible float":  {wav(chunk("fmt ", extensible(3, 1, 8000, 32, guid)), chunk("data", f32(0.25))), [][]float32{{0.25}}},
		"more chunks":       {wav(list, pcm16, list, samples, list), want16},
		"a long format":     {wav(chunk("fmt ", append(format(1, 1, 8000, 16), 0, 0, 9)), samples), want16},
		"more behind":       {append(wav(pcm16, samples), "garbage"...), want16},
		"a wrong RIFF size": {append([]byte("RIFF\x00\x00\x00\x00WAVE"), slices.Concat(pcm16, samples)...), want16},
		"no samples":        {wav(pcm16, chunk("data", nil)), [][]float32{{}}},
		"from a pipe":       {wav(pcm16, unknown(0xffffffff)), want16},
		"from espeak-ng":    {wav(pcm16, unknown(0x7ffff000)), want16},
		"odd, no padding":   {wav(chunk("fmt ", format(1, 1, 8000, 8)), append(le.AppendUint32([]byte("data"), 1), 192)), [][]float32{{0.5}}},
		"three, empty":      {wav(chunk("fmt ", format(1, 3, 8000, 16)), chunk("data", nil)), [][]float32{{}, {}, {}}},
	} {
		got, err := audio.ReadWAV(bytes.NewReader(c.file))
		if err != nil || got.Rate != 8000 || !reflect.DeepEqual(got.Channels, c.want) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

func TestBadWAV(t *testing.T) {
	pcm16 := chunk("fmt ", format(1, 1, 8000, 16))
	samples := chunk("data", []byte{0, 0, 0, 0x40})
	promise := append(le.AppendUint32([]byte("data"), 0x7fffefff), 1, 2)
	block := format(1, 1, 8000, 16)
	block[12] = 3
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                 {nil, `it is none: it starts with ""`},
		"a web page":            {[]byte("<!DOCTYPE html><html>"), `it is none: it starts with "<!DOCTYPE ht"`},
		"big-endian":            {[]byte("RIFX\x00\x00\x00\x00WAVE"), `it is none: it starts with "RIFX`},
		"64 bits of size":       {[]byte("RF64\x00\x00\x00\x00WAVE"), `it is none: it starts with "RF64`},
		"no more":               {wav(), "cut off"},
		"only a format":         {wav(pcm16), "cut off"},
		"cut in a chunk's head": {append(wav(pcm16), "dat"...), "cut off"},
		"cut in the format":     {wav(pcm16)[:30], "cut off"},
		"cut in another chunk":  {wav(chunk("LIST", make([]byte, 100)))[:50], "cut off"},
		"cut in the samples":    {wav(pcm16, samples)[:46], "cut off: it promises 4 bytes of samples, and 2 are there"},
		"2 GB of samples":       {wav(pcm16, promise), "cut off: it promises 2147479551 bytes of samples, and 2 are there"},
		"samples first":         {wav(samples, pcm16), "its samples come before their format"},
		"two formats":           {wav(pcm16, pcm16, samples), "it has two formats"},
		"a short format":        {wav(chunk("fmt ", []byte{1, 0, 1, 0}), samples), "its format has 4 bytes"},
		"A-law":                 {wav(chunk("fmt ", format(6, 1, 8000, 8)), samples), "of format 0x6 with 8 bits"},
		"12 bits":               {wav(chunk("fmt ", format(1, 1, 8000, 12)), samples), "of format 0x1 with 12 bits"},
		"16 bits of float":      {wav(chunk("fmt ", format(3, 1, 8000, 16)), samples), "of format 0x3 with 16 bits"},
		"no channel":            {wav(chunk("fmt ", format(1, 0, 8000, 16)), samples), "it has 0 channels"},
		"no rate":               {wav(chunk("fmt ", format(1, 1, 0, 16)), samples), "of 0 samples a second"},
		"a rate beyond int32":   {wav(chunk("fmt ", format(1, 1, 1<<31, 16)), samples), "of 2147483648 samples a second"},
		"a wrong block":         {wav(chunk("fmt ", block), samples), "a sample of 1 channels of 16 bits has 3 bytes"},
		"half a sample":         {wav(pcm16, chunk("data", []byte{1, 2, 3})), "3 bytes of samples are not a multiple of 2"},
		"half a sample, piped":  {wav(pcm16, append(le.AppendUint32([]byte("data"), 1<<32-1), 1, 2, 3)), "3 bytes of samples are not a multiple of 2"},
		"short extensible":      {wav(chunk("fmt ", format(0xfffe, 1, 8000, 16)), samples), "its extensible format has 16 bytes"},
		"another extensible":    {wav(chunk("fmt ", extensible(1, 1, 8000, 16, "MMMMMMMMMMMMMM")), samples), "its extensible format is not known"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := audio.ReadWAV(bytes.NewReader(c.file))
		runtime.ReadMemStats(&after)
		if got.Channels != nil || err == nil || !strings.HasPrefix(err.Error(), "audio: a WAV file: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", what, err, c.want)
		}
		if after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: took %d bytes", what, after.TotalAlloc-before.TotalAlloc)
		}
	}
	broken := errors.New("broken")
	if _, err := audio.ReadWAV(io.MultiReader(bytes.NewReader(wav(pcm16)), brokenReader{broken})); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error)    { return 0, b.err }
func (b brokenReader) Write(p []byte) (int, error) { return 0, b.err }

// TestWriteWAV: what is written is the file that is made by hand, and reads back to the nearest number that there is.
func TestWriteWAV(t *testing.T) {
	c := audio.Clip{Rate: 8000, Channels: [][]float32{{0, 0.5, 2, float32(math.NaN())}, {-1, -0.25, -2, 1}}}
	bounded := func(top float32) [][]float32 {
		return [][]float32{{0, 0.5, top, 0}, {-1, -0.25, -1, top}}
	}
	for e, want := range map[audio.Encoding][][]float32{
		audio.PCM8: bounded(127.0 / 128), audio.PCM16: bounded(32767.0 / 32768), audio.PCM24: bounded(1 - 1.0/(1<<23)), audio.PCM32: bounded(1),
		audio.Float32: c.Channels, audio.Float64: c.Channels,
	} {
		var out bytes.Buffer
		if err := c.WriteWAV(&out, e); err != nil {
			t.Fatal(err)
		}
		got, err := audio.ReadWAV(&out)
		if err != nil {
			t.Fatal(e, err)
		}
		for k := range want {
			for i, w := range want[k] {
				if g := got.Channels[k][i]; g != w && !(g != g && w != w) {
					t.Errorf("%v: channel %d, sample %d is %v, want %v", e, k, i, g, w)
				}
			}
		}
		if err := c.WriteWAV(brokenReader{io.ErrClosedPipe}, e); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(e, err)
		}
	}
	var out bytes.Buffer
	odd := audio.Clip{Rate: 11025, Channels: [][]float32{{-1, 0, 0.5}}}
	if err := odd.WriteWAV(&out, audio.PCM8); err != nil || !bytes.Equal(out.Bytes(), wav(chunk("fmt ", format(1, 1, 11025, 8)), chunk("data", []byte{0, 128, 192}))) {
		t.Errorf("% x, %v", out.Bytes(), err)
	}
	if s := audio.PCM24.String() + audio.Float32.String() + audio.Encoding(9).String(); s != "pcm24float32Encoding(9)" {
		t.Error(s)
	}
}

// TestRounding: ties go to even, and all 16-bit numbers are themselves.
func TestRounding(t *testing.T) {
	all := make([]float32, 1<<16)
	for i := range all {
		all[i] = float32(i-1<<15) / (1 << 15)
	}
	for _, e := range []audio.Encoding{audio.PCM16, audio.PCM24, audio.PCM32, audio.Float32, audio.Float64} {
		var out bytes.Buffer
		if err := (audio.Clip{Rate: 1, Channels: [][]float32{all}}).WriteWAV(&out, e); err != nil {
			t.Fatal(err)
		}
		if got, err := audio.ReadWAV(&out); err != nil || !slices.Equal(got.Channels[0], all) {
			t.Errorf("%v: other samples, %v", e, err)
		}
	}
	var out bytes.Buffer
	ties := audio.Clip{Rate: 1, Channels: [][]float32{{0.5 / 128, 1.5 / 128, -0.5 / 128, -2.5 / 128}}}
	if err := ties.WriteWAV(&out, audio.PCM8); err != nil || !bytes.HasSuffix(out.Bytes(), []byte{128, 130, 128, 126}) {
		t.Errorf("% x, %v", out.Bytes(), err)
	}
}

func file(t *testing.T, rate int, channels ...[]float32) *fstest.MapFile {
	t.Helper()
	var out bytes.Buffer
	if err := (audio.Clip{Rate: rate, Channels: channels}).WriteWAV(&out, audio.Float32); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: out.Bytes()}
}

func TestFolder(t *testing.T) {
	files := fstest.MapFS{
		"yes/a.wav":      file(t, 8000, []float32{1, 2, 3, 4, 5, 6, 7, 8}),
		"yes/deep/b.WAV": file(t, 8000, []float32{1, 2}, []float32{3, -2}),
		"no/c.wav":       file(t, 4000, make([]float32, 10)),
		"no/readme.txt":  {},
		"no/.d.wav":      {},
		"yes/bad.wav":    {Data: []byte("no sound")},
	}
	d, err := audio.OpenFolder(files, 8000, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Classes(), []string{"no", "yes"}) || !slices.Equal(d.Labels(), []int{0, 1, 1, 1}) || d.Len() != 4 {
		t.Fatal(d.Classes(), d.Labels())
	}
	xs, ys := d.Specs()
	for i, want := range []string{"f32[5]{0 0 0 0 0}", "f32[5]{5 6 7 8 0}", "", "f32[5]{0 0 2 0 0}"} {
		x, y := tensor.Full(xs, 99), tensor.Full(ys, 99)
		err := d.Sample(i, x, y)
		if want == "" {
			if err == nil || err.Error() != `audio: yes/bad.wav: a WAV file: it is none: it starts with "no sound"` || d.Name(i) != "yes/bad.wav" {
				t.Error(err)
			}
			continue
		}
		if err != nil || x.String() != want || y.Int(0) != int64(d.Labels()[i]) {
			t.Errorf("%s: %v, %v, %v", d.Name(i), x, y, err)
		}
	}
	f, err := audio.NewMFCC(audio.Mel{Rate: 8000, Window: 4, Hop: 2, FFT: 32, Bands: 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	d, err = audio.OpenFolder(files, 8000, 8, f)
	if err != nil {
		t.Fatal(err)
	}
	xs, ys = d.Specs()
	x, y, want := tensor.New(xs), tensor.New(ys), tensor.New(f.Spec(8))
	if err := d.Sample(1, x, y); err != nil || xs != tensor.SpecOf(tensor.F32, 3, 2) {
		t.Fatal(err, xs)
	}
	if err := f.Write([]float32{3, 4, 5, 6, 7, 8, 0, 0}, want); err != nil || !x.Same(want) {
		t.Errorf("%v, want %v", x, want)
	}
	for _, err := range []error{d.Sample(-1, x, y), d.Sample(4, x, y), d.Sample(0, y, x)} {
		if err == nil || !strings.HasPrefix(err.Error(), "audio: ") {
			t.Error(err)
		}
	}
	for want, f := range map[string]func() error{
		"0 samples, 8000":    func() error { _, err := audio.OpenFolder(files, 8000, 0, nil); return err },
		"5 samples, 0":       func() error { _, err := audio.OpenFolder(files, 0, 5, nil); return err },
		"features for 8000":  func() error { _, err := audio.OpenFolder(files, 16000, 5, f); return err },
		"there are no files": func() error { _, err := audio.OpenFolder(nil, 8000, 5, nil); return err },
		"no folders":         func() error { _, err := audio.OpenFolder(fstest.MapFS{}, 8000, 5, nil); return err },
		"the folder no holds no WAV file": func() error {
			_, err := audio.OpenFolder(fstest.MapFS{"no/x.mp3": {}}, 8000, 5, nil)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err, want)
		}
	}
}

// FuzzWAV reads any file; what is a sound has channels of one length, and survives being written and read again.
func FuzzWAV(f *testing.F) {
	for code, bits := range map[uint16][]uint16{1: {8, 16, 24, 32}, 3: {32, 64}} {
		for _, b := range bits {
			f.Add(wav(chunk("fmt ", format(code, 2, 8000, b)), chunk("data", make([]byte, 32))))
			f.Add(wav(chunk("fmt ", extensible(code, 1, 44100, b, guid)), chunk("LIST", []byte{1}), chunk("data", make([]byte, 24))))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := audio.ReadWAV(bytes.NewReader(content))
		if x, e := audio.DecodeWAV(bytes.NewReader(content), 8000, 100, nil); e == nil && (err != nil || x.Len() != 100) {
			t.Fatal("it is no WAV file, but can be decoded", err, x)
		}
		if err != nil {
			return
		}
		for _, ch := range c.Channels {
			if len(ch) != c.Len() {
				t.Fatal("channels of different lengths")
			}
		}
		if len(c.Channels) > 1000 {
			return
		}
		var out bytes.Buffer
		if err := c.WriteWAV(&out, audio.Float32); err != nil {
			if strings.Contains(err.Error(), "too much") {
				return
			}
			t.Fatal(err)
		}
		first := bytes.Clone(out.Bytes())
		back, err := audio.ReadWAV(&out)
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := back.WriteWAV(&again, audio.Float32); err != nil || !bytes.Equal(first, again.Bytes()) {
			t.Fatal("written again it is another", err)
		}
	})
}
