package calls

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Call is a call in the making: a function, its arguments and, after Do, its
// result. It is the first field of a frame type, Call1 to Call32, which adds the
// block of 16-byte units that directly follows it in memory, and one slot per
// unit that keeps a Go object alive. A frame is a local variable: it may lie on
// the goroutine stack, because C only sees a copy of the block.
//
// The first error of the packing methods is kept and returned by Do.
type Call struct {
	fn *Func
	// extra is what few calls need; nil for the others.
	extra *extra
	// head.Next is the first free word of the block, 0 before the first text. head.Mask may have
	// the bits hasEnded and hasOwned until finish. head.Word, which C does not get, is an object to
	// release; extra has more of them.
	head ccall.Head
}

// Bits of head.Mask keep the call from being made as it is: an argument has ended, or head.Word
// is to be released. They belong to types of arguments, which are not offsets.
const (
	hasEnded = 1 << 0
	hasOwned = 1 << 2
)

// extra is what a call needs until it has returned: memory to keep alive,
// objects to release, pooled texts, and the first error of packing.
type extra struct {
	err     error
	keep    []any
	objects []uintptr
	strings []*pooledString
	moved   []*moved
	narrow  []narrowArgument
	packs   []*Pack // in flat form
}

// pooledString is memory for long strings; it does not move.
type pooledString struct{ bytes []byte }

var stringPool = sync.Pool{New: func() any { return new(pooledString) }}

const callSize = unsafe.Sizeof(Call{})

// word returns a word of the block.
func (c *Call) word(i uint32) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(c), callSize+8*uintptr(i)))
}

// begin starts a call of f with n arguments in a block of the given size.
func (c *Call) begin(f *Func, n int, units uint8) {
	c.fn, c.head.N, c.head.Units, c.head.Mode = f, uint16(n), units, ccall.Block
}

// beginFunction starts a call of a Function object.
func (c *Call) beginFunction(fn *objects.Object, n int, units uint8) {
	c.head.N, c.head.Units = uint16(n), units
	handle, elsewhere := uintptr(0), fn.Elsewhere()
	if elsewhere {
		handle = fn.Hold()
	} else {
		handle = fn.Handle()
	}
	if handle == 0 {
		c.fail(failure.Ended("function", fn))
		return
	}
	if elsewhere {
		c.own(abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(handle)})
	}
	c.head.Fn, c.head.Handle = capi.SafeCall(handle), handle
	c.keep(uint32(c.head.Units), unsafe.Pointer(fn))
}

// keep keeps what p points to alive until the call has returned. Each frame has
// one slot for each unit and one, the last, for the callee.
func (c *Call) keep(slot uint32, p unsafe.Pointer) { *(*unsafe.Pointer)(c.slot(slot)) = p }

func (c *Call) slot(i uint32) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(c), callSize+16*uintptr(c.head.Units)+8*uintptr(i))
}

// None packs None. Arguments that are never packed are None too.
func (c *Call) None(i int) { c.set(i, abi.TypeNone, 0) }

// OfObject reports whether the callee is a Function object.
func (c *Call) OfObject() bool { return c.fn == nil }

// Len returns the number of arguments.
func (c *Call) Len() int { return int(c.head.N) }

// Clear makes an argument None again, however it was packed before. The values that it kept
// stay alive until the call has returned.
func (c *Call) Clear(i int) {
	c.head.Mask &^= 1 << (2*uint32(i) + 1)
	c.None(i)
}

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
// None. An object that has ended is an error of Do.
func (c *Call) Object(i int, o *objects.Object) {
	if o != nil {
		at := (*[2]uint64)(unsafe.Add(unsafe.Pointer(c), callSize+16*uintptr(i)))
		handle := o.Addr() // read once: a borrowed Function may end meanwhile
		at[0], at[1] = uint64(o.TypeIndex()), uint64(handle)
		c.keep(uint32(i), unsafe.Pointer(o))
		switch {
		case handle == 0:
			at[0] = uint64(abi.TypeObject) // for failEnded; it may have no type
			c.head.Mask |= hasEnded
		case o.BorrowedMemory():
			v := o.View()
			at[0], at[1] = uint64(v.TypeIndex), v.Bits
		}
	}
}

// Self packs the receiver of a method, which must not be nil nor have ended.
func (c *Call) Self(i int, o *objects.Object) {
	if o.Handle() == 0 {
		c.refuse(o)
		return
	}
	c.Object(i, o)
}

