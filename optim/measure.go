package optim

import (
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Measure is a number that tells how an update goes, for logs.
type Measure struct {
	Name  string
	Value ops.Value // of rank 0
}

// Measures are the numbers of the update that has been recorded last, as values of that recording. They are read as results of the step, with the
// loss, which costs no wait of its own:
//
//	opt.Update(tape, loss, params...)
//	norm := optim.Measures(tape, opt)[0].Value
//	res, err := tape.Step(ctx, loss, norm)
//
// A [Clip] with a Norm has "gradient_norm", that of all gradients together before it is limited, which PyTorch's clip_grad_norm_ returns; in a step that a
// LossScale skips it is 0. A [LossScale] has "loss_scale", for the next step, and "skipped", the steps skipped so far. Optimisers within [Groups] have none.
func Measures(t *autograd.Tape, o Optimizer) (list []Measure) {
	for ; !missing(o); o = inner(o) {
		switch o := o.(type) {
		case *Clip:
			if o.norm.Recorder() == t.Recorder() && o.norm.Spec() != (tensor.Spec{}) { // it is of this recording
				list = append(list, Measure{"gradient_norm", o.norm})
			}
		case *LossScale:
			if o.scale != nil {
				list = append(list, Measure{"loss_scale", t.Var(o.scale)}, Measure{"skipped", t.Var(o.skipped).Cast(tensor.F64)})
			}
		}
	}
	return list
}
