package table_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/table"
	"github.com/cortado-ml/cortado/tensor"
)

// TestHostileArguments: what cannot be is an error in words, never a panic.
func TestHostileArguments(t *testing.T) {
	two := func(_ any, err error) error { return err }
	for what, f := range map[string]func() error{
		"no reader":       func() error { return two(table.Read(nil, table.Format{})) },
		"nothing to scan": func() error { return two(table.Scan(nil, table.Format{}, "")) },
		"no rows": func() error {
			return two((&table.Encoder{Inputs: []table.Column{{Name: "a", Kind: table.Number, Std: 1}}}).Rows(nil))
		},
		"no encoder":               func() error { return two((*table.Encoder)(nil).Rows(strings.NewReader("a"))) },
		"data without an encoder":  func() error { return two(new(table.Table).Data(nil)) },
		"the zero encoder":         func() error { return two(new(table.Table).Data(&table.Encoder{})) },
		"the zero table":           func() error { return two(new(table.Table).Fit("", nil)) },
		"labels of the zero table": func() error { return two(new(table.Table).Labels("a")) },
		"a sample of no spec": func() error {
			d, err := read(t, "a,b\n1,2\n", table.Format{}).Data(&table.Encoder{Inputs: []table.Column{{Name: "a", Kind: table.Number, Std: 1}}})
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
			if err := f(); err == nil || !strings.HasPrefix(err.Error(), "table: ") {
				t.Errorf("%s: %v", what, err)
			}
		}()
	}
}
