package data

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Classes are files with a class each: those of a folder for each class.
type Classes struct {
	Files  []string // their paths
	Labels []int    // the number of the class of each
	Names  []string // of the classes
}

// FindClasses lists files of a kind, say a "PNG image", which is what errors call them: each folder in files is a class, in the order of their names,
// and each file in it, however deep, that has one of the extensions, as ".png", in small or capital letters, is one of its samples. Names that
// start with a point are passed over. A folder without such a file is an error, and so is it if there is no folder.
func FindClasses(files fs.FS, kind string, extensions ...string) (Classes, error) {
	if files == nil {
		return Classes{}, fmt.Errorf("data: there are no files")
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return Classes{}, fmt.Errorf("data: %w", err)
	}
	var c Classes
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := fs.Stat(files, e.Name()) // e itself may be a link
		if err != nil {
			return Classes{}, fmt.Errorf("data: %w", err)
		}
		if info.IsDir() {
			if err := c.add(files, e.Name(), kind, extensions); err != nil {
				return Classes{}, err
			}
		}
	}
	if len(c.Names) == 0 {
		return Classes{}, fmt.Errorf("data: no folders, of which each would be a class of %ss", kind)
	}
	return c, nil
}

// add lists the files of one class.
func (c *Classes) add(files fs.FS, class, kind string, extensions []string) error {
	before := len(c.Files)
	err := fs.WalkDir(files, class, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case !strings.HasPrefix(e.Name(), ".") && !e.IsDir() && slices.Contains(extensions, strings.ToLower(path.Ext(name))):
			c.Files = append(c.Files, name)
			c.Labels = append(c.Labels, len(c.Names))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if len(c.Files) == before {
		return fmt.Errorf("data: the folder %s holds no %s", class, kind)
	}
	c.Names = append(c.Names, class)
	return nil
}
