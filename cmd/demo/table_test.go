package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// houses are rows of a formula, price = 50 + 2 area + 40 in the north - 30 in the south - 10 loud + noise of deviation 5, with some cells missing; quick
// and far are classes of a formula too, grade is whole numbers.
func houses(t testing.TB, rows int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("id,area,side,loud,far,grade,price\n")
	for i := range rows {
		area, side, loud := 20+80*random.Float64(), random.IntN(3), random.IntN(2)
		price := 50 + 2*area + []float64{40, -30, 0}[side] - 10*float64(loud) + 5*random.NormFloat64()
		far, grade := []string{"near", "far, far away", "near"}[side], int(area)/40
		name := []string{"north", "south", ""}[side]
		fmt.Fprintf(&b, "house %d,%.2f,%s,%d,%q,%d,%.3f\n", i, area, name, loud, far, grade, price)
	}
	return write(t, filepath.Join(t.TempDir(), "houses.csv"), []byte(b.String()))
}

// TestTableNumbers learns the formula up to its noise, which is the least error that there can be, and tells rows that it has not seen.
func TestTableNumbers(t *testing.T) {
	folder := t.TempDir()
	o := demo(t, folder, "-json", "-data", "csv:"+houses(t, 1250), "-skip", "id,grade", "-epochs", "30")
	o.wants(t, 0)
	done := find(events(t, o.out), "done")
	test := done.Test
	if done.Model != "mlp" || !(test["rmse"] > 4 && test["rmse"] < 6.5) || !(test["mae"] > 3 && test["mae"] < 5.3) {
		t.Errorf("%s: %v; the noise has a deviation of 5, and its mean size is 4", done.Model, test)
	}
	// The deviation of 2 area is 46.2, of the side 28.7, of loud 5.
	if mean := test["rmse/mean"]; mean < 50 || mean > 60 || !(test["mae/mean"] < mean) {
		t.Errorf("the mean would have an RMSE of %v, and MAE %v", mean, test["mae/mean"])
	}
	rows := write(t, filepath.Join(folder, "new.csv"), []byte("far,loud,area,side\nnear,0,50,\n\"far, far away\",1,60.5,south\nnear,0,30,north\n"))
	more := write(t, filepath.Join(folder, "more.csv"), []byte("area,loud,far,side\n,0,near,elsewhere\n"))
	want := []float64{150, 131, 150}
	o = demo(t, folder, "predict", "-model-file", done.File, rows, more)
	o.wants(t, 0)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	if len(lines) != 5 || lines[0] != "price" {
		t.Fatalf("it prints %q", o.out)
	}
	for i, w := range want {
		if got, err := strconv.ParseFloat(lines[1+i], 64); err != nil || math.Abs(got-w) > 6 {
			t.Errorf("row %d is %v, %v; want %v", i+1, got, err, w)
		}
	}
	o = demo(t, folder, "predict", "-json", "-model-file", done.File, rows)
	o.wants(t, 0)
	for i, line := range strings.Split(strings.TrimSpace(o.out), "\n") {
		var p struct {
			File, Column string
			Row          int
			Value        float64
			Class        *string
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil || p.File != rows || p.Row != i+1 || p.Column != "price" || math.Abs(p.Value-want[i]) > 6 || p.Class != nil {
			t.Errorf("%s: %+v, %v", line, p, err)
		}
	}
}

// TestTableClasses: text and a few whole numbers are classes, and a model is better than the most usual one.
func TestTableClasses(t *testing.T) {
	folder, data := t.TempDir(), "csv:"+houses(t, 600)
	for target, c := range map[string]struct {
		usual float64 // share of the most usual class
		rows  string
		want  string
	}{
		"far":   {2. / 3, "side,price,area,loud,grade\nsouth,100,40,0,1\nnorth,200,55,0,1\n", "far,probability\n\"far, far away\",\nnear,\n"},
		"grade": {1. / 2, "side,price,area,loud,far\nsouth,80,30,0,near\nnorth,280,95,0,near\n", "grade,probability\n0,\n2,\n"},
	} {
		o := demo(t, folder, "-data", data, "-target", target, "-skip", "id", "-epochs", "30")
		o.wants(t, 0)
		for _, want := range []string{fmt.Sprintf("%q, one of ", target), "by 5 columns; 480 rows to train on, 120 to test", target + ": test accuracy ", " would be right in ", "try: go run ./cmd/demo predict -model-file "} {
			if !strings.Contains(o.out, want) {
				t.Errorf("%q is not in\n%s", want, o.out)
			}
		}
		o = demo(t, folder, "-json", "-data", data, "-target", target, "-skip", "id", "-epochs", "30")
		o.wants(t, 0)
		done := find(events(t, o.out), "done")
		if a, u := done.Test["accuracy"], done.Test["accuracy/usual"]; a < 0.93 || math.Abs(u-c.usual) > 0.1 {
			t.Errorf("%s: accuracy %v, of the most usual class %v", target, a, u)
		}
		o = demo(t, folder, "predict", "-model-file", done.File, write(t, filepath.Join(folder, "rows.csv"), []byte(c.rows)))
		o.wants(t, 0)
		got := strings.Split(o.out, "\n")
		for i, want := range strings.Split(strings.TrimSpace(c.want), "\n") {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: line %d is %q, want %s...", target, i+1, got[i], want)
			}
		}
		o = demo(t, folder, "predict", "-json", "-model-file", done.File, filepath.Join(folder, "rows.csv"))
		o.wants(t, 0)
		if !strings.Contains(o.out, `"row":2,"column":"`+target+`","class":"`) || strings.Contains(o.out, "value") {
			t.Errorf("%s: %s", target, o.out)
		}
	}
}

