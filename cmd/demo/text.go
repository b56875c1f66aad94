package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cortado-ml/cortado/data/text"
	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
	"github.com/cortado-ml/cortado/train"
)

// textKind is text, of which a model learns to write more.
var textKind = kind{
	name: "text", data: "opticks",
	recipes: map[string]recipe{
		"gpt": {
			what: "a transformer of 4 blocks of width 128",
			build: func(tokens int) layers.Module {
				return gpt{tokens: tokens, window: gptWindow, width: 128, blocks: 4, heads: 4, dropout: 0.1}
			},
			tokens: 1024, window: gptWindow, passes: 4,
			epochs: 4, batch: 32, rate: 3e-3, optimizer: "adamw", schedule: "cosine", warmup: 100,
		},
		"lstm": {
			what: "two layers of LSTM of 256",
			build: func(tokens int) layers.Module {
				return recurrent{tokens: tokens, width: 256, layer: layers.LSTM{Hidden: 256, Layers: 2, Dropout: 0.2}, dropout: 0.2}
			},
			tokens: 1024, window: 64, passes: 4,
			epochs: 3, batch: 32, rate: 3e-3, optimizer: "adamw", schedule: "cosine", warmup: 100,
		},
		"gru": {
			what: "two layers of GRU of 256",
			build: func(tokens int) layers.Module {
				return recurrent{tokens: tokens, width: 256, layer: layers.GRU{Hidden: 256, Layers: 2, Dropout: 0.2}, dropout: 0.2}
			},
			tokens: 1024, window: 64, passes: 4,
			epochs: 3, batch: 32, rate: 3e-3, optimizer: "adamw", schedule: "cosine", warmup: 100,
		},
	},
	open:    openText,
	restore: restoreText,
}

// maxWindow bounds the memory that a model asks for before its tensors are looked at.
const maxWindow = 1 << 13

// gptWindow is how many tokens a gpt sees.
const gptWindow = 64

// Metadata of a model of text.
const (
	metaTokens = "cortado.tokens" // a file of tokens
	metaWindow = "cortado.window" // how many of them the model sees
)

// textTask is to predict each token of a text from those before it.
type textTask struct {
	tokens *text.BPE
	window int
	bytes  int // of the test
}

func (t textTask) input() tensor.Spec { return tensor.SpecOf(tensor.I64, t.window) }

func (t textTask) outputs() int { return t.tokens.Size() }

// loss is in nats for each token, also for the targets by which a window is not judged.
func (t textTask) loss(logits, y ops.Value) ops.Value {
	token, _ := target(y)
	return ops.CrossEntropy(flat(logits), token)
}

// target is the tokens of targets, in one row, and which of them are judged by.
func target(y ops.Value) (token, judged ops.Value) {
	y = y.Reshape(-1)
	zero := ops.Full(y.Recorder(), y.Spec(), 0)
	judged = y.GreaterEqual(zero)
	return ops.Where(judged, y, ops.Full(y.Recorder(), y.Spec(), -1).Sub(y)), judged
}

// flat is logits [n, steps, tokens] as rows.
func flat(logits ops.Value) ops.Value { return logits.Reshape(-1, logits.Dim(-1)) }

// bitsName is the name of the metric that compares models whatever their tokens are.
const bitsName = "bits per character"

// metrics has the bits that it takes to tell each byte of the test to one who has the model: those of all its tokens together, over all its bytes.
func (t textTask) metrics() []train.Metric {
	return []train.Metric{{
		Name: bitsName, Sums: judgedLoss,
		Of: func(sums []float64) float64 { return sums[0] / math.Ln2 / float64(t.bytes) },
	}}
}

// judgedLoss is the loss of all targets by which their windows are judged, in nats.
func judgedLoss(logits, y ops.Value) ops.Value {
	token, judged := target(y)
	loss, _ := ops.CrossEntropyRows(flat(logits), token, ops.ClassLoss{})
	return ops.Where(judged, loss, ops.Full(loss.Recorder(), loss.Spec(), 0)).Sum()
}

func (t textTask) metadata() map[string]string {
	var b strings.Builder
	t.tokens.Write(&b) // a Builder takes everything
	return map[string]string{metaTokens: b.String(), metaWindow: strconv.Itoa(t.window)}
}

func restoreText(meta map[string]string) (task, error) {
	window, err := strconv.Atoi(meta[metaWindow])
	if err != nil || window < 1 || window > maxWindow {
		return nil, fmt.Errorf("%s: %q is no number of tokens", metaWindow, meta[metaWindow])
	}
	tokens, err := text.ReadBPE(strings.NewReader(meta[metaTokens]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metaTokens, err)
	}
	return textTask{tokens: tokens, window: window}, nil
}

// show lets the model write.
func (t textTask) show(ctx context.Context, out io.Writer, r result) error {
	fmt.Fprintln(out, "\nit writes:")
	if err := t.author(r.eng, r.Net, 0.8, 0, 1).write(ctx, out, "", 120); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\ntest %.3f bits per character, loss %.4f, on text it has never seen; %.1f s\nthe model is in %s\ntry: go run ./cmd/demo generate %s-prompt \"The Light\"\n",
		r.Validation[bitsName], r.Validation["loss"], r.seconds, r.path, r.modelFlag(generateFile))
	return err
}
