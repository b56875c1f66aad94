package limit_test

import (
	"fmt"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
	"github.com/cortado-ml/cortado/accel/cpu/internal/limit"
	"github.com/cortado-ml/cortado/accel/cpu/internal/work"
)

func Example() {
	pool := work.New(1)
	defer pool.Close()
	registers, loaded := limit.FMA(pool, isa.Detect())
	fmt.Println(registers > 0, loaded > 0)
	// Output: true true
}
