//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"math/bits"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"

	"github.com/ebitengine/purego"
)

// Assembly is true when the trampolines are assembly.
const Assembly = false

var (
	errorMove     uintptr
	decRef        uintptr
	callbackEntry func(*CallbackFrame)
	releasedHead  atomic.Uintptr
)

// Init sets the C functions that a crossing may need: TVMFFIErrorMoveFromRaised
// and TVMFFIObjectDecRef. It must happen before the first Call.
func Init(errorMoveFromRaised, objectDecRef uintptr) {
	errorMove, decRef = errorMoveFromRaised, objectDecRef
}

// scratch is the memory that C sees in place of a frame. It is on the heap, so it does
// not move.
type scratch struct {
	block [2 * MaxBlock]uint64
	res   abi.Any
	args  [4]uintptr // of the C function
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Call makes the call that h describes. The block of h.Units units must follow
// h in the same variable. h may lie on the goroutine stack.
func Call(h *Head) {
	Collect()
	if !passes() {
		h.RC, h.Res.Bits = Ended, 0
		return
	}
	s := scratches.Get().(*scratch)
	block := unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(h), HeadSize)), 2*int(h.Units))
	copy(s.block[:], block)
	base := uint64(uintptr(unsafe.Pointer(&s.block)))
	for m := h.Mask; m != 0; m &= m - 1 {
		s.block[bits.TrailingZeros64(m)] += base
	}
	s.res = abi.Any{}
	res := uintptr(unsafe.Pointer(&s.res))
	s.args = [4]uintptr{h.Handle, uintptr(base), uintptr(h.N), res}
	switch h.Mode {
	case Result:
		s.args[1] = res
	case Value:
		s.args[1], s.args[2] = h.Word, uintptr(h.Res.Bits)
	case First:
		s.args[0], s.args[1] = uintptr(base), res
	case Middle:
		s.args[2] = res
	}
	// The error slot belongs to the OS thread.
	runtime.LockOSThread()
	rc, _, _ := purego.SyscallN(h.Fn, s.args[:]...)
	if h.RC = int32(rc); h.RC != 0 {
		s.res.Bits = 0
		purego.SyscallN(errorMove, uintptr(unsafe.Pointer(&s.res.Bits)))
	}
	runtime.UnlockOSThread()
	h.Res = s.res
	if h.RC == 0 && h.Res.TypeIndex == abi.TypeStr && h.Text > 0 {
		text := (*abi.ByteArray)(pointer(uintptr(h.Res.Bits) + abi.ObjectSize))
		room := h.Text
		if h.Text = 0; text.Size <= uintptr(room) {
			h.Text = uint16(text.Size) + 1
			copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), HeadSize)), room),
				unsafe.Slice((*byte)(pointer(text.Data)), text.Size))
			s.args[0] = uintptr(h.Res.Bits)
			purego.SyscallN(decRef, s.args[:1]...)
		}
	}
	runtime.KeepAlive(s)
	scratches.Put(s)
}

// Drop drops a strong reference in C. An error of the deleter is lost.
func Drop(handle uintptr) {
	h := Head{Fn: decRef, Handle: handle, Mode: Value}
	if Call(&h); h.RC != 0 && h.Res.Bits != 0 {
		purego.SyscallN(decRef, uintptr(h.Res.Bits))
	}
}

// guard does nothing: Call and CallAll ask at the gate themselves.
func guard() {}

// SetCallback sets the Go function that all calls from C reach.
func SetCallback(entry func(*CallbackFrame)) { callbackEntry = entry }

// Unguarded is the address of the C function, a TVMFFISafeCallType, that calls
// the Go function of SetCallback on any thread.
var Unguarded = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(handle, args, n, res uintptr) uintptr {
		f := CallbackFrame{Call: (*Released)(pointer(handle)).Call, Handle: handle, Args: args, N: uintptr(int32(n)), Res: res, RC: Running}
		return enterGo(&f)
	})
})

// enterGo runs the callback f, unless the process is a fork of the one that Go started in. The
// fork has no threads of Go. Here the thread is in Go already: if the scheduler had taken the
// processor from it before the fork, it waits for one without end and never comes here.
func enterGo(f *CallbackFrame) uintptr {
	if os.Getpid() != process {
		purego.SyscallN(forkRaise, forkKind, uintptr(unsafe.Pointer(&forkMessage)), 1)
		return ^uintptr(0)
	}
	nest(f)
	return uintptr(f.RC)
}

var process = os.Getpid()

// RefuseForks sets what all calls from C in a forked process raise, by
// TVMFFIErrorSetRaisedFromCStrParts. The texts end with a NUL.
func RefuseForks(raise uintptr, kind, message string) {
	forkRaise, forkKind, forkMessage = raise, cText(kind), cText(message)
}

// TensorAllocator is the address of the C function, a DLPackManagedTensorAllocator, that calls a node
// as Callback does. The arguments are the addresses that it gets: the prototype, where the
// result goes, a context, and a function that takes the context and an error.
func TensorAllocator(node uintptr) uintptr {
	return purego.NewCallback(func(prototype, out, context, setError uintptr) uintptr {
		s := scratches.Get().(*scratch) // which does not move
		args := (*[4]abi.Any)(unsafe.Pointer(&s.block))
		for i, address := range [4]uintptr{prototype, out, context, setError} {
			args[i] = abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(address)}
		}
		// An allocator returns nothing else, and out lies on the C stack, as nest wants.
		f := CallbackFrame{Call: (*Released)(pointer(node)).Call, Handle: node, Args: uintptr(unsafe.Pointer(args)), N: 4, Res: out, RC: Running}
		rc := enterGo(&f)
		scratches.Put(s)
		return rc
	})
}

// ReleaseObject is the address of a deleter of objects, void (*)(void*, int flags), that
// puts a node on the list of TakeReleased once the memory of the object is free.
var ReleaseObject = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(node, flags uintptr) uintptr {
		if flags&abi.DeleterWeak != 0 {
			push(node)
		}
		return 0
	})
})

func push(node uintptr) {
	for r := (*Released)(pointer(node)); ; {
		r.Next = releasedHead.Load()
		if releasedHead.CompareAndSwap(r.Next, node) {
			return
		}
	}
}

// HasReleased reports whether nodes wait for TakeReleased.
func HasReleased() bool { return releasedHead.Load() != 0 }

// TakeReleased calls f for each node that C has released.
func TakeReleased(f func(node uintptr)) {
	for node := releasedHead.Swap(0); node != 0; {
		next := (*Released)(pointer(node)).Next
		f(node)
		node = next
	}
}

// Goroutine is 0: here, goroutines have no identity.
func Goroutine() uintptr { return 0 }