// refuse is Self for a receiver that is nil or has ended.
func (c *Call) refuse(o *objects.Object) {
	kind := failure.KindRuntime
	if o == nil {
		kind = failure.KindType
	}
	c.fail(failure.NoReceiver(kind, c.fn.String(), o))
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
	if len(s) >= 16*ccall.MaxUnits {
		c.longString(i, s)
		return
	}
	at, ok := c.room(words)
	if !ok || !copyString(unsafe.Pointer(c.word(at)), s) {
		c.longString(i, s)
		return
	}
	c.set(i, abi.TypeRawStr, uint64(8*at))
	c.head.Mask |= 1 << (2*uint32(i) + 1)
}

// copyString copies s to dst word by word, with zeros up to the next word, and
// reports whether s has no NUL, at which C would think that it ends.
func copyString(dst unsafe.Pointer, s string) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	src, whole := unsafe.Pointer(unsafe.StringData(s)), len(s)&^7
	for i := 0; i < whole; i += 8 {
		w := *(*uint64)(unsafe.Add(src, i))
		if (w-ones)&^w&tops != 0 {
			return false
		}
		*(*uint64)(unsafe.Add(dst, i)) = w
	}
	var last uint64
	for i := whole; i < len(s); i++ {
		if s[i] == 0 {
			return false
		}
		last |= uint64(s[i]) << (8 * (i - whole))
	}
	*(*uint64)(unsafe.Add(dst, whole)) = last
	return true
}

// room takes words behind the arguments in the block, if it has so many left.
func (c *Call) room(words uint32) (at uint32, ok bool) {
	if c.head.Next == 0 {
		c.head.Next = 2 * c.head.N
	}
	at = uint32(c.head.Next)
	if at+words > 2*min(uint32(c.head.Units), ccall.MaxUnits) {
		return 0, false
	}
	c.head.Next += uint16(words)
	return at, true
}

func (c *Call) longString(i int, s string) {
	if !c.Prepare() {
		return
	}
	t := c.more()
	if strings.IndexByte(s, 0) >= 0 {
		// A raw string ends at its first NUL: such a text goes as a String object.
		v, err := values.NewString(s)
		if err != nil {
			c.fail(err)
			return
		}
		c.set(i, v.TypeIndex, v.Bits)
		*c.word(2 * uint32(i)) |= uint64(v.Small) << 32
		c.own(v)
		return
	}
	pooled := stringPool.Get().(*pooledString)
	pooled.bytes = append(append(pooled.bytes[:0], s...), 0)
	t.strings = append(t.strings, pooled)
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
	capi.Escape(data)
	at, ok := c.room(2)
	if !ok {
		array := &abi.ByteArray{Data: uintptr(data), Size: uintptr(len(b))}
		c.set(i, abi.TypeByteArrayPtr, uint64(capi.Address(array)))
		c.more().keep = append(c.more().keep, array, b)
		return
	}
	*c.word(at) = uint64(uintptr(data))
	*c.word(at + 1) = uint64(len(b))
	c.set(i, abi.TypeByteArrayPtr, uint64(8*at))
	c.head.Mask |= 1 << (2*uint32(i) + 1)
	c.keep(uint32(i), data)
}

// Put packs a value that was encoded before.
func (c *Call) Put(i int, t values.AnyView, err error) {
	if uint(i) >= uint(c.head.Units) {
		// A packed function got more than a frame holds: Begin has refused the call.
		if t.Owned && err == nil {
			c.own(t.Value)
		}
		return
	}
	if err != nil {
		c.fail(failure.Annotate(c.argument(i), err))
		return
	}
	if t.Moved {
		m, v := newMoved(uintptr(t.Value.Bits))
		c.set(i, v.TypeIndex, v.Bits)
		c.more().moved = append(c.more().moved, m)
		return
	}
	c.set(i, t.Value.TypeIndex, t.Value.Bits)
	*c.word(2 * uint32(i)) |= uint64(t.Value.Small) << 32
	switch keep := t.Keep.(type) {
	case nil:
	case *objects.Object: // as Object does
		c.keep(uint32(i), unsafe.Pointer(keep))
	default:
		s := c.more()
		s.keep = append(s.keep, t.Keep)
	}
	if t.Owned {
		c.own(t.Value)
	}
}

// Flattens reports whether the callee takes arguments in flat form.
func (c *Call) Flattens() bool { return c.head.Fn != 0 && c.head.Fn == callbacks.FlatCall }

