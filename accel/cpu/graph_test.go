package cpu_test

import (
	"context"
	"math"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// param adds a parameter with its argument.
func (l *lowered) param(x tensor.Tensor) ops.Edge {
	l.Nodes, l.args = append(l.Nodes, accel.Node{Out: []tensor.Spec{x.Spec()}}), append(l.args, x)
	l.Params = len(l.Nodes)
	return ops.Edge{Node: uint32(l.Params - 1)}
}

// node adds an operation.
func (l *lowered) node(t *testing.T, op ops.Op, in ...ops.Edge) ops.Edge {
	t.Helper()
	n := accel.Node{Op: op, In: in}
	for _, e := range in {
		n.Args = append(n.Args, l.Nodes[e.Node].Out[e.Out])
	}
	var err error
	if n.Out, err = op.Infer(n.Args); err != nil {
		t.Fatal(err)
	}
	l.Nodes = append(l.Nodes, n)
	return ops.Edge{Node: uint32(len(l.Nodes) - 1)}
}

// out makes a value the next output.
func (l *lowered) out(e ops.Edge, donate int) {
	l.Outs, l.Donate = append(l.Outs, e), append(l.Donate, donate)
}

// check compares with the references, within a tolerance, at every level.
func (l *lowered) check(t *testing.T, tolerance float64) {
	t.Helper()
	vals, _ := evaluate(&l.Graph, l.args, nil)
	for _, e := range l.Outs {
		l.want, l.tolerance = append(l.want, vals[e.Node][e.Out]), append(l.tolerance, tolerance)
	}
	for _, d := range open(t) {
		l.run(t, d, "at "+d.Info().ISA)
	}
}

func array[T tensor.Elem](t *testing.T, data []T, dims ...int) tensor.Tensor {
	t.Helper()
	x, err := tensor.From(data, dims...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestGradientOverItsOperand: the gradient of a loss is reborn in the memory of the logits, which two steps read.
func TestGradientOverItsOperand(t *testing.T) {
	var l lowered
	x := l.param(array(t, []float32{1, 2, 3, -1, 0, 1}, 2, 3))
	labels, one := l.param(array(t, []int64{2, 0})), l.param(tensor.Scalar[float32](1))
	ce := l.node(t, ops.CrossEntropyOp{}, x, labels)
	l.out(l.node(t, ops.CrossEntropyGradOp{}, x, labels, ops.Edge{Node: ce.Node, Out: 1}, one), 0)
	l.check(t, 1e-6)
}

// TestTwoSeeds: random values of several (seed, step) inputs meet; one of those is a number among others too, and one is computed.
func TestTwoSeeds(t *testing.T) {
	var l lowered
	a, b := l.param(array(t, []int64{1, 2})), l.param(array(t, []int64{3, 4}))
	draw := func(rng ops.Edge) ops.Edge {
		return l.node(t, ops.UniformOp{Spec: tensor.SpecOf(tensor.F32, 2), Hi: ops.F(1), Stream: 5}, rng)
	}
	u := l.node(t, ops.BinaryOp{F: ops.Sub}, draw(a), draw(b))
	v := l.node(t, ops.BinaryOp{F: ops.Add}, u, l.node(t, ops.CastOp{To: tensor.F32}, b))
	l.out(l.node(t, ops.BinaryOp{F: ops.Add}, v, draw(l.node(t, ops.BinaryOp{F: ops.Add}, a, b))), -1)
	l.check(t, 1e-6)
}

// TestWinnersOfAnotherPlane: the indices of a max-pool serve as well in a plane of another size than the pool's.
func TestWinnersOfAnotherPlane(t *testing.T) {
	var l lowered
	x := l.param(array(t, []float32{1, 2, 3, 4, 8, 7, 6, 5}, 1, 1, 2, 4))
	pool := l.node(t, ops.MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}}, x)
	for _, o := range []ops.MaxPool2DGradOp{{H: 2, W: 4}, {H: 3, W: 5}, {H: 1, W: 6}} {
		l.out(l.node(t, o, pool, ops.Edge{Node: pool.Node, Out: 1}), -1)
	}
	l.check(t, 0)
}

// TestHostileRun: what a caller hands over wrongly is an error in words, and nothing has run.
func TestHostileRun(t *testing.T) {
	ctx := context.Background()
	d, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	other, err := cpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var l lowered
	x := l.param(array(t, []float32{1, 2}))
	l.out(l.node(t, ops.UnaryOp{F: ops.Neg}, x), 0)
	l.out(l.node(t, ops.UnaryOp{F: ops.Exp}, x), -1)
	p, err := d.Compile(ctx, &l.Graph)
	if err != nil {
		t.Fatal(err)
	}
	upload := func(d *cpu.Device, x tensor.Tensor) accel.Buffer {
		b, err := d.Upload(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := func() []accel.Arg { return []accel.Arg{{Buf: upload(d, l.args[0])}} }
	freed := upload(d, l.args[0])
	freed.Free()
	shared := good()
	for name, c := range map[string]struct {
		in   []accel.Arg
		out  []accel.Buffer
		done *ops.Event
	}{
		"no event":              {good(), make([]accel.Buffer, 2), nil},
		"a donated host tensor": {[]accel.Arg{{Host: l.args[0]}}, make([]accel.Buffer, 2), new(ops.Event)},
		"no argument":           {[]accel.Arg{{}}, make([]accel.Buffer, 2), new(ops.Event)},
		"another device":        {[]accel.Arg{{Buf: upload(other, l.args[0])}}, make([]accel.Buffer, 2), new(ops.Event)},
		"an output elsewhere":   {good(), []accel.Buffer{nil, upload(other, l.args[0])}, new(ops.Event)},
		"an output's spec":      {good(), []accel.Buffer{nil, upload(d, tensor.Scalar[float32](1))}, new(ops.Event)},
		"a freed output":        {good(), []accel.Buffer{nil, freed}, new(ops.Event)},
		"an output twice":       {shared, []accel.Buffer{nil, shared[0].Buf}, new(ops.Event)},
		"too few outputs":       {good(), make([]accel.Buffer, 1), new(ops.Event)},
	} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s: panic: %v", name, r)
				}
			}()
			if err := p.Run(ctx, c.in, c.out, c.done); err == nil {
				t.Errorf("%s: no error", name)
			}
		}()
	}
	in, out, done := good(), make([]accel.Buffer, 2), new(ops.Event)
	if err := p.Run(ctx, in, out, done); err != nil {
		t.Fatal(err)
	}
	if got := tensor.New(l.args[0].Spec()); out[1].Download(ctx, got) != nil || math.Abs(got.At(0)-math.E) > 1e-6 {
		t.Errorf("afterwards: %v", got)
	}
}

