package atomicfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/internal/atomicfile"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// only checks that the folder holds the named files and nothing else.
func only(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if w, ok := want[e.Name()]; err != nil || !ok || string(b) != w {
			t.Errorf("%s holds %.20q, %v", e.Name(), b, err)
		}
	}
	if len(entries) != len(want) {
		t.Errorf("%d files, want %d", len(entries), len(want))
	}
}

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	for _, s := range []string{"a long first text", "short", "", "again"} {
		if err := atomicfile.Write(path, text(s)); err != nil {
			t.Fatal(err)
		}
		only(t, folder, map[string]string{"a": s})
	}
}

// TestFailureKeepsTheOldFile breaks off in the middle: by an error such as a full disk gives, and by a panic.
func TestFailureKeepsTheOldFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	full := errors.New("no space left on device")
	broken := func(w io.Writer) error { io.WriteString(w, "half of the new t"); return full }

	if err := atomicfile.Write(path, broken); !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "write "+path+": ") {
		t.Errorf("the error is %v", err)
	}
	only(t, folder, nil)
	if err := atomicfile.Write(path, text("old")); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, broken); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	only(t, folder, map[string]string{"a": "old"})

	func() {
		defer func() {
			if recover() != "stop" {
				t.Error("the panic was lost")
			}
		}()
		atomicfile.Write(path, func(w io.Writer) error { io.WriteString(w, "half"); panic("stop") })
	}()
	only(t, folder, map[string]string{"a": "old"})
}

// TestStalePartial takes over what a killed program left, although it is longer than the new contents.
func TestStalePartial(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	if err := os.WriteFile(path+atomicfile.Suffix, bytes.Repeat([]byte("x"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, text("new")); err != nil {
		t.Fatal(err)
	}
	only(t, folder, map[string]string{"a": "new"})
}

func TestRefusedPaths(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{
		"a folder": folder, "a missing folder": filepath.Join(folder, "none", "a"), "a file as folder": filepath.Join(file, "a"),
		"a device": os.DevNull, "no name": "",
	} {
		called := false
		err := atomicfile.Write(path, func(io.Writer) error { called = true; return nil })
		if err == nil || called {
			t.Errorf("%s: error %v, writer called: %v", what, err, called)
		}
	}
	only(t, folder, map[string]string{"file": "old"})
}

func TestModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has neither these permissions nor links for everyone")
	}
	folder := t.TempDir()
	path, link := filepath.Join(folder, "a"), filepath.Join(t.TempDir(), "link")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(link, text("new")); err != nil {
		t.Fatal(err)
	}
	only(t, folder, map[string]string{"a": "new"})
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
}
