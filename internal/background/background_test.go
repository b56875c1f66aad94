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
	if Or(nil) != context.Background() { //lint:ignore SA1012 it is what is tested
		t.Error("nil is not the background")
	}
}

func Example() {
	fmt.Println(Or(nil)) //lint:ignore SA1012 it is what is shown
	// Output: context.Background
}
