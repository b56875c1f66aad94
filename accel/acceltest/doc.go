// Package acceltest holds devices for tests, and the suite that every driver passes.
//
// [Reference] is the plainest device: it runs each operation's own reference, at once. [Hostile] does the same as a far-away
// accelerator would: later, in memory of its own, with errors that arrive late, and with poison in everything that a program has no right
// to read any more. What works on it owes nothing to luck. [Null] computes nothing, so that what remains is the cost of everything above
// it.
//
// [Conformance] holds a driver against the meaning of every operation and against each sentence of the contract in package accel:
//
//	func TestConformance(t *testing.T) {
//		missing := acceltest.Conformance(t, func(t testing.TB) accel.Device {
//			d, err := mydriver.Open()
//			if err != nil {
//				t.Fatal(err)
//			}
//			return d
//		})
//		// missing lists what the driver has no kernel for; the test pins it
//	}
//
// The package imports accel, ops and tensor.
package acceltest
