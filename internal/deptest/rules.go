package deptest

// A rule says what the packages of one part of the tree may import from this module. Both sides are patterns: a path
// below the module's root, or one that ends in "/..." and stands for the path and all below it; "*" stands for one
// element of a path. The first rule that matches a package is the one that counts.
//
// Not listed, because they always hold: a package may import what lies below itself, and internal/... is open to all.
type rule struct {
	packages string
	may      []string
}

var rules = []rule{
	{"tensor", nil},
	{"tensor/safetensors", []string{"tensor"}},
	{"ops", []string{"tensor"}},
	{"autograd", []string{"ops", "tensor"}},

	{"accel", []string{"ops", "tensor"}},
	{"accel/acceltest", []string{"accel", "ops", "tensor"}},
	// A driver never imports another driver, sched or autograd.
	{"accel/cpu/...", []string{"accel/cpu/...", "accel", "ops", "tensor"}},
	{"accel/cuda/...", []string{"accel/cuda/...", "accel", "ops", "tensor"}},
	{"accel/tpu/...", []string{"accel/tpu/...", "accel", "ops", "tensor"}},

	// The engine knows the contract, not a driver, and graphs, not the tape.
	{"sched", []string{"accel", "ops", "tensor"}},
	{"dist", []string{"tensor"}},
	{"dist/*", []string{"dist", "tensor"}},

	// A state dict is a module's own concern, so layers reads and writes the files that hold them.
	{"layers", []string{"autograd", "ops", "tensor", "tensor/safetensors"}},
	{"optim", []string{"autograd", "ops", "tensor"}},
	{"data/fashion", nil},
	{"data/opticks", nil},
	{"data/digits", nil},
	{"data/...", []string{"data/...", "tensor"}},
	{"train/tensorboard", []string{"tensor"}},
	{"train/jsonl", nil},
	{"train", []string{"layers", "optim", "sched", "data", "autograd", "ops", "tensor", "tensor/safetensors", "train/jsonl", "train/tensorboard"}},

	// What serves all must not depend on any.
	{"internal/...", nil},
	// Commands are the only code that names drivers.
	{"cmd/...", []string{"..."}},
}

// modules are the modules of others that may be imported, and where. A test may import those of tests as well.
var modules = []struct {
	path     string
	packages []string
	tests    bool // only from tests
}{
	{"golang.org/x/sys", []string{"..."}, false},
	{"golang.org/x/sync", []string{"..."}, false},
	{"golang.org/x/image", []string{"..."}, false},
	{"github.com/klauspost/cpuid/v2", []string{"..."}, false},
	{"gonum.org/v1/gonum", []string{"..."}, false},
	{"github.com/google/go-cmp", []string{"..."}, true},
	{"google.golang.org/protobuf/encoding/protowire", []string{"train/tensorboard"}, false},
	// Loading libraries at run time belongs to the drivers and groups whose libraries those are.
	{"github.com/ebitengine/purego", []string{"accel/cuda/...", "accel/tpu/...", "dist/mpi", "dist/nccl", "cmd/..."}, false},
}
