package data

import "testing"

// TestOrientationOfAnything looks for Exif in files that no decoder has checked: every part of two files, and with a wrong length in each place.
func TestOrientationOfAnything(t *testing.T) {
	exif := "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	for what, c := range map[string]struct {
		orient func([]byte) orientation
		file   string
		least  int // bytes that decode has seen
	}{
		"JPEG": {jpegOrientation, "\xff\xd8\xff\xe0\x00\x04ab\xff\xe1\x00\x22Exif\x00\x00" + exif, 3},
		"PNG":  {pngOrientation, "\x89PNG\r\n\x1a\n\x00\x00\x00\x02abcd12cccc\x00\x00\x00\x1aeXIf" + exif + "cccc", 8},
	} {
		if got := c.orient([]byte(c.file)); got != 6 {
			t.Errorf("%s: %d", what, got)
		}
		for n := c.least; n < len(c.file); n++ {
			if got := c.orient([]byte(c.file[:n])); got != upright && got != 6 {
				t.Errorf("%d bytes of %s: %d", n, what, got)
			}
		}
		for i := c.least; i < len(c.file); i++ {
			for value := range 256 {
				b := []byte(c.file)
				b[i] = byte(value)
				if got := c.orient(b); got < 1 || got > 8 {
					t.Errorf("%s with byte %d = %d: %d", what, i, value, got)
				}
			}
		}
	}
}
