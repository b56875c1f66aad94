package autograd_test

import (
	"os"
	"strings"
	"testing"
)

// TestREADME: the first program of README.md is this package's Example, so it compiles and does what it says.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```go\n")
	program, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("README.md has no Go program")
	}
	if !strings.Contains(strings.ReplaceAll(string(example), "\n\t", "\n"), program) {
		t.Errorf("the first Go program of README.md does not stand in example_test.go:\n%s", program)
	}
}
