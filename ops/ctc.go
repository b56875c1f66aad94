package ops

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/tensor"
)

// Connectionist temporal classification (Graves, Fernández, Gomez and Schmidhuber, 2006): the loss of a network that says at each step which label it hears,
// or none, when a target says the labels but not when they come. An alignment names a label or the blank for each step; repetitions and then blanks are
// taken out, and what is left must be the target. The loss is the negative logarithm of the sum of the probabilities of all alignments.

var _ = register(CTCOp{}, CTCGradOp{})

// CTCOp is the loss of each sequence [n], in nats, of log-probabilities [steps, n, classes], targets i32 or i64 [n, longest], and for each sequence the
// number of its steps and of its labels, i32 or i64 [n]. What lies beyond these is padding, whatever it holds. A target that no alignment of so many
// steps can say, or of probability 0, has the loss +inf; no steps say a target without labels, with certainty. A label outside the classes, or a length
// outside the arrays, is an *IndexError. Labels should not be the blank: such a one stays in the target, and is said by silence.
type CTCOp struct {
	Blank int // the class that is no label
}

// Name is "ctc".
func (CTCOp) Name() string { return "ctc" }

// Infer wants [steps, n, classes], [n, longest], [n] and [n].
func (o CTCOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(4, in); err != nil {
		return nil, err
	}
	switch x, targets := in[0], in[1]; {
	case !x.DType.Float() || x.Shape.Rank() != 3:
		return nil, &tensor.ShapeError{Msg: "wants log-probabilities [steps, n, classes]; write a Transpose(1, 0, 2) if the batch comes first", In: in}
	case !isIndex(targets.DType) || targets.Shape.Rank() != 2 || targets.Shape.Dim(0) != x.Shape.Dim(1):
		return nil, &tensor.ShapeError{Msg: "wants targets i64 or i32 [n, longest], padded to one length", In: in}
	case o.Blank < 0 || o.Blank >= x.Shape.Dim(2):
		return nil, &tensor.ShapeError{Msg: fmt.Sprintf("blank %d is none of %d classes", o.Blank, x.Shape.Dim(2)), In: in}
	}
	for _, lengths := range in[2:] {
		if !isIndex(lengths.DType) || lengths.Shape != tensor.Of(in[0].Shape.Dim(1)) {
			return nil, &tensor.ShapeError{Msg: "wants for each sequence its number of steps and of labels, i64 or i32 [n]", In: in}
		}
	}
	return []tensor.Spec{{DType: in[0].DType, Shape: in[2].Shape}}, nil
}

// states are those that the alignments of one sequence pass through: its labels, with a blank before, between and behind them.
type states struct {
	steps int
	label []int
	logp  func(step, state int) float64
}

// states of sequence i.
func (o CTCOp) states(in []tensor.Tensor, i int) (s states, err error) {
	shape, labels, longest := in[0].Shape(), in[3].Int(i), in[1].Shape().Dim(1)
	if err = CheckIndex(in[2].Int(i), shape.Dim(0)+1); err == nil {
		err = CheckIndex(labels, longest+1)
	}
	if err != nil {
		return s, err
	}
	s.steps, s.label = int(in[2].Int(i)), []int{o.Blank}
	for k := range int(labels) {
		label := in[1].Int(i*longest + k)
		if err := CheckIndex(label, shape.Dim(2)); err != nil {
			return s, err
		}
		s.label = append(s.label, int(label), o.Blank)
	}
	s.logp = func(step, state int) float64 { return in[0].At((step*shape.Dim(1)+i)*shape.Dim(2) + s.label[state]) }
	return s, nil
}

// skips reports whether an alignment may come to a state without a blank since the state two before: from another label.
func (s *states) skips(to int) bool {
	return to >= 2 && to < len(s.label) && s.label[to] != s.label[to-2]
}

// row is a number for each state, all of which are log(0).
func (s *states) row() []float64 {
	row := make([]float64, len(s.label))
	for i := range row {
		row[i] = math.Inf(-1)
	}
	return row
}

