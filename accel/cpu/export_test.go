package cpu

// Spoil fills memory that nobody owns with bytes that are NaN as floats, and no index.
func (d *Device) Spoil() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory.Lock()
	defer d.memory.Unlock()
	spoil := func(b []byte) {
		for i := range b {
			b[i] = 0xff
		}
	}
	spoil(d.arena[:cap(d.arena)])
	for _, list := range d.spare {
		for _, b := range list {
			spoil(b.bytes)
		}
	}
}

// SetMemory makes a device believe in so many bytes.
func SetMemory(d *Device, bytes int64) { d.bytes = bytes }
