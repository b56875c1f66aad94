package train

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Progress returns a function for Config.Observe that tells people how a run goes: on a terminal by one line that is written over and over,
// elsewhere by a plain line now and then; and by a line for each epoch. It keeps to plain text if the environment has NO_COLOR. A nil w is told
// nothing.
func Progress(w io.Writer) func(Event) {
	return newProgress(w).observe
}

func newProgress(w io.Writer) *progress {
	if w == nil {
		w = io.Discard
	}
	return &progress{w: w, terminal: isTerminal(w), color: os.Getenv("NO_COLOR") == "", start: time.Now()}
}

// isTerminal reports whether w is a device that shows characters to somebody.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Stat() (fs.FileInfo, error) }) // an *os.File, or something around it
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

type progress struct {
	w        io.Writer
	terminal bool
	color    bool
	start    time.Time // of the epoch
	shown    time.Time // when the last step was
	line     int       // width of the line on the terminal
	first    int       // the first step that was seen
	began    time.Time // when that ended
	samples  int       // since then
	average  float64   // of the loss: that of a single batch jumps about
	saved    bool      // that there are checkpoints has been told
}

// How often a step is shown: a terminal is read by eye, plain lines are kept.
const (
	onTerminal = 100 * time.Millisecond
	inPlain    = 5 * time.Second
)

func (p *progress) observe(e Event) {
	switch e := e.(type) {
	case Step:
		p.step(e)
	case Epoch:
		p.epoch(e)
	case Saved:
		if !p.saved {
			p.say("the first checkpoint is %s", e.Path)
		}
		p.saved = true
	case Resumed:
		if e.Path == "" {
			p.say("there is no checkpoint to resume from: starting anew")
			return
		}
		p.say("resumed from %s, after step %d", e.Path, e.Step)
		if e.Note != "" {
			p.say("note: %s", e.Note)
		}
	case Skipped:
		p.say("damaged, trying the one before: %v", e.Err)
	case SetAside:
		p.say("the checkpoints of an earlier run now lie in %s", e.Folder)
	case Ended:
		p.clear()
		if e.Stopped != "" {
			p.say("stopped early: %s", e.Stopped)
		}
	}
}

func (p *progress) step(e Step) {
	now := time.Now()
	if p.began.IsZero() {
		p.began, p.first = now, e.Step
	} else {
		p.samples += e.Size
	}
	p.average += (e.Loss - p.average) / float64(min(20, 1+e.Step-p.first))
	every := inPlain
	if p.terminal {
		every = onTerminal
	}
	if !p.shown.IsZero() && now.Sub(p.shown) < every && e.Step != e.Of {
		return
	}
	p.shown = now
	text := fmt.Sprintf("epoch %d  step %d", e.Epoch, e.Step)
	if e.Of > 0 {
		text += fmt.Sprintf("/%d", e.Of)
	}
	text += fmt.Sprintf("  loss %.4f", p.average)
	if done, took := e.Step-p.first, now.Sub(p.began).Seconds(); done > 0 && took > 0 && e.Of > e.Step {
		left := took / float64(done) * float64(e.Of-e.Step)
		text += fmt.Sprintf("  %.0f samples/s  %.0f s left", float64(p.samples)/took, left)
	}
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	const width = 12 // so that the line fits into 80 columns
	full := width * e.Step / max(1, e.Of)
	text = "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "] " + text
	fmt.Fprintf(p.w, "\r%-*s", p.line, text)
	p.line = len(text)
}

func (p *progress) epoch(e Epoch) {
	text := fmt.Sprintf("epoch %d", e.Epoch)
	if e.Epochs > 0 {
		text += fmt.Sprintf("/%d", e.Epochs)
	}
	text += fmt.Sprintf("  training loss %.4f", e.Loss)
	if len(e.Validation) > 0 {
		text += "  validation"
	}
	for _, name := range slices.Sorted(maps.Keys(e.Validation)) {
		if strings.Contains(name, "/") {
			continue // the parts of a metric are not for reading at a glance
		}
		number := fmt.Sprintf("%.4f", e.Validation[name])
		if p.terminal && p.color {
			number = "\x1b[1m" + number + "\x1b[0m"
		}
		text += fmt.Sprintf(" %s %s", name, number)
	}
	p.say("%s  %.1f s", text, time.Since(p.start).Seconds())
	p.start = time.Now()
}

// say writes a line of its own.
func (p *progress) say(format string, a ...any) {
	p.clear()
	fmt.Fprintf(p.w, format+"\n", a...)
}

// clear removes the line that is written over.
func (p *progress) clear() {
	if p.line > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.line, "")
		p.line = 0
	}
}
