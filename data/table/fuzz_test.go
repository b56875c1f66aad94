package table_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/table"
	"github.com/cortado-ml/cortado/tensor"
)

// FuzzTable reads any file. What is read is finite, the same in memory and as a stream, and the encoder survives JSON.
func FuzzTable(f *testing.F) {
	for _, s := range []string{training, "a,b\n1,x\n\"2\",\"y\n\"\n", "\ufeffa;b\n1;2\n", "a\n\n1\n", "a,b\n1,1e308\n2,-1e308\n", "a,b\nInf,x\n1,y", "a,a\n", "a,b\n\xff,1\n", "a,b\r\n1,\"\"\r\n0x1p-2,_"} {
		f.Add(s, false)
	}
	f.Add("1,2\n3,4\n", true)
	f.Fuzz(func(t *testing.T, text string, noHeader bool) {
		format := table.Format{NoHeader: noHeader}
		tab, err := table.Read(strings.NewReader(text), format)
		target := ""
		if err == nil {
			target = tab.Columns()[len(tab.Columns())-1].Name
		}
		scanned, scanErr := table.Scan(strings.NewReader(text), format, target)
		if err != nil {
			if scanErr == nil {
				t.Fatalf("Read: %v, but Scan has none", err)
			}
			return
		}
		e, err := tab.Fit(target, nil)
		if err != nil {
			if scanErr == nil {
				t.Fatalf("Fit: %v, but Scan has none", err)
			}
			return
		}
		if scanErr != nil {
			t.Fatalf("Scan: %v, but Fit has none", scanErr)
		}
		kept, err := json.Marshal(scanned)
		if err != nil {
			t.Fatal(err)
		}
		back := new(table.Encoder)
		if err := json.Unmarshal(kept, back); err != nil {
			t.Fatal(err)
		}
		d, err := tab.Data(e)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := back.Rows(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		xs, ys := d.Specs()
		x, y := tensor.New(xs), tensor.New(ys)
		x2, y2 := tensor.Full(xs, 99), tensor.Full(ys, 99)
		for i := range d.Len() {
			err, err2 := d.Sample(i, x, y), rows.Next(x2, y2)
			if (err == nil) != (err2 == nil) {
				t.Fatalf("row %d: %v, but as a stream %v", i, err, err2)
			}
			if err != nil {
				var e *table.Error
				if !errors.As(err, &e) || e.Line == 0 || err.Error() != err2.Error() {
					t.Fatalf("row %d: %v, and as a stream %v", i, err, err2)
				}
				continue
			}
			if !x.Same(x2) || !y.Same(y2) {
				t.Fatalf("row %d: %v, %v, but as a stream %v, %v", i, x, y, x2, y2)
			}
			for _, v := range append(x.Floats(), y.Floats()...) {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("row %d is %v, %v", i, x, y)
				}
			}
		}
		if err := rows.Next(x, y); err != io.EOF {
			t.Fatal(err)
		}
	})
}

// FuzzEncoder: an encoder from a file is used or refused.
func FuzzEncoder(f *testing.F) {
	f.Add(`{"inputs":[{"name":"a","kind":"number","std":1}],"target":{"name":"y","kind":"category","classes":["p"]}}`, "a,y\n1,p\n")
	f.Add(`{"inputs":[{"name":"a","kind":"category","classes":["p","p"]}]}`, "a\np\n")
	f.Add(`{"inputs":[{"name":"a","kind":"number","std":1e-320,"mean":1e308}],"format":{"comma":59}}`, "a;b\n1;2\n")
	f.Fuzz(func(t *testing.T, kept, text string) {
		e := new(table.Encoder)
		if json.Unmarshal([]byte(kept), e) != nil {
			return
		}
		rows, err := e.Rows(strings.NewReader(text))
		if err != nil {
			return
		}
		xs, ys := rows.Specs()
		x, y := tensor.New(xs), tensor.New(ys)
		for err == nil {
			err = rows.Next(x, y)
		}
	})
}
