package safetensors

import (
	"bytes"
	"testing"
)

// TestSwap is what a big-endian machine does with the elements.
func TestSwap(t *testing.T) {
	for size, want := range map[int][]byte{
		1: {1, 2, 3, 4, 5, 6, 7, 8}, 2: {2, 1, 4, 3, 6, 5, 8, 7}, 4: {4, 3, 2, 1, 8, 7, 6, 5}, 8: {8, 7, 6, 5, 4, 3, 2, 1},
	} {
		b := []byte{1, 2, 3, 4, 5, 6, 7, 8}
		swap(b, size)
		if !bytes.Equal(b, want) {
			t.Errorf("elements of %d bytes: %v", size, b)
		}
	}
}
