package main

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// child is a run of the program whose standard output is a pipe that takes so many bytes, and no more before the test has read all of them: so a signal
// always meets it in the middle.
type child struct {
	cmd   *exec.Cmd
	out   *bufio.Reader
	close func()
	err   bytes.Buffer
}

// page is what a pipe takes at least.
const page = 4096

func start(t *testing.T, room int, folder string, args ...string) *child {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, page); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(strings.Repeat("\n", page-room)); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: newCommand(t, folder, nil, args...), out: bufio.NewReaderSize(r, 16), close: func() { r.Close() }}
	c.cmd.Stdout, c.cmd.Stderr = w, &c.err
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return c
}

// until reads lines up to the first one that holds a text.
func (c *child) until(t *testing.T, text string) string {
	t.Helper()
	var all strings.Builder
	for {
		line, err := c.out.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			t.Fatalf("%q has not come: %s%s", text, all.String(), c.err.String())
		}
		if strings.Contains(line, text) {
			return strings.TrimLeft(all.String(), "\n") // which filled the pipe
		}
	}
}

// end reads what is left, and waits for the end.
func (c *child) end(t *testing.T) outcome {
	t.Helper()
	rest, err := io.ReadAll(c.out)
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Wait()
	o := outcome{c.cmd.ProcessState.ExitCode(), string(rest), c.err.String()}
	noCrash(t, o)
	return o
}

// TestSignals stops runs of each model in the middle of an epoch. Ctrl-C and SIGTERM leave a checkpoint of the last step, SIGKILL the one that was due
// last; -resume goes on from there, and all losses have the bits of a run that was not stopped.
func TestSignals(t *testing.T) {
	eachModel(t, func(t *testing.T, model string, args []string) {
		signals := []syscall.Signal{syscall.SIGKILL}
		if model == "mlp" {
			signals = append(signals, syscall.SIGINT, syscall.SIGTERM)
		}
		for _, signal := range signals {
			stop(t, model, signal, append(args, "-json", "-steps", "16", "-checkpoint-every", "3"))
		}
	})
}

// stop stops a run at step 5 or a little later.
func stop(t *testing.T, model string, signal syscall.Signal, args []string) {
	whole := demo(t, t.TempDir(), args...)
	whole.wants(t, 0)

	folder := t.TempDir()
	p := start(t, 1000, folder, args...)
	text := p.until(t, `"step":5,`)
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	o := p.end(t)
	text += o.out
	stopped := events(t, text[:strings.LastIndex(text, "\n")+1]) // SIGKILL may cut a line off
	n := len(lossBits(stopped))
	if n < 5 || n > 15 {
		t.Fatalf("%s, %v: stopped after %d steps", model, signal, n)
	}
	if signal == syscall.SIGKILL {
		if o.code != -1 {
			t.Errorf("%s, %v: exit status %d", model, signal, o.code)
		}
	} else {
		at := find(stopped, "checkpoint")
		o.wants(t, 1, "demo: train: stopped after step ", "signal received; resume from "+at.File)
		if at.Step != n || strings.Count(o.err, "\n") != 1 {
			t.Errorf("%s, %v: %d steps, checkpoint after %d: %s", model, signal, n, at.Step, o.err)
		}
	}
	for _, name := range names(t, folder) {
		if !strings.HasPrefix(name, "cortado-demo/step-") {
			t.Errorf("%s, %v: it left %s", model, signal, name)
		}
	}

	rest := demo(t, folder, append(args, "-resume")...)
	rest.wants(t, 0)
	resumed := events(t, rest.out)
	if from := find(resumed, "resumed").Step; from < n-3 || from > n+1 {
		t.Errorf("%s, %v: stopped after step %d, resumed after %d", model, signal, n, from)
	}
	got := lossBits(append(stopped, resumed...))
	for step, bits := range lossBits(events(t, whole.out)) {
		if got[step] != bits {
			t.Errorf("%s, %v: step %d has loss %x, want %x", model, signal, step, got[step], bits)
		}
	}
	a, b := find(events(t, whole.out), "done"), find(resumed, "done")
	if !maps.Equal(a.Test, b.Test) || b.Steps != 16 {
		t.Errorf("%s, %v: it ends with %+v, want %+v", model, signal, b, a)
	}
}

// TestHead closes the pipe after the first line, as head -1 does: the program ends quietly.
func TestHead(t *testing.T) {
	for _, args := range [][]string{{"-json"}, {}} {
		p := start(t, page, t.TempDir(), append(args, "-model", "mlp", "-data", idx(t), "-batch", "8", "-epochs", "500")...)
		if _, err := p.out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		p.close()
		p.cmd.Wait()
		o := outcome{p.cmd.ProcessState.ExitCode(), "", p.err.String()}
		noCrash(t, o)
		if o.code == 0 || strings.Count(o.err, "\n") > 1 {
			t.Errorf("exit status %d: %s", o.code, o.err)
		}
	}
}

