package main

import (
	"flag"
	"io"
	"math"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/optim"
	"github.com/cortado-ml/cortado/tensor"
)

// settings are the flags of training. What was left out has the recipe's value.
type settings struct {
	recipe
	kind                                 *kind
	model, data, out, devices            string
	precision, log, board                string
	steps, every                         int
	accumulate, limit, overfit, patience int
	clip                                 float64
	seed                                 uint64
	resume, json, anomaly                bool
}

// most bounds epochs, steps and batches, so that their products are numbers.
const most = 1 << 30

func parseSettings(args []string, out io.Writer) (s settings, err error) {
	f := newFlags("", "[flags]", `Trains a model on images, text, sounds or a table, saves it and shows what it has learned. Without flags: a small CNN on a
sample of Fashion-MNIST that the program brings along. Ctrl-C stops it and keeps a checkpoint to -resume from.

Other commands, each with its own -h:
  demo predict    what a trained model makes of pictures, sounds or rows
  demo generate   what a trained model writes
  demo devices    the devices that graphs can run on
  demo summary    the layers of a model
  demo bench      how fast this machine is, and this engine on it`)
	f.StringVar(&s.model, "model", "", "`model` to train: "+modelNames()+" (default: cnn, and for a table mlp)")
	f.StringVar(&s.data, "data", "", "what to learn from (default: what the program brings along for the model). For images: fashion, or a `folder` with\nthe IDX files of MNIST and its like, or with one folder of pictures for each class, perhaps below train and test. For text: opticks,\nor a file. For speech: digits, or a folder with one folder of WAV files for each class. A table: csv:FILE, whose first line names the columns")
	target := f.String("target", "", "the `column` of a table to be learned (default: the last). Text and up to 20 different whole numbers are classes, all\nelse are numbers, also 1.0 and 2.0")
	skip := f.String("skip", "", "`columns` of a table to leave out, with commas between: names and numbers of rows, say")
	f.IntVar(&s.epochs, "epochs", 0, "passes over the data, also those before a resumption (default: as suits the model, unless -steps says how long)")
	f.IntVar(&s.steps, "steps", 0, "steps of training, each on a batch; with -epochs too, what is over first ends the run")
	f.IntVar(&s.batch, "batch", 0, "samples in a batch (default: as suits the model)")
	f.Float64Var(&s.rate, "lr", 0, "learning `rate` (default: as suits the model)")
	f.StringVar(&s.optimizer, "optimizer", "", "sgd, momentum, adam or adamw (default: as suits the model)")
	f.StringVar(&s.schedule, "schedule", "", "of the rate: constant, cosine or onecycle (default: as suits the model)")
	f.Uint64Var(&s.seed, "seed", 1, "of first values, order, augmentation and dropout")
	f.StringVar(&s.out, "out", "cortado-demo", "`folder` for checkpoints and the model")
	f.StringVar(&s.precision, "precision", "f32", "of the parameters and of what layers compute: f32, or bf16, in which numbers have 8 binary digits; updates are made to\ncopies in float32, and the loss is float32 too")
	f.Float64Var(&s.clip, "clip", 0, "the largest `norm` of all gradients together; larger ones are scaled down to it (default: any)")
	f.IntVar(&s.accumulate, "accumulate", 0, "batches whose gradients make one step, as one batch of them all would (default 1)")
	f.IntVar(&s.limit, "limit-batches", 0, "batches in an epoch at most (default: all)")
	f.IntVar(&s.overfit, "overfit-batches", 0, "train on that many batches alone, again and again: a model that cannot learn them by heart has a fault")
	f.IntVar(&s.patience, "patience", 0, "end the run after that many epochs in a row without a lower loss in the test, and go back to the model of the\nbest epoch (default: never)")
	f.BoolVar(&s.anomaly, "detect-anomaly", false, "if the loss or a parameter becomes no number, name the operation where that begins; takes twice the time")
	f.StringVar(&s.log, "log", "", "`file` for a line of JSON for each step and each epoch; a resumed run goes on with it")
	f.StringVar(&s.board, "tensorboard", "", "`folder` for an event file that TensorBoard shows; a resumed run goes on with it")
	f.BoolVar(&s.resume, "resume", false, "continue from the newest checkpoint in the folder that is whole; the other flags have to be as they were")
	f.IntVar(&s.every, "checkpoint-every", 0, "batches between checkpoints (default: one after each epoch)")
	f.StringVar(&s.devices, "devices", "cpu", "`devices` to open, with commas between; the first one trains")
	f.BoolVar(&s.json, "json", false, "print one JSON object a line and nothing else: step, epoch, done, and what else happens; a loss reads\nback to the same bits")
	if err := parse(f, args, out, false); err != nil {
		return s, err
	}
	given := map[string]bool{} // a 0 that somebody asks for is no default
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, n := range []struct {
		flag string
		x    int
	}{{"epochs", s.epochs}, {"steps", s.steps}, {"batch", s.batch}, {"checkpoint-every", s.every}, {"accumulate", s.accumulate},
		{"limit-batches", s.limit}, {"overfit-batches", s.overfit}, {"patience", s.patience}} {
		if n.x < 0 || n.x == 0 && given[n.flag] || n.x > most {
			return s, usage("-%s %d: want a number from 1 to %d", n.flag, n.x, most)
		}
	}
	switch {
	case !(s.rate >= 0) || s.rate == 0 && given["lr"] || math.IsInf(s.rate, 0):
		return s, usage("-lr %v: want a positive number", s.rate)
	case !(s.clip >= 0) || s.clip == 0 && given["clip"] || math.IsInf(s.clip, 0):
		return s, usage("-clip %v: want a positive number", s.clip)
	case s.precision != "f32" && s.precision != "bf16":
		return s, usage("-precision %q: want f32 or bf16", s.precision)
	case s.limit > 0 && s.overfit > 0:
		return s, usage("-limit-batches and -overfit-batches: want one of them")
	case s.out == "":
		return s, usage("-out is empty: want a folder")
	}
	if err := s.fill(); err != nil {
		return s, err
	}
	if s.kind != &tableKind && (*target != "" || *skip != "") {
		return s, usage("-target and -skip are for tables: want -data csv:FILE")
	}
	s.target, s.skip = *target, listed(*skip)
	return s, nil
}

