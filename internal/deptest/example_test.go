package deptest_test

import (
	"fmt"
	"testing/fstest"

	"github.com/cortado-ml/cortado/internal/deptest"
)

func Example() {
	tree := fstest.MapFS{"sched/engine.go": {Data: []byte(`package sched; import "github.com/cortado-ml/cortado/autograd"`)}}
	breaches, err := deptest.Check(tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(breaches[0])
	// Output: sched/engine.go imports github.com/cortado-ml/cortado/autograd: sched may import only accel, ops, tensor
}
