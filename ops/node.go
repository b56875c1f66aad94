package ops

import "github.com/cortado-ml/cortado/tensor"

// Edge names one output of a node by position.
type Edge struct {
	Node uint32
	Out  uint16
}

// Node is one recorded operation. It is immutable but for the links of the trie, which only its Recorder touches.
type Node struct {
	Op   Op
	In   []Edge
	Out  []tensor.Spec
	Env  *Env
	pcs  []uintptr // call site, as a stack
	rule *Node     // whose gradient rule recorded it; nil for others
	of   uint32    // 1 + the position of the node of a segment that this one computes again; 0 for others

	next, alt *Node // first continuation of this prefix, and the next alternative to this node
	grads     []*gradMemo
	graphs    []*closed
}

// Place wraps err with the node's operation, scope and call site. An error that is placed already stays as it is.
func (n *Node) Place(err error) error {
	if placed, ok := err.(*OpError); ok {
		return placed
	}
	return &OpError{n.Op.Name(), n.Path(), n.Site(), err}
}

// Path is the scope in which the node was recorded.
func (n *Node) Path() string {
	if n.Env == nil {
		return ""
	}
	return n.Env.Scope.Path
}

// Site is the user's file and line that recorded the node.
func (n *Node) Site() string { return site(n.pcs) }

// Gradient reports whether a gradient recorded the node; of is then the node whose rule did, nil for what starts a gradient.
func (n *Node) Gradient() (of *Node, is bool) { return n.rule, n.Env != nil && n.Env.rule }

// Scope is a path of names. Random streams are counted per scope, so that neither pins nor checkpoints nor neighbours move them.
type Scope struct {
	Path, name string
	hash       uint64
	gen, count uint32
	kids       []*Scope
}

// Env is what surrounds a builder call: pin, scope and checkpointed segment. It is interned, so that replay compares one pointer.
type Env struct {
	Device string // pin, empty for none
	Scope  *Scope
	seg    uint32
	rule   bool // recorded by a gradient
	back   *Env // where gradients of these nodes go: the same device and scope, no segment
	kids   []*Env
}

func (e *Env) child(device string, sc *Scope, seg uint32) *Env {
	for _, k := range e.kids {
		if k.Device == device && k.Scope == sc && k.seg == seg {
			return k
		}
	}
	k := &Env{Device: device, Scope: sc, seg: seg}
	if seg != 0 {
		k.back = e.child(device, sc, 0).back
	} else {
		k.back = &Env{Device: device, Scope: sc, rule: true}
		k.back.back = k.back
	}
	e.kids = append(e.kids, k)
	return k
}

// FNV-1a, for hashes of scope paths: streams must be the same in every process.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (s *Scope) child(name string) *Scope {
	for _, c := range s.kids {
		if c.name == name {
			return c
		}
	}
	k := &Scope{Path: name, name: name, hash: s.hash}
	if s.Path != "" {
		k.Path = s.Path + "/" + name
	}
	for _, b := range []byte(name + "/") {
		k.hash = (k.hash ^ uint64(b)) * fnvPrime
	}
	s.kids = append(s.kids, k)
	return k
}
