package train

import (
	"fmt"
	"math"
	"strconv"

	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// Accuracy is the share of labels [...] that have the largest of the logits [..., classes]; of equal ones the first counts. Labels equal to one of
// ignored do not count.
func Accuracy(ignored ...int64) Metric { return TopK(1, ignored...).named("accuracy") }

// TopK is the share of labels [...] that are among the k largest of the logits [..., classes], as "top-k"; of equal ones the first count.
// Labels equal to one of ignored do not count.
func TopK(k int, ignored ...int64) Metric {
	return Metric{Name: fmt.Sprintf("top-%d", k), Sums: hits{k, ignored}.record, Of: quotient, Maximize: true}
}

func (m Metric) named(name string) Metric {
	m.Name = name
	return m
}

// hits counts labels that are among the k largest. It is a type, like the others here, so that its method records: a function literal inlined
// into the caller would count as the caller's line in errors.
type hits struct {
	k       int
	ignored []int64
}

func (h hits) record(logits, y ops.Value) ops.Value {
	if h.k < 1 {
		return fail(logits, "the %d largest of the logits: want 1 at least", h.k)
	}
	label, counts := labelled(y, h.ignored)
	hit := logits.ArgMax(-1).Equal(label)
	if h.k > 1 {
		_, best := ops.TopK(logits, h.k)
		hit = best.Equal(label.Unsqueeze(-1)).Any(-1)
	}
	return ops.Stack(0, hit.And(counts).Cast(tensor.F64).Sum(), counts.Cast(tensor.F64).Sum())
}

// fail is an error of the recording of v.
func fail(v ops.Value, format string, a ...any) ops.Value {
	r := v.Recorder()
	if r == nil {
		return v
	}
	return r.Fail(fmt.Errorf(format, a...))
}

// labelled is labels as i64, and which of them count.
func labelled(y ops.Value, ignored []int64) (label, counts ops.Value) {
	label = y.Cast(tensor.I64)
	counts = label.Equal(label)
	for _, i := range ignored {
		counts = counts.And(label.NotEqual(whole(y, i)))
	}
	return label, counts
}

// whole is an i64 constant in the recording of v.
func whole(v ops.Value, i int64) ops.Value {
	return ops.Full(v.Recorder(), tensor.SpecOf(tensor.I64), float64(i))
}

// Perplexity is exp of the mean of a loss in nats: with CrossEntropy, over the tokens that count.
func Perplexity(loss Loss) Metric {
	m := Mean("perplexity", loss)
	m.Of = func(sums []float64) float64 { return math.Exp(quotient(sums)) }
	return m
}

// MSE is the mean squared error over all elements of predicted and y, which have one shape, as "mse".
func MSE() Metric { return Metric{Name: "mse", Sums: squaredErrors, Of: quotient} }

// MAE is the mean absolute error over all elements of predicted and y, which have one shape, as "mae".
func MAE() Metric { return Metric{Name: "mae", Sums: absoluteErrors, Of: quotient} }

func squaredErrors(predicted, y ops.Value) ops.Value {
	return errorSums(predicted, y, ops.SquaredError)
}

func absoluteErrors(predicted, y ops.Value) ops.Value {
	return errorSums(predicted, y, ops.AbsoluteError)
}

func errorSums(predicted, y ops.Value, f func(x, y ops.Value) ops.Value) ops.Value {
	if predicted.Shape() != y.Shape() {
		return fail(predicted, "predicted is %v and y is %v: want one shape", predicted.Spec(), y.Spec())
	}
	sum := f(predicted.Cast(tensor.F64), y.Cast(tensor.F64)).Sum()
	return ops.Stack(0, sum, sum.Scale(0).Shift(float64(y.Shape().Size())))
}

// Average says how the F1 scores of several classes become one.
type Average uint8

// The averages, as scikit-learn calls them.
const (
	Macro  Average = iota // the mean over the classes that labels or predictions have
	Micro                 // of all hits and misses together; where each label is one class, that is the accuracy
	Binary                // of class 1 alone, of two
)

// F1 is the harmonic mean of precision and recall, 2 hits / (predicted + labels), of the largest of the logits [..., classes] and labels [...],
// as "f1". Where neither predictions nor labels have a class, its F1 is 0. Labels equal to one of ignored do not count; others out of range are
// an error.
func F1(classes int, average Average, ignored ...int64) Metric {
	return Metric{Name: "f1", Sums: counts{classes, average, ignored}.record, Of: average.f1, Maximize: true}
}

// counts are of each class: the hits, the predictions and the labels, one behind another.
type counts struct {
	classes int
	average Average
	ignored []int64
}

func (c counts) record(logits, y ops.Value) ops.Value {
	switch {
	case c.average > Binary:
		return fail(logits, "there is no average %d", c.average)
	case c.average == Binary && c.classes != 2:
		return fail(logits, "a binary F1 has 2 classes, not %d", c.classes)
	}
	label, predicted, one, bad := pairs(logits, y, c.classes, c.ignored)
	if !bad.IsNone() {
		return bad
	}
	hit := ops.Where(label.Equal(predicted), one, one.Scale(0))
	return ops.Concat(0, ops.ScatterAdd(hit, 0, label, c.classes), ops.ScatterAdd(one, 0, predicted, c.classes), ops.ScatterAdd(one, 0, label, c.classes))
}

// pairs is the labels and the predicted classes, flat, and 1 for each that counts; bad is the error if there is one.
func pairs(logits, y ops.Value, classes int, ignored []int64) (label, predicted, one, bad ops.Value) {
	if classes < 1 || logits.Dim(-1) != classes {
		return one, one, one, fail(logits, "the logits are %v: want %d classes in the last axis", logits.Spec(), classes)
	}
	predicted = logits.ArgMax(-1)
	if predicted.Shape() != y.Shape() {
		return one, one, one, fail(logits, "the logits are %v and the labels %v", logits.Spec(), y.Spec())
	}
	label, counted := labelled(y, ignored)
	one = counted.Cast(tensor.F64)
	label = ops.Where(counted, label, whole(label, 0))
	return label.Reshape(-1), predicted.Reshape(-1), one.Reshape(-1), bad
}

func (a Average) f1(sums []float64) float64 {
	n := len(sums) / 3
	score, known := 0.0, 0
	var hits, all float64
	for k := range n {
		if a == Binary && k != 1 {
			continue
		}
		h, both := sums[k], sums[n+k]+sums[2*n+k]
		hits, all = hits+h, all+both
		if both > 0 {
			score += 2 * h / both
			known++
		}
	}
	switch {
	case all == 0:
		return 0
	case a == Macro:
		return score / float64(known)
	}
	return 2 * hits / all
}

// Confusion is the confusion matrix of the largest of the logits [..., classes] and labels [...]: "confusion/1/0" is how many samples of class 1
// were taken for class 0, and [Matrix] makes the matrix of that. As a number of its own "confusion" is the accuracy. Labels equal to one of ignored do not count; others out of range
// are an error.
func Confusion(classes int, ignored ...int64) Metric {
	c := matrix{classes, ignored}
	return Metric{Name: "confusion", Sums: c.record, Of: c.accuracy, Parts: c.parts, Maximize: true}
}

// Matrix is the matrix that the values of Confusion have in their names, "confusion/1/0" in row 1 and column 0: a row for each label, a column for each
// prediction. Name is the metric's, "confusion". It is nil where the values have no such matrix.
func Matrix(values map[string]float64, name string) (rows [][]float64) {
	n := 0
	for name := fmt.Sprintf("%s/0/", name); ; n++ {
		if _, ok := values[name+strconv.Itoa(n)]; !ok {
			break
		}
	}
	for i := range n {
		row := make([]float64, n)
		for k := range row {
			x, ok := values[fmt.Sprintf("%s/%d/%d", name, i, k)]
			if !ok {
				return nil
			}
			row[k] = x
		}
		rows = append(rows, row)
	}
	return rows
}

// matrix has a row for each label and a column for each prediction.
type matrix struct {
	classes int
	ignored []int64
}

func (m matrix) record(logits, y ops.Value) ops.Value {
	label, predicted, one, bad := pairs(logits, y, m.classes, m.ignored)
	if !bad.IsNone() {
		return bad
	}
	cell := label.Mul(whole(label, int64(m.classes))).Add(predicted)
	return ops.ScatterAdd(one, 0, cell, m.classes*m.classes)
}

func (m matrix) accuracy(sums []float64) float64 {
	right, all := 0.0, 0.0
	for i, n := range sums {
		all += n
		if i/m.classes == i%m.classes {
			right += n
		}
	}
	return quotient([]float64{right, all})
}

func (m matrix) parts(sums []float64) map[string]float64 {
	parts := map[string]float64{}
	for i, n := range sums {
		parts[fmt.Sprintf("%d/%d", i/m.classes, i%m.classes)] = n
	}
	return parts
}
