package train

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"
)

// Progress returns a function for Config.Observe that tells people how a run goes: on a terminal one line that is written over and over,
// elsewhere a plain line now and then. It keeps to plain text if the environment has NO_COLOR.
func Progress(w io.Writer) func(Event) {
	p := &progressWriter{w: w, terminal: isTerminal(w), color: os.Getenv("NO_COLOR") == "", start: time.Now()}
	return p.observe
}

// isTerminal reports whether w is a device that shows characters to somebody.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

type progressWriter struct {
	w        io.Writer
	terminal bool
	color    bool
	start    time.Time
	shown    time.Time // when the last step was
	line     int       // width of the line on the terminal
	first    int       // the step before the first that was seen
	began    time.Time
	average  float64 // of the loss, for the line
}

// How often a step is shown: a terminal is read by eye, plain lines are kept.
const (
	onTerminal = 100 * time.Millisecond
	inPlain    = 5 * time.Second
)

func (p *progressWriter) observe(e Event) {
	switch e := e.(type) {
	case Step:
		p.step(e)
	case Epoch:
		p.epoch(e)
	case Saved:
		p.say("checkpoint %s", e.Path)
	case Resumed:
		p.say("resumed from %s, after step %d", e.Path, e.Step)
		if e.Note != "" {
			p.say("note: %s", e.Note)
		}
	case SetAside:
		p.say("the checkpoints of an earlier run now lie in %s", e.Folder)
	case Skipped:
		p.say("damaged: %s: %v; trying the one before", e.Path, e.Err)
	}
}

func (p *progressWriter) step(e Step) {
	now := time.Now()
	if p.began.IsZero() {
		p.began, p.first, p.average = now, e.Step, e.Loss
	}
	p.average += (e.Loss - p.average) * 0.05
	every := inPlain
	if p.terminal {
		every = onTerminal
	}
	if !p.shown.IsZero() && now.Sub(p.shown) < every && e.Step != e.Of {
		return
	}
	p.shown = now
	text := fmt.Sprintf("epoch %d  step %d/%d  loss %.4f", e.Epoch, e.Step, e.Of, p.average)
	if done := e.Step - p.first; done > 0 && e.Of > e.Step {
		rest := time.Duration(float64(now.Sub(p.began)) / float64(done) * float64(e.Of-e.Step))
		text += fmt.Sprintf("  %.0f/s  %v left", float64(done*e.Size)/now.Sub(p.began).Seconds(), rest.Round(time.Second))
	}
	if !p.terminal {
		fmt.Fprintln(p.w, text)
		return
	}
	if e.Of > 0 {
		const width = 20
		full := min(width, width*e.Step/e.Of)
		text = "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "] " + text
	}
	fmt.Fprintf(p.w, "\r%-*s", p.line, text)
	p.line = len(text)
}

func (p *progressWriter) epoch(e Epoch) {
	text := fmt.Sprintf("epoch %d", e.Epoch)
	if e.Epochs > 0 {
		text += fmt.Sprintf("/%d", e.Epochs)
	}
	text += fmt.Sprintf("  %.1fs  training loss %.4f", time.Since(p.start).Seconds(), e.Loss)
	var names []string
	for name := range e.Validation {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		number := fmt.Sprintf("%.4f", e.Validation[name])
		if p.terminal && p.color {
			number = "\x1b[1m" + number + "\x1b[0m"
		}
		text += fmt.Sprintf("  validation %s %s", name, number)
	}
	p.say("%s", text)
}

// say writes a line of its own.
func (p *progressWriter) say(format string, a ...any) {
	if p.line > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.line, "")
		p.line = 0
	}
	fmt.Fprintf(p.w, format+"\n", a...)
}
