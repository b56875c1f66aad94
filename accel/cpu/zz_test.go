package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/tensor"
)

func TestZZ(t *testing.T) {
	for _, plain := range []bool{true, false} {
		var c captured
		tape := autograd.New(&c, autograd.Seed(3))
		p := &program{Rand: rand.New(rand.NewPCG(*first, 7)), tape: tape, dt: tensor.F64, smooth: true, plain: plain}
		p.record()
		_, err := tape.Step(context.Background(), p.outs...)
		if !errors.Is(err, errCaptured) {
			t.Fatal(err)
		}
		for i, n := range c.g.Nodes {
			k, _ := c.g.Kind(uint32(i))
			fmt.Printf("%%%d = %s %v %v %v\n", i, n.Op.Name(), k, n.In, n.Out)
		}
		fmt.Println("outs", c.g.Outs)
	}
}
