// Command demo trains real models on real data that it brings along, and shows what they have learned.
//
//	go run ./cmd/demo                       train the default network, a small CNN on Fashion-MNIST
//	go run ./cmd/demo -model mlp            another model
//	go run ./cmd/demo predict FILE...       what the trained model makes of pictures and their like
//	go run ./cmd/demo generate -prompt T    what the trained model writes
//	go run ./cmd/demo devices               the devices that graphs can run on
//	go run ./cmd/demo summary               the layers of a model
//	go run ./cmd/demo bench -workload W     how fast this machine is, and this engine on it
//
// Each takes -h. The exit status is 0 if all went well, 1 if not, and 2 if the command line makes no sense.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, fail := context.WithCancelCause(ctx)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], &output{File: os.Stdout, fail: fail}, os.Stderr))
}

// output is standard output. When it cannot be written to, for a full disk say, the program stops: the results would be lost.
type output struct {
	*os.File
	fail func(error)
	err  error // the first
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if err != nil {
		err = fmt.Errorf("standard output: %w", err)
		o.fail(err)
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// command is what one of the words after "demo" does.
type command struct {
	name string
	run  func(ctx context.Context, args []string, out io.Writer) error
}

// commands are all of them; the one without a name trains.
var commands = []command{{"", trainCommand}, {"predict", predictCommand}, {"generate", generateCommand}, {"devices", devicesCommand}, {"summary", summaryCommand}, {"bench", benchCommand}}

// run is the program. It returns the exit status.
func run(ctx context.Context, args []string, out *output, errOut io.Writer) int {
	name, rest := "", args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, rest = args[0], args[1:]
	}
	if name == "help" {
		name, rest = strings.Join(rest, " "), []string{"-h"}
	}
	err := usage("there is no command %q: there are predict, generate, devices, summary and bench, and without a word it trains", name)
	for _, c := range commands {
		if c.name == name {
			err = c.run(ctx, rest, out)
		}
	}
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err == nil {
		err = out.err
	}
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(errOut, "demo: %v\nThe flag -h explains all.\n", err)
		return 2
	}
	fmt.Fprintf(errOut, "demo: %v\n", err)
	return 1
}

// usageError is a command line that makes no sense.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

// newFlags is a flag set whose help names the command's purpose.
func newFlags(name, args, what string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintf(f.Output(), "usage: demo %s\n\n%s\n\n", strings.TrimSpace(name+" "+args), what)
		f.PrintDefaults()
	}
	return f
}

// parse reads the flags. Help goes to standard output, since it was asked for; errors are told once, by run.
func parse(f *flag.FlagSet, args []string, out io.Writer, operands bool) error {
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(out)
		f.Usage()
		return err
	case err != nil:
		return usage("%v", err)
	case f.NArg() > 0 && !operands:
		return usage("what is %q? Flags come before it, and there is nothing else to name", f.Arg(0))
	}
	return nil
}
