//go:build !amd64 && !arm64

package gemm

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

func kernels32(isa.Level) *kernels[float32] { return generic32 }

func kernels64(isa.Level) *kernels[float64] { return generic64 }
