package layers_test

import (
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

// TestFreeze: frozen parameters are no parameters to train, but are saved.
func TestFreeze(t *testing.T) {
	model := layers.Sequential{
		layers.Name("body", layers.Sequential{layers.Linear{Out: 3}, layers.BatchNorm1D{}, layers.Linear{Out: 3}}),
		layers.Name("head", layers.Linear{Out: 2}),
	}
	net := build(t, model, 4, 2)
	all := "body.0.weight body.0.bias body.1.weight body.1.bias body.2.weight body.2.bias head.weight head.bias"
	params := func() string {
		var names []string
		for _, v := range net.Params() {
			names = append(names, v.Name())
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		do       func(...string) error
		patterns []string
		want     string
	}{
		{net.Freeze, nil, all},
		{net.Freeze, []string{"body"}, "head.weight head.bias"},
		{net.Freeze, []string{"body", "body.0"}, "head.weight head.bias"},
		{net.Unfreeze, []string{"body.*.bias"}, "body.0.bias body.1.bias body.2.bias head.weight head.bias"},
		{net.Unfreeze, []string{"body.[12]"}, "body.0.bias body.1.weight body.1.bias body.2.weight body.2.bias head.weight head.bias"},
		{net.Freeze, []string{"*.bias", "body.?.bias"}, "body.1.weight body.2.weight head.weight"},
		{net.Freeze, []string{"*"}, ""},
		{net.Unfreeze, []string{"*"}, all},
		{net.Freeze, []string{"body.0", "head.bias"}, "body.1.weight body.1.bias body.2.weight body.2.bias head.weight"},
	} {
		if err := c.do(c.patterns...); err != nil || params() != c.want {
			t.Errorf("%v: %v, %v, want %v", c.patterns, params(), err, c.want)
		}
	}
	for _, c := range []struct{ pattern, words string }{
		{"boddy", `layers: freeze: no parameter is called "boddy"; there is body`},
		{"body.0.wieght", `no parameter is called "body.0.wieght"; there is body.0.weight`},
		{"body.3", `no parameter is called "body.3"; there is body.0`},
		{"body.1.running_mean", `no parameter is called "body.1.running_mean"`},
		{"", `no parameter is called ""`},
		{"head.bias.x", `no parameter is called "head.bias.x"; there is head.bias`},
		{"[", `"[": syntax error in pattern`},
	} {
		before := params()
		if err := net.Freeze("*", c.pattern); err == nil || !strings.HasPrefix(err.Error(), "layers: freeze: ") || !strings.Contains(err.Error(), c.words) || params() != before {
			t.Errorf("%q: %v, want %q and no change", c.pattern, err, c.words)
		}
	}
	total, frozen := 0, 0
	for _, r := range net.Summary() {
		total, frozen = total+r.Params, frozen+r.Frozen
	}
	if total != 9+6+12+8 || frozen != 9+2 || !strings.Contains(net.String(), "35, 280 bytes, 11 frozen") {
		t.Errorf("%d numbers, %d frozen\n%s", total, frozen, net)
	}

	before := map[string]string{}
	for _, v := range net.State() {
		before[v.Name()] = value(t, net, v.Name()).String()
	}
	tape := newTape(t)
	loss := net.Forward(tape, tape.Input("x", f64([]int{4, 2}, 1, 2, -3, 4, 5, 6, 7, -8)), layers.Train).Square().Mean()
	(&optim.AdamW{LR: 0.1, WeightDecay: 0.1}).Update(tape, loss, net.Params()...)
	step(t, tape, loss)
	for name, was := range before {
		still := strings.HasPrefix(name, "body.0.") || name == "head.bias"
		if same := value(t, net, name).String() == was; same != still && name != "body.2.bias" {
			t.Errorf("%s stayed: %v, want %v", name, same, still)
		}
	}
	if named, err := net.Tensors(ctx); err != nil || len(named) != 10 {
		t.Errorf("%d tensors are saved, %v, want 10", len(named), err)
	}
}

// TestFreezeTied: a tied parameter answers to all its names.
func TestFreezeTied(t *testing.T) {
	net := buildTied(t, layers.Tied{To: "tok.weight"})
	if err := net.Freeze("head"); err != nil || len(net.Params()) != 0 {
		t.Errorf("%v, %v", net.Params(), err)
	}
	if err := net.Unfreeze("tok.weight"); err != nil || len(net.Params()) != 1 {
		t.Errorf("%v, %v", net.Params(), err)
	}
	calm(t, "the zero net", func() {
		var n layers.Net
		if err := n.Freeze("x"); err == nil {
			t.Error("no error")
		}
	})
}

// panicky is an operation of a user whose Cost panics.
type panicky struct{ ops.UnaryOp }

func (panicky) Cost(in, out []tensor.Spec) ops.Cost { panic("no cost") }

// TestCostPanics: a user's mistake is an error of Build.
func TestCostPanics(t *testing.T) {
	m := layers.Func(func(_ *layers.Context, x ops.Value) ops.Value { return ops.Apply(panicky{}, x) })
	calm(t, "Cost", func() {
		if _, err := layers.Build(m, tensor.SpecOf(tensor.F64, 2, 3), 1, tensor.F64); err == nil || !strings.Contains(err.Error(), "panic in Cost: no cost") {
			t.Error(err)
		}
	})
}
