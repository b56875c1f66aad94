package isa_test

import (
	"fmt"
	"os"

	"github.com/cortado-ml/cortado/accel/cpu/internal/isa"
)

func Example() {
	os.Setenv(isa.Env, "generic")
	defer os.Unsetenv(isa.Env)
	level, err := isa.FromEnv(isa.Detect())
	fmt.Println(level, err)
	// Output: generic <nil>
}
