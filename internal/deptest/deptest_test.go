package deptest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestHouse holds the rules against the tree.
func TestHouse(t *testing.T) {
	breaches, err := Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range breaches {
		t.Error(b)
	}
}

// TestBreaches makes sure that each kind of breach is found, and that what is allowed is not taken for one.
func TestBreaches(t *testing.T) {
	const purego = "github.com/ebitengine/purego"
	for _, c := range []struct {
		file, imports string
		want          string // a part of the sentence; "" if the import is allowed
	}{
		{"tensor/tensor.go", Module + "/ops", "tensor may import no package"},
		{"ops/op.go", Module + "/tensor", ""},
		{"ops/op.go", Module + "/autograd", "ops may import only tensor"},
		{"ops/op.go", Module + "/internal/philox", ""},
		{"autograd/tape.go", Module + "/accel", "autograd may import only"},
		{"sched/engine.go", Module + "/autograd", "sched may import only"},
		{"sched/engine.go", Module + "/accel/cpu", "sched may import only"},
		{"sched/engine_test.go", Module + "/accel/cpu", ""},
		{"accel/cpu/program.go", Module + "/accel/cpu/internal/gemm", ""},
		{"accel/cpu/internal/gemm/gemm.go", Module + "/accel/cpu/internal/work", ""},
		{"accel/cpu/program.go", Module + "/accel/cuda", "accel/cpu/... may import only"},
		{"accel/cuda/device_linux.go", Module + "/sched", "accel/cuda/... may import only"},
		{"accel/acceltest/suite.go", Module + "/accel/cpu", "accel/acceltest may import only"},
		{"train/fit.go", Module + "/accel/cpu", "train may import only"},
		{"dist/mpi/mpi.go", Module + "/dist", ""},
		{"dist/group.go", Module + "/sched", "dist may import only tensor"},
		{"internal/formula/formula.go", Module + "/tensor", "internal/... may import no package"},
		{"cmd/demo/main.go", Module + "/accel/cpu", ""},
		{"novel/novel.go", Module + "/tensor", "no rule says what novel may import"},
		{"accel/cuda/lib.go", purego, ""},
		{"dist/nccl/lib.go", purego, ""},
		{"sched/lib.go", purego, "only accel/cuda/..., accel/tpu/..., dist/mpi, dist/nccl, cmd/... may"},
		{"accel/cuda/lib.go", "C", "cgo"},
		{"accel/cuda/lib_test.go", "C", "cgo"},
		{"ops/op.go", "github.com/google/go-cmp/cmp", "tests only"},
		{"ops/op_test.go", "github.com/google/go-cmp/cmp", ""},
		{"ops/op_test.go", "github.com/stretchr/testify/assert", "not among those"},
		{"data/image.go", "golang.org/x/image/draw", ""},
		{"data/image.go", "golang.org/x/imageother", "not among those"},
		{"data/image.go", "encoding/json", ""},
		{"internal/asmgen/gen/gemm.go", "github.com/mmcloughlin/avo/build", ""}, // a module of its own
		{"ops/testdata/broken.go", "C", ""},
		{"_old/old.go", "C", ""},
		{".ci/tool.go", "C", ""},
	} {
		tree := fstest.MapFS{
			c.file:                   {Data: []byte("package p\n\nimport _ \"" + c.imports + "\"\n")},
			"internal/asmgen/go.mod": {Data: []byte("module m\n")},
		}
		got, err := Check(tree)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		all := strings.Join(got, "\n")
		if (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s imports %s: got %q, want %q", c.file, c.imports, all, c.want)
		}
	}
}

// TestUnreadable makes sure that a file which does not parse is not passed over.
func TestUnreadable(t *testing.T) {
	if _, err := Check(fstest.MapFS{"ops/op.go": {Data: []byte("pakage ops")}}); err == nil {
		t.Error("a broken file is accepted")
	}
}
