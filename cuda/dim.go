package cuda

import (
	"math"
)

// Dim3 is the size of a grid, a block or a cluster. All three must be at least 1;
// [Dim] fills in missing sizes.
type Dim3 struct{ X, Y, Z uint32 }

// none reports whether no size is given. A comparison with Dim3{} would read memory that
// was just written in other pieces, and the processor would wait for it.
func (d *Dim3) none() bool { return d.X|d.Y|d.Z == 0 }

func (d Dim3) sizes() [3]uint32 { return [3]uint32{d.X, d.Y, d.Z} }

// Dim makes a Dim3 of up to three sizes; missing ones are 1. A size out of range
// becomes 0, which a launch refuses.
func Dim(sizes ...int) Dim3 {
	d := [3]uint32{1, 1, 1}
	for i, n := range sizes {
		switch {
		case i > 2:
			return Dim3{}
		case n < 0 || n > math.MaxUint32:
			d[i] = 0
		default:
			d[i] = uint32(n)
		}
	}
	return Dim3{d[0], d[1], d[2]}
}

// GridFor returns the grid of blocks of the given number of threads that covers n elements with
// one thread each; threads from n on must do nothing. If n or block is not positive, or there
// would be more than 2^32-1 blocks, the grid has 0 blocks, which Launch refuses: skip the launch
// for n = 0.
func GridFor(n int64, block int) Dim3 {
	if n <= 0 || block <= 0 {
		return Dim3{0, 1, 1}
	}
	blocks := (n-1)/int64(block) + 1
	if blocks > math.MaxUint32 {
		return Dim3{0, 1, 1}
	}
	return Dim3{uint32(blocks), 1, 1}
}
