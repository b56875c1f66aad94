package digits

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
)

//go:embed digits.zip
var packed []byte

// Files opens the archive, a read-only file system with a folder for each digit:
//
//	train/0 … train/9    two takes of each of 42 voices
//	test/0 … test/9      two takes of each of 12 others
//
// A file is called after its voice, its accent and the number of the take: train/7/m3-en-gb-scotland-1.wav. audio.OpenFolder reads such folders.
func Files() (fs.FS, error) {
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("digits: %w", err)
	}
	return files, nil
}
