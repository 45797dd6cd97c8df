package callbacks

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	"github.com/ebitengine/purego"
)

// Args are the arguments of a call from C into Go. They lie on the C stack, are
// borrowed, and end when the callback returns.
type Args struct{ frame ccall.CallbackFrame }

// New makes a Function object that calls call, and returns its only
// reference. call gets arguments that end when it returns.
func New(call func(*Args) error) uintptr {
	return NewOf(call, **(**uintptr)(unsafe.Pointer(&call)))
}

// NewOf is New for a Go func whose code lies at origin, unlike the code of call.
func NewOf(call func(*Args) error, origin uintptr) uintptr {
	return objects.NewFunctionNode(*(*unsafe.Pointer)(unsafe.Pointer(&call)), origin, nil)
}

// NewDescribed is NewOf for an exported function.
func NewDescribed(call func(*Args) error, origin uintptr, about *About) uintptr {
	return objects.NewFunctionNode(*(*unsafe.Pointer)(unsafe.Pointer(&call)), origin, about)
}

// Install makes all calls from C arrive here.
func Install() {
	ccall.SetCallback(callbackEntry)
	ccall.RefuseForks(capi.API.ErrorSetRaisedFromCStrParts, failure.KindRuntime+"\x00",
		"a Go func cannot be called here: the process was forked after Go had started, and the fork has no threads of Go: "+
			"leave the fork without calling Go, or start a new process instead of a fork (posix_spawn, or spawn in multiprocessing)\x00")
}

// callbackEntry is where all calls from C arrive, on the goroutine stack.
func callbackEntry(f *ccall.CallbackFrame) {
	f.Enter()
	if size := f.FullStack(); size != 0 {
		(*Args)(unsafe.Pointer(f)).overflow(size)
		f.Leave()
		return
	}
	defer func() {
		if f.RC == ccall.Running {
			(*Args)(unsafe.Pointer(f)).unwind(recover())
		}
		f.Leave()
	}()
	call := *(*func(*Args) error)(unsafe.Pointer(&f.Call)) // which the slot of the node keeps alive
	err := call((*Args)(unsafe.Pointer(f)))
	if err != nil || f.Side != 0 {
		(*Args)(unsafe.Pointer(f)).end(err)
		return
	}
	f.RC = 0
}

// TraceEntries makes f run at each entry of C into Go, until the returned func is
// called. It is for tests, and not for a time when others call.
func TraceEntries(f func()) (stop func()) {
	traced = f
	ccall.SetCallback(tracedEntry)
	return func() { ccall.SetCallback(callbackEntry) }
}

var traced func()

func tracedEntry(f *ccall.CallbackFrame) {
	traced()
	callbackEntry(f)
}

// end ends a callback that returned err and may have borrowed objects.
func (a *Args) end(err error) {
	rc := int64(0)
	err = a.settled(err)
	if err != nil {
		rc = a.raise(failure.Passed(err, a.origin(), a.frame.Outermost()))
	}
	if a.frame.Side != 0 {
		a.endBorrowed()
	}
	a.frame.RC = rc
}

// about returns the description of the function, nil if it has none.
func (a *Args) about() *About {
	about, _ := objects.AboutNode(a.frame.Handle, a.frame.Call).(*About)
	return about
}

// Exported reports whether the func is one that a Go library exports.
func (a *Args) Exported() bool { return a.about() != nil }

// origin is the code of the Go func, 0 if native code released the callback while it
// ran: its node may have another now.
func (a *Args) origin() uintptr {
	return objects.OriginOfNode(a.frame.Handle, a.frame.Call)
}

// unwind ends a callback that did not return: the panic p becomes its error. One that
// ends by runtime.Goexit (as t.FailNow does) has no panic: C frames cannot be unwound,
// so that is reported and the program stops.
func (a *Args) unwind(p any) {
	if p == nil {
		a.goexit()
	}
	err := a.settled(a.Recovered(p))
	if a.frame.Side != 0 {
		a.endBorrowed()
	}
	a.frame.RC = failure.Raise(err)
}

// Recovered returns an error for a panic of the Go func that was called.
func (a *Args) Recovered(p any) error { return failure.Recovered(p, a.GoName()) }

// GoName names the Go func of an exported function, such as stats.Add, for the text of a
// panic. It names no others: their text says that a callback failed.
func (a *Args) GoName() string {
	if name := a.ShortName(); name != "" && a.about() != nil {
		return name
	}
	return "a Go callback"
}

