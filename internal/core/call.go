package core

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// Call is a call in the making: a function, its arguments and, after Do, its
// result. It is the first field of a frame type, Call1 to Call32, which adds the
// block of 16-byte units that directly follows it in memory, and one slot per
// unit that keeps a Go object alive. A frame is a local variable: it may lie on
// the goroutine stack, because C only sees a copy of the block.
//
// The first error of the packing methods is kept and returned by Do.
type Call struct {
	fn    *Func
	err   error
	temps *temps
	// large is the block of a CallN, on the heap; nil for the other frames.
	large *uint64
	// next is the first free word of the block.
	next  uint32
	units uint32
	head  ccall.Head
}

// temps are what a call needs until it has returned.
type temps struct {
	keep    []any
	objects []uintptr
	texts   []*text
}

// text is pooled memory for long strings; it does not move.
type text struct{ bytes []byte }

var texts = sync.Pool{New: func() any { return new(text) }}

const callSize = unsafe.Sizeof(Call{})

// word returns a word of the block.
func (c *Call) word(i uint32) *uint64 {
	if c.large != nil {
		return (*uint64)(unsafe.Add(unsafe.Pointer(c.large), 8*uintptr(i)))
	}
	return (*uint64)(unsafe.Add(unsafe.Pointer(c), callSize+8*uintptr(i)))
}

// begin starts a call of f with n arguments in a block of the given size.
func (c *Call) begin(f *Func, n int, units uint32) {
	handle := f.handle.Load()
	if handle == 0 {
		handle, c.err = f.Resolve()
	}
	c.fn = f
	c.start(handle, n, units)
}

func (c *Call) start(handle uintptr, n int, units uint32) {
	c.head.Fn = API.FunctionCall
	c.head.Handle = handle
	c.head.N = uintptr(n)
	c.head.Units = units
	c.units = units
	c.next = 2 * uint32(n)
}

// beginFunction starts a call of a Function object.
func (c *Call) beginFunction(fn *Object, n int, units uint32) {
	if fn.Handle() == 0 {
		c.err = endedError("function", fn)
	}
	c.units = units
	c.keep(units, unsafe.Pointer(fn))
	c.start(fn.Handle(), n, units)
}

// keep keeps what p points to alive until the call has returned. Each frame has
// one slot for each unit and one, the last, for the callee.
func (c *Call) keep(slot uint32, p unsafe.Pointer) {
	if c.large != nil {
		s := c.scratch()
		s.keep = append(s.keep, p)
		return
	}
	*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(c), callSize+16*uintptr(c.units)+8*uintptr(slot))) = p
}

// None packs None. Arguments that are never packed are None too.
func (c *Call) None(i int) { c.set(i, abi.TypeNone, 0) }

func (c *Call) set(i int, t abi.TypeIndex, bits uint64) {
	*c.word(2 * uint32(i)) = uint64(uint32(t))
	*c.word(2*uint32(i) + 1) = bits
}

// Bool packs a bool.
func (c *Call) Bool(i int, v bool) {
	var bits uint64
	if v {
		bits = 1
	}
	c.set(i, abi.TypeBool, bits)
}

// Int packs an int.
func (c *Call) Int(i int, v int64) { c.set(i, abi.TypeInt, uint64(v)) }

// Float packs a float.
func (c *Call) Float(i int, v float64) {
	c.set(i, abi.TypeFloat, *(*uint64)(unsafe.Pointer(&v)))
}

// DataType packs a data type.
func (c *Call) DataType(i int, v struct {
	Code, Bits uint8
	Lanes      uint16
}) {
	c.set(i, abi.TypeDataType, uint64(*(*uint32)(unsafe.Pointer(&v))))
}

// Device packs a device.
func (c *Call) Device(i int, v struct{ Type, ID int32 }) {
	c.set(i, abi.TypeDevice, *(*uint64)(unsafe.Pointer(&v)))
}

// Pointer packs an opaque pointer.
func (c *Call) Pointer(i int, v struct{ Address uintptr }) {
	c.set(i, abi.TypeOpaquePtr, uint64(v.Address))
}

// Object packs an object, which stays alive until the call has returned; nil is
// None.
func (c *Call) Object(i int, o *Object) {
	if o == nil {
		return
	}
	if o.handle == 0 {
		c.fail(endedError(c.argument(i), o))
		return
	}
	c.set(i, At[abi.Object](o.handle).TypeIndex, uint64(o.handle))
	c.keep(uint32(i), unsafe.Pointer(o))
}

// Self packs the receiver of a method, which must not be nil.
func (c *Call) Self(i int, o *Object) {
	if o == nil {
		c.fail(Hooks.Errorf(KindType, "%s: the receiver is nil", c.fn))
		return
	}
	c.Object(i, o)
}

