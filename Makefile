GO ?= go

.PHONY: test bench generate ci

# What README.md says: the whole suite.
test:
	$(GO) test ./...

# Every benchmark in the tree; the figures of docs/benchmarks.md come from cmd/demo, paired with PyTorch.
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# The assembly kernels. The embedded sample and the goldens have scripts of their own, beside them.
generate:
	$(GO) run -C internal/asmgen ./cmd/gen

# What continuous integration runs, about half an hour.
ci:
	bash .ci/run
