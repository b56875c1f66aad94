package sched

import (
	"context"
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/ops"
)

// resident finds or brings v, which is locked, to the device. What a plan assigns comes to live there; what it only reads is copied
// there once per version, so that a frozen variable shared by devices or engines does not wander.
func (e *Engine) resident(ctx context.Context, v *ops.Variable, dev int, write bool) (accel.Buffer, error) {
	s, err := v.Home()
	if err != nil {
		return nil, fmt.Errorf("sched: variable %s: %w", v.Name(), err)
	}
	d := e.devs[dev]
	if s == nil {
		b, err := d.Upload(ctx, v.Host())
		if err != nil {
			return nil, fmt.Errorf("sched: variable %s: %w", v.Name(), err)
		}
		v.Move(b)
		return b, nil
	}
	if b := s.(accel.Buffer); b.Device() == d {
		return b, nil
	}
	if !write {
		if c := v.Copy(func(s ops.Storage) bool { return s.(accel.Buffer).Device() == d }); c != nil {
			return c.(accel.Buffer), nil
		}
	}
	b, err := transfer(ctx, s, d)
	if err != nil {
		return nil, fmt.Errorf("sched: variable %s: %w", v.Name(), err)
	}
	if write {
		e.stats.Moves++
		v.Move(b)
	} else {
		e.stats.Transfers++
		v.AddCopy(b)
	}
	return b, nil
}
