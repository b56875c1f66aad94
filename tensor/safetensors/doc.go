// Package safetensors reads and writes the safetensors file format: named arrays and text metadata, which most tools for neural networks
// read.
//
// A file is a little-endian uint64, the length of the header; the header, a JSON object
//
//	{"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//
// padded with spaces to a multiple of 8 bytes; and the elements, little-endian and row-major, without gaps. (Source: the format's description
// in the repository of github.com/huggingface/safetensors.)
//
// [Open] believes nothing: what the header says is checked in whole, against the size of the file, before memory is asked for, and elements
// are read when [File.Tensor] wants them. Each file that this package writes carries a checksum of everything in it, which [File.Verify]
// checks. [WriteFile] replaces a file whole or not at all.
//
// It imports tensor and internal/atomicfile.
package safetensors
