package train_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// ring is n points of the plane; those near the middle are of class 1.
func ring(n int, seed uint64) (data.Dataset, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	x, y := tensor.New(tensor.SpecOf(tensor.F32, n, 2)), tensor.New(tensor.SpecOf(tensor.I64, n))
	for i := range n {
		a, b := random.Float64()*2-1, random.Float64()*2-1
		x.Set(2*i, a)
		x.Set(2*i+1, b)
		if a*a+b*b < 0.5 {
			y.SetInt(i, 1)
		}
	}
	return data.Tensors(x, y)
}

// A network of 32 hidden units learns which points lie in a circle.
func Example() {
	if err := learn(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// epoch 10: validation accuracy above 80 %: true
	// epoch 20: validation accuracy above 80 %: true
	// 320 steps; at the end above 95 %: true
}

func learn() error {
	points, err := ring(1000, 1)
	if err != nil {
		return err
	}
	others, err := ring(500, 2)
	if err != nil {
		return err
	}
	dev, err := cpu.Open()
	if err != nil {
		return err
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		return err
	}
	report, err := train.Fit(context.Background(), train.Config{
		Engine: eng,
		Model:  layers.Sequential{layers.Linear{Out: 32}, layers.ReLU{}, layers.Linear{Out: 2}},
		Loss:   ops.CrossEntropy, Optimizer: &optim.Adam{LR: 0.02}, Batch: 64, Epochs: 20, Seed: 1,
		Validation: others, Metrics: []train.Metric{train.Accuracy()},
		Observe: func(e train.Event) {
			if e, ok := e.(train.Epoch); ok && e.Epoch%10 == 0 {
				fmt.Printf("epoch %d: validation accuracy above 80 %%: %v\n", e.Epoch, e.Validation["accuracy"] > 0.8)
			}
		},
	}, points)
	if err != nil {
		return err
	}
	fmt.Printf("%d steps; at the end above 95 %%: %v\n", report.Steps, report.Validation["accuracy"] > 0.95)
	return nil
}

// Sequences of different lengths are padded in buckets; their labels are padded with one that the loss and the metrics ignore.
func ExampleFitBatches() {
	if err := learnSequences(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 135 steps; accuracy above 90 %: true; perplexity below 1.5: true
}

func learnSequences() error {
	const ignored = -100
	random := rand.New(rand.NewPCG(1, 0))
	var x, y []tensor.Tensor
	for i := range 120 { // each number's label is whether it is above 0.5
		numbers, labels := tensor.New(tensor.SpecOf(tensor.F32, 2+i%7, 1)), tensor.New(tensor.SpecOf(tensor.I64, 2+i%7))
		for k := range labels.Len() {
			numbers.Set(k, random.Float64())
			if numbers.At(k) > 0.5 {
				labels.SetInt(k, 1)
			}
		}
		x, y = append(x, numbers), append(y, labels)
	}
	set, err := data.Ragged(x, y)
	if err != nil {
		return err
	}
	dev, err := cpu.Open()
	if err != nil {
		return err
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		return err
	}
	buckets := data.Buckets{Data: set, Bounds: []int{4, 8}, Padding: data.Padding{Y: ignored}, Batch: 16, Shuffle: true}
	loss := train.CrossEntropy(ops.ClassLoss{Ignore: true, Ignored: ignored})
	report, err := train.FitBatches(context.Background(), train.Config{
		Engine: eng,
		Model:  layers.Sequential{layers.Linear{Out: 8}, layers.ReLU{}, layers.Linear{Out: 2}},
		Loss:   loss, Optimizer: &optim.Adam{LR: 0.03}, Epochs: 15, Seed: 1,
		ValidationBatches: buckets, Metrics: []train.Metric{train.Accuracy(ignored), train.Perplexity(loss)},
		EarlyStopping: &train.EarlyStopping{Patience: 10},
	}, buckets)
	if err != nil {
		return err
	}
	fmt.Printf("%d steps; accuracy above 90 %%: %v; perplexity below 1.5: %v\n", report.Steps, report.Validation["accuracy"] > 0.9, report.Validation["perplexity"] < 1.5)
	return nil
}

// A trained model goes on with other data: its first layer stays as it is, its head learns.
func Example_fineTune() {
	if err := fineTune(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// trained 1.weight
	// trained 1.bias
	// better than before: true
}

func fineTune() error {
	folder, err := os.MkdirTemp("", "finetune")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	points, err := ring(500, 1)
	if err != nil {
		return err
	}
	dev, err := cpu.Open()
	if err != nil {
		return err
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		return err
	}
	ctx := context.Background()
	config := train.Config{
		Engine: eng,
		Model:  layers.Sequential{layers.Name("body", layers.Sequential{layers.Linear{Out: 32}, layers.ReLU{}}), layers.Linear{Out: 2}},
		Loss:   ops.CrossEntropy, Optimizer: &optim.Adam{LR: 0.02}, Batch: 50, Epochs: 2,
		Checkpoint: filepath.Join(folder, "first"), Validation: points, KeepBest: true,
	}
	first, err := train.Fit(ctx, config, points)
	if err != nil {
		return err
	}
	config.Checkpoint, config.Optimizer, config.Epochs = filepath.Join(folder, "second"), &optim.Adam{LR: 0.02}, 5
	config.Prepare = func(net *layers.Net) error {
		if err := train.LoadModel(ctx, first.Best, net); err != nil { // or net.LoadFile of PyTorch's state dict
			return err
		}
		return net.Freeze("body")
	}
	second, err := train.Fit(ctx, config, points)
	if err != nil {
		return err
	}
	for _, p := range second.Net.Params() {
		fmt.Println("trained", p.Name())
	}
	fmt.Println("better than before:", second.Validation["loss"] < first.Validation["loss"])
	return nil
}

// Of two classes one is four times as frequent. With weights both count alike, and a model that knows nothing else finds them equally likely.
func ExampleCrossEntropy() {
	if err := learnWeighted(); err != nil {
		fmt.Println(err)
	}
	// Output: the loss of ignorance: 0.69
}

func learnWeighted() error {
	set, err := data.Tensors(tensor.Full(tensor.SpecOf(tensor.F32, 5, 1), 1), tensor.Must(tensor.From([]int64{0, 0, 1, 0, 0})))
	if err != nil {
		return err
	}
	dev, err := cpu.Open()
	if err != nil {
		return err
	}
	defer dev.Close()
	eng, err := sched.New(dev)
	if err != nil {
		return err
	}
	weights := ops.NewVariable("class weights", tensor.Must(tensor.From([]float32{1, 4})))
	report, err := train.Fit(context.Background(), train.Config{
		Engine: eng, Model: layers.Linear{Out: 2}, Loss: train.CrossEntropy(ops.ClassLoss{Weight: weights}),
		Optimizer: &optim.SGD{LR: 1}, Epochs: 30, Batch: 5,
	}, set)
	if err != nil {
		return err
	}
	fmt.Printf("the loss of ignorance: %.2f\n", report.Loss)
	return nil
}
