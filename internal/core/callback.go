package core

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"

	"github.com/ebitengine/purego"
)

// Args are the arguments of a call from C into Go. They lie on the C stack, are
// borrowed, and end when the callback returns.
type Args struct{ frame ccall.CallbackFrame }

// node is the block in C memory behind a Go value that native code holds: a
// Function, a Tensor or an object of the type go.Value, or the handle of a DLPack
// tensor. Its deleter is ccall.ReleaseObject or ccall.Release, so a node that native
// code lets go waits on a list and enters Go only when drain takes it.
type node struct {
	ccall.Released
	slot uintptr            // the address of its slot, which slots keeps alive and the heap does not move
	dims [2 * fewDims]int64 // of a tensor
}

// functionObject is a Function object: what the library reads of any, and no more.
type functionObject struct {
	abi.Object
	abi.FunctionCell
}

// It lies in a node before what is the node's own.
const _ = unsafe.Offsetof(node{}.Next) - unsafe.Sizeof(functionObject{})

// oneReference is the count of an object with one strong and one weak reference.
const oneReference = 1<<32 | 1

// allocHeader is the size of TVMFFIObjectAllocHeader, which lies, empty, in front
// of every object.
const allocHeader = 16

const nodeStride = allocHeader + unsafe.Sizeof(node{})

// slots holds the Go values behind nodes, each node with its slot for ever. A slot
// is written before its node is handed out and cleared after native code has
// released it.
var slots struct {
	mu    sync.Mutex
	slabs [][]slot
	nodes int
	free  []uintptr // nodes
	// spare is a free node that is not in free, or 0: values that come and go need no
	// lock.
	spare atomic.Uintptr
	// kept counts the nodes that native code never lets go.
	kept int
}

// slot refers to what a node holds. It is atomic because the threads of native
// code order its reads and writes in a way that the race detector does not see.
type slot struct {
	atomic.Pointer[held]
	data unsafe.Pointer // memory of a tensor, or the second word of a value; atomic too
	kind unsafe.Pointer // the first word of a value, its type; atomic too
}

// words are the two pointers that an interface value consists of: the collector may
// find them in any place, and follows them there.
type words struct{ kind, data unsafe.Pointer }

func (s *slot) setValue(v any) {
	w := (*words)(unsafe.Pointer(&v))
	atomic.StorePointer(&s.kind, w.kind)
	atomic.StorePointer(&s.data, w.data)
}

func (s *slot) value() (v any) {
	*(*words)(unsafe.Pointer(&v)) = words{atomic.LoadPointer(&s.kind), atomic.LoadPointer(&s.data)}
	return v
}

// clear lets go of what the node held.
func (s *slot) clear() {
	if h := s.Load(); h != nil {
		if h.region != nil {
			h.region.leave()
		}
		s.Store(nil)
	}
	if atomic.LoadPointer(&s.data) != nil {
		atomic.StorePointer(&s.data, nil)
	}
	if atomic.LoadPointer(&s.kind) != nil {
		atomic.StorePointer(&s.kind, nil)
	}
}

// held is a callback, or what a tensor stands on.
type held struct {
	call  func(*Args) error
	value any
	// origin is the code of the Go func behind a callback, for backtraces.
	origin uintptr
	// region is that of large memory of Go under a tensor.
	region *region
}

// LiveCallbacks counts the Go values that native code holds.
func LiveCallbacks() int64 {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	reclaim()
	live := int64(slots.nodes - len(slots.free) - slots.kept)
	if slots.spare.Load() != 0 {
		live--
	}
	return live
}

func slotOf(nodeAddress uintptr) *slot { return At[slot](At[node](nodeAddress).slot) }

// newNode takes a free node and fills its slot.
func newNode(h *held, data unsafe.Pointer) uintptr {
	n := freeNode()
	s := slotOf(n)
	if h != nil {
		s.Store(h)
	}
	if data != nil {
		atomic.StorePointer(&s.data, data)
	}
	return n
}

func freeNode() uintptr {
	if !ccall.HasReleased() && slots.spare.Load() != 0 {
		if n := slots.spare.Swap(0); n != 0 {
			return n
		}
	}
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if ccall.HasReleased() {
		reclaim()
	}
	if len(slots.free) == 0 {
		growNodes()
	}
	last := len(slots.free) - 1
	n := slots.free[last]
	slots.free = slots.free[:last]
	return n
}

