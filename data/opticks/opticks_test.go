package opticks_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/cortado-ml/cortado/data/opticks"
)

func Example() {
	text, err := opticks.Text()
	if err != nil {
		fmt.Println(err)
		return
	}
	start := strings.Index(text, "My Design")
	fmt.Println(text[start : start+136])
	// Output:
	// My Design in this Book is not to explain the Properties of Light by
	// Hypotheses, but to propose and prove them by Reason and Experiments:
}

// TestText: every byte is that of the Go source tree, from which the sum was taken.
func TestText(t *testing.T) {
	text, err := opticks.Text()
	if err != nil {
		t.Fatal(err)
	}
	const want = "d4a9ac22462b35e7821a4f2706c211093da678620a8f9997989ee7cf8d507bbd"
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); len(text) != 567_198 || got != want {
		t.Errorf("%d bytes, sum %s", len(text), got)
	}
}
