package cpu_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
	"github.com/cortado-ml/cortado/tensor"
)

// opCase is a call that PyTorch made, from its own table of samples (OpInfo): arguments, results, and gradients of one weighted sum of them.
type opCase struct {
	Args   []any
	Kwargs map[string]any
	Grad   bool

	op     string
	in     []tensor.Tensor
	out    map[int]tensor.Tensor // by number; so are the others
	dy, dx map[int]tensor.Tensor // gradients of outputs, and of inputs
}

// TestOpInfo runs PyTorch's samples: in float64 on the reference, values and gradients to 1e-10, and in float32 and bfloat16 on this driver
// at every level, with no fallback. Cases that are not run stand in the table refused, each with its reason, and are few.
func TestOpInfo(t *testing.T) {
	left, all := 0, 0
	for _, path := range opInfoFiles(t) {
		cases := readOpInfo(t, path)
		all += len(cases)
		name := strings.TrimSuffix(filepath.Base(path), ".safetensors")
		var run []int
		for i, c := range cases {
			if why := refused(name, i, c); why != "" {
				t.Logf("%s: case %d is not run: %s", name, i, why)
				left++
			} else {
				run = append(run, i)
			}
		}
		t.Run(name, func(t *testing.T) {
			for _, i := range run {
				t.Run(fmt.Sprint(i), func(t *testing.T) { cases[i].check(t) })
			}
		})
	}
	t.Logf("%d of %d cases are not run", left, all)
	if float64(left) > 0.05*float64(all) {
		t.Errorf("%d of %d cases are not run; 5 %% may be left out", left, all)
	}
}

// opInfoFiles are the files of the folder that CORTADO_OPINFO names, else those of the copy in testdata.
func opInfoFiles(t *testing.T) []string {
	dir := os.Getenv("CORTADO_OPINFO")
	if dir == "" {
		dir = filepath.Join("testdata", "opinfo")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in %s: %v", dir, err)
	}
	return files
}

// notJSON are numbers as Python writes them, which JSON has not: they become strings.
var notJSON = regexp.MustCompile(`(-?Infinity|NaN)\b`)