// ramp is small numbers of both signs.
func ramp(dims ...int) tensor.Tensor {
	x := tensor.New(tensor.SpecOf(tensor.F32, dims...))
	for i := range x.Len() {
		x.Set(i, float64(i*7%11)-5)
	}
	return x
}

// TestFusedGradientsHaveOtherReaders: what a fused ReLU gradient would swallow has no other reader, is an output too, or has another reader.
func TestFusedGradientsHaveOtherReaders(t *testing.T) {
	relu := ops.UnaryOp{F: ops.ReLU}
	for _, read := range []func(l *lowered, e ops.Edge){
		func(*lowered, ops.Edge) {},
		func(l *lowered, e ops.Edge) { l.out(e, -1) },
		func(l *lowered, e ops.Edge) { l.out(l.node(t, ops.UnaryOp{F: ops.Neg}, e), -1) },
	} {
		for _, pad := range []int{0, 1} { // a pool with padding is not fused
			var l lowered
			x, w := l.param(ramp(1, 17, 4, 6)), l.param(ramp(5, 17, 1, 1))
			y := l.node(t, relu, l.node(t, ops.Conv2DOp{Stride: [2]int{1, 1}}, x, w))
			pool := l.node(t, ops.MaxPool2DOp{Size: [2]int{2, 2}, Stride: [2]int{2, 2}, Pad: [4]int{pad, pad, pad, pad}}, y)
			g := l.node(t, ops.MaxPool2DGradOp{H: 4, W: 6}, pool, ops.Edge{Node: pool.Node, Out: 1})
			l.out(l.node(t, ops.ReLUGradOp{}, y, g), -1)
			read(&l, g)
			l.check(t, 0)
		}
		var l lowered
		x, scale, bias, dz := l.param(ramp(2, 17, 3, 3)), l.param(ramp(17)), l.param(ramp(17)), l.param(ramp(2, 17, 3, 3))
		norm := l.node(t, ops.BatchNormOp{Eps: ops.F(0.1)}, x, scale, bias)
		dy := l.node(t, ops.ReLUGradOp{}, l.node(t, relu, norm), dz)
		l.out(l.node(t, ops.BatchNormGradOp{Eps: ops.F(0.1)}, x, scale, ops.Edge{Node: norm.Node, Out: 1}, ops.Edge{Node: norm.Node, Out: 2}, dy), -1)
		read(&l, dy)
		l.check(t, 1e-4)
	}
}

// TestProfileOfConversions: a step that brings a parameter to another layout costs time, and no operation's work.
func TestProfileOfConversions(t *testing.T) {
	var l lowered
	x, w := l.param(noise(1, 1, 16, 3, 3)), l.param(noise(1, 16, 16, 1, 1))
	l.out(l.node(t, ops.Conv2DOp{Stride: [2]int{1, 1}}, x, w), -1)
	for _, d := range open(t) {
		p, err := d.Compile(context.Background(), &l.Graph)
		if err != nil {
			t.Fatal(err)
		}
		first := p.(accel.Profiler).Profile()[0]
		if first.Kernel != "to blocked" || first.Cost.FLOPs != 0 || first.Cost.Bytes != 0 {
			t.Errorf("the first step is %+v", first)
		}
		p.Close()
	}
}
