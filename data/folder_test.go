package data_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

func TestFolder(t *testing.T) {
	img := func(v uint8) *fstest.MapFile {
		return &fstest.MapFile{Data: pngOf(gray(2, 2, func(x, y int) uint8 { return v }))}
	}
	files := fstest.MapFS{
		"dog/1.png": img(51), "dog/more/2.PNG": img(102), "cat/b.png": img(153), "cat/a.png": img(204), "zebra/x.png": img(255),
		"cat/Thumbs.db": img(0), "cat/._a.png": img(0), "cat/.hidden/c.png": img(0), ".git/x.png": img(0), "README.md": img(0), "top.png": img(0),
		"zebra/y.jpeg": {Data: jpegOf(gray(2, 2, func(x, y int) uint8 { return 0 }))},
	}
	d, err := OpenFolder(files, tensor.SpecOf(tensor.F32, 1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range d.Len() {
		x, y := sample(t, d, i)
		got = append(got, fmt.Sprintf("%s %.1f %d", d.Name(i), x.At(0), y.Int(0)))
	}
	want := []string{"cat/a.png 0.8 0", "cat/b.png 0.6 0", "dog/1.png 0.2 1", "dog/more/2.PNG 0.4 1", "zebra/x.png 1.0 2", "zebra/y.jpeg 0.0 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	classes := d.Classes()
	if diff := cmp.Diff([]string{"cat", "dog", "zebra"}, classes); diff != "" {
		t.Error(diff)
	}
	classes[0] = "mouse"
	if d.Classes()[0] != "cat" {
		t.Error("Classes shares memory")
	}
}

func TestFolderErrors(t *testing.T) {
	spec := tensor.SpecOf(tensor.F32, 1, 2, 2)
	for what, c := range map[string]struct {
		files fs.FS
		want  string
	}{
		"nothing":         {fstest.MapFS{}, "data: no folders, of which each would be a class"},
		"only files":      {fstest.MapFS{"a.png": {}}, "data: no folders"},
		"a class without": {fstest.MapFS{"cat/a.png": {}, "dog/a.gif": {}}, "data: the folder dog holds no PNG or JPEG image"},
		"no such folder":  {os.DirFS(filepath.Join(t.TempDir(), "none")), "data: open ."},
	} {
		if d, err := OpenFolder(c.files, spec); d != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	files := fstest.MapFS{"cat/a.png": {Data: []byte("<html>")}, "cat/b.png": {}}
	d, err := OpenFolder(files, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, y := tensor.New(spec), tensor.New(tensor.SpecOf(tensor.I64))
	if err := d.Sample(0, x, y); err == nil || err.Error() != `data: cat/a.png: it is neither a PNG nor a JPEG image: it starts with "<html>"` {
		t.Error(err)
	}
	delete(files, "cat/b.png")
	if err := d.Sample(1, x, y); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "data: cat/b.png: ") {
		t.Error(err)
	}
	if err := d.Sample(2, x, y); err == nil || !strings.Contains(err.Error(), "no sample 2") {
		t.Error(err)
	}
}

// TestLinkedClass follows a link to a folder, as data sets on shared disks have them.
func TestLinkedClass(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links are not for everyone on Windows")
	}
	elsewhere, folder := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "a.png"), pngOf(gray(1, 1, func(x, y int) uint8 { return 255 })), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(folder, "cat")); err != nil {
		t.Fatal(err)
	}
	d, err := OpenFolder(os.DirFS(folder), tensor.SpecOf(tensor.F32, 1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := sample(t, d, 0); x.At(0) != 1 || d.Len() != 1 {
		t.Errorf("%v of %d", x, d.Len())
	}
}