// readOpInfo reads one operation's cases. The files are our own, so that nothing here guards against others.
func readOpInfo(t *testing.T, path string) []*opCase {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := binary.LittleEndian.Uint64(b)
	var head map[string]json.RawMessage
	if err := json.Unmarshal(b[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	var meta struct{ Op, Cases string }
	if err := json.Unmarshal(head["__metadata__"], &meta); err != nil {
		t.Fatal(err)
	}
	var cases []*opCase
	if err := json.Unmarshal([]byte(notJSON.ReplaceAllString(meta.Cases, `"$1"`)), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		c.op, c.out, c.dy, c.dx = meta.Op, map[int]tensor.Tensor{}, map[int]tensor.Tensor{}, map[int]tensor.Tensor{}
	}
	data := b[8+n:]
	in := make([]map[int]tensor.Tensor, len(cases))
	for name, raw := range head {
		var i, k int
		var what string
		if _, err := fmt.Sscanf(strings.ReplaceAll(name, "/", " "), "%d %s %d", &i, &what, &k); err != nil {
			continue
		}
		var h struct {
			DType   string `json:"dtype"`
			Shape   []int
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(raw, &h); err != nil {
			t.Fatal(err)
		}
		types := map[string]tensor.DType{"F64": tensor.F64, "I64": tensor.I64, "U8": tensor.U8, "F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16, "I32": tensor.I32, "BOOL": tensor.Bool}
		x := tensor.New(tensor.SpecOf(types[h.DType], h.Shape...))
		copy(x.Bytes(), data[h.Offsets[0]:h.Offsets[1]])
		if in[i] == nil {
			in[i] = map[int]tensor.Tensor{}
		}
		map[string]map[int]tensor.Tensor{"in": in[i], "out": cases[i].out, "dy": cases[i].dy, "dx": cases[i].dx}[what][k] = x
	}
	for i, c := range cases {
		for k := range len(in[i]) {
			c.in = append(c.in, in[i][k])
		}
	}
	return cases
}

// check runs a case everywhere. Narrow types round arguments, and after every node, which shows where a function is steep, jumps or overflows. So an element may
// be PyTorch's, or what the reference makes of rounded arguments, in float64 or with the same roundings.
func (c *opCase) check(t *testing.T) {
	t.Helper()
	ref := acceltest.Reference("ref:0")
	defer ref.Close()
	c.compare(t, "float64", c.run(t, ref, tensor.F64, tensor.F64), 1e-10, c.expected)
	for _, narrow := range []struct {
		dt  tensor.DType
		tol float64
	}{{tensor.F32, 2e-5}, {tensor.BF16, 0x1p-4}} {
		want := []func() []tensor.Tensor{
			sync.OnceValue(func() []tensor.Tensor { return allAs(narrow.dt, c.run(t, ref, narrow.dt, tensor.F64)) }),
			sync.OnceValue(func() []tensor.Tensor { return c.run(t, ref, narrow.dt, narrow.dt) }),
			func() []tensor.Tensor { return allAs(narrow.dt, c.expected()) },
		}
		for _, level := range cpu.Levels() {
			d, err := cpu.Open(cpu.Level(level))
			if err != nil {
				t.Fatal(err)
			}
			c.compare(t, level+" "+narrow.dt.String(), c.run(t, d, narrow.dt, narrow.dt), narrow.tol, want...)
			d.Close()
		}
	}
}

// expected are PyTorch's outputs and gradients.
func (c *opCase) expected() (list []tensor.Tensor) {
	for k := range len(c.out) {
		list = append(list, c.out[k])
	}
	for k := range c.in {
		if dx, ok := c.dx[k]; ok {
			list = append(list, dx)
		}
	}
	return list
}

// run is a case's outputs and gradients on a device, with floats of type dt, which were rounded to another type before.
func (c *opCase) run(t *testing.T, d accel.Device, rounded, dt tensor.DType) []tensor.Tensor {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v: %v", c.Args, p)
		}
	}()
	eng, err := sched.New(d)
	if err != nil {
		t.Fatal(err)
	}
	eng.NoFallback = dt != tensor.F64
	tape := autograd.New(eng)
	call := &opCall{opCase: c, tape: tape, dt: dt}
	for i, x := range c.in {
		call.host = append(call.host, as(dt, as(rounded, x)))
		call.in = append(call.in, tape.Input(fmt.Sprint("x", i), call.host[i]))
	}
	out := builderOf(c.op)(call)
	var wrt []ops.Value
	var loss ops.Value
	for k := range out {
		if dy, ok := c.dy[k]; ok {
			s := out[k].Mul(tape.Input(fmt.Sprint("dy", k), as(dt, as(rounded, dy)))).Sum()
			if loss.IsNone() {
				loss = s
			} else {
				loss = loss.Add(s)
			}
		}
	}
	for k := range c.in {
		if _, ok := c.dx[k]; ok {
			wrt = append(wrt, call.in[k])
		}
	}
	if !loss.IsNone() {
		out = append(slices.Clone(out), tape.Grad(loss, wrt...)...)
	}
	got, err := tape.Eval(context.Background(), out...)
	if err != nil {
		t.Errorf("%v %v: %v", c.Args, c.Kwargs, err)
	}
	return got
}

// compare holds results against the first of others that is near enough, element by element.
func (c *opCase) compare(t *testing.T, where string, got []tensor.Tensor, tol float64, wants ...func() []tensor.Tensor) {
	t.Helper()
	var why error
	var wrong []map[int]bool
	for n, f := range wants {
		want := c.compared(f(), len(got))
		if len(got) != len(want) {
			t.Errorf("%s: %v %v: %d outputs and gradients, want %d", where, c.Args, c.Kwargs, len(got), len(want))
			return
		}
		any := false
		for k := range got {
			bad, err := c.differ(got[k], want[k], tol, k >= len(want)-len(c.dx))
			if n == 0 {
				wrong = append(wrong, bad)
				if err != nil && why == nil {
					why = fmt.Errorf("output or gradient %d: %w", k, err)
				}
			}
			maps.DeleteFunc(wrong[k], func(i int, _ bool) bool { return !bad[i] })
			any = any || len(wrong[k]) > 0
		}
		if !any {
			return
		}
	}
	t.Errorf("%s: %v %v: %v", where, c.Args, c.Kwargs, why)
}

// compared leaves out the indices of pools, which PyTorch gives too.
func (c *opCase) compared(want []tensor.Tensor, n int) []tensor.Tensor {
	if strings.Contains(c.op, "max_pool") && len(c.out) == 2 && len(want) > n {
		return slices.Delete(slices.Clone(want), 1, 2)
	}
	return want
}

// ourChoice reports whether a function of one number is here what we choose and PyTorch does not. NaN stays NaN; PyTorch's gradient there is another one in a
// vector than behind it. SiLU and GELU have their limits at infinity, where PyTorch has NaN.
func (c *opCase) ourChoice(x, got, want float64, gradient bool) bool {
	limit := strings.HasSuffix(c.op, ".silu") || strings.HasSuffix(c.op, ".gelu")
	return math.IsNaN(x) && (gradient || got != got) || limit && math.IsInf(x, 0) && want != want
}

// differ are the elements that differ, -1 for all, and the first of them in words.
func (c *opCase) differ(got, want tensor.Tensor, tol float64, gradient bool) (map[int]bool, error) {
	if got.Shape() != want.Shape() {
		return map[int]bool{-1: true}, fmt.Errorf("shape %v, want %v", got.Shape(), want.Shape())
	}
	switch want.DType() { // PyTorch computes what is made of numbers alone in float32
	case tensor.F32:
		tol = max(tol, 1e-6)
	case tensor.F16:
		tol = max(tol, 0x1p-9)
	}
	largest := 1.0
	if got.DType() != tensor.F64 {
		for i := range want.Len() {
			if x := math.Abs(want.At(i)); !math.IsInf(x, 0) && x > largest {
				largest = x
			}
		}
	}
	var first error
	bad := map[int]bool{}
	for i := range got.Len() {
		g, w := got.At(i), want.At(i)
		if g == w || g != g && w != w || math.Abs(g-w) <= tol*max(largest, math.Abs(w)) && !math.IsInf(g, 0) && !math.IsInf(w, 0) {
			continue
		}
		if len(c.in) == 1 && c.in[0].Shape() == got.Shape() && c.ourChoice(c.in[0].At(i), g, w, gradient) {
			continue
		}
		bad[i] = true
		if first == nil {
			first = fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return bad, first
}

// allAs is as of each.
func allAs(dt tensor.DType, xs []tensor.Tensor) (ys []tensor.Tensor) {
	for _, x := range xs {
		ys = append(ys, as(dt, x))
	}
	return ys
}

// as is x with floats of type dt.
func as(dt tensor.DType, x tensor.Tensor) tensor.Tensor {
	if !x.DType().Float() {
		return x
	}
	y := tensor.New(tensor.Spec{DType: dt, Shape: x.Shape()})
	for i := range x.Len() {
		y.Set(i, x.At(i))
	}
	return y
}
