package goldens

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// read decodes a file of testdata/goldens into v.
func read(name string, v any) error {
	root, err := moduleRoot()
	if err != nil {
		return fmt.Errorf("goldens: %w", err)
	}
	b, err := os.ReadFile(filepath.Join(root, "testdata", "goldens", name))
	if err != nil {
		return fmt.Errorf("goldens: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("goldens: %s: %w", name, err)
	}
	return nil
}

// moduleRoot climbs from the working directory, which for a test is its package's folder, to the folder with go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = up
	}
}