// forward is the logarithm of the probability of all that was said, for each number of steps and each state that they may end in. Before the first step it
// is the first blank's.
func (s *states) forward() [][]float64 {
	past := [][]float64{s.row()}
	past[0][0] = 0
	for t := range s.steps {
		from, to := past[t], s.row()
		for k := range to {
			sum := from[k]
			if k > 0 {
				sum = logAdd(sum, from[k-1])
			}
			if s.skips(k) {
				sum = logAdd(sum, from[k-2])
			}
			to[k] = s.logp(t, k) + sum
		}
		past = append(past, to)
	}
	return past
}

// backward is the logarithm of the probability of all that is yet to be said, for the same.
func (s *states) backward() [][]float64 {
	future := make([][]float64, s.steps+1)
	last := s.row()
	for k := max(0, len(last)-2); k < len(last); k++ {
		last[k] = 0
	}
	future[s.steps] = last
	for t := s.steps - 1; t >= 0; t-- {
		from, to := future[t+1], s.row()
		for k := range to {
			to[k] = s.logp(t, k) + from[k]
			if k+1 < len(to) {
				to[k] = logAdd(to[k], s.logp(t, k+1)+from[k+1])
			}
			if s.skips(k + 2) {
				to[k] = logAdd(to[k], s.logp(t, k+2)+from[k+2])
			}
		}
		future[t] = to
	}
	return future
}

// total is the logarithm of the probability of the target, of the last row of forward: an alignment ends with the last label or the blank behind it.
func (s *states) total(last []float64) float64 {
	sum := last[len(last)-1]
	if len(last) > 1 {
		sum = logAdd(sum, last[len(last)-2])
	}
	return sum
}

// logAdd is log(exp(a) + exp(b)).
func logAdd(a, b float64) float64 {
	top := max(a, b)
	if math.IsInf(top, 0) {
		return top
	}
	return top + math.Log1p(math.Exp(min(a, b)-top))
}

// Ref sums over all alignments of each sequence, in logarithms.
func (o CTCOp) Ref(out, in []tensor.Tensor) error {
	for i := range out[0].Len() {
		s, err := o.states(in, i)
		if err != nil {
			return err
		}
		past := s.forward()
		out[0].Set(i, -s.total(past[s.steps]))
	}
	return nil
}

// Grad is an op of its own.
func (o CTCOp) Grad(b *Backward) {
	dy, _ := b.Dy(0)
	b.Set(0, Apply(CTCGradOp{Of: o}, b.In(0), b.In(1), b.In(2), b.In(3), dy))
}

// Decompose takes one step of all sequences after the other.
func (o CTCOp) Decompose(in []Value) []Value {
	logp, targets, steps, labels := in[0], in[1].Cast(tensor.I64), in[2].Cast(tensor.I64), in[3].Cast(tensor.I64)
	n, longest := targets.Dim(0), targets.Dim(1)
	size := 2*longest + 1
	log0, blank := logp.constant(math.Inf(-1)), targets.constant(float64(o.Blank))
	count := func(n int) Value { return Iota(logp.r, tensor.SpecOf(tensor.I64, 1, n), 1) }
	earlier := func(x, first Value, by int) Value { // of each state that so many before, behind what is first
		return Concat(1, first.expandTo(tensor.Of(n, size)).Narrow(1, 0, min(by, size)), x.Narrow(1, 0, max(0, size-by)))
	}

	known := Where(count(longest).Less(labels.Unsqueeze(-1)), targets, blank.expandTo(targets.Shape()))
	label := Concat(1, Stack(2, blank.expandTo(targets.Shape()), known).Reshape(n, size-1), blank.expandTo(tensor.Of(n, 1)))
	skips := label.NotEqual(earlier(label, label, 2))

	sum := Where(count(size).Equal(blank.constant(0)), logp.constant(0), log0).expandTo(label.Shape())
	for t := range logp.Dim(0) {
		inside := steps.Greater(steps.constant(float64(t))).Unsqueeze(-1)
		said := Where(inside, logp.Narrow(0, t, 1).Squeeze(0), logp.constant(0)).TakeAlong(1, label)
		from := Stack(2, sum, earlier(sum, log0, 1), Where(skips, earlier(sum, log0, 2), log0))
		sum = Where(inside, said.Add(from.LogSumExp(2)), sum)
	}
	last := labels.Add(labels).Unsqueeze(-1)
	ends := count(size).Equal(last).Or(count(size).Equal(last.Sub(last.constant(1))))
	return []Value{Where(ends, sum, log0).LogSumExp(1).Neg()}
}