// allocate returns zeroed C memory.
func allocate(size uintptr) uintptr {
	base, _, _ := purego.SyscallN(malloc, size)
	if base == 0 {
		panic("tvmffi: out of memory")
	}
	clear(unsafe.Slice(At[byte](base), size))
	return base
}

// HasRoom reports whether malloc has so many bytes.
func HasRoom(size uintptr) bool {
	base, _, _ := purego.SyscallN(malloc, size)
	purego.SyscallN(cFunction("free"), base)
	return base != 0
}

// growNodes doubles the number of nodes; they are used again and never freed.
func growNodes() {
	slab := make([]slot, max(64, slots.nodes))
	base := allocate(uintptr(len(slab)) * nodeStride)
	for i := range slab {
		n := base + uintptr(i)*nodeStride + allocHeader
		*At[node](n) = node{slot: uintptr(unsafe.Pointer(&slab[i]))}
		slots.free = append(slots.free, n)
	}
	slots.slabs = append(slots.slabs, slab)
	slots.nodes += len(slab)
}

// drain clears the slots of the nodes that native code has released.
func drain() {
	if !ccall.HasReleased() {
		return
	}
	slots.mu.Lock()
	reclaim()
	slots.mu.Unlock()
}

// reclaim is drain while slots.mu is held.
func reclaim() {
	ccall.TakeReleased(func(released uintptr) {
		slotOf(released).clear()
		slots.free = append(slots.free, released)
	})
}

// NewCallback makes a Function object that calls call, and returns its only
// reference. call gets arguments that end when it returns.
func NewCallback(call func(*Args) error) uintptr {
	return NewCallbackOf(call, **(**uintptr)(unsafe.Pointer(&call)))
}

// NewCallbackOf is NewCallback for a Go func whose code, at origin, is not that of
// call.
func NewCallbackOf(call func(*Args) error, origin uintptr) uintptr {
	n := newCall(call, origin)
	*At[functionObject](n) = functionObject{
		abi.Object{RefCounts: oneReference, TypeIndex: abi.TypeFunction, Deleter: ccall.ReleaseObject()},
		abi.FunctionCell{SafeCall: ccall.Callback()},
	}
	return n
}

// newCall takes a node for a callback.
func newCall(call func(*Args) error, origin uintptr) uintptr {
	n := newNode(&held{call: call, origin: origin}, nil)
	At[node](n).Call = *(*uintptr)(unsafe.Pointer(&call))
	return n
}

// NewValue makes an object of the type go.Value that holds a Go value until its
// last reference goes, and returns its only reference. Other runtimes in the
// process (a Go library, say) have a type of their own: the key is unique.
func NewValue(value any) (uintptr, error) {
	index, err := ValueType()
	if err != nil {
		return 0, err
	}
	n := freeNode()
	slotOf(n).setValue(value)
	*At[abi.Object](n) = abi.Object{RefCounts: oneReference, TypeIndex: index, Deleter: ccall.ReleaseObject()}
	return n, nil
}

var valueIndex atomic.Int32

// ValueType returns the type of the objects that NewValue makes.
func ValueType() (abi.TypeIndex, error) {
	if i := valueIndex.Load(); i != 0 {
		return abi.TypeIndex(i), nil
	}
	Registry.Lock()
	defer Registry.Unlock()
	name := "go.Value." + strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&valueIndex))), 16)
	key := byteArray(name)
	i, _, _ := purego.SyscallN(API.TypeGetOrAllocIndex, address(key), ^uintptr(0), 1, 0, 1, uintptr(abi.TypeObject))
	keepAlive(key, name)
	if int32(i) < int32(abi.TypeDynObjectBegin) {
		return 0, Errorf(KindRuntime, "cannot register the type %s", name)
	}
	valueIndex.Store(int32(i))
	return abi.TypeIndex(int32(i)), nil
}

// GoValue returns the value of an object that NewValue made. handle must be
// alive or 0.
func GoValue(handle uintptr) (any, bool) {
	if handle == 0 || valueIndex.Load() == 0 || At[abi.Object](handle).TypeIndex != abi.TypeIndex(valueIndex.Load()) {
		return nil, false
	}
	return slotOf(handle).value(), true
}

