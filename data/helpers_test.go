package data_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"runtime"
	"slices"
	"sync/atomic"
	"testing/fstest"
	"time"
)

// countingFS counts the files that are open.
type countingFS struct {
	fstest.MapFS
	open atomic.Int64
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedFile{f, c}, nil
}

type countedFile struct {
	fs.File
	c *countingFS
}

func (f *countedFile) Close() error {
	f.c.open.Add(-1)
	return f.File.Close()
}

// ReadDir is there for folders.
func (f *countedFile) ReadDir(n int) ([]fs.DirEntry, error) {
	return f.File.(fs.ReadDirFile).ReadDir(n)
}

// pngOf is the image as a PNG file.
func pngOf(m image.Image) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// gray is a gray image of a formula.
func gray(w, h int, at func(x, y int) uint8) image.Image {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetGray(x, y, color.Gray{at(x, y)})
		}
	}
	return m
}

// rawPNG is a PNG file of a kind that package png does not write. Each row of the data starts with a 0.
func rawPNG(w, h uint32, depth, kind byte, transparent, data []byte) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(data)
	z.Close()
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	file := []byte("\x89PNG\r\n\x1a\n")
	file = append(file, chunk("IHDR", append(header, depth, kind, 0, 0, 0))...)
	if transparent != nil {
		file = append(file, chunk("tRNS", transparent)...)
	}
	return slices.Concat(file, chunk("IDAT", packed.Bytes()), chunk("IEND", nil))
}

// chunk is a part of a PNG file.
func chunk(name string, contents []byte) []byte {
	c := append([]byte(name), contents...)
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(contents))), c...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(c))
}

// resized is a PNG file with another size in its header.
func resized(file []byte, w, h uint32) []byte {
	const behind = 8 + 12 + 13 // signature and header
	header := bytes.Clone(file[16 : behind-4])
	binary.BigEndian.PutUint32(header, w)
	binary.BigEndian.PutUint32(header[4:], h)
	return slices.Concat(file[:8], chunk("IHDR", header), file[behind:])
}

// brokenReader fails.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the disk is broken") }

// memory is how many bytes of memory f asks for.
func memory(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// goroutines is how many there are, once those that have said that they are done have ended too: that takes the system a moment. It waits for
// no longer than a second to see no more than want.
func goroutines(want int) int {
	for i := 0; i < 1000 && runtime.NumGoroutine() > want; i++ {
		time.Sleep(time.Millisecond)
	}
	return runtime.NumGoroutine()
}
