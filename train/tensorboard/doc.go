// Package tensorboard writes training records that TensorBoard shows: event files with scalars, texts and histograms.
//
// [Create] begins a file in the folder that TensorBoard is given, and a [Writer] adds to it; [Read] reads such a file. The format is that of TensorFlow:
// records with checksums, each an Event of its protocol buffers, of which this package knows the parts that it writes.
//
// It imports tensor, protowire of google.golang.org/protobuf and the standard library.
package tensorboard
