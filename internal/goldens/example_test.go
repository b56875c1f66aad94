package goldens_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/internal/goldens"
)

// A test looks for the cases of its operation and reads their attributes.
func Example() {
	cases, err := goldens.Ops()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range cases {
		if c.Op != "topk" {
			continue
		}
		var attrs struct {
			Axis, K int
			Largest bool
		}
		if err := c.Decode(&attrs); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d along axis %d of %v: indices %v\n", c.Name, attrs.K, attrs.Axis, c.In[0].Shape, c.Out[1].Data)
	}
	// Output:
	// last: 2 along axis 1 of [4 5]: indices [4 3 2 0 1 0 4 2]
	// smallest: 3 along axis 1 of [4 5]: indices [0 1 2 1 3 4 2 3 4 3 1 0]
	// first: 1 along axis 0 of [4 5]: indices [1 2 1 0 3]
	// all: 5 along axis 1 of [4 5]: indices [4 3 2 1 0 2 0 4 3 1 1 0 4 3 2 4 2 0 1 3]
	// special: 3 along axis 1 of [1 5]: indices [1 2 0]
}
