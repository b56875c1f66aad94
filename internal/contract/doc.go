// Package contract has no code but tests: the adversaries that the contract between tape, engine and drivers must withstand.
//
// Each runs on every kind of device in the table of rig_test.go: the reference device, the hostile one and the processor. What a test
// needs to go wrong at run time - an error, a panic, a cancelled context, a look at what is computed - it brings as an operation of its
// own, so that it goes wrong in the same way everywhere; what only a test device can do, such as failing while variables are written, is
// tried on those that have one. Tests numbered 01 to 21 are the list of the design; the others are its neighbours, and defects that
// users of other engines have met.
package contract
