package opticks

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

//go:embed opticks.txt.gz
var packed []byte

// Text unpacks the text, anew each time.
func Text() (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("opticks: %w", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("opticks: %w", err)
	}
	return string(text), nil
}
