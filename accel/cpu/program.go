package cpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// kernel is a computation prepared for its shapes: vec.Step is one. It owns its scratch memory and allocates nothing. An error is about
// the data.
type kernel interface {
	Run(pool *work.Pool, in, out [][]byte) error
}

// step is one kernel of a program with its operands.
type step struct {
	kernel
	name    string // which kernel: "chain", "gemm f32 avx2"
	nodes   []int  // of the compiled graph; the last is named in errors
	in, out []view
	dense   []bool   // of a chain: inputs that are read element by element, so that an output may lie there
	args    [][]byte // in and out as memory, set by each run
	outs    [][]byte
	time    time.Duration
}

// view is a part of a value's memory.
type view struct {
	value       *value
	from, bytes int
}

// value is memory that a program reads or writes.
type value struct {
	bytes       int
	kind        valueKind
	index       int // of the parameter or output; the offset in the arena
	first, last int // steps that touch it, for the arena
	mem         []byte
}

type valueKind uint8

const (
	inArena valueKind = iota
	inParam
	inOutput // a block that becomes the output's
	constantValue
)

// program is a compiled graph.
type program struct {
	d        *Device
	g        *accel.Graph
	steps    []step
	params   []*value
	outputs  []*value // per output the memory it is made in
	inPlace  []bool   // per output: made in the memory of the donated parameter
	arena    []*value
	size     int      // of the arena
	spares   []*block // per donated output that is not made in place, the block to be exchanged
	noReturn int      // the first step that writes donated memory; len(steps) if none
	profile  bool
	closed   bool
}

// Memory is the arena's need.
func (p *program) Memory() accel.Memory { return accel.Memory{Peak: p.size} }

// Close forgets the program's memory.
func (p *program) Close() error {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.closed, p.spares, p.steps = true, nil, nil
	return nil
}

