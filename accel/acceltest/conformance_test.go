package acceltest_test

import (
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
)

// TestConformance: the test devices pass their own suite, and break no rule while they do.
func TestConformance(t *testing.T) {
	for name, open := range map[string]func(string, ...acceltest.Option) *acceltest.Device{
		"reference": acceltest.Reference,
		"hostile":   acceltest.Hostile,
	} {
		t.Run(name, func(t *testing.T) {
			if acceltest.RaceDetector && name == "reference" {
				t.Skip("it works on the caller's goroutine")
			}
			missing := acceltest.Conformance(t, func(t testing.TB) accel.Device {
				d := open("test:0")
				t.Cleanup(func() {
					for _, f := range d.Faults() {
						t.Error(f)
					}
				})
				return d
			})
			if len(missing) != 0 {
				t.Errorf("unsupported: %q", missing)
			}
		})
	}
}
