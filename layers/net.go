package layers

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Net is a model with its parameters. After Build it does not change but for the values of its variables, so several goroutines may
// record passes on tapes of their own.
type Net struct {
	model Module
	dtype tensor.DType
	seed  uint64
	built bool
	root  *scope

	params, state []*ops.Variable
	rows          []Row
}

// Row is one line of a summary: a module that has no modules within it, or has parameters of its own.
type Row struct {
	Name   string      // its path, as in the names of its parameters
	Kind   string      // the type of the module
	Out    tensor.Spec // of its result
	Params int         // numbers to train
}

// Build makes the parameters of model for inputs of the given spec, of type dtype, with first values drawn from the seed. The spec's batch
// size does not matter. It fails with the error of the first layer that cannot take its input.
func Build(model Module, in tensor.Spec, seed uint64, dtype tensor.DType) (*Net, error) {
	n := &Net{model: model, dtype: dtype, seed: seed, root: &scope{}}
	if !dtype.Float() {
		return nil, fmt.Errorf("layers: parameters are floats, not %v", dtype)
	}
	if err := in.Check(); err != nil {
		return nil, fmt.Errorf("layers: the spec of the input, %v: %w", in, err)
	}
	tape := autograd.New(nil) // nothing runs: the pass is for its shapes
	n.Forward(tape, ops.Zeros(tape.Recorder(), in), Eval)
	if err := tape.Err(); err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	n.built = true
	return n, nil
}

// Forward records one pass over x, a value of the same tape.
func (n *Net) Forward(t *autograd.Tape, x ops.Value, mode Mode) ops.Value {
	return n.forward(t, x, mode, piece{})
}

func (n *Net) forward(t *autograd.Tape, x ops.Value, mode Mode, p piece) ops.Value {
	if n.root == nil {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: the net was not built: use Build", ops.ErrMisuse))
	}
	if x.Recorder() != t.Recorder() {
		return t.Recorder().Fail(fmt.Errorf("layers: %w: the input of the net is %v: it is no value of this tape", ops.ErrMisuse, x))
	}
	c := &Context{Tape: t, Mode: mode, DType: n.dtype, Lengths: p.lengths, net: n, at: n.root, piece: p}
	return c.forward(n.model, x)
}

// Params are the variables to train, in the order of their first use. The slice is the net's: do not change it.
func (n *Net) Params() []*ops.Variable { return n.params[:len(n.params):len(n.params)] }

// State is all variables, running statistics too, in the order of their first use. The slice is the net's: do not change it.
func (n *Net) State() []*ops.Variable { return n.state[:len(n.state):len(n.state)] }

// Summary has a row for each module, in the order of their first use.
func (n *Net) Summary() []Row { return append([]Row(nil), n.rows...) }

// String is the summary as a table for people.
func (n *Net) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "layer\tkind\toutput\tparameters\n")
	total := 0
	for _, r := range n.rows {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d\n", r.Name, r.Kind, r.Out, r.Params)
		total += r.Params
	}
	fmt.Fprintf(w, "all\t\t\t%d, %d bytes\n", total, n.dtype.Size()*total)
	w.Flush() // a Builder takes everything
	return b.String()
}

// make makes a variable.
func (n *Net) make(name string, s tensor.Spec, init Init, train bool) *ops.Variable {
	x := tensor.New(s)
	init(x, drawFor(n.seed, name))
	v := ops.NewVariable(name, x)
	n.state = append(n.state, v)
	if train {
		n.params = append(n.params, v)
	}
	return v
}

// describe runs m in the present scope and adds its row to the summary.
func (c *Context) describe(m Module, x ops.Value) ops.Value {
	n, at, row := c.net, c.at, len(c.net.rows)
	known := len(at.vars)
	n.rows = append(n.rows, Row{Name: at.path, Kind: kind(m)})
	y := m.Forward(c, x)
	r := &n.rows[row]
	r.Out = y.Spec()
	for _, e := range at.vars[known:] {
		if e.train {
			r.Params += e.v.Spec().Shape.Size()
		}
	}
	if len(at.kids) > 0 && len(at.vars) == 0 { // it only contains others
		n.rows = append(n.rows[:row], n.rows[row+1:]...)
	}
	return y
}