// TestTableTarget: what a column holds decides what is learned, and so does how whole numbers are written.
func TestTableTarget(t *testing.T) {
	for what, c := range map[string]struct {
		cell func(i int) string
		want string
	}{
		"text":                {func(i int) string { return "abc"[i%3 : i%3+1] }, "one of 3 classes"},
		"whole numbers":       {func(i int) string { return strconv.Itoa(i%4 - 2) }, "one of 4 classes"},
		"twenty":              {func(i int) string { return strconv.Itoa(i % 20) }, "one of 20 classes"},
		"twenty-one":          {func(i int) string { return strconv.Itoa(i % 21) }, "a number"},
		"one with a point":    {func(i int) string { return []string{"1", "2", "3.0"}[i%3] }, "a number"},
		"with points":         {func(i int) string { return fmt.Sprintf("%d.0", i%3) }, "a number"},
		"more than a class":   {func(i int) string { return fmt.Sprint(i, ".5") }, "a number"},
		"one class in 1 row":  {func(i int) string { return []string{"x", "y"}[min(i, 1)] }, "one of 2 classes"},
		"too many for a kind": {func(i int) string { return strconv.Itoa(i) }, "a number"},
	} {
		text := "a,b,y\n"
		for i := range 1100 {
			text += fmt.Sprintf("%d,%d,%s\n", i, i*i%7, c.cell(i))
		}
		file := write(t, filepath.Join(t.TempDir(), "t.csv"), []byte(text))
		s, err := openTable(csvPrefix+file, recipe{})
		if err != nil || !strings.HasPrefix(s.what, `"y", `+c.want) {
			t.Errorf("%s: %s, %v", what, s.what, err)
		}
	}
}

