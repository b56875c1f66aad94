package cpu_test

// refused says why a case is not run, or "".
func refused(name string, i int, c *opCase) string {
	switch {
	case builderOf(c.op) == nil:
		return "there is no such operation"
	case name == "F.batch_norm" && c.in[0].Shape().Rank() == 1:
		return "images have channels; PyTorch takes a vector of nothing for one"
	}
	return ""
}
