package optim

import (
	"errors"
	"reflect"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
)

// missing reports whether there is no optimiser: none, or a nil pointer.
func missing(o Optimizer) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// lossOf is the loss to differentiate, as the optimiser within says; the loss itself if there is none, which Apply tells.
func lossOf(o Optimizer, t *autograd.Tape, loss ops.Value) ops.Value {
	if missing(o) {
		return loss
	}
	return o.Loss(t, loss)
}

// around wants an optimiser to go around.
func around(o Optimizer) error {
	if missing(o) {
		return errors.New("Optimizer is needed")
	}
	if _, ok := o.(*LossScale); ok {
		return errors.New("its Optimizer is a LossScale, which goes around all others")
	}
	return nil
}

// initInner is Init of an optimiser that may be missing.
func initInner(o Optimizer, params []*ops.Variable) {
	if !missing(o) {
		o.Init(params...)
	}
}

// stateInner is State of an optimiser that may be missing.
func stateInner(o Optimizer) []*ops.Variable {
	if missing(o) {
		return nil
	}
	return o.State()
}
