package data_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/tensor"
)

// byteSource gives the bytes of a file. A 0 is a fault; by its name a file has other samples, or is bad.
type byteSource struct {
	fs.File
	spec tensor.Spec
}

func openBytes(f fs.File) (Source, error) {
	s := &byteSource{f, tensor.SpecOf(tensor.U8)}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(info.Name(), "wide"):
		s.spec = tensor.SpecOf(tensor.U8, 2)
	case strings.HasPrefix(info.Name(), "bad"):
		return nil, errors.New("bad from the start")
	}
	return s, nil
}

func (s *byteSource) Specs() (x, y tensor.Spec) { return s.spec, tensor.Spec{} }

func (s *byteSource) Next(x, y tensor.Tensor) error {
	var b [1]byte
	if err := binary.Read(s.File, binary.LittleEndian, &b); err != nil {
		return err
	}
	if b[0] == 0 {
		return errors.New("a zero")
	}
	x.SetInt(0, int64(b[0]))
	return nil
}

func TestFiles(t *testing.T) {
	files := &countingFS{MapFS: fstest.MapFS{
		"a/2.bin": {Data: []byte{4, 5}}, "a/1.bin": {Data: []byte{1, 2, 3}}, "a/3.bin": {}, "a/4.bin": {Data: []byte{6}}, "a/x.txt": {Data: []byte{9}},
		"b/1.bin": {Data: []byte{1}}, "b/2.bin": {Data: []byte{2, 0}},
		"c/1.bin": {Data: []byte{1}}, "c/wide.bin": {Data: []byte{2}},
		"d/1.bin": {Data: []byte{1}}, "d/bad.bin": {},
	}}
	run := func(pattern string) (got []int, last error) {
		s := Stream{Open: Files(files, pattern, openBytes), Batch: 1}
		for b, err := range s.Batches(context.Background(), Position{Epoch: 1}) {
			if last = err; err == nil {
				got = append(got, int(b.X.Int(0)))
			}
		}
		return got, last
	}
	if got, err := run("a/*.bin"); err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
		t.Error(got, err)
	}
	for pattern, want := range map[string]string{
		"b/*.bin": "data: sample 2: b/2.bin: a zero",
		"c/*.bin": "c/wide.bin: its samples are u8[2] and none[], but those before it u8[] and none[]",
		"d/*.bin": "d/bad.bin: bad from the start",
		"e/*.bin": "data: no file is called e/*.bin: file does not exist",
		"[":       "data: [: syntax error in pattern",
	} {
		if _, err := run(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pattern, err, want)
		}
	}
	if open := files.open.Load(); open != 0 {
		t.Errorf("%d files are open", open)
	}
	s, err := Files(files, "a/*.bin", openBytes)(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Next(tensor.Tensor{}, tensor.Tensor{}); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if err := s.Close(); err != nil || err == io.EOF {
		t.Error(err)
	}
}
