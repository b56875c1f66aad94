// Package audio reads sound for training: WAV files, other sampling rates, and the spectra that networks hear with.
//
// [ReadWAV] and [Clip.WriteWAV] read and write files, [Clip.Mono] and [Clip.Resample] change what was read. [NewLogMel] and [NewMFCC] turn samples
// into frames of features, which [Augment] changes at random for training. [OpenFolder] is a data set of WAV files, one folder for each class, brought to one
// length; [OpenWAV] and [DecodeWAV] prepare a single file just as it does.
//
// It imports data, tensor, gonum's Fourier transform and the standard library.
package audio
