package limit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

// TestMeasure checks that every probe of every level runs and reports something.
func TestMeasure(t *testing.T) {
	for _, level := range isa.Available() {
		pool := work.New(2)
		r, err := measure(t.Context(), pool, level, time.Nanosecond, 1<<16)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := measure(ended, pool, level, time.Hour, 1<<16); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		pool.Close()
		if err != nil || r.Level != level || r.Threads != 2 {
			t.Errorf("%+v is not about 2 threads at %v", r, level)
		}
		for _, x := range []float64{r.FMA, r.LoadedFMA, r.Triad, r.TriadStream, r.Map, r.MapStream} {
			if !(x > 0) {
				t.Errorf("%+v has a rate that is not positive", r)
			}
		}
		t.Logf("%+v", r)
	}
}

// TestMemory checks that the memory probes write every value.
func TestMemory(t *testing.T) {
	for _, level := range isa.Available() {
		k := kernelsOf(level)
		for i, f := range []func(n int, a, b, c *float32){k.triad, k.triadStream, k.transform, k.transformStream} {
			n := 3 * k.unit
			a, b, c := aligned(n), aligned(n), aligned(n)
			for i := range b {
				b[i], c[i] = float32(i), 1
			}
			f(3, &a[0], &b[0], &c[0])
			for j, v := range a {
				want := float32(j*j + 1)
				if i >= 2 {
					want--
				}
				if v != want {
					t.Fatalf("%v: probe %d: value %d is %g, want %g", level, i, j, v, want)
				}
			}
		}
	}
}
