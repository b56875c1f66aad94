package layers

import (
	"cmp"
	"strings"
)

// near is the name among some that one may have meant, the one that is most alike; empty if there is none.
func near(name string, among []string) string {
	found, best := "", likeness{}
	for _, other := range among {
		if l, ok := alike(name, other); ok && (found == "" || l.compare(best) < 0) {
			found, best = other, l
		}
	}
	return found
}

// likeness is how two names are alike: first by the elements that both end in, as 0.norm1.weight, then by the fewest letters between them.
type likeness struct{ shared, letters int }

// compare is negative where l is more alike.
func (l likeness) compare(m likeness) int {
	return cmp.Or(cmp.Compare(m.shared, l.shared), cmp.Compare(l.letters, m.letters))
}

// alike reports whether one may have meant name by other: they are no more than half of the longer one away from each other, or one only has
// something more in front, as "module.fc.weight" for "fc.weight".
func alike(name, other string) (l likeness, ok bool) {
	l.letters = distance(name, other)
	prefixed := strings.HasSuffix(other, "."+name) || strings.HasSuffix(name, "."+other)
	a, b := strings.Split(name, "."), strings.Split(other, ".")
	for l.shared < min(len(a), len(b)) && a[len(a)-1-l.shared] == b[len(b)-1-l.shared] {
		l.shared++
	}
	return l, prefixed || 2*l.letters <= max(len(name), len(other))
}

// distance is the number of bytes to insert, to delete or to replace on the way from a to b (Levenshtein, 1966).
func distance(a, b string) int {
	for a != "" && b != "" && a[0] == b[0] { // most of two long names is equal, and need not be compared with each other
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int, len(b)+1) // to the first bytes of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