// PutFlat packs a value in flat form, which ends with the call.
func (c *Call) PutFlat(i int, p *Pack) {
	c.more().packs = append(c.more().packs, p)
	if uint(i) < uint(c.head.Units) {
		p.argument = callbacks.FlatArgument{Values: unsafe.SliceData(p.values), Text: unsafe.SliceData(p.text)}
		c.set(i, callbacks.Flat, uint64(uintptr(unsafe.Pointer(&p.argument)))) // packs are on the heap, which does not move
	}
}

// Give packs an object whose reference is dropped after the call.
func (c *Call) Give(i int, index abi.TypeIndex, handle uintptr) {
	c.set(i, index, uint64(handle))
	c.own(abi.Any{TypeIndex: index, Bits: uint64(handle)})
}

// own releases the object in v after the call.
func (c *Call) own(v abi.Any) {
	switch {
	case !v.TypeIndex.IsObject():
	case c.head.Word == 0:
		c.head.Word = uintptr(v.Bits)
		c.head.Mask |= hasOwned
	default:
		s := c.more()
		s.objects = append(s.objects, uintptr(v.Bits))
	}
}

func (c *Call) more() *extra {
	if c.extra == nil {
		c.extra = new(extra)
	}
	return c.extra
}

func (c *Call) fail(err error) {
	if e := c.more(); e.err == nil {
		e.err = err
	}
}

// argument names an argument in an error.
func (c *Call) argument(i int) string {
	name := "argument " + strconv.Itoa(i)
	if c.fn != nil {
		name += " of " + c.fn.String()
	}
	return name
}

// Do makes the call. When it returns nil, exactly one of the result methods must
// follow, because it takes the reference to the result.
func (c *Call) Do() error { return c.do(anyType) }

// anyType is for calls whose result may have any type.
const anyType abi.TypeIndex = math.MinInt32

// do makes the call and wants a result of the given type. The methods for results that are
// read most are inlined around it: a generated function costs one Go call before the crossing,
// whatever it returns. If there is an error, the result is zero.
func (c *Call) do(want abi.TypeIndex) error {
	f := c.fn
	if c.extra != nil || c.head.Mask&(hasEnded|hasOwned) != 0 {
		return c.doSlowly(want)
	} else if f == nil {
		if c.head.Fn == 0 {
			return c.doSlowly(want)
		}
		if !ccall.Asked() {
			ccall.Call(&c.head)
		} else {
			c.functionWay().Cross(&c.head)
		}
	} else {
		fn := f.safeCall.Load()
		if fn == 0 {
			return c.doSlowly(want)
		}
		c.head.Fn, c.head.Handle = fn, f.handle
		if !ccall.Asked() {
			ccall.Call(&c.head)
		} else if !f.way.Light() {
			f.way.Cross(&c.head)
		} else if how := ccall.Light(&c.head); how != ccall.Done {
			f.way.Finish(&c.head, how)
		}
	}
	if c.head.RC != 0 || c.head.Res.TypeIndex != want && want != anyType {
		return c.wrong(want)
	}
	return nil
}

// functionWay is how calls of a Function object cross, which begin has kept behind the arguments.
func (c *Call) functionWay() *ccall.Way {
	return (*(**objects.Object)(c.slot(uint32(c.head.Units)))).Way()
}

// doSlowly is do for a call that needs more than its frame, or whose function has not been
// resolved.
func (c *Call) doSlowly(want abi.TypeIndex) error {
	if c.extra == nil && c.head.Mask&(hasEnded|hasOwned) == hasOwned {
		c.head.Mask &^= hasOwned
		err := c.do(want)
		c.release()
		return err
	}
	if err := c.finish(); err != nil {
		c.head.Res = abi.Any{}
		return err
	}
	if c.head.Res.TypeIndex != want && want != anyType {
		return c.wrong(want)
	}
	return nil
}

// wrong is what do returns for a call that failed, or whose result has another type. It may
// convert the result.
func (c *Call) wrong(want abi.TypeIndex) (err error) {
	if c.head.RC != 0 {
		err = c.failed()
		c.head.Res = abi.Any{}
		return err
	}
	switch want {
	case abi.TypeBool:
		_, err = c.BoolResult()
	case abi.TypeInt:
		_, err = c.IntResult()
	case abi.TypeFloat:
		var v float64
		v, err = c.FloatResult()
		c.head.Res.Bits = math.Float64bits(v)
	default:
		err = c.mismatch(capi.KeyOf(want))
	}
	return err
}

// Prepare finds the function behind a call before an argument is packed that
// needs the library; it reports whether that was possible. The error comes out
// of Do.
func (c *Call) Prepare() bool {
	if !capi.Attached() {
		c.resolve()
	}
	return capi.Attached() && (c.extra == nil || c.extra.err == nil)
}

