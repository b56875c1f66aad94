package isa

// NEON is part of every 64-bit ARM processor that Go runs on.
func detected() Level { return NEON }