// TestTableMistakes: each is told with the file and, where there is one, the line, before anything is trained.
func TestTableMistakes(t *testing.T) {
	folder := t.TempDir()
	rows := func(line string) string { return "a,b,y\n" + strings.Repeat("1,2,3.5\n2,3,4.5\n", 10) + line + "\n" }
	good := write(t, filepath.Join(folder, "good.csv"), []byte(rows("1,2,3.5")))
	for what, c := range map[string]struct {
		text string
		args []string
		code int
		want []string
	}{
		"no file":              {"", []string{"-data", "csv:none.csv"}, 1, []string{"csv:none.csv: no such file"}},
		"no name":              {"", []string{"-data", "csv:"}, 1, []string{"csv:: no such file"}},
		"nothing":              {"", nil, 1, []string{"x.csv: it is empty"}},
		"only a head":          {"a,b\n", nil, 1, []string{"x.csv: there is no row beside the header"}},
		"one row":              {"a,b\n1,2.5\n", nil, 1, []string{"1 rows are too few: want ten at least"}},
		"one column":           {"a\n" + strings.Repeat("1.5\n2.5\n", 10), nil, 1, []string{"x.csv: there is no column to learn from"}},
		"no such column":       {rows("1,2,3.5"), []string{"-target", "z"}, 1, []string{`x.csv: there is no column "z" to be learned: there are "a", "b", "y"`}},
		"no column to skip":    {rows("1,2,3.5"), []string{"-skip", "z"}, 1, []string{`x.csv: Format.Kinds has "z", but there is no such column`}},
		"the target skipped":   {rows("1,2,3.5"), []string{"-skip", "y"}, 1, []string{`x.csv, column "y": it is to be learned, but`}},
		"a ragged row":         {rows("1,2"), nil, 1, []string{"x.csv, line 22: 2 cells, but there are 3 columns"}},
		"an open quote":        {rows(`"1,2,3.5`), nil, 1, []string{"x.csv, line 2"}},
		"text among numbers":   {rows("1,x,3.5"), nil, 1, []string{`x.csv, line 22, column "b": "x" is not a number`, "-skip leaves columns out"}},
		"nothing to learn":     {rows("1,2,"), nil, 1, []string{`x.csv, line 22, column "y": the row has no value to be learned`}},
		"one number":           {"a,y\n" + strings.Repeat("1,2.5\n2,2.5\n", 10), nil, 1, []string{`the column "y" is 2.5 in all rows`}},
		"one class":            {"a,y\n" + strings.Repeat("1,yes\n2,yes\n", 10), nil, 1, []string{`the column "y" is yes in all rows`}},
		"a class of each":      {"a,y\n1,b\n1,c\n1,d\n1,e\n1,f\n1,g\n1,h\n1,i\n1,j\n1,k\n", nil, 1, []string{`no class of the column "y" has two rows`}},
		"a folder":             {"", []string{"-data", "csv:."}, 1, []string{"is a directory"}},
		"a model of images":    {rows("1,2,3.5"), []string{"-model", "cnn"}, 2, []string{"the model cnn is not for tables: mlp is"}},
		"a table for sounds":   {rows("1,2,3.5"), []string{"-model", "speech"}, 2, []string{"the model speech is not for tables: mlp is"}},
		"no model":             {rows("1,2,3.5"), []string{"-model", "tree"}, 2, []string{`there is no model "tree"`}},
		"a target of pictures": {"", []string{"-data", "fashion", "-target", "y"}, 2, []string{"-target and -skip are for tables"}},
	} {
		file := write(t, filepath.Join(t.TempDir(), "x.csv"), []byte(c.text))
		o := demo(t, t.TempDir(), append([]string{"-steps", "1", "-data", "csv:" + file}, c.args...)...)
		o.wants(t, c.code, c.want...)
		if o.code != c.code {
			t.Errorf("%s: %s", what, o.err)
		}
	}

	demo(t, folder, "-json", "-data", "csv:"+good, "-steps", "1", "-out", "run").wants(t, 0)
	model := filepath.Join("run", "mlp.safetensors")
	for text, want := range map[string]string{
		"a,y\n1,2\n":     `x.csv: it lacks the columns "b"`,
		"b,a\n1\n":       "x.csv, line 2: 1 cells, but there are 2 columns",
		"b,a\n1,2\n1,x":  `x.csv, line 3, column "a": "x" is not a number`,
		"":               "x.csv: it is empty",
		"a,b\n":          "x.csv: data: the source of epoch 0 is empty",
		"a,b\n1,1e999\n": `x.csv, line 2, column "b": "1e999" is not a finite number`,
	} {
		demo(t, folder, "predict", "-model-file", model, write(t, filepath.Join(folder, "x.csv"), []byte(text))).wants(t, 1, want)
	}
	demo(t, folder, "predict", "-model-file", model, "none.csv").wants(t, 1, "none.csv: no such file")
}

// TestForeignTables: metadata that no training has written are refused in words.
func TestForeignTables(t *testing.T) {
	for meta, want := range map[string]string{
		"":     "cortado.table: unexpected end of JSON input",
		"[]":   "cortado.table: json: cannot unmarshal",
		"null": "cortado.table: table: the encoder has no inputs",
		"{}":   "cortado.table: table: the encoder has no inputs",
		`{"inputs":[{"name":"a","kind":"number","std":1}]}`:                                                       "cortado.table: nothing is to be learned",
		`{"inputs":[{"name":"a","kind":"number","std":0}],"target":{"name":"y","kind":"number","std":1}}`:         "the mean 0 and the deviation 0",
		`{"inputs":[{"name":"a","kind":"number","std":1}],"target":{"name":"a","kind":"number","std":1}}`:         `two columns "a"`,
		`{"inputs":[{"name":"a","kind":"number","std":1}],"target":{"name":"y","kind":"category","classes":[]}}`:  "0 classes",
		`{"inputs":[{"name":"a","kind":"secret","std":1}],"target":{"name":"y","kind":"category","classes":[]}}`:  `the kind "secret"`,
		`{"inputs":[{"name":"a","kind":"number","std":1e999}],"target":{"name":"y","kind":"number","std":1e999}}`: "cannot unmarshal number 1e999",
	} {
		if _, err := tableKind.restore(map[string]string{metaTable: meta}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", meta, err, want)
		}
	}
}
