// Package optim holds optimisers and schedules of their rates.
//
// An optimiser is a struct whose fields are its hyper-parameters; a field left 0 has the documented default, PyTorch's. It is used by
// pointer, since it keeps state for each parameter. Update records the gradient and the update into the step:
//
//	opt := &optim.AdamW{LR: 1e-3, WeightDecay: 0.1}
//	opt.Update(tape, loss, net.Params()...)
//	res, err := tape.Step(ctx, loss)
//
// The formulas are PyTorch's, operation by operation. The rate and what else changes from step to step are computed on the host in
// float64 and enter the step as scalars, so nothing is compiled twice. The state of 16-bit parameters, and the arithmetic of their
// update, is float32.
//
// State is variables: moments, named "0.weight.exp_avg" after their parameter, and the number of updates. A checkpoint that has them all,
// matched by name, continues bit for bit.
//
// The package imports autograd, ops and tensor.
package optim
