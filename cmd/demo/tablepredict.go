package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
)

// predict judges the rows of a CSV file, which is read as it comes, and prints a table of one row for each: what the model says, and of a class how probable
// it is. The file needs the columns that the model has learned from, and may have others.
func (t tableTask) predict(ctx context.Context, p *predicting, file string) error {
	rows := data.Stream{Batch: 256, Open: func(int) (data.Source, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		rows, err := t.encoder.WithoutTarget().Rows(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		return rows, nil
	}}
	target, classes := t.encoder.Target, t.classes()
	table := csv.NewWriter(p.out)
	if head := []string{target.Name, "probability"}; !p.json && !p.begun {
		p.begun = true
		if classes == nil {
			head = head[:1]
		}
		table.Write(head) // a csv.Writer keeps its first error for Error
	}
	tape, row := autograd.New(p.eng), 0
	for batch, err := range rows.Batches(ctx, data.Position{}) {
		if err != nil && !strings.Contains(err.Error(), filepath.Base(file)) {
			err = fmt.Errorf("%s: %w", file, err)
		}
		if err != nil {
			return err
		}
		y := p.net.Forward(tape, tape.Input("x", batch.X), layers.Eval)
		if classes != nil {
			y = y.Softmax(-1)
		}
		res, err := tape.Eval(ctx, y)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		tape.Discard()
		for i := range len(batch.Index) {
			row++
			if err := t.tell(p, table, file, row, res[0].Row(i)); err != nil {
				return err
			}
		}
	}
	table.Flush()
	return table.Error()
}

// tell prints what the model says of one row.
func (t tableTask) tell(p *predicting, table *csv.Writer, file string, row int, y tensor.Tensor) error {
	target, classes := t.encoder.Target, t.classes()
	if classes == nil {
		v := target.Value(y.At(0))
		if p.json {
			n := number(v)
			return json.NewEncoder(p.out).Encode(rowPrediction{File: file, Row: row, Column: target.Name, Value: &n})
		}
		return table.Write([]string{strconv.FormatFloat(v, 'g', 7, 64)})
	}
	best := guesses(y)[0]
	if p.json {
		return json.NewEncoder(p.out).Encode(rowPrediction{File: file, Row: row, Column: target.Name, Class: classes[best.class], Index: &best.class, Probability: &best.probability})
	}
	return table.Write([]string{classes[best.class], strconv.FormatFloat(best.probability, 'f', 4, 64)})
}