// String packs a string: up to 7 bytes in the value, up to the rest of the block
// in the block, and longer ones in pooled memory.
func (c *Call) String(i int, s string) {
	if len(s) <= abi.MaxSmall {
		var bytes [8]byte
		copy(bytes[:], s)
		*c.word(2 * uint32(i)) = uint64(abi.TypeSmallStr) | uint64(len(s))<<32
		*c.word(2*uint32(i) + 1) = *(*uint64)(unsafe.Pointer(&bytes))
		return
	}
	words := uint32(len(s)/8 + 1) // with the terminating NUL
	if len(s) >= 16*ccall.MaxUnits || c.next+words > 2*c.units || strings.IndexByte(s, 0) >= 0 {
		c.longString(i, s)
		return
	}
	*c.word(c.next + words - 1) = 0
	copy(unsafe.Slice((*byte)(unsafe.Pointer(c.word(c.next))), len(s)), s)
	c.set(i, abi.TypeRawStr, uint64(8*c.next))
	c.head.Mask |= 1 << (2*uint32(i) + 1)
	c.next += words
}

func (c *Call) longString(i int, s string) {
	t := c.scratch()
	if strings.IndexByte(s, 0) >= 0 {
		// A raw string ends at its first NUL: such a text goes as a String object.
		v, err := NewString(s)
		if err != nil {
			c.fail(err)
			return
		}
		c.set(i, v.TypeIndex, v.Bits)
		*c.word(2 * uint32(i)) |= uint64(v.Small) << 32
		c.own(v)
		return
	}
	pooled := texts.Get().(*text)
	pooled.bytes = append(append(pooled.bytes[:0], s...), 0)
	t.texts = append(t.texts, pooled)
	c.set(i, abi.TypeRawStr, uint64(uintptr(unsafe.Pointer(&pooled.bytes[0]))))
}

// Bytes packs bytes; nil is empty. The slice is not copied: it must not change
// during the call.
func (c *Call) Bytes(i int, b []byte) {
	if len(b) <= abi.MaxSmall {
		var bytes [8]byte
		copy(bytes[:], b)
		*c.word(2 * uint32(i)) = uint64(abi.TypeSmallBytes) | uint64(len(b))<<32
		*c.word(2*uint32(i) + 1) = *(*uint64)(unsafe.Pointer(&bytes))
		return
	}
	data := unsafe.Pointer(unsafe.SliceData(b))
	escape(data)
	if c.next+2 > 2*c.units {
		array := &abi.ByteArray{Data: uintptr(data), Size: uintptr(len(b))}
		c.set(i, abi.TypeByteArrayPtr, uint64(address(array)))
		c.scratch().keep = append(c.scratch().keep, array, b)
		return
	}
	*c.word(c.next) = uint64(uintptr(data))
	*c.word(c.next + 1) = uint64(len(b))
	c.set(i, abi.TypeByteArrayPtr, uint64(8*c.next))
	c.head.Mask |= 1 << (2*uint32(i) + 1)
	c.next += 2
	c.keep(uint32(i), data)
}

// Temp is a packed value and what it needs until the call has returned.
type Temp struct {
	Value abi.Any
	// Keep is kept alive.
	Keep any
	// Owned says that Value is an object whose reference the call releases.
	Owned bool
}

// Put packs a value that was encoded before.
func (c *Call) Put(i int, t Temp, err error) {
	if err != nil {
		c.fail(Hooks.Errorf(KindType, "%s: %w", c.argument(i), err))
		return
	}
	c.set(i, t.Value.TypeIndex, t.Value.Bits)
	*c.word(2 * uint32(i)) |= uint64(t.Value.Small) << 32
	if t.Keep != nil {
		s := c.scratch()
		s.keep = append(s.keep, t.Keep)
	}
	if t.Owned {
		c.own(t.Value)
	}
}

// own releases the object in v after the call.
func (c *Call) own(v abi.Any) {
	if v.TypeIndex.IsObject() {
		s := c.scratch()
		s.objects = append(s.objects, uintptr(v.Bits))
	}
}

func (c *Call) scratch() *temps {
	if c.temps == nil {
		c.temps = new(temps)
	}
	return c.temps
}

func (c *Call) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *Call) argument(i int) string { return "argument " + itoa(i) + " of " + c.fn.String() }

func endedError(what string, o *Object) error {
	why, _ := o.Ended()
	if o == nil {
		why = "is nil"
	}
	return Hooks.Errorf(KindRuntime, "%s: the object %s", what, why)
}

// Do makes the call. When it returns nil, exactly one of the result methods must
// follow, because it takes the reference to the result.
func (c *Call) Do() error {
	if c.err == nil {
		ccall.Call(&c.head)
		if c.head.RC == 0 && c.temps == nil {
			return nil
		}
	}
	return c.finish()
}

func (c *Call) finish() error {
	if t := c.temps; t != nil {
		c.temps = nil
		for _, o := range t.objects {
			DecRef(o)
		}
		for _, pooled := range t.texts {
			texts.Put(pooled)
		}
	}
	if c.err != nil {
		return c.err
	}
	if c.head.RC != 0 {
		return Hooks.ErrorOf(c.head.Err)
	}
	return nil
}
