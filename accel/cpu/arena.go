package cpu

import (
	"cmp"
	"slices"
)

// layOut places the values of the arena: the largest first, each at the lowest offset where it overlaps nobody who is alive with it.
func (c *compiler) layOut() {
	p := c.p
	seen := map[*value]bool{}
	for i := range p.steps {
		for _, list := range [][]view{p.steps[i].in, p.steps[i].out} {
			for _, w := range list {
				v := w.value
				if v == nil || v.kind != inArena {
					continue
				}
				if !seen[v] {
					seen[v] = true
					v.first = i
					p.arena = append(p.arena, v)
				}
				v.last = i
			}
		}
	}
	order := slices.Clone(p.arena)
	slices.SortStableFunc(order, func(a, b *value) int { return cmp.Compare(b.bytes, a.bytes) })
	var placed []*value // by offset
	for _, v := range order {
		at := 0
		for _, o := range placed {
			if o.last < v.first || v.last < o.first {
				continue
			}
			if at+v.bytes <= o.index {
				break
			}
			at = max(at, round(o.index+o.bytes))
		}
		v.index = at
		p.size = max(p.size, at+v.bytes)
		k, _ := slices.BinarySearchFunc(placed, at, func(o *value, at int) int { return cmp.Compare(o.index, at) })
		placed = slices.Insert(placed, k, v)
	}
}

// round is n rounded up to whole cache lines, and one more: values a power of two apart would share their cache sets.
func round(n int) int { return (n+alignment-1)/alignment*alignment + alignment }
