package limit_test

import (
	"fmt"
	"time"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/limit"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

func Example() {
	pool := work.New(1)
	defer pool.Close()
	r := limit.Measure(pool, isa.Detect(), time.Millisecond)
	fmt.Println(r.Threads, r.FMA > 0)
	// Output: 1 true
}
