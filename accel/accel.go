package accel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// ErrUnsupported is the cause when a device has no kernel for a node. The error around it gives the reason.
var ErrUnsupported = errors.New("accel: unsupported")

// ErrOutOfMemory is the cause when a program or a buffer does not fit.
var ErrOutOfMemory = errors.New("accel: out of memory")

// ErrClosed is what a closed device answers.
var ErrClosed = errors.New("accel: the device is closed")

// Device is one memory space and its compiler. It is safe for concurrent use; runs and transfers of one device happen in the order of
// the calls.
type Device interface {
	// ID names the device within the process: "cpu:0", "cuda:1".
	ID() string

	// Info describes the device, for people and for the scheduler.
	Info() Info

	// Supports is nil, or wraps ErrUnsupported with the reason. It is the very switch that Compile uses.
	Supports(n *Node) error

	// Compile makes a program. A node that cannot be compiled is a *NodeError.
	Compile(ctx context.Context, g *Graph) (Program, error)

	// Upload makes a buffer of t, and has copied when it returns.
	Upload(ctx context.Context, t tensor.Tensor) (Buffer, error)

	// Close ends the work in flight and gives everything back. What comes after it answers ErrClosed; Free is silent.
	Close() error
}

// Info describes a device. Zero means unknown.
type Info struct {
	Name      string        // of the hardware: "AMD EPYC"
	ISA       string        // level of instructions: "avx2"
	Threads   int           // workers of a CPU device
	Memory    int64         // bytes
	Bandwidth float64       // bytes a second
	FLOPs     float64       // float32 operations a second
	Launch    time.Duration // cost of starting a program
	Simulated bool          // a stand-in, not hardware
}

// Graph is what a driver compiles: the first Params nodes are parameters, without operation; the rest stand in execution order. No
// output is a parameter, and no two are the same value.
type Graph struct {
	Params int
	Nodes  []Node
	Outs   []ops.Edge
	Donate []int // per output the parameter whose buffer it is reborn in, or -1; each parameter at most once
}

// Node is one operation.
type Node struct {
	Op   ops.Op // nil for a parameter
	In   []ops.Edge
	Args []tensor.Spec // of In
	Out  []tensor.Spec
	Ref  bool // run Op.Ref: the plan says that no kernel does
}

// Arg is the argument for a parameter: a buffer of this device, or host memory that Run has read when it returns.
type Arg struct {
	Buf  Buffer
	Host tensor.Tensor
}

// Program is a compiled graph.
type Program interface {
	// Run enqueues; concurrent calls are serialised. On entry out[j] is nil, or a buffer of the output's spec that the caller owns and
	// gives up to be rewritten; on return it is the output. For a donated pair out[j] becomes the same object as the donated argument.
	// When done finishes with an error, a donated object holds its old value, and every other output is poisoned with the first cause:
	// a driver writes donated memory only after its last fallible node. When Run itself returns an error, nothing has been enqueued.
	Run(ctx context.Context, in []Arg, out []Buffer, done *ops.Event) error

	// Memory is the program's need.
	Memory() Memory

	Close() error
}

// Memory is a program's need, in bytes.
type Memory struct {
	Peak int // of values between parameters and outputs, at one time
}

// Buffer is an immutable value in device memory, with exactly one owner.
type Buffer interface {
	Device() Device
	Spec() tensor.Spec

	// Wait returns when the value is there, with the error that poisons it. Cancelling abandons the wait, not the work.
	Wait(ctx context.Context) error

	// Download waits and copies the value to t, which has the same spec.
	Download(ctx context.Context, t tensor.Tensor) error

	// Free gives the memory back, in device order. It never blocks, and is silent after Close.
	Free()
}

// Referencer is a device that can run a node by its reference, on Node.Ref. A plan that does so says so.
type Referencer interface {
	// RunsReference is a marker.
	RunsReference()
}

// Profiler is a program that measures its steps.
type Profiler interface {
	// SetProfile switches measuring on or off, for the runs that follow.
	SetProfile(on bool)

	// Profile is the steps in order, with the times of the last measured run.
	Profile() []StepTime
}

// StepTime is one step of a compiled program.
type StepTime struct {
	Kernel string // which kernel ran
	Nodes  []int  // the nodes of the compiled graph that it computes
	Time   time.Duration
	Cost   ops.Cost
}

// NodeError says which node of the compiled graph failed: the engine maps it to the operation and call site of the recording at hand,
// which may be another one than the recording that was compiled.
type NodeError struct {
	Node int
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %d: %v", e.Node, e.Err) }

func (e *NodeError) Unwrap() error { return e.Err }
