// Package table reads CSV files for training: a header, numbers and text, missing values, and a column to predict.
//
// [Read] takes a whole file into a [Table] and finds out what each column holds. [Table.Fit] makes an [Encoder] from the rows to train on: numbers
// are standardised by their mean and deviation, text becomes one input per class, and the target is a class or a standardised number.
// [Table.Data] is the rows as an encoder sees them, a data.Dataset. The encoder is plain data, which encoding/json keeps beside the model, so
// that other rows are later seen as the training rows were.
//
// A file that is larger than memory is read as it comes: [Scan] makes the encoder in one pass, and [Encoder.Rows] is a data.Source for
// data.Stream.
//
// It imports data, tensor and the standard library.
package table
