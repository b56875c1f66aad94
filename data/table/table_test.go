package table_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/table"
	"github.com/cortado-ml/cortado/tensor"
)

func read(t *testing.T, text string, f table.Format) *table.Table {
	t.Helper()
	r, err := table.Read(strings.NewReader(text), f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestColumns(t *testing.T) {
	got := read(t, "\ufeffn,  c ,ten,,empty,skipped\n"+
		"1,b,10,x,,1\n"+
		"\n"+
		"\"3\",\"a, \"\"quoted\"\"\nline\",9,x,NA,b\n"+
		" NaN ,?, 10 ,x,null,c\n", table.Format{Kinds: map[string]table.Kind{"ten": table.Category, "skipped": table.Skip}})
	want := []table.Column{
		{Name: "n", Kind: table.Number, Mean: 2, Std: 1, Missing: true},
		{Name: "c", Kind: table.Category, Classes: []string{"a, \"quoted\"\nline", "b"}, Missing: true},
		{Name: "ten", Kind: table.Category, Classes: []string{"9", "10"}},
		{Name: "4", Kind: table.Category, Classes: []string{"x"}},
		{Name: "empty", Kind: table.Skip},
		{Name: "skipped", Kind: table.Skip},
	}
	if d := cmp.Diff(want, got.Columns()); d != "" || got.Len() != 3 {
		t.Errorf("%d rows, %s", got.Len(), d)
	}
	if labels, err := got.Labels("ten"); err != nil || !reflect.DeepEqual(labels, []int{1, 0, 1}) {
		t.Error(labels, err)
	}
}

func TestFormats(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		f    table.Format
	}{
		"semicolons": {"a;b\n1;x\n2;y\n", table.Format{Comma: ';'}},
		"tabs":       {"a\tb\n1\tx\n2\ty", table.Format{Comma: '\t'}},
		"comments":   {"# a file\na,b\n1,x\n#2,z\n2,y\n", table.Format{Comment: '#'}},
		"CR LF":      {"a,b\r\n1,x\r\n2,y\r\n", table.Format{}},
		"blanks":     {"a , b\n 1 ,\tx\n2, y \n", table.Format{}},
		"missing":    {"a,b\n1,x\n-,-\n2,y\n", table.Format{Missing: []string{"-"}}},
	} {
		got := read(t, c.text, c.f).Columns()
		if len(got) != 2 || got[0].Name != "a" || got[0].Kind != table.Number || got[0].Mean != 1.5 || got[0].Std != 0.5 ||
			got[1].Name != "b" || !reflect.DeepEqual(got[1].Classes, []string{"x", "y"}) || got[0].Missing != (what == "missing") {
			t.Errorf("%s: %+v", what, got)
		}
	}
	bare := read(t, "1,x\n2,y\n", table.Format{NoHeader: true})
	if c := bare.Columns(); bare.Len() != 2 || c[0].Name != "1" || c[1].Name != "2" || c[0].Mean != 1.5 {
		t.Errorf("%d rows, %+v", bare.Len(), c)
	}
}

// sample reads one sample into memory that has been used before.
func sample(t *testing.T, d data.Dataset, i int) (x, y []float64) {
	t.Helper()
	xs, ys := d.Specs()
	a := tensor.Full(xs, 99)
	b := tensor.Tensor{}
	if ys != (tensor.Spec{}) {
		b = tensor.Full(ys, 99)
	}
	if err := d.Sample(i, a, b); err != nil {
		t.Fatal(err)
	}
	return a.Floats(), b.Floats()
}

const training = "a,b,c,y\n1,7,u,10\n3,7,v,20\n,7,,30\n500,8,w,40\n"

// TestFit: statistics and missing values are those of the training rows alone.
func TestFit(t *testing.T) {
	tab := read(t, training, table.Format{})
	e, err := tab.Fit("y", []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	d, err := tab.Data(e)
	if err != nil {
		t.Fatal(err)
	}
	r := math.Sqrt(200.0 / 3)
	for i, want := range [][2][]float64{ // a, a is missing, b, u, v, w
		{{-1, 0, 0, 1, 0, 0}, {float64(float32(-10 / r))}},
		{{1, 0, 0, 0, 1, 0}, {0}},
		{{0, 1, 0, 0, 0, 0}, {float64(float32(10 / r))}},
		{{498, 0, 1, 0, 0, 1}, {float64(float32(20 / r))}},
	} {
		x, y := sample(t, d, i)
		if !reflect.DeepEqual(x, want[0]) || !reflect.DeepEqual(y, want[1]) {
			t.Errorf("row %d: %v, %v; want %v", i, x, y, want)
		}
	}
	if v := e.Target.Value(10 / r); math.Abs(v-30) > 1e-12 {
		t.Errorf("the target is %v, want 30", v)
	}
	if len(e.Format.Kinds) != 4 || e.Width() != 6 {
		t.Errorf("%+v", e)
	}

	// Where only another row lacks a value, nothing tells of it.
	if e, err = tab.Fit("y", []int{0, 1, 3}); err != nil {
		t.Fatal(err)
	}
	if d, err = tab.Data(e); err != nil {
		t.Fatal(err)
	}
	if x, _ := sample(t, d, 2); e.Inputs[0].Missing || len(x) != 5 || x[0] != 0 {
		t.Errorf("%+v, row 2 is %v", e.Inputs[0], x)
	}

	whole, err := tab.Fit("c", nil)
	if err != nil {
		t.Fatal(err)
	}
	scanned, err := table.Scan(strings.NewReader(training), table.Format{}, "c")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, scanned); d != "" {
		t.Errorf("Fit and Scan differ: %s", d)
	}
	if x, y := whole.Specs(); x != tensor.SpecOf(tensor.F32, 4) || y != tensor.SpecOf(tensor.I64) {
		t.Error(x, y)
	}
}

// TestRestored: an encoder that went through a file, on other rows: columns in another order, more of them, other classes, only numbers where
// there were texts.
func TestRestored(t *testing.T) {
	e, err := table.Scan(strings.NewReader("n,c,y\n1,2,p\n3,x,q\n"), table.Format{Kinds: map[string]table.Kind{"c": table.Category}}, "y")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back *table.Encoder
	if err := json.Unmarshal(kept, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(e, back); d != "" {
		t.Fatal(d)
	}
	const other = "more,c,y,n\nabc,2,q,5\n1,7,p,\n"
	want := [][2][]float64{{{3, 1, 0}, {1}}, {{0, 0, 0}, {0}}}
	tab := read(t, other, withSkipped(back.Format, "more"))
	d, err := tab.Data(back)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := back.Rows(strings.NewReader(other))
	if err != nil {
		t.Fatal(err)
	}
	xs, ys := rows.Specs()
	x, y := tensor.Full(xs, 99), tensor.Full(ys, 99)
	for i, w := range want {
		if a, b := sample(t, d, i); !reflect.DeepEqual(a, w[0]) || !reflect.DeepEqual(b, w[1]) {
			t.Errorf("row %d: %v %v, want %v", i, a, b, w)
		}
		if err := rows.Next(x, y); err != nil || !reflect.DeepEqual(x.Floats(), w[0]) || !reflect.DeepEqual(y.Floats(), w[1]) {
			t.Errorf("row %d: %v %v %v, want %v", i, x, y, err, w)
		}
	}
	if err := rows.Next(x, y); err != io.EOF {
		t.Error(err)
	}

	// Rows whose target is not known.
	bare := back.WithoutTarget()
	rows, err = bare.Rows(strings.NewReader("c,n\nx,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ys := rows.Specs(); ys != (tensor.Spec{}) {
		t.Error(ys)
	}
	if err := rows.Next(x, tensor.Tensor{}); err != nil || !reflect.DeepEqual(x.Floats(), []float64{0, 0, 1}) {
		t.Error(x, err)
	}
	if _, err := read(t, "c,n\nx,2\n", bare.Format).Data(bare); err != nil {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	long := "a,b\n" + strings.Repeat("1,2\n", 3)
	var many strings.Builder
	many.WriteString("id,v\n")
	for i := range 1001 {
		fmt.Fprintf(&many, "n%d,1\n", i)
	}
	for what, c := range map[string]struct {
		text string
		f    table.Format
		want string
	}{
		"nothing":          {"", table.Format{}, "table: x.csv: it is empty"},
		"only a header":    {"a,b\n", table.Format{}, "there is no row beside the header"},
		"a short row":      {long + "1\n", table.Format{}, "table: x.csv, line 5: 1 cells, but there are 2 columns"},
		"a long row":       {"a,b\n1,2,3\n", table.Format{}, "line 2: 3 cells, but there are 2"},
		"a quote":          {"a,b\n1,2\n1,\"2\n3,4\n", table.Format{}, "line 4: extraneous or missing \" in quoted-field, in the row that begins at line 3"},
		"a quote within":   {"a,b\n1,5\"\n", table.Format{}, "line 2: bare \""},
		"twice":            {"a,b, a\n1,2,3\n", table.Format{}, `line 1, column "a": a second column of that name`},
		"mixed":            {"a,b\n1,2\n\n1,abc\n", table.Format{}, `line 4, column "b": "abc" is not a number, but 1 other cells are: set Format.Kinds["b"]`},
		"no number":        {"a,b\n1,2\n1,abc\n", table.Format{Kinds: map[string]table.Kind{"b": table.Number}}, `line 3, column "b": "abc" is not a number`},
		"infinite":         {"a,b\n1,2\n1,-Inf\n", table.Format{}, `line 3, column "b": "-Inf" is not a finite number`},
		"too large":        {"a,b\n1,2\n1,1e999\n", table.Format{}, `line 3, column "b": "1e999" is not a finite number`},
		"too far apart":    {"a,b\n1,1e308\n1,-1e308\n", table.Format{}, `column "b": its numbers are too far apart`},
		"names":            {many.String(), table.Format{}, `line 1002, column "id": more than 1000 different texts, of which this is one: "n1000"`},
		"no class":         {"a,b\n1,\n", table.Format{Kinds: map[string]table.Kind{"b": table.Category}}, `column "b": no class`},
		"an unknown kind":  {"a,b\n1,\n", table.Format{Kinds: map[string]table.Kind{"b": "text"}}, `there is no kind "text"`},
		"an unknown name":  {"a,b\n1,\n", table.Format{Kinds: map[string]table.Kind{"c": table.Number}}, `Format.Kinds has "c", but there is no such column: there are "a", "b"`},
		"UTF-16":           {"\xff\xfea\x00", table.Format{}, "it is UTF-16"},
		"Latin-1":          {"a,b\n1,caf\xe9\n", table.Format{}, `line 2, column "b": "caf\xe9" is not UTF-8`},
		"a Latin-1 header": {"a,caf\xe9\n1,2\n", table.Format{}, `line 1, column "2": "caf\xe9" is not UTF-8`},
		"gzip":             {"\x1f\x8b\x08", table.Format{}, "it is gzipped"},
		"a wrong comma":    {"a,b\n1,2\n", table.Format{Comma: '"'}, "invalid field or comment delimiter"},
	} {
		file, err := fstest.MapFS{"d/x.csv": {Data: []byte(c.text)}}.Open("d/x.csv")
		if err != nil {
			t.Fatal(err)
		}
		_, err = table.Read(file, c.f)
		var e *table.Error
		if !errors.As(err, &e) || e.File != "x.csv" || !strings.HasPrefix(err.Error(), "table: x.csv") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		_, scanned := table.Scan(strings.NewReader(c.text), c.f, "")
		if want := strings.NewReplacer("x.csv, ", "", "x.csv: ", "").Replace(err.Error()); scanned == nil || scanned.Error() != want {
			t.Errorf("%s: Scan: %v", what, scanned)
		}
	}
}

// TestOpenQuote: a quote that is not closed does not take in the rest of the file.
func TestOpenQuote(t *testing.T) {
	var taken int
	endless := readerFunc(func(b []byte) (int, error) {
		for i := range b {
			b[i] = 'x'
		}
		if taken == 0 {
			copy(b, "a,b\n1,\"")
		}
		taken += len(b)
		return len(b), nil
	})
	_, err := table.Scan(endless, table.Format{}, "")
	if err == nil || err.Error() != "table: line 2: a row of more than 16777216 bytes: a quote that is not closed, perhaps" || taken > 17<<20 {
		t.Errorf("after %d bytes: %v", taken, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestFitFaults(t *testing.T) {
	tab := read(t, "a,b,c\n1,x,\n2,,\n", table.Format{})
	for want, f := range map[string]func() error{
		`table: there is no column "z" to be learned: there are "a", "b", "c"`: func() error { _, err := tab.Fit("z", nil); return err },
		`table: column "c": it is to be learned, but no cell has a value`:      func() error { _, err := tab.Fit("c", nil); return err },
		`table: no rows to train on`:                                           func() error { _, err := tab.Fit("a", []int{}); return err },
		`table: there is no row 2: there are 2`:                                func() error { _, err := tab.Fit("a", []int{2}); return err },
		`table: there is no row -1: there are 2`:                               func() error { _, err := tab.Fit("a", []int{-1}); return err },
		`table: line 3, column "b": the row has no value to be learned`:        func() error { _, err := tab.Labels("b"); return err },
		`table: column "a": it has no classes: its kind is "number"`:           func() error { _, err := tab.Labels("a"); return err },
		`table: there is no column to learn from`: func() error {
			_, err := table.Scan(strings.NewReader("a,b\n1,\n"), table.Format{}, "a")
			return err
		},
		`table: not the columns of the encoder: "b" is not there, "a" is a category, not a number; read the file with its Format`: func() error {
			e, err := tab.Fit("a", nil)
			if err != nil {
				return err
			}
			_, err = read(t, "a\nx\n", table.Format{}).Data(e)
			return err
		},
		`table: it lacks the columns "b", "a": there are "c", "d"`: func() error {
			e, err := tab.Fit("a", nil)
			if err != nil {
				return err
			}
			_, err = e.Rows(strings.NewReader("c,d\n1,2\n"))
			return err
		},
		`table: column "a" of the encoder has the mean 0 and the deviation 0`: func() error {
			_, err := tab.Data(&table.Encoder{Inputs: []table.Column{{Name: "a", Kind: table.Number}}})
			return err
		},
		`table: the encoder has two columns "a"`: func() error {
			c := table.Column{Name: "a", Kind: table.Number, Std: 1}
			_, err := (&table.Encoder{Inputs: []table.Column{c, c}}).Rows(strings.NewReader("a\n1\n"))
			return err
		},
		`table: the encoder has no inputs`: func() error { _, err := tab.Data(&table.Encoder{}); return err },
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSampleFaults: what only shows when a row is used.
func TestSampleFaults(t *testing.T) {
	e, err := table.Scan(strings.NewReader("a,y\n1,p\n1,q\n"), table.Format{}, "y")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a,y\n1,p\n\n2,\n": `table: line 4, column "y": the row has no value to be learned, or a class that the training rows lack`,
		"a,y\n2,r\n":       `table: line 2, column "y": the row has no value to be learned, or a class that the training rows lack`,
		"a,y\n1e39,p\n":    `table: line 2, column "a": 1e+39 is too far from the training rows' mean 1 to be standardised`,
	} {
		d, err := read(t, text, e.Format).Data(e)
		if err != nil {
			t.Fatal(err)
		}
		xs, ys := d.Specs()
		x, y := tensor.New(xs), tensor.New(ys)
		if err := d.Sample(d.Len()-1, x, y); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		rows, err := e.Rows(strings.NewReader(text))
		for err == nil {
			err = rows.Next(x, y)
		}
		if err.Error() != want {
			t.Errorf("%q: Rows: %v, want %s", text, err, want)
		}
		for _, err := range []error{d.Sample(-1, x, y), d.Sample(d.Len(), x, y), d.Sample(0, y, x), rows.Next(y, x)} {
			if err == nil {
				t.Error("no error")
			}
		}
	}
	rows, err := e.Rows(strings.NewReader("a,y\nabc,p\n"))
	if err != nil {
		t.Fatal(err)
	}
	xs, ys := rows.Specs()
	if err := rows.Next(tensor.New(xs), tensor.New(ys)); err == nil || err.Error() != `table: line 2, column "a": "abc" is not a number` {
		t.Error(err)
	}
}

// TestLarge: statistics of many rows around a large mean, and memory that does not grow with the file.
func TestLarge(t *testing.T) {
	const rows = 200_000
	n := 0
	var rest []byte
	r := readerFunc(func(b []byte) (int, error) {
		if len(rest) == 0 {
			switch {
			case n == 0:
				rest = []byte("a,b,y\n")
			case n > rows:
				return 0, io.EOF
			default:
				rest = fmt.Appendf(nil, "%d,%s,%d\n", 1_000_000_000+n%2, [...]string{"u", "v", "w"}[n%3], n)
			}
			n++
		}
		k := copy(b, rest)
		rest = rest[k:]
		return k, nil
	})
	e, err := table.Scan(r, table.Format{}, "y")
	if err != nil {
		t.Fatal(err)
	}
	if a := e.Inputs[0]; math.Abs(a.Mean-1_000_000_000.5) > 1e-6 || math.Abs(a.Std-0.5) > 1e-6 {
		t.Errorf("mean %v, deviation %v", a.Mean, a.Std)
	}
	if y := e.Target; math.Abs(y.Mean-(rows+1)/2.0) > 1e-6 {
		t.Errorf("mean %v", y.Mean)
	}
}

// withSkipped is a format that leaves out one more column.
func withSkipped(f table.Format, name string) table.Format {
	f.Kinds = maps.Clone(f.Kinds)
	f.Kinds[name] = table.Skip
	return f
}

// TestOddCells: what only Go takes for a number is text, and a file of another system's lines is told from an empty one.
func TestOddCells(t *testing.T) {
	c := read(t, "a,b\n1_2,0x1p4\n3_4,0X1P5\n", table.Format{}).Columns()
	if c[0].Kind != table.Category || c[1].Kind != table.Category {
		t.Errorf("%+v", c)
	}
	if _, err := table.Read(strings.NewReader("a,b\r1,2\r"), table.Format{}); err == nil || !strings.Contains(err.Error(), "carriage return") {
		t.Error(err)
	}
}
