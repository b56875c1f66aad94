// Package data feeds training: data sets, and a loader that shuffles them, cuts them into batches and prepares these ahead of time.
//
// A [Dataset] is anything that writes sample i into a given place. Here are some: [Tensors] over two arrays, [Images] from IDX files as of
// MNIST ([OpenIDX]), [Folder] with one folder of PNG or JPEG files per class ([OpenFolder]); [Subset] and [Split] cut them. [OpenImage] and
// [DecodeImage] prepare a single image just as [Folder] does.
//
// [Loader.Batches] runs through an epoch. The order is a pure function of the seed and the epoch, and a [Transform], which changes samples at
// random, draws numbers that are a pure function of the seed, the epoch and the sample: so all is the same with any number of workers and
// after a restart from any [Position].
//
// Samples of different lengths are [Sequences]; [Pad] fills them up to one length, [Buckets] to one of several. [SplitClasses] draws which samples
// validate.
//
// What does not fit in memory, or comes from a pipe, is a [Source], samples one after another; [Stream] makes batches of it, shuffled through a
// pool, and can be restarted likewise. [Files] makes one source of many files.
//
// Other kinds of data have packages of their own: tables, text, audio.
//
// It imports tensor, internal/philox and the standard library.
package data
