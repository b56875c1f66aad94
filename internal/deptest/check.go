package deptest

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Module is the path of this module.
const Module = "github.com/cortado-ml/cortado"

// Check reads the imports of every Go file below the root of the module and returns each breach of the rules as a
// sentence, in the order of the files. Files for all systems count. Nested modules, testdata and folders that the go
// command passes over do not.
func Check(root fs.FS) ([]string, error) {
	var breaches []string
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if why := breach(path.Dir(name), imported, strings.HasSuffix(name, "_test.go")); why != "" {
				breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", name, imported, why))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("deptest: %w", err)
	}
	return breaches, nil
}

// skip returns fs.SkipDir for a folder that holds no package of this module.
func skip(root fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	switch _, err := fs.Stat(root, path.Join(name, "go.mod")); {
	case err == nil:
		return fs.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// breach says why the package in folder pkg must not import a path, or returns "" if it may.
func breach(pkg, imported string, test bool) string {
	if imported == "C" {
		return "nothing in this module may need cgo"
	}
	if below, ours := strings.CutPrefix(imported, Module+"/"); ours {
		return ourBreach(pkg, below, test)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, m := range modules {
		if imported != m.path && !strings.HasPrefix(imported, m.path+"/") {
			continue
		}
		if m.tests && !test {
			return "that module is for tests only"
		}
		if !matchAny(m.packages, pkg) {
			return "only " + strings.Join(m.packages, ", ") + " may"
		}
		return ""
	}
	return "that module is not among those that may be used"
}

func ourBreach(pkg, imported string, test bool) string {
	if test || match("internal/...", imported) || match(pkg+"/...", imported) {
		return ""
	}
	for _, r := range rules {
		if !match(r.packages, pkg) {
			continue
		}
		if matchAny(r.may, imported) {
			return ""
		}
		if len(r.may) == 0 {
			return r.packages + " may import no package of this module but internal/..."
		}
		return r.packages + " may import only " + strings.Join(r.may, ", ")
	}
	return "no rule says what " + pkg + " may import; add one to internal/deptest/rules.go"
}

func matchAny(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if match(p, pkg) {
			return true
		}
	}
	return false
}

// match reports whether a package's path below the module's root fits a pattern.
func match(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	}
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}
