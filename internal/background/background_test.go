package background

import (
	"context"
	"fmt"
	"testing"
)

type key struct{}

func TestOr(t *testing.T) {
	ctx := context.WithValue(t.Context(), key{}, 1)
	if Or(ctx) != ctx {
		t.Error("another context")
	}
	var none context.Context
	if Or(none) != context.Background() {
		t.Error("nil is not the background")
	}
}

func Example() {
	var none context.Context
	fmt.Println(Or(none))
	// Output: context.Background
}
