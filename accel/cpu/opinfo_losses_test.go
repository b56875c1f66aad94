package cpu_test

import (
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// lossBuilders are losses and normalisations.
var lossBuilders = map[string]build{
	"nn.functional.mse_loss": pairLoss(func(_ *opCall, x, y ops.Value) ops.Value { return ops.SquaredError(x, y) }),
	"nn.functional.l1_loss":  pairLoss(func(_ *opCall, x, y ops.Value) ops.Value { return ops.AbsoluteError(x, y) }),
	"nn.functional.huber_loss": pairLoss(func(c *opCall, x, y ops.Value) ops.Value {
		return ops.Huber(x, y, c.float(-1, "delta", 1))
	}),
	"nn.functional.smooth_l1_loss": pairLoss(func(c *opCall, x, y ops.Value) ops.Value {
		return ops.SmoothL1(x, y, c.float(-1, "beta", 1))
	}),
	"nn.functional.kl_div": pairLoss(func(c *opCall, x, y ops.Value) ops.Value {
		if c.bool(-1, "log_target") {
			return ops.KLDivergenceLog(x, y)
		}
		return ops.KLDivergence(x, y)
	}),
	"nn.functional.binary_cross_entropy_with_logits": pairLoss(func(c *opCall, x, y ops.Value) ops.Value {
		l := ops.WeightedBCEWithLogits(x, y, c.value(-1, "pos_weight"))
		if w := c.value(2, "weight"); !w.IsNone() {
			l = l.Mul(w)
		}
		return l
	}),
	"nn.functional.cross_entropy": classLoss(ops.CrossEntropyRows),
	"nn.functional.nll_loss":      classLoss(ops.NLLRows),
	"nn.functional.normalize": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		y := ops.Normalize(line(x), c.float(1, "p", 2), dimOf(c, x, 2, 1), c.float(3, "eps", 1e-12))
		return y.Reshape(x.Shape().Dims()...)
	}),
	"nn.functional.cosine_similarity": one(func(c *opCall) ops.Value {
		return ops.CosineSimilarity(line(c.value(0, "")), line(c.value(1, "")), c.int(2, "dim", 1), c.float(3, "eps", 1e-8)).Reshape(c.opCase.out[0].Shape().Dims()...)
	}),
	"nn.functional.scaled_dot_product_attention": one(func(c *opCall) ops.Value {
		return ops.Attention(c.value(0, ""), c.value(1, ""), c.value(2, ""), ops.Attend{
			Causal: c.bool(5, "is_causal"), Mask: c.value(3, "attn_mask"), Scale: c.float(-1, "scale", 0),
		})
	}),
	"nn.functional.layer_norm": one(func(c *opCall) ops.Value {
		return ops.LayerNorm(c.value(0, ""), c.value(2, "weight"), c.value(3, "bias"), len(c.ints(1, "normalized_shape")), c.float(4, "eps", 1e-5))
	}),
	"nn.functional.rms_norm": one(func(c *opCall) ops.Value {
		return ops.RMSNorm(c.value(0, ""), c.value(2, "weight"), len(c.ints(1, "normalized_shape")), c.float(3, "eps", 0x1p-52))
	}),
	"nn.functional.group_norm": one(func(c *opCall) ops.Value {
		return ops.GroupNorm(c.value(0, ""), c.value(2, "weight"), c.value(3, "bias"), c.int(1, "num_groups", 1), c.float(4, "eps", 1e-5))
	}),
	"nn.functional.batch_norm": one(func(c *opCall) ops.Value {
		x := c.value(0, "")
		channels := x.Dim(1)
		fill := func(v ops.Value, otherwise float64) ops.Value {
			if v.IsNone() {
				return ops.Full(c.tape.Recorder(), tensor.SpecOf(c.dt, channels), otherwise)
			}
			return v
		}
		scale, bias, eps := fill(c.value(3, "weight"), 1), fill(c.value(4, "bias"), 0), c.float(-1, "eps", 1e-5)
		if c.bool(5, "training") {
			y, _, _ := ops.BatchNorm(x, scale, bias, eps)
			return y
		}
		return ops.BatchNormInfer(x, scale, bias, fill(c.value(1, ""), 0), fill(c.value(2, ""), 1), eps)
	}),
}

// dimOf is the argument dim, 0 for an x of rank 0.
func dimOf(c *opCall, x ops.Value, i, otherwise int) int {
	if x.Rank() == 0 {
		return 0
	}
	return c.int(i, "dim", otherwise)
}

// reduced is a loss as the argument reduction says.
func reduced(c *opCall, l ops.Value, mean func(l ops.Value) ops.Value) ops.Value {
	switch c.string(-1, "reduction") {
	case "none":
		return l
	case "sum":
		return l.Sum()
	case "batchmean":
		n := 1
		if c.value(0, "").Rank() > 0 {
			n = c.value(0, "").Dim(0)
		}
		return l.Sum().Scale(1 / float64(n))
	}
	return mean(l)
}

func pairLoss(f func(c *opCall, x, y ops.Value) ops.Value) build {
	return one(func(c *opCall) ops.Value {
		l := f(c, c.value(0, ""), c.value(1, ""))
		return reduced(c, l, func(l ops.Value) ops.Value { return l.Mean() })
	})
}

// classLoss moves the classes, PyTorch's axis 1, to the end.
func classLoss(rows func(x, labels ops.Value, l ops.ClassLoss) (loss, weight ops.Value)) build {
	return one(func(c *opCall) ops.Value {
		last := func(v ops.Value) ops.Value {
			if v.Rank() < 2 {
				return v
			}
			var perm []int
			for i := range v.Rank() {
				if i != 1 {
					perm = append(perm, i)
				}
			}
			return v.Transpose(append(perm, 1)...)
		}
		labels := c.value(1, "target")
		if labels.DType().Float() {
			labels = last(labels)
		} else if labels.DType() == tensor.U8 {
			labels = labels.Cast(tensor.I64)
		}
		l := ops.ClassLoss{Weight: c.variable("weight"), Smoothing: c.float(-1, "label_smoothing", 0), Ignore: true, Ignored: int64(c.int(-1, "ignore_index", -100))}
		loss, weight := rows(last(c.value(0, "")), labels, l)
		return reduced(c, loss, func(loss ops.Value) ops.Value { return loss.Sum().Div(weight.Sum()) })
	})
}
