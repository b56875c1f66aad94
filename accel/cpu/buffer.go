package cpu

import (
	"context"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/internal/background"
	"github.com/cortado-ml/cortado/tensor"
)

// alignment of all memory, in bytes: a cache line, and a vector of AVX-512.
const alignment = 64

// aligned makes n bytes at a multiple of alignment.
func aligned(n int) []byte {
	b := make([]byte, n+alignment)
	skip := -int(uintptr(unsafe.Pointer(&b[0]))) & (alignment - 1)
	return b[skip : skip+n : skip+n]
}

// block is memory of one value.
type block struct{ bytes []byte }

// maxSpare bounds the blocks of one size that a device keeps for re-use.
const maxSpare = 8

// get takes a block of n bytes, whose content is whatever was there.
func (d *Device) get(n int) *block {
	d.memory.Lock()
	defer d.memory.Unlock()
	if list := d.spare[n]; len(list) > 0 {
		b := list[len(list)-1]
		d.spare[n] = list[:len(list)-1]
		return b
	}
	return &block{aligned(n)}
}

// put gives a block back.
func (d *Device) put(b *block) {
	d.memory.Lock()
	defer d.memory.Unlock()
	if n := len(b.bytes); len(d.spare[n]) < maxSpare {
		d.spare[n] = append(d.spare[n], b)
	}
}

// buffer is a value in the device's memory. Its block may change: a donated buffer is reborn in another one.
type buffer struct {
	d    *Device
	spec tensor.Spec
	mem  *block // guarded by Device.mu
	err  error  // poison, likewise
	free atomic.Bool
}

func (d *Device) newBuffer(s tensor.Spec) *buffer {
	return &buffer{d: d, spec: s, mem: d.get(s.Bytes())}
}

// Device is where the value lies.
func (b *buffer) Device() accel.Device { return b.d }

// Spec is the value's type and shape.
func (b *buffer) Spec() tensor.Spec { return b.spec }

// Wait returns at once: runs are synchronous.
func (b *buffer) Wait(ctx context.Context) error {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return b.readable()
}

func (b *buffer) readable() error {
	switch {
	case b.d.closed:
		return fmt.Errorf("cpu: %s: %w", b.d.id, accel.ErrClosed)
	case b.free.Load():
		return fmt.Errorf("cpu: %s: a buffer is read after Free", b.d.id)
	}
	return b.err
}

// Download copies the value to t.
func (b *buffer) Download(ctx context.Context, t tensor.Tensor) error {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if err := b.readable(); err != nil {
		return err
	}
	if t.Spec() != b.spec {
		return fmt.Errorf("cpu: download: %w", &tensor.ShapeError{Msg: "the tensor has not the buffer's spec", In: []tensor.Spec{t.Spec(), b.spec}})
	}
	copy(t.Bytes(), b.mem.bytes)
	return nil
}

// Free gives the memory back.
func (b *buffer) Free() {
	if b.free.Swap(true) {
		return
	}
	b.d.put(b.mem)
}

// Upload copies t.
func (d *Device) Upload(ctx context.Context, t tensor.Tensor) (accel.Buffer, error) {
	if background.Or(ctx).Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.IsNone() {
		return nil, fmt.Errorf("cpu: upload: there is no tensor")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("cpu: %s: %w", d.id, accel.ErrClosed)
	}
	b := d.newBuffer(t.Spec())
	copy(b.mem.bytes, t.Bytes())
	return b, nil
}