// endNode drops the only reference to an object in a node, without C.
func endNode(handle uintptr) bool {
	o := At[abi.Object](handle)
	if o.Deleter != ccall.ReleaseObject() || !atomic.CompareAndSwapUint64(&o.RefCounts, oneReference, 0) {
		return false
	}
	slotOf(handle).clear()
	if old := slots.spare.Swap(handle); old != 0 {
		slots.mu.Lock()
		slots.free = append(slots.free, old)
		slots.mu.Unlock()
	}
	return true
}

// callbackEntry is where all calls from C arrive, on the goroutine stack.
func callbackEntry(f *ccall.CallbackFrame) {
	defer func() {
		if f.RC == ccall.Running {
			(*Args)(unsafe.Pointer(f)).unwind(recover())
		}
	}()
	call := *(*func(*Args) error)(unsafe.Pointer(&f.Call)) // which the slot of the node keeps alive
	err := call((*Args)(unsafe.Pointer(f)))
	if err != nil || f.Side != 0 {
		(*Args)(unsafe.Pointer(f)).end(err)
		return
	}
	f.RC = 0
}

// end ends a callback that returned err and may have borrowed objects.
func (a *Args) end(err error) {
	rc := int64(0)
	if err != nil {
		rc = raise(passed(err, a.origin()))
	}
	if a.frame.Side != 0 {
		a.endBorrowed()
	}
	a.frame.RC = rc
}

// origin is the code of the Go func, 0 if native code let go of the callback while it
// ran: its node may have another now.
func (a *Args) origin() uintptr {
	if h := slotOf(a.frame.Handle).Load(); h != nil && *(*uintptr)(unsafe.Pointer(&h.call)) == a.frame.Call {
		return h.origin
	}
	return 0
}

// unwind ends a callback that did not return: the panic p becomes its error. One that
// ends by runtime.Goexit (as t.FailNow does) has no panic: C frames cannot be unwound,
// so that is reported and the program stops.
func (a *Args) unwind(p any) {
	if p == nil {
		goexit()
	}
	if a.frame.Side != 0 {
		a.endBorrowed()
	}
	a.frame.RC = raise(Recovered(p))
}

// goexit stops the program. It does not panic: a function between here and main
// could recover, above C frames that were never left.
func goexit() {
	os.Stderr.WriteString("tvmffi: a Go callback ended by runtime.Goexit (testing.T.FailNow and Fatal do that), " +
		"which cannot unwind the C++ frames that called it: return an error or panic instead\n\n" + string(debug.Stack()))
	os.Exit(2)
}

// borrowed lists the wrappers that end with a callback, and the first error of
// reading its arguments.
type borrowed struct {
	loan Loan
	err  error
}

// sides keeps the Go parts of callbacks: a frame, on the C stack, has the address of
// its own, which is used again and never freed.
var sides struct {
	mu   sync.Mutex
	all  []*borrowed
	free []*borrowed
}

// side returns the Go part of the state of the callback.
func (a *Args) side() *borrowed {
	if a.frame.Side == 0 {
		a.frame.Side = uintptr(unsafe.Pointer(newSide()))
	}
	return At[borrowed](a.frame.Side)
}

func newSide() *borrowed {
	sides.mu.Lock()
	defer sides.mu.Unlock()
	if last := len(sides.free) - 1; last >= 0 {
		b := sides.free[last]
		sides.free = sides.free[:last]
		return b
	}
	b := new(borrowed)
	sides.all = append(sides.all, b)
	return b
}

func (a *Args) endBorrowed() {
	b := a.side()
	a.frame.Side = 0
	b.loan.End()
	b.err = nil
	sides.mu.Lock()
	sides.free = append(sides.free, b)
	sides.mu.Unlock()
}

// Len returns the number of arguments.
func (a *Args) Len() int { return int(a.frame.N) }

// Value returns argument i, borrowed; None if there is no such argument.
func (a *Args) Value(i int) abi.Any {
	if v := a.At(i); v != nil {
		return *v
	}
	return abi.Any{}
}

