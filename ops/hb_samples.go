package ops

// Samples follow.
func (ReshapeOp) Samples() []Sample { return nil }

// Samples follow.
func (TransposeOp) Samples() []Sample { return nil }

// Samples follow.
func (ExpandOp) Samples() []Sample { return nil }

// Samples follow.
func (ConcatOp) Samples() []Sample { return nil }

// Samples follow.
func (SplitOp) Samples() []Sample { return nil }

// Samples follow.
func (SliceOp) Samples() []Sample { return nil }

// Samples follow.
func (SliceGradOp) Samples() []Sample { return nil }

// Samples follow.
func (PadOp) Samples() []Sample { return nil }

// Samples follow.
func (DynamicSliceOp) Samples() []Sample { return nil }

// Samples follow.
func (DynamicSliceGradOp) Samples() []Sample { return nil }

// Samples follow.
func (GatherOp) Samples() []Sample { return nil }

// Samples follow.
func (ScatterAddOp) Samples() []Sample { return nil }

// Samples follow.
func (TakeAlongOp) Samples() []Sample { return nil }

// Samples follow.
func (AddAlongOp) Samples() []Sample { return nil }

// Samples follow.
func (TopKOp) Samples() []Sample { return nil }

// Samples follow.
func (Conv2DOp) Samples() []Sample { return nil }

// Samples follow.
func (Conv2DInputGradOp) Samples() []Sample { return nil }

// Samples follow.
func (Conv2DWeightGradOp) Samples() []Sample { return nil }

// Samples follow.
func (MaxPool2DOp) Samples() []Sample { return nil }

// Samples follow.
func (MaxPool2DGradOp) Samples() []Sample { return nil }

// Samples follow.
func (MaxPool2DGatherOp) Samples() []Sample { return nil }

// Samples follow.
func (AvgPool2DOp) Samples() []Sample { return nil }

// Samples follow.
func (AvgPool2DGradOp) Samples() []Sample { return nil }

// Samples follow.
func (BatchNormOp) Samples() []Sample { return nil }

// Samples follow.
func (BatchNormGradOp) Samples() []Sample { return nil }

// Samples follow.
func (BatchNormInferOp) Samples() []Sample { return nil }

// Samples follow.
func (DropoutOp) Samples() []Sample { return nil }

// Samples follow.
func (UniformOp) Samples() []Sample { return nil }

// Samples follow.
func (NormalOp) Samples() []Sample { return nil }
