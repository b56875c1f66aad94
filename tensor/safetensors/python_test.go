package safetensors_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/tensor/safetensors"
)

// TestPython has the Python library read a file of ours, and write it again: bytes, types, shapes and metadata are the same. It is skipped where that
// is not installed.
func TestPython(t *testing.T) {
	python := cmp.Or(os.Getenv("CORTADO_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import safetensors.numpy").Run(); err != nil {
		t.Skipf("%s has no package safetensors", python)
	}
	ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	want := slices.DeleteFunc(everyType(), func(n safetensors.Named) bool { return n.Tensor.DType() == tensor.BF16 }) // which numpy has not
	if err := safetensors.WriteFile(ours, want, map[string]string{"who": "wir ä"}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, filepath.Join("testdata", "copy.py"), ours, theirs).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := safetensors.Open(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if m := f.Metadata(); m["who"] != "wir ä" {
		t.Errorf("the metadata are %v", m)
	}
	if len(f.Names()) != len(want) {
		t.Errorf("there are %q", f.Names())
	}
	for _, w := range want {
		got, err := f.Tensor(w.Name)
		if err != nil || !got.Same(w.Tensor) {
			t.Errorf("%s is %v, want %v, %v", w.Name, got, w.Tensor, err)
		}
	}
	if s := fmt.Sprintf("%d tensors\n", len(want)); string(out) != s {
		t.Errorf("it says %s", out)
	}
}
