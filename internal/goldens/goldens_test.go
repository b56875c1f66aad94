package goldens

import (
	"encoding/json"
	"math"
	"testing"
)

// TestMLP trains the small network in plain loops from what the package hands out. It shows that the files, with the
// formula, tell all that a test needs in order to follow PyTorch.
func TestMLP(t *testing.T) {
	trace, err := Load("mlp", "f64")
	if err != nil {
		t.Fatal(err)
	}
	const steps = 12 // of 100: errors in the formula, the layers or Adam show in the first three
	n := newMLP(trace)
	for k := range steps {
		x, labels := trace.Images(k)
		if got, want := n.step(x, labels), trace.Losses[k]; math.Abs(got-want) > 1e-12 {
			t.Fatalf("step %d: loss %.15f, want %.15f", k, got, want)
		}
	}
}

// TestTraces checks that each trace is whole and that both types tell the same story.
func TestTraces(t *testing.T) {
	for _, model := range []string{"mlp", "cnn"} {
		wide, err := Load(model, "f64")
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := Load(model, "f32")
		if err != nil {
			t.Fatal(err)
		}
		if len(wide.Losses) != 100 || len(narrow.Losses) != 100 {
			t.Fatalf("%s: %d and %d losses, want 100 each", model, len(wide.Losses), len(narrow.Losses))
		}
		far := 0.0
		for i := range wide.Losses {
			far = max(far, math.Abs(wide.Losses[i]-narrow.Losses[i]))
		}
		if far == 0 || far > 1e-3 {
			t.Errorf("%s: float32 is at most %g from float64, want more than 0 and less than 1e-3", model, far)
		}
		if first, last := wide.Losses[0], wide.Losses[99]; math.Abs(first-math.Log(10)) > 0.2 || last > 0.2 {
			t.Errorf("%s: loss from %v to %v, want from about ln 10 to under 0.2", model, first, last)
		}
		for _, p := range wide.Parameters {
			if len(p.Initial()) == 0 {
				t.Errorf("%s: parameter %s is empty", model, p.Name)
			}
		}
		if got, want := len(wide.Buffers), map[string]int{"mlp": 0, "cnn": 4}[model]; got != want {
			t.Errorf("%s: %d running statistics, want %d", model, got, want)
		}
	}
}

// TestOps checks that every case is whole: sizes agree with shapes, and gradients with inputs.
func TestOps(t *testing.T) {
	cases, err := Ops()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		key := c.Op + ", " + c.Name
		if seen[key] {
			t.Errorf("%s: twice", key)
		}
		seen[key] = true
		if len(c.In) == 0 || len(c.Out) == 0 {
			t.Errorf("%s: %d inputs and %d outputs", key, len(c.In), len(c.Out))
		}
		if len(c.Dy) > 0 && (len(c.Dy) != len(c.Out) || len(c.Dx) != len(c.In)) {
			t.Errorf("%s: %d weights for %d outputs, %d gradients for %d inputs", key, len(c.Dy), len(c.Out), len(c.Dx), len(c.In))
			continue
		}
		for i, x := range c.In {
			sized(t, key, x)
			if len(c.Dx) > 0 && c.Dx[i] != nil {
				sized(t, key, *c.Dx[i])
				if len(c.Dx[i].Data) != len(x.Data) {
					t.Errorf("%s: input %d has %d elements, its gradient %d", key, i, len(x.Data), len(c.Dx[i].Data))
				}
			}
		}
		for i, y := range c.Out {
			sized(t, key, y)
			if len(c.Dy) > 0 && c.Dy[i] != nil && len(c.Dy[i].Data) != len(y.Data) {
				t.Errorf("%s: output %d has %d elements, its weight %d", key, i, len(y.Data), len(c.Dy[i].Data))
			}
		}
	}
	if len(cases) < 250 {
		t.Errorf("%d cases, want at least 250", len(cases))
	}
}

func sized(t *testing.T, key string, x Tensor) {
	t.Helper()
	n := 1
	for _, d := range x.Shape {
		n *= d
	}
	if len(x.Data) != n {
		t.Errorf("%s: shape %v and %d elements", key, x.Shape, len(x.Data))
	}
}

// TestNumbers checks the spelling of what JSON lacks, and that a zero keeps its sign.
func TestNumbers(t *testing.T) {
	var n Numbers
	if err := json.Unmarshal([]byte(`[1.5, -0.0, "NaN", "Inf", "-Inf"]`), &n); err != nil {
		t.Fatal(err)
	}
	if n[0] != 1.5 || n[1] != 0 || !math.Signbit(n[1]) || !math.IsNaN(n[2]) || !math.IsInf(n[3], 1) || !math.IsInf(n[4], -1) {
		t.Errorf("got %v", n)
	}
	for _, bad := range []string{`["nan"]`, `[null]`, `[[1]]`, `3`} {
		if err := json.Unmarshal([]byte(bad), &n); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// TestDecode makes sure that an attribute cannot be overlooked.
func TestDecode(t *testing.T) {
	c := Case{Op: "sum", Name: "last", Attrs: json.RawMessage(`{"axes":[2],"keep":true}`)}
	var all struct {
		Axes []int
		Keep bool
	}
	if err := c.Decode(&all); err != nil || len(all.Axes) != 1 || !all.Keep {
		t.Errorf("%+v, %v", all, err)
	}
	var some struct{ Axes []int }
	if err := c.Decode(&some); err == nil {
		t.Error("an attribute without a field is accepted")
	}
}
