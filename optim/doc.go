// Package optim holds optimisers and schedules of their rates.
//
// An optimiser is a struct whose fields are its hyper-parameters; a field left 0 has the documented default, PyTorch's where it has one. So LR 0 is
// no rate of 0, which is Schedule: optim.Constant{}, and AdamW without WeightDecay decays by 0.01: without any decay it is Adam. It is
// used by pointer, since it keeps state for each parameter. Update records the gradient and the update into the step:
//
//	opt := &optim.AdamW{LR: 1e-3, WeightDecay: 0.1}
//	opt.Update(tape, loss, net.Params()...)
//	res, err := tape.Step(ctx, loss)
//
// # Which one
//
//	SGD                with Momentum: images, with a schedule that falls. The least memory
//	Adam, AdamW        nearly everything else; AdamW where weights decay
//	RMSProp            recurrent networks; half the memory of Adam
//	Adagrad, FTRL      sparse features; FTRL with L1 makes parameters exactly 0
//	LARS               batches of thousands
//
// # Around them
//
// What is added to an optimiser is an optimiser around it. From the inside out:
//
//	Groups             gives each parameter the options for its name
//	Clip               limits gradients, by their common norm or each by its value
//	EMA                keeps a moving average of the parameters
//	LossScale          keeps small gradients of 16-bit parameters from vanishing, and skips steps that overflow
//
// [RateOf] and [Measures] tell for logs what an update does: its rate, the norm of its gradients, the scale of the loss.
//
// # Precision
//
// The formulas are PyTorch's, operation by operation. The rate is computed on the host in float64 and enters the step as a scalar, so nothing is
// compiled twice. The state of 16-bit parameters, and the arithmetic of their update, is float32; and each has a master copy in float32, of
// which it is the rounded value. So updates far smaller than the distance of two 16-bit numbers add up, and weights decay as they should. A
// 16-bit parameter that is set by hand is its own master again.
//
// # State
//
// State is variables: moments, masters and averages, named "0.weight.exp_avg" after their parameter, and the number of updates. A checkpoint that
// has them all, matched by name, continues bit for bit, in whatever order the parameters or groups are then. A schedule counts
// updates too: those that were asked for, of which LossScale may have skipped some.
//
// Fields may change between updates, as a momentum that sets in late: state that is needed then begins as it would have at first.
//
// The package imports autograd, ops and tensor.
package optim
