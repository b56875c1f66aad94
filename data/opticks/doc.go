// Package opticks embeds the text of Isaac Newton's Opticks, so that a program can train on real text without a network or a data folder.
//
// It is the fourth edition, of 1730, some 567,000 bytes of UTF-8 of which all but a few are ASCII, as the Go source tree has it. The text is in
// the public domain; NOTICE, beside it, says where it comes from. make.py packs it.
//
// The package adds 0.2 MB to a binary that imports it, and imports nothing but the standard library.
package opticks
