// Command demo trains a real model on real images that it brings along, and shows what it has learned.
//
//	go run ./cmd/demo                       train the default network, a small CNN on Fashion-MNIST
//	go run ./cmd/demo -model mlp            another model
//	go run ./cmd/demo predict IMAGE...      what the trained model sees in pictures
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
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// command is what one of the words after "demo" does.
type command struct {
	name, args, what string
	run              func(ctx context.Context, args []string, out, errOut io.Writer) error
}

func commands() []command {
	return []command{
		{"", "[flags]", "train a model", trainCommand},
		{"predict", "[-model-file F] IMAGE...", "say what is in pictures", predictCommand},
		{"devices", "[-json]", "list the devices that graphs can run on", devicesCommand},
		{"summary", "[-model M]", "list the layers of a model", summaryCommand},
		{"bench", "-workload W [flags]", "measure this machine, and the engine on it", benchCommand},
	}
}

// run is the program.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	name, rest := "", args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, rest = args[0], args[1:]
	}
	if name == "help" {
		name, rest = "", []string{"-h"}
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		err := c.run(ctx, rest, out, errOut)
		var wrong *usageError
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, &wrong):
			fmt.Fprintf(errOut, "demo: %v\nrun \"demo %s\" for the flags\n", err, strings.TrimSpace(name+" -h"))
			return 2
		}
		fmt.Fprintf(errOut, "demo: %v\n", err)
		return 1
	}
	var names []string
	for _, c := range commands()[1:] {
		names = append(names, c.name)
	}
	fmt.Fprintf(errOut, "demo: there is no command %q: there are %s, and without a word it trains\nrun \"demo -h\" for help\n", name, strings.Join(names, ", "))
	return 2
}

// usageError is a command line that makes no sense.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usage(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

// newFlags is a flag set whose help goes to out and names the command's purpose.
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
		return usage("what is %q?", f.Arg(0))
	}
	return nil
}
