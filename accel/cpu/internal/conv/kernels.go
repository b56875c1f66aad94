package conv

import "github.com/cortado-ml/cortado/accel/cpu/internal/isa"

// kernels is what a level computes with. All tables hold offsets in bytes, as
// the assembly wants them; every slice starts where offset 0 lies. Kernels read
// and write single blocks of channels, or wide of them, which lie planes apart.
type kernels struct {
	big, small int // pixels of the two tiles of a convolution
	wide       int // blocks of output channels that one tile may have (of a first layer's weight gradient always 2)

	conv       func(convCall)
	first      func(firstCall)
	wgrad      func(wgradCall)
	firstWgrad func(firstWgradCall)
	depth      func(firstCall)      // depthwise: x has a block of channels where first has one value
	depthWgrad func(firstWgradCall) // and so has its gradient

	maxPool     func(poolCall)
	maxPoolGrad func(poolCall)
	avgPool     func(poolCall)
	avgPoolGrad func(poolCall)

	sums       func(n int, x []float32, sums []float64)
	squares    func(n int, x, mean []float32, sums []float64)
	normalize  func(n int, x, y, mean, scale, bias []float32, floor float32)
	normSums   func(n int, dy, y, x, mean []float32, sums []float64)       // y is nil without ReLU
	normGrad   func(n int, dy, y, x, dx, mean, p, q, r []float32)          // y is nil without ReLU
	reluGrad   func(n int, dy, y, dx []float32)                            //
	transpose4 func(dst []float32, step int, src []float32, stride, k int) // dst[p*step+i] = src[i*stride+p] for i < 4, p < k, a multiple of 4
}

// convCall is one block, or wide blocks, of output channels of some tiles, summed over some blocks of input channels.
type convCall struct {
	tiles          []tile
	x, w, y, bias  []float32
	blocks         int // of input channels
	xPlane, wPlane int // distances between blocks, in values
	yPlane         int
	wide           int // blocks of output channels
	mode           int
}

// Modes of a convolution's epilogue, as the kernels know them.
const (
	modeAdd = 1 << iota
	modeBias
	modeReLU
)

// tile is some pixels of the output that need the same taps. The same pixel may occur more than once.
type tile struct {
	rows, taps int
	table      []int32 // for each tap: its weights, then each pixel of the input
	out        []int32 // each pixel, from the region's first
}

// firstCall is convCall for an input in planes.
type firstCall struct {
	tiles          []firstTile
	x, w, y, bias  []float32
	wPlane, yPlane int
	wide           int
	mode           int
}

// firstTile is some pixels of the output that need the same taps of planes.
type firstTile struct {
	taps []int32 // for each tap: its weights, and its place from the pixel's
	in   []int32 // each pixel of the input; alone it may lie in the padding
	out  []int32
}

// wgradCall is the gradient of the weights of one tap: 16 input channels x wide blocks of output channels.
type wgradCall struct {
	pairs            []int32 // pixel of x, pixel of dy
	x, dy, dw        []float32
	dyPlane, dwPlane int
	wide             int
	add              bool // to what dw holds
}

// firstWgradCall is wgradCall for 1 or 3 taps of planes, and 1 or 2 blocks at every level.
type firstWgradCall struct {
	pairs            []int32
	taps             []int32
	x, dy, dw        []float32
	dyPlane, dwPlane int
	wide             int
	add              bool
}

// poolCall is a pooling window, or its gradient, at some pixels that need the same taps.
type poolCall struct {
	pixels []int32 // base of the window in x, pixel of y
	taps   []int32 // offset from the base, number
	x, y   []float32
	win    []uint8
	floor  float32 // of a maximum: the least result
	none   int32   // of a maximum: the winner if no tap is above floor
	nan    uint32  // of a maximum's gradient: bits set where a NaN won
	count  float32 // of an average
	add    bool    // of a gradient: to what x holds
}

// kernelsOf returns the kernels of a level.
func kernelsOf(level isa.Level) *kernels {
	k := genericKernels()
	override(k, level)
	return k
}