// ShortName names the Go func that was called, such as stats.Add; "" if it is not known.
func (a *Args) ShortName() string {
	name, _, _ := failure.OriginOf(a.origin())
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Exited returns an error for runtime.Goexit in the Go func that was called. It must be called
// by a deferred func of its goroutine.
func (a *Args) Exited() error { return failure.Goexit(a.ShortName()) }

// Waits returns the error of a call that would be one of too many, of which n wait for another
// goroutine.
func (a *Args) Waits(n int64) error {
	return failure.Errorf(failure.KindRecursion, "%s: %d calls wait, each on a thread of its own: "+
		"end the recursion between Go and native code earlier", a.function(), n)
}

// goexit stops the program. It does not panic: a function between here and main
// could recover, above C frames that were never left.
func (a *Args) goexit() {
	remedy := "return an error or panic instead"
	if a.Exported() {
		remedy += ", or let the exported func take a context.Context first: it runs on another goroutine then"
	}
	os.Stderr.WriteString("tvmffi: " + failure.GoexitText(a.ShortName()) + " (testing.T.FailNow and Fatal do that), " +
		"which cannot unwind the C++ frames that called it: " + remedy + "\n\n" + string(debug.Stack()))
	os.Exit(2)
}

// borrowed lists the wrappers that end with a callback, the arguments that were moved, and
// the first error of reading the arguments.
type borrowed struct {
	loan  objects.BorrowScope
	moved []movedArgument
	err   error
	// with keeps the arguments of With.
	with []abi.Any
	// loans are settled by settle. passed are the handles of Passed.
	loans  []Loan
	settle Settler
	passed []uintptr
}

// movedArgument is an argument that came as an RValueRef.
type movedArgument struct {
	argument int
	value    abi.Any
}

// sides keeps the Go parts of callbacks: a frame, on the C stack, has the address of
// its own, which is used again and never freed.
var sides struct {
	// spare is one that is free, which takes no lock.
	spare atomic.Pointer[borrowed]

	mu   sync.Mutex
	all  []*borrowed
	free []*borrowed
}

// side returns the Go part of the state of the callback.
func (a *Args) side() *borrowed {
	if a.frame.Side == 0 {
		a.frame.Side = uintptr(unsafe.Pointer(newSide()))
	}
	return capi.PointerTo[borrowed](a.frame.Side)
}

func newSide() *borrowed {
	if b := sides.spare.Swap(nil); b != nil {
		return b
	}
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
	b.moved, b.err, b.with = b.moved[:0], nil, nil
	b.loans, b.settle, b.passed = b.loans[:0], nil, b.passed[:0]
	if sides.spare.CompareAndSwap(nil, b) {
		return
	}
	sides.mu.Lock()
	sides.free = append(sides.free, b)
	sides.mu.Unlock()
}

// Len returns the number of arguments.
func (a *Args) Len() int { return int(a.frame.N) }

// Value returns argument i, borrowed; None if there is no such argument.
func (a *Args) Value(i int) abi.Any {
	v := a.Any(i)
	if v == nil || v.TypeIndex == abi.TypeObjectRValueRef {
		return a.moved(i)
	}
	return *v
}

// Any returns argument i as the caller passed it, or nil if there is no such argument. The
// caller must not write to it.
func (a *Args) Any(i int) *abi.Any {
	if uintptr(i) >= a.frame.N {
		return nil
	}
	return capi.PointerTo[abi.Any](a.frame.Args + uintptr(i)*unsafe.Sizeof(abi.Any{}))
}

// moved returns argument i, which the caller moved: the first time, it takes the reference
// out of the slot of the caller. The reference ends with the callback. So each argument is
// an object that is borrowed for the callback, whatever the caller does with its own.
func (a *Args) moved(i int) abi.Any {
	at := a.Any(i)
	if at == nil {
		return abi.Any{}
	}
	b := a.side()
	for _, m := range b.moved {
		if m.argument == i {
			return m.value
		}
	}
	var v abi.Any
	slot := capi.PointerTo[uintptr](uintptr(at.Bits))
	if handle := *slot; handle != 0 { // a null reference is None
		*slot = 0
		v = abi.Any{TypeIndex: capi.PointerTo[abi.Object](handle).TypeIndex, Bits: uint64(handle)}
		b.loan.Take(handle)
	}
	b.moved = append(b.moved, movedArgument{i, v})
	return v
}

// With calls f with borrowed arguments instead of its own, which Value must not have read. f
// ends the callback.
func (a *Args) With(args []abi.Any, f func(*Args) error) error {
	a.side().with = args // the frame has only the address, and the heap does not move
	a.frame.Args, a.frame.N = uintptr(unsafe.Pointer(unsafe.SliceData(args))), uintptr(len(args))
	return f(a)
}

// Borrow wraps an object that ends when the callback returns.
func (a *Args) Borrow(handle uintptr) *objects.Object { return a.side().loan.Borrow(handle) }

// Take takes over a reference to an object, which the next wrapper of it has. It ends when the
// callback returns.
func (a *Args) Take(handle uintptr) { a.side().loan.Take(handle) }

// Lend wraps a Function that becomes a Go func, and ends when the callback returns.
func (a *Args) Lend(handle uintptr) *objects.Object { return a.side().loan.Lend(handle) }

// Adopt wraps an owned tensor over memory that ends when the callback returns.
func (a *Args) Adopt(handle uintptr) *objects.Object { return a.side().loan.Adopt(handle) }

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

// CheckCount is Check for a function whose About says how many arguments it takes.
func (a *Args) CheckCount() error {
	if about := a.about(); about != nil {
		if least, most := about.counts(); a.Len() < least || most >= 0 && a.Len() > most {
			return about.wrongCount(a.Len())
		}
	}
	if a.frame.Side == 0 {
		return nil
	}
	return a.side().err
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
	function := a.function() + ": it"
	if about := a.about(); about != nil {
		if least, most := about.counts(); least == n || most == n {
			return about.wrongCount(a.Len())
		}
		function = about.Name + "()" // its parameters have no names
	}
	noun := "arguments"
	if n == 1 {
		noun = "argument"
	}
	return failure.Errorf(failure.KindType, "%s takes %s%d %s, but got %d", function, least, n, noun, a.frame.N)
}

// InArgument adds to an error that it is of argument i.
func (a *Args) InArgument(i int, err error) error {
	if about := a.about(); about != nil {
		return about.inArgument(i, err)
	}
	return failure.Annotate(a.function()+": argument "+strconv.Itoa(i), err)
}

// WrongResult returns the error of packing the result.
func (a *Args) WrongResult(err error) error {
	if about := a.about(); about != nil {
		return failure.Annotate(about.Name+"(): its result", err)
	}
	return failure.Annotate(a.function()+": its result", err)
}

// function names the func that these arguments belong to, as backtraces do. The user may have
// made another call, in which the library called this func back.
func (a *Args) function() string {
	if name, _, _ := failure.OriginOf(a.origin()); name != "" {
		return "the Go func " + name
	}
	return "a Go func that others call"
}

// Int returns argument i if it is an int.
func (a *Args) Int(i int) (x int64, ok bool) {
	if v := a.Any(i); v != nil && v.TypeIndex == abi.TypeInt {
		return int64(v.Bits), true
	}
	return 0, false
}

// Float returns argument i if it is a float.
func (a *Args) Float(i int) (x float64, ok bool) {
	if v := a.Any(i); v != nil && v.TypeIndex == abi.TypeFloat {
		return math.Float64frombits(v.Bits), true
	}
	return 0, false
}

// Bool returns argument i if it is a bool.
func (a *Args) Bool(i int) (x, ok bool) {
	if v := a.Any(i); v != nil && v.TypeIndex == abi.TypeBool {
		return v.Bits != 0, true
	}
	return false, false
}

// Return sets the result, which takes over the reference of v.
func (a *Args) Return(v abi.Any) { *capi.PointerTo[abi.Any](a.frame.Res) = v }

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

// overflow ends a callback that would leave too little of the C stack, which has the given
// size. A stack that overflows would end the process.
func (a *Args) overflow(size uintptr) {
	err := failure.Errorf(failure.KindRecursion, "%s: callbacks are nested %d deep, and the C stack of this thread (%d kB) is almost full: "+
		"end the recursion between Go and native code earlier%s",
		a.function(), nested(), size>>10, largerStack)
	a.frame.RC = failure.Raise(failure.Passed(err, a.origin(), a.frame.Outermost()))
}

// largerStack is the other remedy. On Windows the linker of Go sets the size.
var largerStack = map[bool]string{false: ", or give the thread a larger stack (ulimit -s does that for threads of Go)"}[runtime.GOOS == "windows"]

// nested returns how many callbacks have not returned on this thread. They share the stack
// of one goroutine, which has all their Go frames.
func nested() (n int) {
	pcs := make([]uintptr, 1<<12)
	got := runtime.Callers(1, pcs)
	for got == len(pcs) {
		pcs = make([]uintptr, 4*len(pcs))
		got = runtime.Callers(1, pcs)
	}
	for _, pc := range pcs[:got] {
		if f := runtime.FuncForPC(pc - 1); f != nil && strings.HasSuffix(f.Name(), "/internal/callbacks.callbackEntry") {
			n++
		}
	}
	return n
}

// packedCall is what a C function of the packed form of MLIR gets: addresses of the
// arguments of a call.
type packedCall struct {
	at     [5]uintptr
	handle uintptr
	args   uintptr
	result uintptr
	n      int32
	rc     int32
}

// CallPacked passes the arguments of a callback to a C function of the form
// void f(void **args), and takes its result.
func (a *Args) CallPacked(f uintptr) error {
	c := &packedCall{args: a.frame.Args, n: int32(a.frame.N), result: a.frame.Res}
	c.at = [5]uintptr{capi.Address(&c.handle), capi.Address(&c.args), capi.Address(&c.n), capi.Address(&c.result), capi.Address(&c.rc)}
	purego.SyscallN(f, capi.Address(&c.at))
	rc := c.rc
	runtime.KeepAlive(c)
	return a.failed(rc)
}

// failed returns the error of a function that returned rc. A callback stays on the thread that it was called on.
func (a *Args) failed(rc int32) error {
	if rc == 0 {
		return nil
	}
	raised := new(uintptr)
	purego.SyscallN(capi.API.ErrorMoveFromRaised, capi.Address(raised))
	return failure.OfCall(int64(rc), *raised)
}
