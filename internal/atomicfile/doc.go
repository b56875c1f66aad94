// Package atomicfile replaces files whole: whoever opens the path finds the old contents or the new, never a part, whatever fails in
// between: the writer, the disk, the machine.
//
// It imports the standard library and golang.org/x/sys only.
package atomicfile