// At returns argument i, which must not be written; nil if there is no such
// argument.
func (a *Args) At(i int) *abi.Any {
	if uintptr(i) >= a.frame.N {
		return nil
	}
	return At[abi.Any](a.frame.Args + uintptr(i)*unsafe.Sizeof(abi.Any{}))
}

// Borrow wraps an object that ends when the callback returns.
func (a *Args) Borrow(handle uintptr) *Object { return a.side().loan.Borrow(handle) }

// Adopt wraps an owned tensor over memory that ends when the callback returns.
func (a *Args) Adopt(handle uintptr) *Object { return a.side().loan.Adopt(handle) }

// Fail keeps the first error of reading the arguments.
func (a *Args) Fail(err error) {
	if b := a.side(); b.err == nil {
		b.err = err
	}
}

// Check returns an error if the callback did not get exactly n arguments, or if
// one of them could not be read.
func (a *Args) Check(n int) error {
	if a.frame.N == uintptr(n) && a.frame.Side == 0 {
		return nil
	}
	return a.check(n)
}

func (a *Args) check(n int) error {
	if a.frame.N != uintptr(n) {
		return a.wrongCount("", n)
	}
	return a.side().err
}

// CheckAtLeast returns an error if the callback got fewer than n arguments.
func (a *Args) CheckAtLeast(n int) error {
	if a.Len() < n {
		return a.wrongCount("at least ", n)
	}
	return nil
}

func (a *Args) wrongCount(least string, n int) error {
	noun := "arguments"
	if n == 1 {
		noun = "argument"
	}
	return Errorf(KindType, "%s: it takes %s%d %s, but got %d", a.function(), least, n, noun, a.frame.N)
}

// InArgument adds to an error that it is of argument i.
func (a *Args) InArgument(i int, err error) error {
	return Place(a.function()+": argument "+itoa(i), err)
}

// WrongResult returns the error of packing the result.
func (a *Args) WrongResult(err error) error { return Place(a.function()+": its result", err) }

// function says whose arguments these are: not those of the call that the user may
// have made, in which the library called back. The name is that of backtraces.
func (a *Args) function() string {
	if name, _, _ := originOf(a.origin()); name != "" {
		return "callback from native code to the Go func " + name
	}
	return "callback from native code to a Go func"
}

// Int returns argument i if it is an int.
func (a *Args) Int(i int) (x int64, ok bool) {
	if v := a.At(i); v != nil && v.TypeIndex == abi.TypeInt {
		return int64(v.Bits), true
	}
	return 0, false
}

// Float returns argument i if it is a float.
func (a *Args) Float(i int) (x float64, ok bool) {
	if v := a.At(i); v != nil && v.TypeIndex == abi.TypeFloat {
		return math.Float64frombits(v.Bits), true
	}
	return 0, false
}

// Bool returns argument i if it is a bool.
func (a *Args) Bool(i int) (x, ok bool) {
	if v := a.At(i); v != nil && v.TypeIndex == abi.TypeBool {
		return v.Bits != 0, true
	}
	return false, false
}

// Return sets the result, which takes over the reference of v.
func (a *Args) Return(v abi.Any) { *At[abi.Any](a.frame.Res) = v }

// ReturnInt sets the result to an int.
func (a *Args) ReturnInt(v int64) error {
	a.Return(abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)})
	return nil
}

// ReturnFloat sets the result to a float.
func (a *Args) ReturnFloat(v float64) error {
	a.Return(abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(v)})
	return nil
}

// ReturnBool sets the result to a bool.
func (a *Args) ReturnBool(v bool) error {
	var bits uint64
	if v {
		bits = 1
	}
	a.Return(abi.Any{TypeIndex: abi.TypeBool, Bits: bits})
	return nil
}

// Owned makes an owned value of a borrowed one: raw strings and bytes are
// copied, references counted.
func Owned(v abi.Any) (abi.Any, error) {
	switch v.TypeIndex {
	case abi.TypeRawStr, abi.TypeByteArrayPtr, abi.TypeDLTensorPtr, abi.TypeObjectRValueRef:
		view := v
		r, err := invokeResult(API.AnyViewToOwnedAny, address(&view))
		runtime.KeepAlive(&view)
		return r, err
	}
	if v.TypeIndex.IsObject() {
		IncRef(uintptr(v.Bits))
	}
	return v, nil
}
