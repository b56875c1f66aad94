package layers

import (
	"fmt"

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

	state   []*ops.Variable          // all, in the order of their first use
	trained []*ops.Variable          // the parameters among them
	params  []*ops.Variable          // those that are not frozen
	named   map[string]*ops.Variable // by name; a tied one has several
	rows    []row
}

// Build makes the parameters of model for inputs of the given spec, of type dtype, with first values drawn from the seed. The spec's batch
// size does not matter. It fails with the error of the first layer that cannot take its input.
func Build(model Module, in tensor.Spec, seed uint64, dtype tensor.DType) (*Net, error) {
	n := &Net{model: model, dtype: dtype, seed: seed, root: &scope{}, named: map[string]*ops.Variable{}}
	if !dtype.Float() {
		return nil, fmt.Errorf("layers: parameters are floats, not %v", dtype)
	}
	if err := in.Check(); err != nil {
		return nil, fmt.Errorf("layers: the spec of the input, %v: %w", in, err)
	}
	tape := autograd.New(nil) // nothing runs: the pass is for its shapes
	y := n.Forward(tape, ops.Zeros(tape.Recorder(), in), Eval)
	g, err := tape.Recorder().Graph(false, y)
	if err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	if err := n.count(g); err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	n.params, n.built = n.trained, true
	return n, nil
}

// Forward records one pass over x, a value of the same tape.
func (n *Net) Forward(t *autograd.Tape, x ops.Value, mode Mode) ops.Value {
	return n.forward(t, x, mode, piece{})
}

// ForwardPadded is Forward for sequences that are padded behind their lengths, i64 or i32 [n]: Context.Lengths for all modules, which
// says what is made of it. None means that nothing is padded.
func (n *Net) ForwardPadded(t *autograd.Tape, x, lengths ops.Value, mode Mode) ops.Value {
	return n.forward(t, x, mode, piece{lengths: lengths})
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

// DType is the type of the parameters.
func (n *Net) DType() tensor.DType { return n.dtype }

// Params are the variables to train, in the order of their first use, without those that Freeze froze. The slice is the net's: do not change it.
func (n *Net) Params() []*ops.Variable { return n.params[:len(n.params):len(n.params)] }

// State is all variables, running statistics too, in the order of their first use. The slice is the net's: do not change it.
func (n *Net) State() []*ops.Variable { return n.state[:len(n.state):len(n.state)] }

// make makes a variable.
func (n *Net) make(name string, s tensor.Spec, init Init, train bool) (*ops.Variable, error) {
	if n.named[name] != nil {
		return nil, fmt.Errorf("%w: there is a parameter called %s already", ops.ErrMisuse, name)
	}
	x := tensor.New(s)
	init(x, drawFor(n.seed, name))
	v := ops.NewVariable(name, x)
	n.named[name] = v
	n.state = append(n.state, v)
	if train {
		n.trained = append(n.trained, v)
	}
	return v, nil
}
