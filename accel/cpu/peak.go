package cpu

import (
	"context"
	"fmt"
	"time"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/accel/cpu/internal/limit"
	"github.com/cortado-ml/cortado/internal/background"
)

// Peak is what a machine can do at best, with all workers of a device at its level.
type Peak struct {
	FMA       float64 // GFLOP/s of multiply-adds from registers
	LoadedFMA float64 // GFLOP/s of 12 multiply-adds beside 8 loads from L1, as in a matrix product
	// GB/s of a[i] = b[i] + s*c[i] and of a[i] = f(b[i]) on arrays far larger than any cache, with plain and with streaming stores.
	Triad, TriadStream, Map, MapStream float64
}

// Peak measures for about that long, or until ctx is done.
func (d *Device) Peak(ctx context.Context, t time.Duration) (Peak, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return Peak{}, fmt.Errorf("cpu: %s: %w", d.id, accel.ErrClosed)
	}
	r, err := limit.Measure(background.Or(ctx), d.pool, d.level, t)
	if err != nil {
		return Peak{}, fmt.Errorf("cpu: %s: measuring: %w", d.id, err)
	}
	return Peak{r.FMA, r.LoadedFMA, r.Triad, r.TriadStream, r.Map, r.MapStream}, nil
}
