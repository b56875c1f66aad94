package layers_test

import (
	"math"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/tensor"
)

// TestInit: bounds and spreads are those of the sources, for the fans of a [out, in, height, width] weight.
func TestInit(t *testing.T) {
	const in, out = 16 * 9, 24 * 9 // fans of the weight below
	for name, c := range map[string]struct {
		init       layers.Init
		bound, std float64
	}{
		"PyTorch's default":    {nil, 1 / math.Sqrt(in), 0},
		"Kaiming uniform":      {layers.KaimingUniform(0), math.Sqrt(6. / in), 0},
		"Kaiming uniform, 0.2": {layers.KaimingUniform(0.2), math.Sqrt(6. / in / 1.04), 0},
		"Kaiming normal":       {layers.KaimingNormal(0), 0, math.Sqrt(2. / in)},
		"Xavier uniform":       {layers.XavierUniform(1), math.Sqrt(6. / (in + out)), 0},
		"Xavier uniform, 5/3":  {layers.XavierUniform(5. / 3), 5. / 3 * math.Sqrt(6./(in+out)), 0},
		"Xavier normal":        {layers.XavierNormal(1), 0, math.Sqrt(2. / (in + out))},
		"Uniform around 0":     {layers.Uniform(-2, 2), 2, 0},
		"Normal":               {layers.Normal(0, 3), 0, 3},
	} {
		w := value(t, build(t, layers.Conv2D{Out: 24, Kernel: 3, Init: c.init}, 1, 16, 3, 3), "weight").Floats()
		largest, sum, squares := 0.0, 0.0, 0.0
		for _, x := range w {
			largest, sum, squares = max(largest, math.Abs(x)), sum+x, squares+x*x
		}
		n := float64(len(w))
		std := math.Sqrt(squares / n)
		want := c.std
		if c.bound > 0 {
			want = c.bound / math.Sqrt(3)
			if largest > c.bound || largest < 0.99*c.bound {
				t.Errorf("%s: the largest is %v, want just below %v", name, largest, c.bound)
			}
		}
		if math.Abs(std/want-1) > 0.03 || math.Abs(sum/n) > 0.06*want {
			t.Errorf("%s: mean %v and standard deviation %v, want 0 and %v", name, sum/n, std, want)
		}
	}
	net := build(t, layers.Linear{Out: 500}, 1, 100)
	largest := 0.0
	for _, x := range value(t, net, "bias").Floats() {
		largest = max(largest, math.Abs(x))
	}
	if largest > 0.1 || largest < 0.099 {
		t.Errorf("the largest bias is %v, want just below 0.1", largest)
	}
	net = build(t, layers.BatchNorm2D{}, 1, 2)
	near(t, "batch-norm weight", value(t, net, "weight").Floats(), 1, 1)
	near(t, "batch-norm bias", value(t, net, "bias").Floats(), 0, 0)
}

// TestInitDependsOnNameAndSeed alone: not on neighbours, nor on the batch that the net is built for.
func TestInitDependsOnNameAndSeed(t *testing.T) {
	linear := layers.Linear{Out: 3}
	weight := func(m layers.Module, seed uint64, batch int) tensor.Tensor {
		net, err := layers.Build(m, tensor.SpecOf(tensor.F32, batch, 3), seed, tensor.F32)
		if err != nil {
			t.Fatal(err)
		}
		return value(t, net, "1.weight")
	}
	base := weight(layers.Sequential{layers.ReLU{}, linear}, 1, 1)
	if !base.Same(weight(layers.Sequential{linear, linear, linear}, 1, 7)) {
		t.Error("neighbours or the batch change first values")
	}
	if base.Same(weight(layers.Sequential{layers.ReLU{}, linear}, 2, 1)) {
		t.Error("the seed changes nothing")
	}
	net := build(t, layers.Sequential{linear, linear}, 1, 3)
	if value(t, net, "0.weight").Same(value(t, net, "1.weight")) {
		t.Error("two layers start alike")
	}
}
