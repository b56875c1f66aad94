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

// TestFallible: an operation can fail at run time, which delays the commit of a step, just if a sample shows how.
func TestFallible(t *testing.T) {
	for _, op := range Registry() {
		fails := slices.ContainsFunc(op.Samples(), func(s Sample) bool { return s.Fails != "" })
		if Fallible(op) != fails {
			t.Errorf("%T is fallible: %v; it has a sample that fails: %v", op, Fallible(op), fails)
		}
	}
}