// TestNowhereToWrite has a standard output that takes nothing: the program says so and stops, after a checkpoint.
func TestNowhereToWrite(t *testing.T) {
	data := idx(t)
	for _, args := range [][]string{{"devices"}, {"devices", "-json"}, {"summary"}, {"-h"}, {"bench", "-workload", "gemm-8", "-seconds", "0.001"}, {"-json", "-model", "mlp", "-data", data}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		folder := t.TempDir()
		cmd := newCommand(t, folder, nil, args...)
		var errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &errOut
		cmd.Run()
		full.Close()
		o := outcome{cmd.ProcessState.ExitCode(), "", errOut.String()}
		noCrash(t, o)
		o.wants(t, 1, "standard output: write /dev/stdout: no space left on device")
		if left := names(t, folder); strings.Contains(strings.Join(args, " "), "mlp") && (len(left) != 1 || left[0] != "cortado-demo/step-000000001.safetensors") {
			t.Errorf("it left %v", left)
		}
	}
}

// TestOutOfSpace has a folder on a disk that is full, or read-only.
func TestOutOfSpace(t *testing.T) {
	data, folder := idx(t), t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("only root can mount a disk: %v", err)
	}
	defer unix.Unmount(folder, unix.MNT_DETACH)
	args := []string{"-json", "-model", "mlp", "-data", data, "-batch", "16", "-steps", "9", "-checkpoint-every", "3"}
	o := demo(t, folder, args...)
	o.wants(t, 1, "demo: train: no checkpoint could be written: ", "no space left on device", "the last good checkpoint is "+filepath.Join("cortado-demo", "step-000000003.safetensors"))
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
	if err := unix.Mount("none", folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	o = demo(t, folder, append(args, "-resume")...)
	o.wants(t, 1, "read-only file system")
	if o.out != "" {
		t.Errorf("it has trained: %s", o.out)
	}
	if err := unix.Mount("none", folder, "", unix.MS_REMOUNT, "size=20m"); err != nil {
		t.Fatal(err)
	}
	o = demo(t, folder, append(args, "-resume")...)
	o.wants(t, 0)
	if from := find(events(t, o.out), "resumed").Step; from != 3 {
		t.Errorf("resumed after step %d", from)
	}
}

// terminal is what a run writes to a terminal.
func terminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	if errno != 0 {
		t.Skip(errno)
	}
	tty := os.NewFile(slave, "tty")
	cmd := newCommand(t, t.TempDir(), append([]string{"TERM=xterm"}, env...), args...)
	cmd.Stdout, cmd.Stderr = tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	text, _ := io.ReadAll(master) // ends with an error when nobody has the other end any more
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

// TestTerminal shows a line that is written over and over, and bold numbers unless NO_COLOR forbids them.
func TestTerminal(t *testing.T) {
	data := idx(t)
	args := []string{"-model", "mlp", "-data", data, "-batch", "8", "-epochs", "3"}
	for _, c := range []struct {
		env         []string
		bold, lines bool
	}{{nil, true, true}, {[]string{"NO_COLOR="}, true, true}, {[]string{"NO_COLOR=1"}, false, true}, {[]string{"TERM=dumb"}, false, false}} {
		text := terminal(t, c.env, args...)
		if strings.Contains(text, "\x1b[1m") != c.bold || strings.Contains(text, "\r[") != c.lines {
			t.Errorf("%v: it shows %q", c.env, text)
		}
		if !strings.Contains(text, "epoch 3/3  training loss ") || !strings.Contains(text, "test accuracy ") {
			t.Errorf("%v: it shows %q", c.env, text)
		}
	}
}

// TestGenerateEnds writes without end: Ctrl-C ends it at once, and so does a pipe that nobody reads.
func TestGenerateEnds(t *testing.T) {
	folder, file := writer(t, "gru")
	for _, interrupt := range []bool{true, false} {
		p := start(t, page, folder, "generate", "-model-file", file, "-prompt", "Light\n", "-length", "100000000")
		p.until(t, "Light")
		if interrupt {
			if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			p.end(t).wants(t, 1, "demo: ", "interrupt signal received")
			continue
		}
		p.close()
		p.cmd.Wait()
		o := outcome{p.cmd.ProcessState.ExitCode(), "", p.err.String()}
		noCrash(t, o)
		if o.code == 0 || strings.Count(o.err, "\n") > 1 {
			t.Errorf("exit status %d: %s", o.code, o.err)
		}
	}
}
