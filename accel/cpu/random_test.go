package cpu_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

var (
	programs = flag.Int("programs", 300, "random programs in float32; of each other kind a third")
	first    = flag.Uint64("first", 0, "seed of the first random program")
)

// TestRandomPrograms compiles random programs at every level and compares each value with that of the references of its operations. Programs of
// small integers are compared exactly: they come out alike in whatever order they are summed.
func TestRandomPrograms(t *testing.T) {
	for _, kind := range []struct {
		name   string
		dt     tensor.DType
		smooth bool
	}{{"f32", tensor.F32, false}, {"f64", tensor.F64, false}, {"bf16", tensor.BF16, false}, {"f16", tensor.F16, false}, {"smooth f32", tensor.F32, true}, {"smooth f64", tensor.F64, true}} {
		t.Run(kind.name, func(t *testing.T) {
			devs := open(t)
			n := *programs
			if kind.dt != tensor.F32 {
				n = (n + 2) / 3
			}
			used := 0
			for seed := *first; seed < *first+uint64(n); seed++ {
				l, ok := lower(t, seed, kind.dt, kind.smooth)
				if !ok {
					continue
				}
				used++
				for _, d := range devs {
					l.run(t, d, fmt.Sprintf("%s, program %d at %s", kind.name, seed, d.Info().ISA))
				}
			}
			if used < n/2 {
				t.Errorf("only %d of %d programs could be compared", used, n)
			}
			t.Logf("%d programs", used)
		})
	}
}

// open opens a device at each level, with different numbers of threads.
func open(t *testing.T) (devs []*cpu.Device) {
	for i, level := range cpu.Levels() {
		d, err := cpu.Open(cpu.Level(level), cpu.Threads(1+i))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		devs = append(devs, d)
	}
	return devs
}

// captured is a runner that keeps the graph of a step and refuses to run it.
type captured struct {
	g     *ops.Graph
	feeds []tensor.Tensor
	rng   tensor.Tensor
}

var errCaptured = errors.New("captured")

func (c *captured) Run(_ context.Context, g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor, _ *ops.Results) error {
	c.g, c.feeds, c.rng = g, slices.Clone(feeds), rng.Clone()
	return errCaptured
}

// lowered is a program as a driver gets it, with its arguments and what its outputs should be.
type lowered struct {
	accel.Graph
	rng       *rand.Rand
	at        map[uint32]uint32 // recorded node -> node
	args      []tensor.Tensor
	want      []tensor.Tensor
	tolerance []float64 // 0 is exact
}

// lower records a program and makes its graph, without a pass of the scheduler: no constant is folded. It is false if the program has an error, or
// if its values do not lend themselves to a comparison.
func lower(t *testing.T, seed uint64, dt tensor.DType, smooth bool) (*lowered, bool) {
	var c captured
	tape := autograd.New(&c, autograd.Seed(int64(seed)))
	p := newProgram(seed, dt, smooth, tape)
	if _, err := tape.Step(context.Background(), p.outs...); !errors.Is(err, errCaptured) {
		if !errors.Is(err, ops.ErrNotDifferentiable) {
			t.Errorf("program %d: %v", seed, err)
		}
		return nil, false
	}
	l := &lowered{rng: p.Rand}
	l.graph(c.g, c.feeds, c.rng)
	if p.chance(2) {
		l.shuffle()
	}
	l.donate()
	if len(l.Outs) == 0 {
		return nil, false
	}
	vals, sizes := evaluate(&l.Graph, l.args, nil)
	for _, e := range l.Outs {
		l.want = append(l.want, vals[e.Node][e.Out])
	}
	if !smooth {
		l.tolerance = make([]float64, len(l.Outs))
		return l, exact(vals, sizes)
	}
	return l, l.tolerances(dt)
}

