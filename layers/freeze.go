package layers

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cortado-ml/cortado/ops"
)

// Freeze takes parameters out of Params, so that training leaves them as they are; they are part of State and are saved all the same. A
// pattern is the name of a parameter or of a module, which stands for all that it contains: "head.bias", "blocks.0". Each element may be a
// pattern of package path: "blocks.*.norm?", "*" for all. A pattern that no parameter matches is an error, and then nothing changes. The running
// statistics of a frozen batch-norm move on in training, as in PyTorch.
//
// Freeze and Unfreeze are not for use while others record passes or read Params.
func (n *Net) Freeze(patterns ...string) error { return n.freeze(true, patterns) }

// Unfreeze undoes Freeze.
func (n *Net) Unfreeze(patterns ...string) error { return n.freeze(false, patterns) }

func (n *Net) freeze(on bool, patterns []string) error {
	chosen := map[*ops.Variable]bool{}
	for _, p := range patterns {
		list, err := n.match(p)
		if err != nil {
			return fmt.Errorf("layers: freeze: %w", err)
		}
		for _, v := range list {
			chosen[v] = true
		}
	}
	kept := make([]*ops.Variable, 0, len(n.trained))
	for _, v := range n.trained {
		if chosen[v] && on || !chosen[v] && !slices.Contains(n.params, v) {
			continue
		}
		kept = append(kept, v)
	}
	n.params = kept
	return nil
}

// match lists the parameters that a pattern means, by any of their names.
func (n *Net) match(pattern string) (list []*ops.Variable, err error) {
	for name, v := range n.named {
		if !slices.Contains(n.trained, v) {
			continue
		}
		ok, err := matches(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		if ok {
			list = append(list, v)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	var known []string
	for _, v := range n.trained {
		elements := strings.Split(v.Name(), ".")
		for i := range elements {
			known = append(known, strings.Join(elements[:i+1], "."))
		}
	}
	hint := ""
	if other := near(pattern, known); other != "" {
		hint = fmt.Sprintf("; there is %s", other)
	}
	return nil, fmt.Errorf("no parameter is called %q%s", pattern, hint)
}

// matches reports whether the first elements of a name, or all, match the pattern.
func matches(pattern, name string) (bool, error) {
	want, have := strings.Split(pattern, "."), strings.Split(name, ".")
	for i, p := range want {
		if i == len(have) {
			return false, nil
		}
		ok, err := path.Match(p, have[i])
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}
