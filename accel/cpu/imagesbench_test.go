package cpu_test

import (
	"context"
	"testing"

	"github.com/cortado-ml/cortado/accel/cpu"
	"github.com/cortado-ml/cortado/autograd"
	"github.com/cortado-ml/cortado/ops"
	"github.com/cortado-ml/cortado/sched"
)

// BenchmarkImages runs operations on images and their gradients, from plain memory to plain memory.
func BenchmarkImages(b *testing.B) {
	conv := func(c ops.Conv) func(x, w ops.Value) ops.Value {
		return func(x, w ops.Value) ops.Value { return ops.Conv2D(x, w, c) }
	}
	conv1 := func(c ops.Conv) func(x, w ops.Value) ops.Value {
		return func(x, w ops.Value) ops.Value { return ops.Conv1D(x, w, c) }
	}
	alone := func(f func(x ops.Value) ops.Value) func(x, w ops.Value) ops.Value {
		return func(x, w ops.Value) ops.Value { return f(x) }
	}
	resize := func(m ops.ResizeMode, size int) func(x, w ops.Value) ops.Value {
		return alone(func(x ops.Value) ops.Value { return ops.Resize(x, ops.Scaling{Mode: m, Size: []int{size, size}}) })
	}
	for _, k := range []struct {
		name string
		x, w []int
		f    func(x, w ops.Value) ops.Value
	}{
		{"conv3x3-64", []int{8, 64, 56, 56}, []int{64, 64, 3, 3}, conv(ops.Conv{Padding: 1})},
		{"depthwise-64x56", []int{32, 64, 56, 56}, []int{64, 1, 3, 3}, conv(ops.Conv{Padding: 1, Groups: 64})},
		{"depthwise-128x56s2", []int{32, 128, 56, 56}, []int{128, 1, 3, 3}, conv(ops.Conv{Padding: 1, Stride: 2, Groups: 128})},
		{"depthwise-512x14", []int{32, 512, 14, 14}, []int{512, 1, 3, 3}, conv(ops.Conv{Padding: 1, Groups: 512})},
		{"depthwise-96x28k7", []int{8, 96, 28, 28}, []int{96, 1, 7, 7}, conv(ops.Conv{Padding: 3, Groups: 96})},
		{"dilated2-64x56", []int{8, 64, 56, 56}, []int{64, 64, 3, 3}, conv(ops.Conv{Padding: 2, Dilation: 2})},
		{"dilated4-256x14", []int{8, 256, 14, 14}, []int{256, 256, 3, 3}, conv(ops.Conv{Padding: 4, Dilation: 4})},
		{"grouped32-128x56", []int{8, 128, 56, 56}, []int{128, 4, 3, 3}, conv(ops.Conv{Padding: 1, Groups: 32})},
		{"grouped32-512x14", []int{8, 512, 14, 14}, []int{512, 16, 3, 3}, conv(ops.Conv{Padding: 1, Groups: 32})},
		{"grouped2-64x28", []int{8, 64, 28, 28}, []int{64, 32, 3, 3}, conv(ops.Conv{Padding: 1, Groups: 2})},
		{"conv1d-k3", []int{16, 64, 1000}, []int{128, 64, 3}, conv1(ops.Conv{Padding: 1})},
		{"conv1d-k9", []int{16, 64, 1000}, []int{128, 64, 9}, conv1(ops.Conv{Padding: 4})},
		{"conv1d-k3d4", []int{16, 64, 1000}, []int{128, 64, 3}, conv1(ops.Conv{Padding: 4, Dilation: 4})},
		{"convT-64-32-k4s2", []int{8, 64, 32, 32}, []int{64, 32, 4, 4}, func(x, w ops.Value) ops.Value { return ops.ConvTranspose2D(x, w, ops.Conv{Stride: 2, Padding: 1}, 0) }},
		{"mobile-24x56", []int{8, 24, 56, 56}, []int{mobileWeights}, mobile},
		{"resize-bilinear-x2", []int{8, 64, 32, 32}, nil, resize(ops.Bilinear, 64)},
		{"resize-nearest-x2", []int{8, 64, 32, 32}, nil, resize(ops.Nearest, 64)},
		{"resize-bilinear-224", []int{8, 3, 256, 256}, nil, resize(ops.Bilinear, 224)},
		{"pixelshuffle-2", []int{8, 256, 32, 32}, nil, alone(func(x ops.Value) ops.Value { return ops.PixelShuffle(x, 2) })},
		{"pad-constant", []int{8, 64, 56, 56}, nil, alone(func(x ops.Value) ops.Value { return x.Pad(2, 1, 1, 0).Pad(3, 1, 1, 0) })},
		{"pad-reflect", []int{8, 64, 56, 56}, nil, alone(func(x ops.Value) ops.Value {
			return x.PadWith(ops.Reflect, 2, 1, 1).PadWith(ops.Reflect, 3, 1, 1)
		})},
	} {
		b.Run(k.name, func(b *testing.B) {
			dev, err := cpu.Open()
			if err != nil {
				b.Fatal(err)
			}
			defer dev.Close()
			eng, err := sched.New(dev)
			if err != nil {
				b.Fatal(err)
			}
			eng.NoFallback = true
			tape, ctx := autograd.New(eng), context.Background()
			x, w := ops.NewVariable("x", noise(1, k.x...)), ops.NewVariable("w", noise(1, k.w...))
			var dy *ops.Variable
			step := func() {
				vx, vw := tape.Var(x), tape.Var(w)
				y, wrt := k.f(vx, vw), []ops.Value{vx}
				if k.w != nil {
					wrt = append(wrt, vw)
				}
				if dy == nil {
					dy = ops.NewVariable("dy", noise(1, y.Shape().Dims()...))
				}
				res, err := tape.Step(ctx, append(tape.VJP(y, tape.Var(dy), wrt...), y)...)
				if err != nil {
					b.Fatal(err)
				}
				if err := res.Wait(ctx); err != nil {
					b.Fatal(err)
				}
				res.Release()
			}
			step()
			for b.Loop() {
				step()
			}
		})
	}
}

// mobile is a block of MobileNetV2 (Sandler et al., 2018) on 24 channels: to 144, depthwise, and back, each with batch-norm. Its weights are cut from w.
func mobile(x, w ops.Value) ops.Value {
	at := 0
	take := func(dims ...int) ops.Value {
		n := 1
		for _, d := range dims {
			n *= d
		}
		at += n
		return w.Narrow(0, at-n, n).Reshape(dims...)
	}
	norm := func(x ops.Value, c int) ops.Value {
		y, _, _ := ops.BatchNorm(x, take(c), take(c), 1e-5)
		return y
	}
	y := norm(ops.Conv2D(x, take(144, 24, 1, 1), ops.Conv{}), 144).ReLU()
	y = norm(ops.Conv2D(y, take(144, 1, 3, 3), ops.Conv{Padding: 1, Groups: 144}), 144).ReLU()
	return norm(ops.Conv2D(y, take(24, 144, 1, 1), ops.Conv{}), 24).Add(x)
}

const mobileWeights = 2*24*144 + 9*144 + 2*(144+144+24)
