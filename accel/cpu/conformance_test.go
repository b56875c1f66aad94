package cpu_test

import (
	"testing"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/acceltest"
	"github.com/cortado-ml/cortado/accel/cpu"
)

func TestConformance(t *testing.T) {
	for _, level := range cpu.Levels() {
		t.Run(level, func(t *testing.T) {
			refused := acceltest.Conformance(t, func(t testing.TB) accel.Device {
				d, err := cpu.Open(cpu.Level(level))
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
			if len(refused) > 0 {
				t.Errorf("no kernel for %q", refused)
			}
		})
	}
}