// graph makes the driver's graph of what is alive.
func (l *lowered) graph(g *ops.Graph, feeds []tensor.Tensor, rng tensor.Tensor) {
	live := make([]bool, len(g.Nodes))
	for _, e := range g.Outs {
		live[e.Node] = true
	}
	for _, a := range g.Assigns {
		live[a.X.Node] = true
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		for _, e := range g.Nodes[i].In {
			live[e.Node] = live[e.Node] || live[i]
		}
	}
	at, param := map[uint32]uint32{}, map[*ops.Variable]int{}
	l.at = at
	edge := func(e ops.Edge) ops.Edge { return ops.Edge{Node: at[e.Node], Out: e.Out} }
	for i, n := range g.Nodes {
		kind, v := g.Kind(uint32(i))
		var arg tensor.Tensor
		switch kind {
		case ops.Feed:
			arg = feeds[g.Feeds[i]]
		case ops.RNG:
			arg = rng
		case ops.Var:
			arg = v.Host()
			param[v] = len(l.Nodes)
		default:
			continue
		}
		at[uint32(i)] = uint32(len(l.Nodes))
		l.Nodes, l.args = append(l.Nodes, accel.Node{Out: n.Out}), append(l.args, arg)
	}
	l.Params = len(l.Nodes)
	for i, n := range g.Nodes {
		if kind, _ := g.Kind(uint32(i)); kind != ops.Compute || !live[i] {
			continue
		}
		at[uint32(i)] = uint32(len(l.Nodes))
		m := accel.Node{Op: n.Op, Out: n.Out}
		for _, e := range n.In {
			m.In, m.Args = append(m.In, edge(e)), append(m.Args, g.SpecOf(e))
		}
		l.Nodes = append(l.Nodes, m)
	}
	taken := map[ops.Edge]bool{}
	out := func(e ops.Edge, donate int) {
		if e = edge(e); int(e.Node) >= l.Params && !taken[e] {
			taken[e] = true
			l.Outs, l.Donate = append(l.Outs, e), append(l.Donate, donate)
		}
	}
	for _, a := range g.Assigns {
		out(a.X, param[a.V])
	}
	for _, e := range g.Outs {
		out(e, -1)
	}
}

// TestRandomSteps runs random programs as steps of an engine, which merges, folds and cuts them, on one device or on two.
func TestRandomSteps(t *testing.T) {
	devs := open(t)
	for k := range *programs / 3 {
		seed, d := *first+uint64(k), devs[k%len(devs)]
		var c captured
		p := newProgram(seed, tensor.F32, false, autograd.New(&c, autograd.Seed(int64(seed))))
		if _, err := p.tape.Step(context.Background(), p.outs...); !errors.Is(err, errCaptured) {
			continue
		}
		l := &lowered{rng: p.Rand}
		l.graph(c.g, c.feeds, c.rng)
		vals, sizes := evaluate(&l.Graph, l.args, nil)
		if !exact(vals, sizes) {
			continue
		}
		var second accel.Device = acceltest.Hostile("second")
		if k%2 == 0 {
			var err error
			if second, err = cpu.Open(cpu.ID("second")); err != nil {
				t.Fatal(err)
			}
		}
		eng, err := sched.New(d, second)
		if err != nil {
			t.Fatal(err)
		}
		eng.NoFallback = true
		l.step(t, c.g, vals, newProgram(seed, tensor.F32, false, autograd.New(eng, autograd.Seed(int64(seed)))), fmt.Sprintf("program %d at %s", seed, d.Info().ISA))
		eng.Close()
		second.Close()
	}
}

// step runs a program whose graph is g and compares its results and its variables.
func (l *lowered) step(t *testing.T, g *ops.Graph, vals [][]tensor.Tensor, p *program, what string) {
	t.Helper()
	ctx := context.Background()
	res, err := p.tape.Step(ctx, p.outs...)
	if err == nil {
		err = res.Wait(ctx)
	}
	if err != nil {
		t.Fatalf("%s: %v%s", what, err, l.text())
	}
	defer res.Release()
	for i, e := range g.Outs {
		got, err := res.Tensor(ctx, i)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if why := differ(got, vals[l.at[e.Node]][e.Out], 0); why != "" {
			t.Fatalf("%s: result %d: %s%s", what, i, why, l.text())
		}
	}
	if len(g.Assigns) > len(p.vars) {
		t.Fatalf("%s: %d assignments to %d variables", what, len(g.Assigns), len(p.vars))
	}
	for _, a := range g.Assigns {
		for _, v := range p.vars {
			if v.Name() != a.V.Name() {
				continue
			}
			got, err := v.Value(ctx)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if why := differ(got, vals[l.at[a.X.Node]][a.X.Out], 0); why != "" {
				t.Fatalf("%s: variable %s: %s%s", what, v.Name(), why, l.text())
			}
		}
	}
}

