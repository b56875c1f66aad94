//go:build unix

package atomicfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cortado-ml/cortado/internal/atomicfile"
)

// size of the files that the tests below write, so large that writing takes several system calls.
const size = 1 << 18

// block writes size bytes of one kind, in pieces.
func block(b byte) func(io.Writer) error {
	return func(w io.Writer) error {
		for range 16 {
			if _, err := w.Write(bytes.Repeat([]byte{b}, size/16)); err != nil {
				return err
			}
		}
		return nil
	}
}

// whole checks that path holds what one call of block wrote.
func whole(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != size || bytes.Count(b, b[:1]) != size {
		t.Fatalf("%d bytes, of which %d are like the first", len(b), bytes.Count(b, b[:1]))
	}
}

// TestWritersOfOnePath wait for each other, although some of them fail; readers always find a whole file.
func TestWritersOfOnePath(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	var all sync.WaitGroup
	for b := range byte(4) {
		all.Go(func() {
			for range 5 {
				if err := atomicfile.Write(path, block('a'+b)); err != nil {
					t.Error(err)
				}
				whole(t, path)
				if err := atomicfile.Write(path, func(io.Writer) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left in the folder: %v", entries)
	}
}

// TestKilled kills a program with SIGKILL at many moments of writing: path is always whole, and the next Write leaves nothing behind.
func TestKilled(t *testing.T) {
	const variable = "ATOMICFILE_TEST_PATH"
	if path := os.Getenv(variable); path != "" { // the program to be killed
		for b := byte('a'); ; b = 'a' + (b-'a'+1)%26 {
			fmt.Println("next")
			if err := atomicfile.Write(path, block(b)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := atomicfile.Write(path, block('z')); err != nil {
		t.Fatal(err)
	}
	for kill := range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), variable+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := 0; i <= kill%4 && lines.Scan(); i++ {
		}
		for range kill * 200 { // some more moments, without a clock
			if _, err := os.Stat(path); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		whole(t, path)
	}
	if err := atomicfile.Write(path, block('z')); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	if entries, _ := os.ReadDir(folder); len(entries) != 1 {
		t.Errorf("left in the folder: %v", entries)
	}
}
