package layers

import "strings"

// near is the name among some that one may have meant: the fewest letters away, and no more than half of the longer name; empty if there is
// none. A name that only has something more in front, as "module.fc.weight" for "fc.weight", is always near.
func near(name string, among []string) string {
	best, letters := "", 0
	for _, other := range among {
		d := distance(name, other)
		prefixed := strings.HasSuffix(other, "."+name) || strings.HasSuffix(name, "."+other)
		if (prefixed || 2*d <= max(len(name), len(other))) && (best == "" || d < letters) {
			best, letters = other, d
		}
	}
	return best
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
