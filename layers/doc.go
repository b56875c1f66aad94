// Package layers describes networks and builds them.
//
// A layer is a description, a plain struct: Linear{Out: 10} says what it makes, not what it takes. [Build] runs the model once over the
// spec of an input, learns every shape, makes the parameters with their first values, and returns a [Net]:
//
//	model := layers.Sequential{layers.Conv2D{Out: 32, Kernel: 3, Padding: layers.Same}, layers.ReLU{}, layers.Flatten{}, layers.Linear{Out: 10}}
//	net, err := layers.Build(model, tensor.SpecOf(tensor.F32, 64, 1, 28, 28), 1, tensor.F32)
//	logits := net.Forward(tape, x, layers.Train)
//
// Parameters are named by their place, as in PyTorch's state dicts: "0.weight", "3.bias", "1.running_mean". First values depend on the
// seed and on that name alone: adding a layer behind others changes none of theirs.
//
// Modules have the parameters and names of PyTorch's of like names, and its defaults, so a state dict goes to and fro. [Name] names an
// element of a Sequential where its number will not do:
//
//	gpt := layers.Sequential{
//		layers.Name("tok", layers.Embedding{Rows: 256, Size: 64}), layers.Name("pos", layers.Positions{Max: 128}),
//		layers.Name("blocks", layers.Sequential{block, block}), layers.Name("norm", layers.LayerNorm{}), layers.Name("head", layers.Linear{Out: 256}),
//	}
//
// A user's layer is a type with a Forward method, or a [Func]. It asks its [Context] for parameters where it uses them:
//
//	type Scale struct{}
//
//	func (Scale) Forward(c *layers.Context, x ops.Value) ops.Value {
//		return x.Mul(c.Param("scale", tensor.Of(x.Dim(-1)), layers.Ones))
//	}
//
// Whether a pass trains or evaluates, the type of parameters and the name path travel in the Context, never in a flag on the module.
//
// [Tied] shares one parameter between two modules, [Net.Freeze] leaves some untrained, [Context.Lengths] says where sequences of a padded batch end, and a
// [Session] continues a sequence piece by piece, as a language model writes.
//
// [Net.LoadFile] and [Net.SaveFile] exchange parameters with PyTorch, in safetensors files.
//
// The package imports autograd, ops, tensor and tensor/safetensors.
package layers
