package tensorboard

import (
	"errors"
	"math"
	"sort"

	"github.com/cortado-ml/cortado/tensor"
)

// bins is the number of intervals of a histogram. TensorBoard shows thirty.
const bins = 64

// NewHistogram counts the elements in 64 intervals of equal width from the smallest to the largest, or in one if all are equal. Infinite elements and
// NaN are left out; where there is no other, there is no histogram but an error.
func NewHistogram(values tensor.Tensor) (*Histogram, error) {
	h := &Histogram{Min: math.Inf(1), Max: math.Inf(-1)}
	n := values.Len()
	for i := range n {
		v := values.At(i)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		h.Min, h.Max = min(h.Min, v), max(h.Max, v)
		h.Num++
		h.Sum += v
		h.SumSquares += v * v
	}
	switch {
	case h.Num == 0:
		return nil, errors.New("tensorboard: no finite number to count")
	case h.Min == h.Max:
		h.Limits, h.Counts = []float64{h.Max}, []float64{h.Num}
		return h, nil
	}
	h.Limits, h.Counts = make([]float64, bins), make([]float64, bins)
	for k := range bins {
		part := float64(k+1) / bins
		h.Limits[k] = h.Min*(1-part) + h.Max*part // Max-Min itself may be infinite
	}
	for i := range n {
		if v := values.At(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
			h.Counts[sort.SearchFloat64s(h.Limits, v)]++
		}
	}
	return h, nil
}
