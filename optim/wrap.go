package optim

import (
	"errors"

	"github.com/cortado-ml/cortado/ops"
)

// around wants an optimiser to go around.
func around(o Optimizer) error {
	switch o.(type) {
	case nil:
		return errors.New("Optimizer is needed")
	case *LossScale:
		return errors.New("its Optimizer is a LossScale, which goes around all others")
	}
	return nil
}

// initInner is Init of an optimiser that may be missing.
func initInner(o Optimizer, params []*ops.Variable) {
	if o != nil {
		o.Init(params...)
	}
}

// stateInner is State of an optimiser that may be missing.
func stateInner(o Optimizer) []*ops.Variable {
	if o == nil {
		return nil
	}
	return o.State()
}
