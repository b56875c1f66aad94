package ops

import (
	"fmt"
	"reflect"
	"sync"
)

var opTypes sync.Map // reflect.Type -> error or nil: what checkType found

// checkType refuses op types for which == would panic, would miss NaN, or would follow a pointer.
func checkType(op Op) error {
	t := reflect.TypeOf(op)
	if e, ok := opTypes.Load(t); ok {
		err, _ := e.(error)
		return err
	}
	err := checkField(t, t.String(), true)
	opTypes.Store(t, err)
	return err
}

func checkField(t reflect.Type, at string, top bool) error {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%w: attribute %s is a %v: NaN would never match and -0 would match 0; store ops.Bits", ErrMisuse, at, t)
	case reflect.Interface, reflect.Chan, reflect.UnsafePointer, reflect.Slice, reflect.Map, reflect.Func:
		return fmt.Errorf("%w: attribute %s is a %v, which does not compare by content", ErrMisuse, at, t)
	case reflect.Pointer:
		if top || t != reflect.TypeFor[*Variable]() { // leaves name their variable
			return fmt.Errorf("%w: %s is a pointer; pass the op struct by value", ErrMisuse, at)
		}
	case reflect.Array:
		return checkField(t.Elem(), at+"[]", false)
	case reflect.Struct:
		for f := range t.Fields() {
			if err := checkField(f.Type, at+"."+f.Name, false); err != nil {
				return err
			}
		}
	}
	return nil
}