// Cost counts a sum of logarithms as sixty operations, two for each state and step.
func (CTCOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = 120 * float64(in[0].Shape.Dim(0)) * float64(in[1].Shape.Dim(0)) * float64(2*in[1].Shape.Dim(1)+1)
	return c
}

// Batch keeps the sequences' axis, which comes second in log-probabilities.
func (CTCOp) Batch(_ []tensor.Spec, axis []int) ([]int, BatchKind) {
	if axis[0] != 1 || axis[1] != 0 || axis[2] != 0 || axis[3] != 0 {
		return nil, Mixes
	}
	return []int{0}, Rowwise
}

// ctcSamples are log-probabilities, targets and lengths.
func ctcSamples(row func(name string, o CTCOp, in ...tensor.Tensor) Sample) (rows []Sample) {
	logp := func(seed, steps, n, classes int) tensor.Tensor {
		x := ramp(seed, steps, n, classes)
		for r := range steps * n {
			_, sum := expSum(x, r*classes, classes, 1)
			top := x.At(r * classes)
			for c := range classes {
				top = max(top, x.At(r*classes+c))
			}
			for c := range classes {
				x.Set(r*classes+c, x.At(r*classes+c)-top-math.Log(sum))
			}
		}
		return x
	}
	nan, inf, o := math.NaN(), math.Inf(1), CTCOp{}
	special := func(name string, in ...tensor.Tensor) Sample {
		s := row(name, o, in...)
		s.ValueOnly = true
		return s
	}
	at := func(x tensor.Tensor, i int, v float64) tensor.Tensor { x.Set(i, v); return x }
	fails := func(words string, in ...tensor.Tensor) Sample {
		s := row("refused when it runs: "+words, o, in...)
		s.Fails = words
		return s
	}
	refused := func(words string, o CTCOp, in ...tensor.Tensor) Sample {
		s := row(words, o, in...)
		s.Refused = words
		return s
	}
	long := row("long", o, logp(1, 14, 1, 19), iarr(d(1, 6), 1, 2, 3, 3, 18, 7), iarr(d(1), 14), iarr(d(1), 6))
	long.ULP = 64
	return []Sample{
		row("one label", o, logp(1, 3, 1, 3), iarr(d(1, 1), 2), iarr(d(1), 3), iarr(d(1), 1)),
		row("lengths", o, logp(2, 5, 3, 4), iarr(d(3, 3), 1, 2, 3, 3, 1, -7, 2, 99, 99), iarr(d(3), 5, 4, 3), iarr(d(3), 3, 2, 1)),
		row("repeated labels", o, logp(3, 6, 2, 3), iarr(d(2, 3), 1, 1, 1, 2, 2, 1), iarr(d(2), 6, 5), iarr(d(2), 3, 3)),
		row("i32", o, logp(4, 4, 2, 3), arr[int32](d(2, 2), 1, 2, 2, 2), arr[int32](d(2), 4, 4), iarr(d(2), 2, 2)),
		row("another blank", CTCOp{Blank: 2}, logp(5, 4, 2, 3), iarr(d(2, 2), 0, 1, 1, 1), iarr(d(2), 4, 3), iarr(d(2), 2, 2)),
		row("no labels", o, logp(6, 3, 2, 3), iarr(d(2, 2), 1, 1, 9, 9), iarr(d(2), 3, 3), iarr(d(2), 1, 0)),
		row("none at all", o, logp(6, 3, 2, 3), iarr(d(2, 0)), iarr(d(2), 3, 2), iarr(d(2), 0, 0)),
		row("no steps, no labels", o, logp(7, 2, 2, 3), iarr(d(2, 1), 1, 1), iarr(d(2), 0, 2), iarr(d(2), 0, 1)),
		row("just enough steps", o, logp(8, 3, 2, 3), iarr(d(2, 3), 1, 2, 1, 1, 1, 0), iarr(d(2), 3, 3), iarr(d(2), 3, 2)),
		row("a label that is the blank", o, logp(9, 4, 1, 3), iarr(d(1, 2), 0, 1), iarr(d(1), 4), iarr(d(1), 2)),
		row("one class", o, logp(9, 2, 1, 1), iarr(d(1, 0)), iarr(d(1), 2), iarr(d(1), 0)),
		row("no sequence", o, logp(9, 2, 0, 3), iarr(d(0, 2)), iarr(d(0)), iarr(d(0))),
		row("not probabilities", o, ramp(10, 4, 2, 3), iarr(d(2, 2), 1, 2, 2, 2), iarr(d(2), 4, 4), iarr(d(2), 2, 2)),
		long,
		special("impossible", logp(11, 3, 4, 3), iarr(d(4, 4), 1, 1, 1, 1, 2, 2, 0, 0, 1, 2, 1, 2, 1, 0, 0, 0), iarr(d(4), 3, 2, 3, 0), iarr(d(4), 4, 2, 4, 1)),
		special("probability 0", at(logp(12, 3, 2, 3), 1, -inf), iarr(d(2, 3), 1, 2, 1, 2, 0, 0), iarr(d(2), 3, 3), iarr(d(2), 3, 1)),
		special("NaN", at(logp(13, 3, 2, 3), 1, nan), iarr(d(2, 1), 1, 1), iarr(d(2), 3, 3), iarr(d(2), 1, 1)),
		special("NaN in the padding", at(logp(14, 3, 2, 3), 13, nan), iarr(d(2, 1), 1, 1), iarr(d(2), 2, 3), iarr(d(2), 1, 1)),
		special("far apart", at(at(logp(15, 3, 1, 3), 1, -1e4), 5, -2e4), iarr(d(1, 2), 1, 2), iarr(d(1), 2), iarr(d(1), 2)),
		fails("index 3 out of range [0,3)", logp(1, 2, 1, 3), iarr(d(1, 1), 3), iarr(d(1), 2), iarr(d(1), 1)),
		fails("index -1 out of range [0,3)", logp(1, 2, 1, 3), iarr(d(1, 2), 1, -1), iarr(d(1), 2), iarr(d(1), 2)),
		fails("index 3 out of range [0,3)", logp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 3), iarr(d(1), 1)),
		fails("index 2 out of range [0,2)", logp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 2), iarr(d(1), 2)),
		fails("index -1 out of range [0,3)", logp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), -1), iarr(d(1), 1)),
		refused("log-probabilities [steps, n, classes]", o, ramp(1, 2, 3), iarr(d(2, 1), 1, 1), iarr(d(2), 1, 1), iarr(d(2), 1, 1)),
		refused("wants targets", o, ramp(1, 2, 2, 3), iarr(d(2), 1, 1), iarr(d(2), 1, 1), iarr(d(2), 1, 1)),
		refused("blank 3 is none of 3 classes", CTCOp{Blank: 3}, ramp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 2), iarr(d(1), 1)),
		refused("blank -1 is none", CTCOp{Blank: -1}, ramp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 2), iarr(d(1), 1)),
		refused("its number of steps and of labels", o, ramp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(2), 2, 2), iarr(d(1), 1)),
	}
}