// Run computes the outputs before it returns.
func (p *program) Run(ctx context.Context, in []accel.Arg, out []accel.Buffer, done *ops.Event) error {
	ctx = background.Or(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(in) != p.g.Params || len(out) != len(p.g.Outs) {
		return fmt.Errorf("cpu: %d arguments and %d outputs for a program of %d and %d", len(in), len(out), p.g.Params, len(p.g.Outs))
	}
	if done == nil {
		return errors.New("cpu: there is no event to tell of the end of the run")
	}
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || p.closed {
		return fmt.Errorf("cpu: %s: %w", d.id, accel.ErrClosed)
	}
	poison, err := p.arguments(in)
	if err != nil {
		return err
	}
	if err := p.results(in, out); err != nil {
		return err
	}
	p.offer(in, out)
	done.Reset()
	err = poison
	if err == nil {
		err = p.run(ctx)
	}
	p.finish(out, err)
	done.Finish(err)
	return nil
}

// arguments points the parameters at their memory. An argument may be poisoned by an earlier run.
func (p *program) arguments(in []accel.Arg) (poison, err error) {
	for i, a := range in {
		spec := p.g.Nodes[i].Out[0]
		v := p.params[i]
		if a.Buf == nil {
			if a.Host.Spec() != spec {
				return nil, fmt.Errorf("cpu: argument %d is %v, not %v", i, a.Host.Spec(), spec)
			}
			v.mem = a.Host.Bytes()
			continue
		}
		b, ok := a.Buf.(*buffer)
		switch {
		case !ok || b.d != p.d:
			return nil, fmt.Errorf("cpu: argument %d lies on %s, not on %s", i, a.Buf.Device().ID(), p.d.id)
		case b.spec != spec:
			return nil, fmt.Errorf("cpu: argument %d is %v, not %v", i, b.spec, spec)
		case b.free.Load():
			return nil, fmt.Errorf("cpu: argument %d is used after Free", i)
		}
		if b.err != nil && poison == nil {
			poison = b.err
		}
		v.mem = b.mem.bytes
	}
	return poison, nil
}

// results refuses an offered buffer that cannot be an output's, and a donated argument that is no buffer.
func (p *program) results(in []accel.Arg, out []accel.Buffer) error {
	for j, e := range p.g.Outs {
		if i := p.g.Donate[j]; i >= 0 {
			if in[i].Buf == nil {
				return fmt.Errorf("cpu: output %d is reborn in argument %d, which is host memory: upload it", j, i)
			}
			continue
		}
		if out[j] == nil {
			continue
		}
		spec := p.g.Nodes[e.Node].Out[e.Out]
		b, ok := out[j].(*buffer)
		switch {
		case !ok || b.d != p.d:
			return fmt.Errorf("cpu: the buffer for output %d lies on %s, not on %s", j, out[j].Device().ID(), p.d.id)
		case b.spec != spec:
			return fmt.Errorf("cpu: the buffer for output %d is %v, not %v", j, b.spec, spec)
		case b.free.Load():
			return fmt.Errorf("cpu: the buffer for output %d is used after Free", j)
		case slices.Contains(out[:j], out[j]) || slices.ContainsFunc(in, func(a accel.Arg) bool { return a.Buf == out[j] }):
			return fmt.Errorf("cpu: the buffer for output %d is an argument or another output too", j)
		}
	}
	return nil
}

// offer makes the output buffers and points the outputs at memory: of a donated parameter, a spare block, or a buffer's own.
func (p *program) offer(in []accel.Arg, out []accel.Buffer) {
	for j, e := range p.g.Outs {
		i := p.g.Donate[j]
		if i >= 0 {
			out[j] = in[i].Buf
			if p.inPlace[j] {
				p.outputs[j].mem = p.params[i].mem
				continue
			}
			if p.spares[j] == nil {
				p.spares[j] = p.d.get(p.outputs[j].bytes)
			}
			p.outputs[j].mem = p.spares[j].bytes
			continue
		}
		if out[j] == nil {
			out[j] = p.d.newBuffer(p.g.Nodes[e.Node].Out[e.Out])
		}
		p.outputs[j].mem = out[j].(*buffer).mem.bytes
	}
	if len(p.d.arena) < p.size {
		p.d.arena = aligned(p.size)
	}
	for _, v := range p.arena {
		v.mem = p.d.arena[v.index:][:v.bytes:v.bytes]
	}
}

// run runs the steps. Until the first write to donated memory it may be cancelled.
func (p *program) run(ctx context.Context) error {
	for i := range p.steps {
		if i < p.noReturn && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.runStep(&p.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) runStep(s *step) (err error) {
	defer func() {
		if r := recover(); r != nil { // of a user's operation
			err = &accel.NodeError{Node: s.nodes[len(s.nodes)-1], Err: panicError(r)}
		}
	}()
	for k, v := range s.in {
		s.args[k] = v.value.mem[v.from:][:v.bytes]
	}
	for k, v := range s.out {
		s.outs[k] = nil
		if v.value != nil {
			s.outs[k] = v.value.mem[v.from:][:v.bytes]
		}
	}
	var start time.Time
	if p.profile {
		start = time.Now()
	}
	err = s.Run(p.d.pool, s.args, s.outs)
	clear(s.args) // the caller's inputs are the caller's again
	clear(s.outs)
	if err != nil {
		return &accel.NodeError{Node: s.nodes[len(s.nodes)-1], Err: explain(err)}
	}
	if p.profile {
		s.time = time.Since(start)
	}
	return nil
}

func panicError(r any) error {
	var p *work.Panic
	if err, ok := r.(error); ok && errors.As(err, &p) {
		r = p.Value
	}
	if err, ok := r.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", r)
}

// finish hands over the outputs: a donated buffer exchanges its block, an output of a failed run is poisoned.
func (p *program) finish(out []accel.Buffer, err error) {
	for j := range out {
		b := out[j].(*buffer)
		switch donated := p.g.Donate[j] >= 0; {
		case donated && err == nil && !p.inPlace[j]:
			b.mem, p.spares[j] = p.spares[j], b.mem
		case !donated:
			b.err = err
		}
	}
	for _, v := range p.params { // nothing of the caller's stays reachable
		v.mem = nil
	}
}

// SetProfile switches measuring on or off.
func (p *program) SetProfile(on bool) {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.profile = on
}

// Profile is the steps with the times of the last measured run.
func (p *program) Profile() []accel.StepTime {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	list := make([]accel.StepTime, len(p.steps))
	for i := range p.steps {
		s := &p.steps[i]
		list[i] = accel.StepTime{Kernel: s.name, Nodes: append([]int(nil), s.nodes...), Time: s.time}
		for _, k := range s.nodes {
			n := &p.g.Nodes[k]
			if n.Op == nil { // a parameter, which the step converts
				continue
			}
			c := n.Op.Cost(n.Args, n.Out)
			list[i].Cost.FLOPs += c.FLOPs
			list[i].Cost.Bytes += c.Bytes
		}
	}
	return list
}

// tensorOf is memory as a tensor.
func tensorOf(s tensor.Spec, mem []byte) tensor.Tensor {
	if len(mem) == 0 {
		return tensor.New(s) // an empty array has an address too
	}
	return tensor.Wrap(s, unsafe.Pointer(unsafe.SliceData(mem)))
}
