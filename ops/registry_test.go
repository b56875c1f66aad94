package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestRegistry: every operation that this package exports is in the registry once, and has samples of its own type.
func TestRegistry(t *testing.T) {
	var have []string
	for _, op := range Registry() {
		name := reflect.TypeOf(op).Name()
		have = append(have, name)
		rows := op.Samples()
		accepted := 0
		for _, s := range rows {
			if reflect.TypeOf(s.Op) != reflect.TypeOf(op) {
				t.Errorf("%s: sample %q is of %T", name, s.Name, s.Op)
			}
			if s.accepted() {
				accepted++
			}
			if s.Op.Name() == "" || strings.ToLower(s.Op.Name()) != s.Op.Name() {
				t.Errorf("%s: the name of sample %q is %q", name, s.Name, s.Op.Name())
			}
		}
		if accepted == 0 || accepted == len(rows) {
			t.Errorf("%s: %d of %d samples run; some must, and some must be refused", name, accepted, len(rows))
		}
		if err := checkType(op); err != nil {
			t.Error(err)
		}
	}
	want := declared(t)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the registry has\n%v, the source declares\n%v", have, want)
	}
}

// declared are the exported types of the source with an Infer method.
func declared(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			m, ok := d.(*ast.FuncDecl)
			if !ok || m.Recv == nil || m.Name.Name != "Infer" {
				continue
			}
			if name := m.Recv.List[0].Type.(*ast.Ident).Name; ast.IsExported(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestNoGrad pins which operations embed NoGrad, and which of those differentiate through their decomposition.
func TestNoGrad(t *testing.T) {
	var cut, through []string
	for _, op := range Registry() {
		if _, fused := op.(Fused); hasNoGrad(op) && fused {
			through = append(through, reflect.TypeOf(op).Name())
		} else if hasNoGrad(op) {
			cut = append(cut, reflect.TypeOf(op).Name())
		}
	}
	if want := []string{"ArgMaxOp", "CompareOp", "FillOp", "IotaOp", "NormalOp", "OneHotOp", "UniformOp"}; !equalSets(cut, want) {
		t.Errorf("without a gradient: %v, want %v", cut, want)
	}
	if want := []string{"BatchNormGradOp", "BatchNormInferOp", "CrossEntropyGradOp", "SoftmaxGradOp", "StandardizeGradOp"}; !equalSets(through, want) {
		t.Errorf("with the gradient of their decomposition: %v, want %v", through, want)
	}
}

// TestFallible pins which operations can fail at run time: each of them delays the commit of a step.
func TestFallible(t *testing.T) {
	var fallible []string
	for _, op := range Registry() {
		if Fallible(op) {
			fallible = append(fallible, reflect.TypeOf(op).Name())
		}
	}
	want := []string{"AddAlongOp", "CrossEntropyOp", "DynamicSliceGradOp", "DynamicSliceOp", "GatherOp", "PutAlongOp", "ScatterAddOp", "TakeAlongOp"}
	if !equalSets(fallible, want) {
		t.Errorf("%v, want %v", fallible, want)
	}
}

func equalSets(a, b []string) bool {
	slices.Sort(a)
	return slices.Equal(a, b)
}