// resolve finds the function behind a call on its first use.
func (c *Call) resolve() {
	if c.fn == nil {
		return
	}
	if err := c.fn.Resolve(); err != nil {
		c.fail(err)
		return
	}
	c.head.Fn, c.head.Handle = c.fn.safeCall.Load(), c.fn.handle
}

// finish is doSlowly for any result.
func (c *Call) finish() error {
	if c.head.Mask&hasEnded != 0 {
		c.failEnded()
	}
	c.head.Mask &^= hasEnded | hasOwned
	if c.extra == nil || c.extra.err == nil {
		c.resolve()
	}
	if e := c.extra; e != nil && e.err == nil {
		e.err = c.checkNumbers(e.narrow)
	}
	if c.extra == nil || c.extra.err == nil {
		if c.fn != nil {
			c.fn.way.Cross(&c.head)
		} else {
			c.functionWay().Cross(&c.head)
		}
	}
	if e := c.extra; e != nil {
		c.extra = nil
		if e.err == nil && c.head.RC == 0 {
			e.err = c.checkMade(e.narrow)
		}
		runtime.KeepAlive(e.keep)
		c.release()
		for _, o := range e.objects {
			objects.DecRef(o)
		}
		for _, m := range e.moved {
			m.end()
		}
		for _, pooled := range e.strings {
			stringPool.Put(pooled)
		}
		for _, p := range e.packs {
			p.Close()
		}
		if e.err != nil {
			return e.err
		}
	} else {
		c.release()
	}
	if c.head.RC != 0 {
		return c.failed()
	}
	return nil
}

// failEnded is for a call with an argument that has ended.
func (c *Call) failEnded() {
	for i := range c.head.N {
		at := uint32(i)
		if abi.TypeIndex(*c.word(2 * at)).IsObject() && *c.word(2*at + 1) == 0 {
			c.fail(failure.Ended(c.argument(int(i)), *(**objects.Object)(c.slot(at))))
		}
	}
}

// release releases the first of the objects that the call owns.
func (c *Call) release() {
	if o := c.head.Word; o != 0 {
		c.head.Word = 0
		objects.DecRef(o)
	}
}

// failed is the error of a call whose return code is not 0.
func (c *Call) failed() error {
	rc, raised := c.head.Failure()
	if rc == ccall.Thrown && c.fn != nil {
		return failure.Thrown(c.fn.String(), raised)
	}
	return failure.OfCall(rc, raised)
}

// moved is where a callee finds the handle of an object that it may take; it leaves
// null behind then. It lies on the heap, which does not move, until the call is over.
type moved struct{ handle uintptr }

// newMoved makes the value of an object that a call may take, whose reference it
// takes over.
func newMoved(handle uintptr) (*moved, abi.Any) {
	m := &moved{handle}
	return m, abi.Any{TypeIndex: abi.TypeObjectRValueRef, Bits: uint64(capi.Address(m))}
}

// end drops the reference that nobody took.
func (m *moved) end() {
	if m.handle != 0 {
		objects.DecRef(m.handle)
	}
}

// narrowArgument is an argument of a constructor for a field that may change it.
type narrowArgument struct {
	field *fields.Field
	index int
}

// value returns the argument as it was packed.
func (a narrowArgument) value(c *Call) abi.Any {
	return abi.Any{TypeIndex: abi.TypeIndex(uint32(*c.word(2 * uint32(a.index)))), Bits: *c.word(2*uint32(a.index) + 1)}
}

// checkNumbers returns an error if an argument cannot fit its field.
func (c *Call) checkNumbers(narrow []narrowArgument) error {
	for _, a := range narrow {
		if err := a.field.Fits(a.value(c)); err != nil {
			return err
		}
	}
	return nil
}

// checkMade releases the new object and returns an error if a field of it has another
// number than the argument.
func (c *Call) checkMade(narrow []narrowArgument) error {
	made := c.head.Res
	if len(narrow) == 0 || !made.TypeIndex.IsObject() || made.Bits == 0 {
		return nil
	}
	if info, err := c.fn.Owner.Info(); err != nil || !capi.Derives(made.TypeIndex, info) {
		return err
	}
	for _, a := range narrow {
		if err := a.field.Holds(uintptr(made.Bits), a.value(c)); err != nil {
			objects.DecRef(uintptr(made.Bits))
			c.head.Res = abi.Any{}
			return err
		}
	}
	return nil
}
