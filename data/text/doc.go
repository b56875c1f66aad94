// Package text turns text into tokens, and tokens into samples for a model that predicts the next one.
//
// A [Tokenizer] is either [Bytes], one token per byte, or a [BPE], which [TrainBPE] learns from a text: the bytes and words that are often
// together become tokens of their own. Both turn any bytes into tokens and back again, text or not.
//
// [Windows] is a data set over tokens in memory, [Source] one over a text of any length. [NGram] is what a model must beat: counts of what
// followed the last few bytes.
//
// It imports data, tensor and the standard library.
package text
