// Package accel is the driver contract: what a device must do so that the engine can run graphs on it.
//
// A driver knows graphs and nothing else. It compiles a [Graph] into a [Program], keeps values in a [Buffer], and says with Supports which
// operations it has a kernel for; abilities that not every device has are small interfaces found by type assertion. A new operation never
// changes this package, and a new driver never changes an operation. Package acceltest is the suite that every driver passes.
//
// The package imports ops and tensor.
package accel
