// Package jsonl keeps the numbers of a training run as lines of JSON, which every tool reads: one line a step, such as
//
//	{"step":3,"time":"2026-01-02T15:04:05.678Z","loss":0.25,"rate":0.001}
//
// [Create] begins a log and [Resume] goes on with one, from a step on; [Log.Write] adds a line, which is with the system when it returns, so that a
// program that is killed loses nothing. [Read] reads a log. JSON has no NaN and no infinity: these are the strings "NaN", "+Inf" and "-Inf".
//
// It imports internal/atomicfile and the standard library.
package jsonl