// TestRandomReplay: a tape that has met many programs, some of which begin alike, records each as a new tape would.
func TestRandomReplay(t *testing.T) {
	ctx := context.Background()
	d, second := acceltest.Reference("first"), acceltest.Reference("second")
	defer d.Close()
	defer second.Close()
	eng, err := sched.New(d, second)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*ops.Variable{}
	old := autograd.New(eng, autograd.Seed(3))
	rng := rand.New(rand.NewPCG(*first, 5))
	for i := range *programs {
		prefix, fork := uint64(rng.IntN(6)), 1+uint64(rng.IntN(3+i/8))
		record := func(tape *autograd.Tape) *program {
			p := &program{Rand: rand.New(rand.NewPCG(prefix, 0)), tape: tape, dt: tensor.F32, known: known, fork: fork}
			p.record()
			return p
		}
		what := fmt.Sprintf("round %d, program %d, %d", i, prefix, fork)
		fresh := autograd.New(eng, autograd.Seed(3))
		fresh.SetStep(old.StepCount())
		p := record(fresh)
		want, wantErr := fresh.Eval(ctx, p.outs...)
		p = record(old)
		got, err := old.Eval(ctx, p.outs...)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, a new tape says %v", what, err, wantErr)
		}
		for j := range got {
			if !got[j].Same(want[j]) {
				t.Fatalf("%s: result %d is %v, a new tape's %v", what, j, got[j], want[j])
			}
		}
		if rng.IntN(3) > 0 {
			old.Discard()
			continue
		}
		res, err := old.Step(ctx, p.outs...)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, a new tape says %v", what, err, wantErr)
		}
		for j := range want {
			if x, err := res.Tensor(ctx, j); err != nil || !x.Same(want[j]) {
				t.Fatalf("%s: result %d of the step is %v, %v, a new tape's %v", what, j, x, err, want[j])
			}
		}
		for _, v := range known { // the programs multiply
			x, err := v.Value(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if largest(x) > 1e3 {
				if err := v.Set(ctx, tensor.New(v.Spec())); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d nodes were recorded afresh, %d programs compiled", old.Misses(), eng.Stats().Compiles)
}

// TestRandomSegments: a checkpointed segment changes no bit, of random numbers neither. In gradients of gradients what it computes again
// counts as what it computed first, but is added up in another order.
func TestRandomSegments(t *testing.T) {
	ctx := context.Background()
	d, second := acceltest.Reference("first"), acceltest.Reference("second")
	defer d.Close()
	defer second.Close()
	eng, err := sched.New(d, second)
	if err != nil {
		t.Fatal(err)
	}
	segments := 0
	for k := range *programs {
		seed := *first + uint64(k)
		second := false
		run := func(plain bool) ([]tensor.Tensor, int, error) {
			tape := autograd.New(eng, autograd.Seed(3))
			p := &program{Rand: rand.New(rand.NewPCG(seed, 7)), tape: tape, dt: tensor.F64, smooth: true, plain: plain}
			p.record()
			nodes := tape.Len()
			second = p.grads > 1
			out, err := tape.Eval(ctx, p.outs...)
			return out, nodes, err
		}
		want, nodes, wantErr := run(true)
		got, more, err := run(false)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("program %d: %v, without segments %v", seed, err, wantErr)
		}
		for j := range got {
			if got[j].Same(want[j]) || second && differ(got[j], want[j], 1e-9*(1+largest(want[j]))) == "" {
				continue
			}
			t.Fatalf("program %d: result %d is %v, without segments %v", seed, j, got[j], want[j])
		}
		if err == nil && more > nodes {
			segments++
		}
	}
	if segments < *programs/60 {
		t.Errorf("only %d programs of %d computed something again", segments, *programs)
	}
}

// shuffle puts the nodes in another order in which they can run: values live longer, and donated parameters are read late.
func (l *lowered) shuffle() {
	order, at := make([]int, l.Params), make([]uint32, len(l.Nodes))
	for i := range l.Params {
		order[i], at[i] = i, uint32(i)
	}
	placed := make([]bool, len(l.Nodes))
	for len(order) < len(l.Nodes) {
		var ready []int
		for i := l.Params; i < len(l.Nodes); i++ {
			if !placed[i] && !slices.ContainsFunc(l.Nodes[i].In, func(e ops.Edge) bool { return int(e.Node) >= l.Params && !placed[e.Node] }) {
				ready = append(ready, i)
			}
		}
		i := ready[l.rng.IntN(len(ready))]
		placed[i], at[i] = true, uint32(len(order))
		order = append(order, i)
	}
	nodes := make([]accel.Node, len(order))
	for k, i := range order {
		nodes[k] = l.Nodes[i]
		for x := range nodes[k].In {
			nodes[k].In[x].Node = at[nodes[k].In[x].Node]
		}
	}
	l.Nodes = nodes
	for j := range l.Outs {
		l.Outs[j].Node = at[l.Outs[j].Node]
	}
}

// donate gives further outputs the memory of parameters.
func (l *lowered) donate() {
	for j, e := range l.Outs {
		for i := range l.Params {
			if l.Donate[j] < 0 && !slices.Contains(l.Donate, i) && l.Nodes[i].Out[0] == l.Nodes[e.Node].Out[e.Out] && l.rng.IntN(2) == 0 {
				l.Donate[j] = i
			}
		}
	}
}

// sums reports whether an operation adds up more than two numbers.
func sums(op ops.Op) bool {
	switch o := op.(type) {
	case ops.MatMulOp, ops.Conv2DOp, ops.Conv2DInputGradOp, ops.Conv2DWeightGradOp, ops.ScatterAddOp, ops.AddAlongOp, ops.AvgPool2DOp, ops.AvgPool2DGradOp, ops.MaxPool2DGradOp:
		return true
	case ops.ReduceOp:
		return o.F == ops.SumOf || o.F == ops.MeanOf
	}
	return false
}

// evaluate computes all values by reference. size is the largest number of a node, and of a sum that of the numbers that it adds, taken
// as positive. change may change a value before others read it.
func evaluate(g *accel.Graph, args []tensor.Tensor, change func(t tensor.Tensor, size float64)) (vals [][]tensor.Tensor, sizes []float64) {
	sizes = make([]float64, len(g.Nodes))
	for i, n := range g.Nodes {
		var in, out []tensor.Tensor
		if n.Op == nil {
			out = append(out, args[i].Clone())
		} else {
			for _, e := range n.In {
				in = append(in, vals[e.Node][e.Out])
			}
			for _, s := range n.Out {
				s.DType = widened(s.DType, change != nil)
				out = append(out, tensor.New(s))
			}
			if n.Op != nil {
				if err := n.Op.Ref(out, in); err != nil {
					panic(fmt.Sprintf("%s: %v", n.Op.Name(), err))
				}
			}
		}
		for _, t := range out {
			sizes[i] = max(sizes[i], largest(t))
		}
		if sums(n.Op) && out[0].DType().Float() {
			for k := range in {
				in[k] = absolute(in[k])
			}
			t := tensor.New(tensor.Spec{DType: tensor.F64, Shape: out[0].Shape()})
			if n.Op.Ref([]tensor.Tensor{t, {}}[:len(out)], in) == nil {
				sizes[i] = max(sizes[i], largest(t))
			}
		}
		if change != nil {
			for _, t := range out {
				if t.DType().Float() {
					change(t, sizes[i])
				}
			}
		}
		vals = append(vals, out)
	}
	return vals, sizes
}

// widened is f64 for a float, if wide.
func widened(d tensor.DType, wide bool) tensor.DType {
	if wide && d.Float() {
		return tensor.F64
	}
	return d
}

// largest is the greatest absolute value that is a number.
func largest(t tensor.Tensor) (m float64) {
	for i := range t.Len() {
		if x := math.Abs(t.At(i)); t.DType().Float() && x > m {
			m = x
		}
	}
	return m
}

// absolute is the absolute values of floats, as f64, and integers as they are.
func absolute(t tensor.Tensor) tensor.Tensor {
	if !t.DType().Float() {
		return t
	}
	u := tensor.New(tensor.Spec{DType: tensor.F64, Shape: t.Shape()})
	for i := range t.Len() {
		u.Set(i, math.Abs(t.At(i)))
	}
	return u
}

// exact reports whether every sum of float32 numbers is exact: all are multiples of 1/256, and small.
func exact(vals [][]tensor.Tensor, sizes []float64) bool {
	if slices.Max(sizes) > 1<<15 {
		return false
	}
	for _, list := range vals {
		for _, t := range list {
			for i := range t.Len() {
				if x := t.At(i) * 256; t.DType().Float() && x == x && x != math.Trunc(x) {
					return false
				}
			}
		}
	}
	return true
}

// tolerances says how far an output may be off: as far as it moves when all values are disturbed by some roundings. An ill-conditioned
// program is given up.
func (l *lowered) tolerances(dt tensor.DType) bool {
	ulp := math.Ldexp(1, -24)
	if dt == tensor.F64 {
		ulp = math.Ldexp(1, -53)
	}
	var wide []tensor.Tensor
	for _, a := range l.args {
		t := tensor.New(tensor.Spec{DType: widened(a.DType(), true), Shape: a.Shape()})
		for i := range t.Len() {
			if a.DType().Float() {
				t.Set(i, a.At(i))
			} else {
				t.SetInt(i, a.Int(i))
			}
		}
		wide = append(wide, t)
	}
	base, _ := evaluate(&l.Graph, wide, func(tensor.Tensor, float64) {})
	l.tolerance = make([]float64, len(l.Outs))
	for range 3 {
		noisy, _ := evaluate(&l.Graph, wide, func(t tensor.Tensor, size float64) {
			for i := range t.Len() {
				t.Set(i, t.At(i)+64*ulp*size*(2*l.rng.Float64()-1))
			}
		})
		for j, e := range l.Outs {
			x, y := base[e.Node][e.Out], noisy[e.Node][e.Out]
			size := largest(x)
			l.tolerance[j] = max(l.tolerance[j], 8*ulp*size)
			for i := range x.Len() {
				d := math.Abs(x.At(i) - y.At(i))
				if !(d <= 0.01*(1+size)) || math.IsInf(d, 0) {
					return false
				}
				l.tolerance[j] = max(l.tolerance[j], 2*d)
			}
		}
	}
	return true
}

// run compiles and runs a program twice, the second time into memory full of rubbish.
func (l *lowered) run(t *testing.T, d *cpu.Device, what string) {
	t.Helper()
	ctx := context.Background()
	fail := func(format string, a ...any) {
		t.Helper()
		t.Fatalf("%s: %s%s", what, fmt.Sprintf(format, a...), l.text())
	}
	defer func() {
		if r := recover(); r != nil {
			fail("panic: %v", r)
		}
	}()
	p, err := d.Compile(ctx, &l.Graph)
	if err != nil {
		fail("%v", err)
	}
	defer p.Close()
	var out []accel.Buffer
	for try := range 2 {
		d.Spoil()
		in := make([]accel.Arg, l.Params)
		for i, a := range l.args {
			if slices.Contains(l.Donate, i) || (i+try)%2 == 0 {
				if in[i].Buf, err = d.Upload(ctx, a); err != nil {
					fail("%v", err)
				}
			} else {
				in[i].Host = a.Clone()
			}
		}
		again := make([]accel.Buffer, len(l.Outs))
		for j, b := range out {
			if l.Donate[j] < 0 {
				again[j] = b
			}
		}
		out = again
		var done ops.Event
		if err := p.Run(ctx, in, out, &done); err != nil {
			fail("%v", err)
		}
		if err := done.Wait(ctx); err != nil {
			fail("%v", err)
		}
		for j, b := range out {
			got := tensor.New(b.Spec())
			if err := b.Download(ctx, got); err != nil {
				fail("%v", err)
			}
			if why := differ(got, l.want[j], l.tolerance[j]); why != "" {
				fail("run %d, output %d: %s", try, j, why)
			}
		}
		for i, a := range in {
			if a.Buf != nil {
				if !slices.Contains(l.Donate, i) {
					got := tensor.New(a.Buf.Spec())
					if a.Buf.Download(ctx, got); !got.Same(l.args[i]) {
						fail("argument %d was overwritten", i)
					}
				}
				a.Buf.Free()
			} else if !a.Host.Same(l.args[i]) {
				fail("argument %d was overwritten", i)
			}
		}
	}
	for j, b := range out {
		if l.Donate[j] < 0 {
			b.Free()
		}
	}
}

// differ says where two values differ. The sign of zero is free.
func differ(got, want tensor.Tensor, tolerance float64) string {
	for i := range want.Len() {
		if !want.DType().Float() {
			if got.Int(i) != want.Int(i) {
				return fmt.Sprintf("element %d of %v is %d, want %d", i, want.Spec(), got.Int(i), want.Int(i))
			}
			continue
		}
		x, y := got.At(i), want.At(i)
		if x != y && !(x != x && y != y) && !(math.Abs(x-y) <= tolerance) {
			return fmt.Sprintf("element %d of %v is %v, want %v within %.3g", i, want.Spec(), x, y, tolerance)
		}
	}
	return ""
}

// text shows the graph.
func (l *lowered) text() string {
	var b strings.Builder
	for i, n := range l.Nodes {
		fmt.Fprintf(&b, "\n%%%d %v", i, n.Out)
		if n.Op != nil {
			fmt.Fprintf(&b, " = %s %+v of", n.Op.Name(), n.Op)
		}
		for _, e := range n.In {
			fmt.Fprintf(&b, " %%%d.%d", e.Node, e.Out)
		}
		for o := range n.Out {
			if j := slices.Index(l.Outs, ops.Edge{Node: uint32(i), Out: uint16(o)}); j >= 0 {
				fmt.Fprintf(&b, ", output %d reborn in %d", j, l.Donate[j])
			}
		}
	}
	return b.String()
}