// Samples have targets that are short, long, repeated, empty and impossible.
func (CTCOp) Samples() []Sample {
	return append(ctcSamples(func(name string, o CTCOp, in ...tensor.Tensor) Sample { return Sample{Name: name, Op: o, In: in} }),
		Sample{Name: "no lengths", Op: CTCOp{}, In: []tensor.Tensor{ramp(1, 2, 1, 3), iarr(d(1, 1), 1)}, Refused: "wants 4 values"})
}

// CTCGradOp is the gradient of CTCOp with respect to the log-probabilities, of its inputs and the gradient [n] of the losses. It is minus the probability
// that an alignment of the target says the class at the step, times the loss's gradient; so it is 0 in the padding, and where the loss is +inf.
type CTCGradOp struct {
	NoGrad // its gradient, for second order, is that of its decomposition
	Of     CTCOp
}

// Name is "ctc gradient".
func (CTCGradOp) Name() string { return "ctc gradient" }

// Infer wants what CTCOp wants and gives.
func (o CTCGradOp) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := checkCount(5, in); err != nil {
		return nil, err
	}
	out, err := o.Of.Infer(in[:4])
	if err != nil {
		return nil, err
	}
	if in[4] != out[0] {
		return nil, &tensor.ShapeError{Msg: "wants a gradient for each loss", In: in}
	}
	return in[:1:1], nil
}

