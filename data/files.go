package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cortado-ml/cortado/tensor"
)

// Files reads many files as one source, one file behind the other in the order of their names, and only one open at a time: an Open for Stream, of
// which each epoch begins with the first file. The pattern is as of fs.Glob, and open makes the source of a file, which closes the file
// when it is closed. All must have the same Specs. Errors name the file.
func Files(files fs.FS, pattern string, open func(fs.File) (Source, error)) func(epoch int) (Source, error) {
	return func(int) (Source, error) {
		if files == nil || open == nil {
			return nil, errors.New("there are no files, or nothing opens them")
		}
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", pattern, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no file is called %s: %w", pattern, fs.ErrNotExist)
		}
		c := &chain{files: files, names: names, open: open}
		if err := c.next(); err != nil {
			return nil, err
		}
		c.x, c.y = c.now.Specs()
		return c, nil
	}
}

// chain is sources one behind another.
type chain struct {
	files fs.FS
	names []string // of the files to come
	name  string   // of the one that is read
	open  func(fs.File) (Source, error)
	now   Source
	x, y  tensor.Spec
}

// next opens the next file.
func (c *chain) next() error {
	c.name, c.names = c.names[0], c.names[1:]
	f, err := c.files.Open(c.name)
	if err != nil {
		return err // it names the file
	}
	if c.now, err = c.open(f); err != nil {
		f.Close()
		c.now = nil
		return c.fail(err)
	}
	if c.now == nil {
		f.Close()
		return c.fail(errors.New("no source was made of it"))
	}
	return nil
}

// fail names the file, unless the error does.
func (c *chain) fail(err error) error {
	if strings.Contains(err.Error(), c.name) {
		return err
	}
	return fmt.Errorf("%s: %w", c.name, err)
}

func (c *chain) Specs() (x, y tensor.Spec) { return c.x, c.y }

func (c *chain) Next(x, y tensor.Tensor) error {
	for {
		if c.now == nil {
			return fs.ErrClosed
		}
		err := c.now.Next(x, y)
		if err == nil {
			return nil
		}
		if err != io.EOF {
			return c.fail(err)
		}
		if len(c.names) == 0 {
			return io.EOF
		}
		if err := c.Close(); err != nil {
			return err
		}
		if err := c.next(); err != nil {
			return err
		}
		if x, y := c.now.Specs(); x != c.x || y != c.y {
			return c.fail(fmt.Errorf("its samples are %v and %v, but those before it %v and %v", x, y, c.x, c.y))
		}
	}
}

func (c *chain) Close() error {
	if c.now == nil {
		return nil
	}
	now := c.now
	c.now = nil
	if err := now.Close(); err != nil {
		return c.fail(err)
	}
	return nil
}
