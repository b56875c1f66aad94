// Package deptest holds the house rules about imports, and a test that keeps them: which package of Cortado may import
// which, which modules of others may be used at all, that nothing needs cgo, and that only commands name drivers.
//
// RATIONALE.md gives the reasons. The short form is that everything above a driver must work with any driver, and that
// everything below the tape must work without it. A new package starts with a line in the table of this package.
//
// It imports the standard library only. Tests are free to import what they test with; only the rules about cgo and
// about other modules hold for them too.
package deptest