// Ref multiplies what was said before each step with what is said after it.
func (o CTCGradOp) Ref(out, in []tensor.Tensor) error {
	n, classes := in[0].Shape().Dim(1), in[0].Shape().Dim(2)
	sums := make([]float64, out[0].Len())
	for i := range n {
		s, err := o.Of.states(in, i)
		if err != nil {
			return err
		}
		past, future := s.forward(), s.backward()
		total := s.total(past[s.steps])
		if math.IsInf(total, -1) {
			continue
		}
		for t := range s.steps {
			for k, label := range s.label {
				sums[(t*n+i)*classes+label] -= in[4].At(i) * math.Exp(past[t+1][k]+future[t+1][k]-total)
			}
		}
	}
	for i, x := range sums {
		out[0].Set(i, x)
	}
	return nil
}

// Decompose differentiates the decomposition of the loss.
func (o CTCGradOp) Decompose(in []Value) []Value {
	return in[0].r.VJP(o.Of.Decompose(in[:4])[0], in[4], in[0])
}

// Cost is that of both directions.
func (o CTCGradOp) Cost(in, out []tensor.Spec) Cost {
	c := Traffic(in, out)
	c.FLOPs = 2.5 * o.Of.Cost(in[:4], nil).FLOPs
	return c
}

// Batch keeps the sequences' axis.
func (o CTCGradOp) Batch(in []tensor.Spec, axis []int) ([]int, BatchKind) {
	if _, kind := o.Of.Batch(in[:4], axis[:4]); kind == Mixes || axis[4] != 0 {
		return nil, Mixes
	}
	return axis[:1], Rowwise
}

// Samples are those of the loss.
func (CTCGradOp) Samples() []Sample {
	return append(ctcSamples(func(name string, o CTCOp, in ...tensor.Tensor) Sample {
		return Sample{Name: name, Op: CTCGradOp{Of: o}, In: append(in, ramp(50, in[2].Len()))}
	}),
		Sample{Name: "weights", Op: CTCGradOp{}, In: []tensor.Tensor{ramp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 2), iarr(d(1), 1), ramp(1)},
			Refused: "a gradient for each loss"},
		Sample{Name: "no weights", Op: CTCGradOp{}, In: []tensor.Tensor{ramp(1, 2, 1, 3), iarr(d(1, 1), 1), iarr(d(1), 2), iarr(d(1), 1)}, Refused: "wants 5 values"})
}

// CTC says how long sequences are. Its zero value takes all steps and all labels, and class 0 for the blank.
type CTC struct {
	Steps, Labels Value // i64 or i32 [n]: of each sequence; none means all
	Blank         int   // the class that is no label
	ZeroInfinity  bool  // a target that its steps cannot say counts as 0 rather than +inf
}

// CTCRows is the loss of each sequence [n], in nats, of log-probabilities [steps, n, classes], such as a LogSoftmax(2) gives, and targets i64 or i32 [n, longest]
// (Graves et al., 2006). The padding of both is never read. A target that its steps cannot say, because it has more labels, and blanks between equal ones, than
// there are steps, has the loss +inf and the gradient 0. Its Sum is the loss of the batch. A label or a length out of range fails the step with an *IndexError.
//
//go:noinline
func CTCRows(logp, targets Value, c CTC) Value {
	all := func(lengths Value, n int) Value {
		if lengths.IsNone() && logp.r != nil {
			return Full(logp.r, tensor.SpecOf(tensor.I64, logp.Dim(1)), float64(n))
		}
		return lengths
	}
	loss := Apply(CTCOp{Blank: c.Blank}, logp, targets, all(c.Steps, logp.Dim(0)), all(c.Labels, targets.Dim(1)))
	if c.ZeroInfinity {
		loss = Where(loss.Equal(loss.constant(math.Inf(1))), loss.constant(0), loss)
	}
	return loss
}

// CTCLoss is the mean over the batch of CTCRows, each over its number of labels, one at least: as PyTorch's ctc_loss.
//
//go:noinline
func CTCLoss(logp, targets Value, c CTC) Value {
	loss := CTCRows(logp, targets, c)
	labels := loss.constant(float64(targets.Dim(1)))
	if !c.Labels.IsNone() {
		labels = c.Labels.Cast(loss.DType())
	}
	return loss.Div(labels.Maximum(loss.constant(1))).Mean()
}
