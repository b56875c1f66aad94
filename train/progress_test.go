package train

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// someEvents are those of a run that is resumed.
var someEvents = []Event{
	SetAside{Folder: "run/before"},
	Skipped{Path: "run/step-000000006.safetensors", Err: errors.New("run/step-000000006.safetensors: cut off")},
	Resumed{Path: "run/step-000000004.safetensors", Step: 4, Note: "it was written elsewhere"},
	Step{Step: 5, Epoch: 2, Of: 8, Loss: 0.5, Size: 8}, Step{Step: 6, Epoch: 2, Of: 8, Loss: 0.25, Size: 8}, Step{Step: 7, Epoch: 2, Of: 8, Loss: 0.25, Size: 8},
	Saved{Path: "run/step-000000007.safetensors", Step: 7},
	Step{Step: 8, Epoch: 2, Of: 8, Loss: 0.25, Size: 2},
	Saved{Path: "run/step-000000008.safetensors", Step: 8},
	Epoch{Epoch: 2, Epochs: 2, Step: 8, Loss: 0.375, Validation: map[string]float64{"loss": 0.7, "accuracy": 0.75}},
	Ended{},
}

// TestPlain is what a file or a pipe gets: whole lines, a few, without control characters.
func TestPlain(t *testing.T) {
	var b bytes.Buffer
	observe := Progress(&b)
	for _, e := range someEvents {
		observe(e)
	}
	text, seconds, _ := strings.Cut(b.String(), "loss 0.7000  ")
	want := `the checkpoints of an earlier run now lie in run/before
damaged, trying the one before: run/step-000000006.safetensors: cut off
resumed from run/step-000000004.safetensors, after step 4
note: it was written elsewhere
epoch 2  step 5/8  loss 0.5000
the first checkpoint is run/step-000000007.safetensors
epoch 2  step 8/8  loss 0.3125
epoch 2/2  training loss 0.3750  validation accuracy 0.7500 `
	if text != want || !strings.HasSuffix(seconds, " s\n") {
		t.Errorf("it wrote\n%s", b.String())
	}
	b.Reset()
	Progress(&b)(Resumed{})
	if b.String() != "there is no checkpoint to resume from: starting anew\n" {
		t.Errorf("it wrote %s", b.String())
	}
}

// TestTerminal writes one line over and over, which is gone before anything else is written, and marks numbers unless NO_COLOR forbids it.
func TestTerminal(t *testing.T) {
	for _, no := range []string{"", "1"} {
		t.Setenv("NO_COLOR", no)
		var b bytes.Buffer
		p := newProgress(&b)
		if p.terminal {
			t.Fatal("a buffer is no terminal")
		}
		p.terminal = true
		observe := p.observe
		for _, e := range someEvents {
			observe(e)
		}
		if has := strings.Contains(b.String(), "\x1b["); has == (no != "") {
			t.Errorf("NO_COLOR=%s: control characters: %v", no, has)
		}
		screen := show(b.String())
		if len(screen) == 0 || !strings.HasPrefix(screen[len(screen)-1], "epoch 2/2  training loss") {
			t.Fatalf("NO_COLOR=%s: the last line is not the epoch's: %q", no, screen)
		}
		for _, line := range screen {
			if strings.Contains(line, "step 5/8") || strings.Contains(line, "[") && no != "" {
				t.Errorf("NO_COLOR=%s: left over: %q", no, line)
			}
			if len(line) > 79 && !strings.Contains(line, "\x1b") {
				t.Errorf("NO_COLOR=%s: %q has %d characters", no, line, len(line))
			}
		}

		b.Reset()
		observe(Step{Step: 12345, Epoch: 88, Of: 99999, Loss: 1.25, Size: 64})
		observe(Step{Step: 99999, Epoch: 88, Of: 99999, Loss: 1.25, Size: 64})
		if line := show(b.String())[0]; len(line) > 79 || !strings.HasPrefix(line, "[============] epoch 88  step 99999/99999") {
			t.Errorf("the line is %q", line)
		}
		observe(Ended{Err: errors.New("stop")})
		if screen := show(b.String()); len(screen) != 0 {
			t.Errorf("the end leaves %q", screen)
		}
	}
}

// show is what text leaves on a screen: \r goes back to the start of the line.
func show(text string) (screen []string) {
	for _, line := range strings.Split(text, "\n") {
		var cells []byte
		at := 0
		for _, c := range []byte(line) {
			if c == '\r' {
				at = 0
				continue
			}
			if at == len(cells) {
				cells = append(cells, c)
			}
			cells[at] = c
			at++
		}
		if s := strings.TrimRight(string(cells), " "); s != "" {
			screen = append(screen, s)
		}
	}
	return screen
}
