package goldens

import "math"

// mlp is the network 784-128-10 with Adam, written out by hand. Weights are [out, in], as in the file.
type mlp struct {
	trace  Trace
	params [4][]float64 // weight and bias of the first layer, then of the second
	m, v   [4][]float64 // Adam's moments
	t      int
}

func newMLP(trace Trace) *mlp {
	n := &mlp{trace: trace}
	for i, p := range trace.Parameters {
		n.params[i] = p.Initial()
		n.m[i], n.v[i] = make([]float64, len(n.params[i])), make([]float64, len(n.params[i]))
	}
	return n
}

// step trains on one batch and returns its mean cross-entropy.
func (n *mlp) step(x []float64, labels []int64) (loss float64) {
	var grad [4][]float64
	for i, p := range n.params {
		grad[i] = make([]float64, len(p))
	}
	batch, hidden, classes := len(labels), len(n.params[1]), len(n.params[3])
	pixels := len(x) / batch
	for b, label := range labels {
		image := x[b*pixels:][:pixels]
		h := linear(n.params[0], n.params[1], image)
		for j := range h {
			h[j] = max(h[j], 0)
		}
		logits := linear(n.params[2], n.params[3], h)
		sum := 0.0
		for _, z := range logits {
			sum += math.Exp(z)
		}
		loss += (math.Log(sum) - logits[label]) / float64(batch)

		dh := make([]float64, hidden)
		for c := range classes {
			d := math.Exp(logits[c]) / sum / float64(batch)
			if int64(c) == label {
				d -= 1 / float64(batch)
			}
			back(n.params[2], grad[2], grad[3], h, dh, c, d)
		}
		for j := range hidden {
			if h[j] > 0 {
				back(n.params[0], grad[0], grad[1], image, nil, j, dh[j])
			}
		}
	}
	n.adam(grad)
	return loss
}

// linear returns w*x + b.
func linear(w, b, x []float64) []float64 {
	y := make([]float64, len(b))
	for j := range y {
		y[j] = b[j]
		for i, v := range x {
			y[j] += w[j*len(x)+i] * v
		}
	}
	return y
}

// back adds to the gradients of a linear layer what output j's gradient d contributes: dw, db and, unless nil, dx.
func back(w, dw, db, x, dx []float64, j int, d float64) {
	db[j] += d
	for i, v := range x {
		dw[j*len(x)+i] += d * v
	}
	for i := range dx {
		dx[i] += d * w[j*len(x)+i]
	}
}

// adam updates all parameters (Kingma and Ba, 2015) with PyTorch's defaults for all but the rate.
func (n *mlp) adam(grad [4][]float64) {
	const beta1, beta2, eps = 0.9, 0.999, 1e-8
	n.t++
	c1, c2 := 1-math.Pow(beta1, float64(n.t)), 1-math.Pow(beta2, float64(n.t))
	for p, g := range grad {
		m, v := n.m[p], n.v[p]
		for i := range g {
			m[i] = beta1*m[i] + (1-beta1)*g[i]
			v[i] = beta2*v[i] + (1-beta2)*g[i]*g[i]
			n.params[p][i] -= n.trace.Rate * (m[i] / c1) / (math.Sqrt(v[i]/c2) + eps)
		}
	}
}
