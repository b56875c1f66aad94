package acceltest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
)

// checks are the parts of the suite. Each opens devices of its own.
var checks = []struct {
	name string
	run  func(*suite)
}{
	{"values", (*suite).values},
	{"lanes", (*suite).lanes},
	{"large", (*suite).large},
	{"graphs", (*suite).graphs},
	{"buffers", (*suite).buffers},
	{"arguments", (*suite).arguments},
	{"donation", (*suite).donation},
	{"donation hazards", (*suite).hazards},
	{"failed run", (*suite).failedRun},
	{"index errors", (*suite).indexErrors},
	{"unsupported", (*suite).unsupported},
	{"user operations", (*suite).userOps},
	{"concurrency", (*suite).concurrency},
	{"cancellation", (*suite).cancellation},
	{"close", (*suite).closing},
	{"leaks", (*suite).leaks},
}

// Conformance holds a driver against the contract of package accel and against the reference of every operation of package ops, each
// part as a sub-test. open opens a fresh device; the suite closes it.
//
// A value may be off by what the operation's sample allows; integers, what is only moved, the places of NaN and infinities are exact, and
// a second run gives the same bits. No operation is run by its reference: what Supports refuses is returned, sorted, as the operation's
// name and the types of its operands, such as "softmax f16", so that a driver's test can pin the list.
func Conformance(t *testing.T, open func(t testing.TB) accel.Device) (unsupported []string) {
	missing := map[string]bool{}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			c.run(&suite{TB: t, open: open, registry: ops.Registry(), missing: missing})
		})
	}
	return slices.Sorted(maps.Keys(missing))
}

// suite is one check at work.
type suite struct {
	testing.TB
	open     func(testing.TB) accel.Device
	registry []ops.Sampled   // whose samples are run
	missing  map[string]bool // what Supports refused
}

// ctx is for calls that nothing cancels.
var ctx = context.Background()

// device opens a device that is closed when the check ends.
func (s *suite) device() accel.Device {
	s.Helper()
	d := s.open(s.TB)
	s.Cleanup(func() {
		if err := d.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	})
	return d
}

// noError ends the check on an error.
func (s *suite) noError(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}
