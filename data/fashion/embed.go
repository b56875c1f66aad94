package fashion

import (
	"embed"
	"io/fs"
)

//go:embed train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz
//go:embed t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz
//go:embed LICENSE
var files embed.FS

// Files returns a read-only file system with these files at its root:
//
//	train-images-idx3-ubyte.gz    6,000 images of 28x28 bytes
//	train-labels-idx1-ubyte.gz    their labels, one byte each, 0 to 9
//	t10k-images-idx3-ubyte.gz     1,000 test images
//	t10k-labels-idx1-ubyte.gz     their labels
//	LICENSE                       the notice that must accompany the images
//
// Each of the .gz files is a gzipped idx file: a big-endian uint32 with the type and the number of axes (0x803 for
// images, 0x801 for labels), one big-endian uint32 for the length of each axis, and then the bytes, last axis fastest.
func Files() fs.FS { return files }

// Classes returns the name of each label: Classes()[9] is "ankle boot".
func Classes() []string {
	return []string{
		"T-shirt", "trouser", "pullover", "dress", "coat",
		"sandal", "shirt", "sneaker", "bag", "ankle boot",
	}
}
