package vec

import (
	"slices"

	"github.com/cortado-ml/cortado/tensor"
)

// Operations that only the compiler writes.
const (
	mulAdd Op = numOps + 1 + iota // a*b + c, rounded twice
	mulSub                        // c - a*b, rounded twice
	allOps
)

// fuse makes one instruction of a multiplication and the addition or subtraction that alone reads it. That saves a pass over the block, and
// changes no bit: the product is still rounded.
func (c *compiler) fuse() {
	c.Code = slices.Clone(c.Code)
	reads := make([]int, len(c.types))
	for _, in := range c.Code {
		for _, a := range in.args() {
			reads[a]++
		}
	}
	for _, r := range c.Outputs {
		reads[r]++
	}
	for i, in := range c.Code {
		if t := c.types[c.result(i)]; in.Op != Add && in.Op != Sub || t != tensor.F32 && t != tensor.F64 || c.uniform[c.result(i)] {
			continue
		}
		for j := 1; j >= 0; j-- {
			product := in.Args[j]
			k := int(product) - len(c.Inputs)
			if k < 0 || c.Code[k].Op != Mul || reads[product] != 1 || c.uniform[product] || in.Op == Sub && j == 0 {
				continue
			}
			op := mulAdd
			if in.Op == Sub {
				op = mulSub
			}
			c.Code[i] = Instr{Op: op, Args: [3]Reg{c.Code[k].Args[0], c.Code[k].Args[1], in.Args[1-j]}}
			break
		}
	}
}
