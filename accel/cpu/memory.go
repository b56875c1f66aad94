package cpu

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel"
	"github.com/cortado-ml/cortado/tensor"
)

// outOfMemory says what does not fit into the memory that the process may have.
func (d *Device) outOfMemory(what string, bytes float64) error {
	return fmt.Errorf("cpu: %w: %s %.3g GB, and %s has %.3g GB", accel.ErrOutOfMemory, what, bytes/1e9, d.id, float64(d.bytes)/1e9)
}

// tooLarge reports whether a value of this spec fits no memory, by itself.
func (d *Device) tooLarge(s tensor.Spec) bool { return d.bytes > 0 && int64(s.Bytes()) > d.bytes }

// fitValues refuses a graph of which one value alone does not fit: asking for that memory would end the process. It comes before any kernel is
// prepared, so that sums of sizes stay in range.
func (c *compiler) fitValues() error {
	for i := range c.g.Nodes {
		for _, s := range c.g.Nodes[i].Out {
			if c.d.tooLarge(s) {
				return &accel.NodeError{Node: i, Err: c.d.outOfMemory(fmt.Sprintf("a value %v takes", s), float64(s.Bytes()))}
			}
		}
	}
	return nil
}

// fitProgram refuses a program whose parameters, outputs and values between them do not fit together.
func (c *compiler) fitProgram() error {
	total := float64(c.p.size)
	for _, list := range [][]*value{c.p.params, c.p.outputs} {
		for _, v := range list {
			total += float64(v.bytes)
		}
	}
	if c.d.bytes > 0 && total > float64(c.d.bytes) {
		return c.d.outOfMemory("the program takes", total)
	}
	return nil
}