// listed splits a list with commas.
func listed(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// fill takes from the model's recipe what was left out.
func (s *settings) fill() error {
	name, k, r, err := recipeOf(s.model, s.data)
	if err != nil {
		return err
	}
	if s.data == "" {
		s.data = k.data
	}
	if s.epochs != 0 || s.steps != 0 {
		r.epochs = s.epochs
	}
	if s.batch != 0 {
		r.batch = s.batch
	}
	if s.rate != 0 {
		r.rate = s.rate
	}
	if s.optimizer != "" {
		r.optimizer = s.optimizer
	}
	if s.schedule != "" {
		r.schedule = s.schedule
	}
	s.model, s.kind, s.recipe = name, k, r
	_, err = s.optimize(1) // an unknown name is told before anything is opened
	return err
}

// optimize is the optimiser of a run of so many steps.
func (s settings) optimize(steps int) (optim.Optimizer, error) {
	schedule, err := scheduleOf(s.schedule, s.rate, steps, s.warmup)
	if err != nil {
		return nil, err
	}
	opt, err := optimizerOf(s.optimizer, schedule, s.decay)
	if err == nil && s.clip > 0 {
		opt = &optim.Clip{Optimizer: opt, Norm: s.clip}
	}
	return opt, err
}

// length is the steps of the run.
func (s settings) length(set data.Dataset) int {
	each := (data.Loader{Data: set, Batch: s.batch}).Len()
	if n := max(s.limit, s.overfit); n > 0 {
		each = min(each, n)
	}
	window := max(1, s.accumulate)
	n := s.epochs * ((each + window - 1) / window)
	if s.epochs == 0 || s.steps > 0 && s.steps < n {
		n = s.steps
	}
	return n
}

// dtype is the type of the parameters.
func (s settings) dtype() tensor.DType {
	if s.precision == "bf16" {
		return tensor.BF16
	}
	return tensor.F32
}
