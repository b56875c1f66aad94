//go:build unix

package train_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/layers"
	"github.com/cortado-ml/cortado/train"
)

// heavy is config with a network whose checkpoints take a moment to write: half a megabyte.
func heavy(t testing.TB) train.Config {
	c := config(t)
	c.Model = layers.Sequential{layers.Flatten{}, layers.Linear{Out: 600}, layers.BatchNorm2D{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3}}
	c.Epochs, c.Steps, c.Validation = 0, 250, nil
	return c
}

// TestKilled kills a run with SIGKILL fifty times while it writes a checkpoint, at different steps, and resumes it each time: a whole checkpoint
// is there always, and all losses have the bits of a run that nobody killed.
func TestKilled(t *testing.T) {
	const variable, kills = "TRAIN_TEST_FOLDER", 50
	if folder := os.Getenv(variable); folder != "" { // the program to be killed
		c := heavy(t)
		c.Checkpoint, c.CheckpointEvery, c.Resume = folder, 1, true
		r := fit(t.Context(), c, squares(t, samples, 1), func(e train.Event) {
			switch e := e.(type) {
			case train.Step:
				fmt.Printf("loss %d %d\n", e.Step, math.Float64bits(e.Loss))
			case train.Saved:
				fmt.Printf("saved %d\n", e.Step)
			case train.Skipped:
				fmt.Printf("skipped %s\n", e.Path)
			}
		})
		if r.err != nil {
			fmt.Println("failed", r.err)
		}
		os.Exit(0)
	}
	folder := t.TempDir()
	losses := map[int]uint64{} // of all programs
	caught := 0
	for kill := range kills {
		p := startRun(t, variable+"="+folder, losses)
		for range 1 + kill%2 {
			<-p.saved
		}
		for p.running() {
			if list, _ := filepath.Glob(filepath.Join(folder, "*.partial")); len(list) > 0 {
				caught++
				break
			}
		}
		p.cmd.Process.Kill()
		p.wait(t)
	}
	if caught < kills/2 {
		t.Errorf("only %d of %d kills hit a checkpoint being written", caught, kills)
	}
	startRun(t, variable+"="+folder, losses).wait(t)
	whole := mustFit(t, heavy(t), squares(t, samples, 1))
	if len(losses) != len(whole.losses) {
		t.Errorf("%d steps, want %d", len(losses), len(whole.losses))
	}
	for step, bits := range whole.losses {
		if losses[step] != bits {
			t.Errorf("step %d: loss %x, want %x", step, losses[step], bits)
		}
	}
	for _, name := range files(t, folder) {
		if strings.HasSuffix(name, ".partial") {
			t.Errorf("%s is left", name)
		}
	}
}

// program is a run in a process of its own.
type program struct {
	cmd   *exec.Cmd
	saved chan struct{} // gets one for each checkpoint, and is closed at the end
	over  chan struct{} // is closed when all that it printed has been read
	wrong []string
}

// startRun starts this test as the program to be killed, and collects the losses that it prints.
func startRun(t *testing.T, env string, losses map[int]uint64) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], "-test.run=^TestKilled$"), saved: make(chan struct{}, 1000), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.over)
		defer close(p.saved)
		in := bufio.NewReader(out)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return // also when the kill has cut the line off
			}
			var step int
			var bits uint64
			if n, _ := fmt.Sscanf(line, "loss %d %d", &step, &bits); n == 2 {
				if old, ok := losses[step]; ok && old != bits {
					line = fmt.Sprintf("another loss at first, %d: %s", old, line)
				} else {
					losses[step] = bits
					continue
				}
			}
			if strings.HasPrefix(line, "saved") {
				p.saved <- struct{}{}
				continue
			}
			p.wrong = append(p.wrong, line)
		}
	}()
	return p
}

func (p *program) running() bool {
	select {
	case <-p.over:
		return false
	default:
		return true
	}
}

// wait waits for the program's end. It has printed nothing but losses and checkpoints.
func (p *program) wait(t *testing.T) {
	t.Helper()
	<-p.over
	p.cmd.Wait()
	if len(p.wrong) > 0 {
		t.Fatal(p.wrong)
	}
}
