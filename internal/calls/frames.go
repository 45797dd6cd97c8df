package calls

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// The frames: CallN has a block of N units of 16 bytes, one for each argument
// and the rest for text, and a slot for each unit and for the callee that keeps
// a Go object alive.
type (
	// Call1 is a call with a block of 1 unit.
	Call1 struct {
		Call
		block [2]uint64
		kept  [2]unsafe.Pointer
	}
	// Call2 is a call with a block of 2 units.
	Call2 struct {
		Call
		block [4]uint64
		kept  [3]unsafe.Pointer
	}
	// Call3 is a call with a block of 3 units.
	Call3 struct {
		Call
		block [6]uint64
		kept  [4]unsafe.Pointer
	}
	// Call4 is a call with a block of 4 units.
	Call4 struct {
		Call
		block [8]uint64
		kept  [5]unsafe.Pointer
	}
	// Call6 is a call with a block of 6 units.
	Call6 struct {
		Call
		block [12]uint64
		kept  [7]unsafe.Pointer
	}
	// Call8 is a call with a block of 8 units.
	Call8 struct {
		Call
		block [16]uint64
		kept  [9]unsafe.Pointer
	}
	// Call12 is a call with a block of 12 units.
	Call12 struct {
		Call
		block [24]uint64
		kept  [13]unsafe.Pointer
	}
	// Call16 is a call with a block of 16 units.
	Call16 struct {
		Call
		block [32]uint64
		kept  [17]unsafe.Pointer
	}
	// Call24 is a call with a block of 24 units.
	Call24 struct {
		Call
		block [48]uint64
		kept  [25]unsafe.Pointer
	}
	// Call32 is a call with a block of 32 units.
	Call32 struct {
		Call
		block [64]uint64
		kept  [33]unsafe.Pointer
	}
)

// The block must follow the Call, and the slots the block: with any difference an index is not 0,
// which does not compile.
var (
	_ = [1]bool{}[unsafe.Offsetof(Call1{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call1{}.kept)-(callSize+16)]
	_ = [1]bool{}[unsafe.Offsetof(Call2{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call2{}.kept)-(callSize+32)]
	_ = [1]bool{}[unsafe.Offsetof(Call3{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call3{}.kept)-(callSize+48)]
	_ = [1]bool{}[unsafe.Offsetof(Call4{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call4{}.kept)-(callSize+64)]
	_ = [1]bool{}[unsafe.Offsetof(Call6{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call6{}.kept)-(callSize+96)]
	_ = [1]bool{}[unsafe.Offsetof(Call8{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call8{}.kept)-(callSize+128)]
	_ = [1]bool{}[unsafe.Offsetof(Call12{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call12{}.kept)-(callSize+192)]
	_ = [1]bool{}[unsafe.Offsetof(Call16{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call16{}.kept)-(callSize+256)]
	_ = [1]bool{}[unsafe.Offsetof(Call24{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call24{}.kept)-(callSize+384)]
	_ = [1]bool{}[unsafe.Offsetof(Call32{}.block)-callSize]
	_ = [1]bool{}[unsafe.Offsetof(Call32{}.kept)-(callSize+512)]
)

// Begin starts a call of f with n arguments.
func (c *Call1) Begin(f *Func, n int) { c.begin(f, n, 1) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call1) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 1) }

// Begin starts a call of f with n arguments.
func (c *Call2) Begin(f *Func, n int) { c.begin(f, n, 2) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call2) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 2) }

// Begin starts a call of f with n arguments.
func (c *Call3) Begin(f *Func, n int) { c.begin(f, n, 3) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call3) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 3) }

// Begin starts a call of f with n arguments.
func (c *Call4) Begin(f *Func, n int) { c.begin(f, n, 4) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call4) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 4) }

// Begin starts a call of f with n arguments.
func (c *Call6) Begin(f *Func, n int) { c.begin(f, n, 6) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call6) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 6) }

// Begin starts a call of f with n arguments.
func (c *Call8) Begin(f *Func, n int) { c.begin(f, n, 8) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call8) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 8) }

// Begin starts a call of f with n arguments.
func (c *Call12) Begin(f *Func, n int) { c.begin(f, n, 12) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call12) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 12) }

// Begin starts a call of f with n arguments.
func (c *Call16) Begin(f *Func, n int) { c.begin(f, n, 16) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call16) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 16) }

// Begin starts a call of f with n arguments.
func (c *Call24) Begin(f *Func, n int) { c.begin(f, n, 24) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call24) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 24) }

// Begin starts a call of f with n arguments.
func (c *Call32) Begin(f *Func, n int) { c.begin(f, n, 32) }

// BeginFunction starts a call of a Function object with n arguments.
func (c *Call32) BeginFunction(fn *objects.Object, n int) { c.beginFunction(fn, n, 32) }
