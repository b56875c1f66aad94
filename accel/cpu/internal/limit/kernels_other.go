//go:build !amd64 && !arm64

package limit

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernelsOf(isa.Level) kernels { return generic }
