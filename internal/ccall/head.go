package ccall

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Head is the fixed part of a call frame. It holds no Go pointers, so a frame
// may lie on the goroutine stack. The assembly reads and writes its fields.
type Head struct {
	// Fn is the C function: int fn(Handle, second, N, &Res), unless Mode changes that.
	Fn     uintptr
	Handle uintptr
	// Word is the second argument of the mode Value.
	Word uintptr
	// Res is the result, owned when RC is 0. Before the call of the mode Value, its Bits are the
	// third argument.
	Res abi.Any
	// Mask has bit i set when word i of the block is an offset in bytes from the
	// start of the block that becomes an address.
	Mask uint64
	RC   int32
	// N is the number of arguments. One store sets it, Units and Mode.
	N uint16
	// Units is the size of the block in 16-byte units.
	Units uint8
	Mode  Mode
	// Text is the largest size in bytes of a String result that is copied to the start of the
	// block and released; 0 means never. If the result is a String, the call makes it the
	// length of the copy plus one, or 0 where there is none.
	Text uint16
	// Next is for the maker of the call.
	Next uint16
}

// Failure returns the return code and the error object, owned, of a call whose RC is not 0.
// The error may be 0 even then. If the return code is Thrown, it is the name of a type.
func (h *Head) Failure() (rc int64, err uintptr) { return int64(h.RC), uintptr(h.Res.Bits) }

// Mode chooses the arguments of the C function.
type Mode uint8

const (
	// Block passes the address of the copied block.
	Block Mode = iota
	// Result passes the address of Res: int fn(Handle, &Res).
	Result
	// Value passes Word and the Bits of Res: int fn(Handle, Word, Bits, &Res).
	Value
	// First is for int fn(&block, &Res).
	First
	// Middle is for int fn(Handle, &block, &Res).
	Middle
)

// MaxBlock is the size of the largest block. Only its first MaxUnits units may
// hold words that become addresses: Mask has one bit for each word.
const (
	MaxBlock = 128
	MaxUnits = 32
)

// Thrown is the return code of a call that a C++ exception left. The error is then the
// address of the mangled name of its type, in memory of the library; 0 if it has none.
// TVM-FFI itself returns -1 and -2 only.
const Thrown = -0x7468726f

// Done is how a light call went if the scheduler never knew of it.
const Done = 0

// HeadSize is the distance from a Head to its block.
const HeadSize = unsafe.Sizeof(Head{})

// CallbackFrame holds the arguments of a call from C into Go,
// int safe_call(Handle, Args, N, Res), where Handle is a node of the type Released. It
// lies on the C stack, so it holds no Go pointers. RC is Running until the entry sets
// it; Side is zero at entry and free for its use. Enter sets the rest.
type CallbackFrame struct {
	// Call is Released.Call of the handle.
	Call   uintptr
	Handle uintptr
	Args   uintptr
	N      uintptr
	Res    uintptr
	RC     int64
	Side   uintptr
	// seat is the address of the seat of the goroutine; the portable code has the number
	// of the callback instead. outer is the number of the callback around this one.
	seat  uintptr
	outer uint64
	// Stack says how full the C stack is, for FullStack.
	Stack uintptr
}

// Running is the return code of a callback that has not returned yet.
const Running = 1

// Detached is the return code in a frame that Go made, for arguments that outlive a callback.
const Detached = 2

// Entry is the C function that a shared library puts in front of Unguarded, to refuse calls in
// a forked process; 0 if there is none.
var Entry uintptr

// Callback is the C function that Function objects call: Entry, or Unguarded.
func Callback() uintptr {
	if Entry != 0 {
		return Entry
	}
	return Unguarded()
}

// A call from C in a forked process raises this error.
var (
	//lint:ignore U1000 read by the assembly
	forkRaise, forkKind, forkMessage uintptr
)

// cText returns the address of a text that ends with a NUL, which is in the data of the program.
func cText(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }

// Released is the part of a node in C memory that C releases through the
// address ReleaseObject: nodes wait on a list until TakeReleased. It begins with the
// struct that a DLPack deleter receives.
type Released struct {
	Managed abi.DLManagedTensorVersioned
	Next    uintptr
	// Call is copied to CallbackFrame.Call when C calls the node; other nodes may use it.
	Call uintptr
}

// pointer makes a pointer of an address in C memory.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
