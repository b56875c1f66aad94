package ops

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
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
	want := declared(source(t))
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the registry has\n%v, the source declares\n%v", have, want)
	}
}

// source is the package's files, without tests.
func source(t *testing.T) (files []*ast.File) {
	paths, err := filepath.Glob("*.go")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// declared are the exported types of the source with an Infer method.
func declared(files []*ast.File) (names []string) {
	for _, f := range files {
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

// shapeless are the types of operations whose comment does not begin with their name, or does not say what shapes they take: in brackets, or that any will do.
func shapeless(files []*ast.File) (names []string) {
	ops := declared(files)
	says := regexp.MustCompile(`\[[^\]]*\]|shape|axis|axes`)
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				spec := s.(*ast.TypeSpec)
				doc := g.Doc.Text() + spec.Doc.Text()
				if name := spec.Name.Name; slices.Contains(ops, name) && !(strings.HasPrefix(doc, name+" ") && says.MatchString(doc)) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// TestDocs: every operation says what it does and with what shapes.
func TestDocs(t *testing.T) {
	if names := shapeless(source(t)); len(names) > 0 {
		t.Errorf("the comments of %v say nothing of shapes", names)
	}
	bad, err := parser.ParseFile(token.NewFileSet(), "bad.go", `package ops
		// AOp adds [n] and [n].
		type AOp struct{}
		func (AOp) Infer()
		// BOp adds.
		type BOp struct{}
		func (BOp) Infer()
		type COp struct{}
		func (COp) Infer()
		// It works along an axis.
		type DOp struct{}
		func (DOp) Infer()`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := shapeless([]*ast.File{bad}); !slices.Equal(got, []string{"BOp", "COp", "DOp"}) {
		t.Errorf("%v say nothing of shapes, want BOp, COp and DOp", got)
	}
}

// TestSmooth: an operation that has a gradient has samples on which its second order is checked.
func TestSmooth(t *testing.T) {
	for _, op := range Registry() {
		float := func(x tensor.Tensor) bool { return x.DType().Float() }
		smooth := func(s Sample) bool {
			return s.accepted() && !s.ValueOnly && !s.Rough && slices.ContainsFunc(s.In, float)
		}
		if op == (StopGradientOp{}) {
			continue // differences see what its gradient does not
		}
		if _, fused := op.(Fused); (fused || !hasNoGrad(op)) && !slices.ContainsFunc(op.Samples(), smooth) {
			t.Errorf("%T has no sample with a gradient of its gradient", op)
		}
	}
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
