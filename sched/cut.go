package sched

import (
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/tensor"
)

// levels cuts the graph into pieces that can run one after another: a node comes after its inputs, strictly after those of another
// device. With more than one device, what only serves assignments and cannot fail comes last of all: the commit, which has a level of
// its own. With one, commit is -1: the driver writes donated memory last.
func (c *canon) levels() (level []int, commit int) {
	level = make([]int, len(c.nodes))
	top, several := 0, false
	for i := c.params; i < len(c.nodes); i++ {
		for _, e := range c.nodes[i].in {
			if int(e.Node) < c.params {
				continue
			}
			l := level[e.Node]
			if c.nodes[e.Node].dev != c.nodes[i].dev {
				l++
			}
			level[i] = max(level[i], l)
		}
		top = max(top, level[i])
		several = several || c.nodes[i].dev != c.nodes[c.params].dev
	}
	if !several {
		return level, -1
	}
	commit = top + 1
	return c.delay(level, commit), commit
}

// delay moves to the commit level what only serves assignments and cannot fail. An assigned value that has to be early is committed by a
// copy.
func (c *canon) delay(level []int, commit int) []int {
	result, assigned := map[uint32]bool{}, map[uint32]bool{}
	for j, e := range c.outs {
		if j < c.results() {
			result[e.Node] = true
		} else {
			assigned[e.Node] = true
		}
	}
	early, used := make([]bool, len(c.nodes)), make([]bool, len(c.nodes))
	for i := len(c.nodes) - 1; i >= c.params; i-- {
		n := &c.nodes[i]
		late := (used[i] || assigned[uint32(i)]) && !early[i] && !result[uint32(i)] && !ops.Fallible(n.op)
		if late {
			level[i] = commit
		}
		for _, e := range n.in {
			used[e.Node] = true
			early[e.Node] = early[e.Node] || !late || c.nodes[e.Node].dev != n.dev
		}
	}
	for j := c.results(); j < len(c.outs); j++ {
		e := c.outs[j]
		if n := c.nodes[e.Node]; level[e.Node] != commit {
			c.nodes = append(c.nodes, node{op: ops.UnaryOp{F: ops.Identity}, in: []ops.Edge{e}, out: []tensor.Spec{n.out[e.Out]}, dev: n.dev, pos: n.pos})
			level = append(level, commit)
			c.outs[j] = ops.Edge{Node: uint32(len(c.nodes) - 1)}
		}
	}
	return level
}
