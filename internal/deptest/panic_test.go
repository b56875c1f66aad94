package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// mayPanic are the functions outside of internal packages that panic, each with its reason; in internal packages a panic is a fault of the caller, and the
// driver makes it an error of the operation that was running.
var mayPanic = []string{
	"accel/acceltest Ref", // a user's operation that panics, which drivers must survive
	"tensor Must",         // as its documentation says: for literals
}

// TestPanics holds the calls of panic in the tree against mayPanic.
func TestPanics(t *testing.T) {
	found, err := panics(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, mayPanic) {
		t.Errorf("these call panic outside of internal packages: %v, want %v", found, mayPanic)
	}
}

// TestPanicsFound finds what there is to find.
func TestPanicsFound(t *testing.T) {
	found, err := panics(fstest.MapFS{
		"ops/op.go":            {Data: []byte("package ops\nfunc F() { func() { panic(1) }() }\nfunc G() { recover() }")},
		"ops/op_test.go":       {Data: []byte("package ops\nfunc H() { panic(1) }")},
		"ops/internal/x/x.go":  {Data: []byte("package x\nfunc I() { panic(1) }")},
		"ops/testdata/t/t.go":  {Data: []byte("package t\nfunc J() { panic(1) }")},
		"internal/exact/go.go": {Data: []byte("package exact\nfunc K() { panic(1) }")},
	})
	if err != nil || !slices.Equal(found, []string{"ops F"}) {
		t.Errorf("%v, %v", found, err)
	}
}

// panics are the functions that call panic, as "folder Name", outside of tests and internal packages.
func panics(files fs.FS) (found []string, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"internal", "testdata"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && name != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
					who := "a variable"
					if f, ok := d.(*ast.FuncDecl); ok {
						who = f.Name.Name
					}
					found = append(found, path.Dir(name)+" "+who)
				}
				return true
			})
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}
