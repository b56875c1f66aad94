package ops

import (
	"fmt"
	"runtime"
	"strings"
)

// IndexError is an index out of range, found at run time.
type IndexError struct {
	Index int64 // what was asked for
	Limit int   // indices run from 0 to Limit-1
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %d out of range [0,%d)", e.Index, e.Limit)
}

// CheckIndex is nil or an *IndexError.
func CheckIndex(i int64, limit int) error {
	if i < 0 || i >= int64(limit) {
		return &IndexError{i, limit}
	}
	return nil
}

// OpError places an error: which operation, in which scope, recorded where. It is the same type at recording, in a gradient and at run
// time; its cause is a *tensor.ShapeError, an *IndexError or the error of a user's operation.
type OpError struct {
	Op, Path, Site string // name; scope path, may be empty; file and line
	Err            error
}

func (e *OpError) Error() string {
	s := e.Op + ": " + fmt.Sprint(e.Err)
	if e.Path != "" {
		s += " in scope " + e.Path
	}
	if e.Site != "" {
		s += " at " + e.Site
	}
	return s
}

func (e *OpError) Unwrap() error { return e.Err }

// callers is the stack of a builder's caller. A model nests modules, each of several frames, before the user's line comes.
func callers() []uintptr {
	var pc [256]uintptr
	return append([]uintptr(nil), pc[:runtime.Callers(3, pc[:])]...)
}

// engine are the packages whose frames a call site skips: the user's line is what helps.
var engine = [...]string{"ops.", "autograd.", "layers.", "optim.", "data.", "train."}

const module = "github.com/cortado-ml/cortado/"

// site is the first frame outside the engine's own packages.
func site(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	fr := runtime.CallersFrames(pcs)
next:
	for {
		f, more := fr.Next()
		rest, own := strings.CutPrefix(f.Function, module)
		for _, p := range engine {
			if own && more && strings.HasPrefix(rest, p) && !strings.HasSuffix(f.File, "_test.go") {
				continue next
			}
		}
		return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
	}
}
