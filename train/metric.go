package train

import (
	"fmt"
	"math"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// lossName is the name that the loss has among the metrics.
const lossName = "loss"

// Metric is a number that tells how good predictions are. It is computed over a whole data set: each batch gives sums, which are added up in
// float64, and the number is made of the sums over all. So the size of batches changes nothing but last bits, also of an F1 score, which is no mean of
// those of batches.
type Metric struct {
	Name string // any but "loss"
	// Sums records numbers of a batch, of any shape and float type; each is added up over all batches.
	Sums func(predicted, y ops.Value) ops.Value
	// Of makes the metric of the sums over all samples.
	Of       func(sums []float64) float64
	Maximize bool // more is better, as of an accuracy; so of its parts. Config.Monitor goes by it
	// Parts makes more numbers of the sums: "3" of the metric "recall" is called "recall/3". It may be nil. Progress shows no parts.
	Parts func(sums []float64) map[string]float64
}

// Mean is a metric that is a mean as a Loss is: f gives one number, the mean over the samples of the batch, or MeanOf.
// Less is better, unless its Maximize is set.
func Mean(name string, f func(predicted, y ops.Value) ops.Value) Metric {
	if f == nil {
		return Metric{Name: name}
	}
	return Metric{Name: name, Sums: meanSums(f).record, Of: quotient}
}

// meanSums makes a method of what would be a function literal, as classLoss does.
type meanSums Loss

func (f meanSums) record(predicted, y ops.Value) ops.Value {
	v := f(predicted, y)
	r := v.Recorder()
	if r == nil || r.Err() != nil {
		return v
	}
	if !isMean(v.Spec()) {
		return r.Fail(fmt.Errorf("it is %v: want one number, the mean over the samples, or two, MeanOf", v.Spec()))
	}
	if v = v.Cast(tensor.F64); isPair(v.Spec()) {
		return v
	}
	m := partsOf(v, y.Dim(0))
	return ops.Stack(0, m.sum, m.count)
}

// quotient is the mean of the sums of Mean, NaN where nothing has counted.
func quotient(sums []float64) float64 {
	if sums[1] == 0 {
		return math.NaN()
	}
	return sums[0] / sums[1]
}

// checkMetrics wants a name of its own for each metric, and something to compute.
func checkMetrics(metrics []Metric) error {
	known := map[string]bool{lossName: true}
	for i, m := range metrics {
		switch {
		case m.Sums == nil || m.Of == nil || m.Name == "":
			return fmt.Errorf("train: metric %d, %q, needs a Name, Sums and Of", i, m.Name)
		case known[m.Name]:
			return fmt.Errorf("train: two metrics are called %q", m.Name)
		}
		known[m.Name] = true
	}
	return nil
}
