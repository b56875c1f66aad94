// The generator of vector kernels is a module of its own, so that users of
// Cortado do not depend on avo.
module github.com/cortado-ml/cortado/internal/asmgen

go 1.26.0

require (
	github.com/cortado-ml/cortado v0.0.0
	github.com/mmcloughlin/avo v0.6.0
)

require (
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/cortado-ml/cortado => ../..
