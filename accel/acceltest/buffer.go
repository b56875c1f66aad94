package acceltest

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/tensor"
)

// buffer is a value on a Device.
type buffer struct {
	d     *Device
	spec  tensor.Spec
	freed atomic.Bool // as the caller sees it

	// As the device sees it: touched in the order of its queue only.
	mem tensor.Tensor // none once freed
	err error         // what poisons the value
}

// buffer makes one whose memory comes later, in the order of the queue.
func (d *Device) buffer(s tensor.Spec) *buffer {
	d.live.Add(1)
	return &buffer{d: d, spec: s}
}

// Device is where the value lives.
func (b *buffer) Device() accel.Device { return b.d }

// Spec describes the value.
func (b *buffer) Spec() tensor.Spec { return b.spec }

// Wait returns when everything before it is done.
func (b *buffer) Wait(ctx context.Context) error {
	return b.d.queue.ask(ctx, func() error {
		_, err := b.value()
		return err
	})
}

// Download copies through private memory, so that an abandoned wait never writes the caller's.
func (b *buffer) Download(ctx context.Context, t tensor.Tensor) error {
	if t.Spec() != b.spec {
		return fmt.Errorf("acceltest: download of %v into %v", b.spec, t.Spec())
	}
	var got tensor.Tensor
	err := b.d.queue.ask(ctx, func() error {
		mem, err := b.value()
		if err == nil {
			got = mem.Clone()
		}
		return err
	})
	if err == nil {
		t.CopyFrom(got)
	}
	return err
}

// value is the memory, the poison, or a broken rule.
func (b *buffer) value() (tensor.Tensor, error) {
	switch {
	case b.err != nil:
		return tensor.Tensor{}, b.err
	case b.mem.IsNone():
		return tensor.Tensor{}, b.d.fault("a buffer of %v is read after Free", b.spec)
	}
	return b.mem, nil
}

// Free poisons the memory in the order of the queue.
func (b *buffer) Free() {
	if b.freed.Swap(true) {
		b.d.fault("a buffer of %v is freed twice", b.spec)
		return
	}
	b.d.live.Add(-1)
	// A closed device has nothing left to free, so its answer does not matter.
	_ = b.d.queue.add(task{do: func() {
		if b.d.hostile {
			poison(b.mem)
		}
		b.mem, b.err = tensor.Tensor{}, nil
	}})
}

// poison overwrites t with NaN, or with what is neither zero nor an index.
func poison(t tensor.Tensor) {
	for i := range t.Len() {
		switch {
		case t.DType().Float():
			t.Set(i, math.NaN())
		case t.DType() == tensor.U8: // it has no negative numbers
			t.SetInt(i, 0xa5)
		default:
			t.SetInt(i, math.MinInt64)
		}
	}
}
