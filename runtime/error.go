package tvmffi

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"

	"github.com/ebitengine/purego"
)

// Error is an error of the library or of the runtime.
type Error struct {
	// Kind is the kind that the library gave, such as "ValueError"; any text.
	Kind string
	// Message says what went wrong.
	Message string
	// Backtrace lists the frames of all languages that the error passed through,
	// the most recent call first; one line each, File "x.cc", line 1, in f().
	Backtrace string

	cause error
	step  string // of a path, when cause is the error of a part: [1], ["key"] or .field
	// native is a *core.Object, atomic: the Error object, to raise it again as the same.
	// An error that is plain has one from its next raise on.
	native unsafe.Pointer
	plain  bool // of the library, with nothing that is not in the fields here
	// trace is a *string, atomic: the backtrace of the object that the error became
	// in a callback, when it came back as itself.
	trace unsafe.Pointer
}

// The kinds of errors that the core of TVM-FFI uses; errors.Is compares an error
// with them by kind.
var (
	ErrValue     error = kindError("ValueError")
	ErrType      error = kindError("TypeError")
	ErrRuntime   error = kindError("RuntimeError")
	ErrIndex     error = kindError("IndexError")
	ErrKey       error = kindError("KeyError")
	ErrAttribute error = kindError("AttributeError")
	ErrAssertion error = kindError("AssertionError")
	ErrMemory    error = kindError("MemoryError")
	ErrOverflow  error = kindError("OverflowError")
	ErrInternal  error = kindError("InternalError")
	// ErrSchema is the kind of the error that a library differs from the one that
	// bindings were generated from.
	ErrSchema error = kindError(core.KindSchema)
	// ErrNotFound is the kind of the error that a library could not be found.
	ErrNotFound error = kindError("LibraryNotFound")
)

// kindError is the target that errors.Is compares an Error with.
type kindError string

// Error returns the kind.
func (k kindError) Error() string { return string(k) }

// KindError returns the target with which errors.Is finds errors of the given
// kind, for kinds that a library invents.
func KindError(kind string) error { return kindError(kind) }

// NewError returns an error of a kind. A Go callback that returns it makes the
// library raise that kind.
func NewError(kind, message string) *Error { return &Error{Kind: kind, Message: message} }

// WrapError returns an error of a kind with a cause, which Unwrap returns. The
// library gets the cause too, if it is an *Error.
func WrapError(kind, message string, cause error) *Error {
	return &Error{Kind: kind, Message: message, cause: cause}
}

// Error returns the kind and the message.
func (e *Error) Error() string {
	if e == nil {
		return "a nil *tvmffi.Error: return nil where there is no error"
	}
	if e.Kind == "" {
		return e.Message
	}
	return e.Kind + ": " + e.Message
}

// Is reports whether target names the kind of e, or is the same error of the
// library as e.
func (e *Error) Is(target error) bool {
	if e == nil {
		return false
	}
	switch t := target.(type) {
	case kindError:
		return string(t) == e.Kind
	case *Error:
		o := e.own()
		return o != nil && o.Handle() == t.own().Handle()
	}
	return false
}

// Unwrap returns the error that caused e: the Go error that a callback returned,
// or the cause that the library recorded.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// asError returns err as an *Error, nil if it is none or holds a nil one.
func asError(err error) *Error {
	e, _ := err.(*Error)
	return e
}

// errorf makes an error of the runtime. A %w in the format becomes its cause.
func errorf(kind, format string, args ...any) error {
	for i, arg := range args {
		if e, ok := arg.(*Error); ok && e != nil {
			args[i] = withoutKind{inner: e}
		}
	}
	err := fmt.Errorf(format, args...)
	cause := errors.Unwrap(err)
	if w, ok := cause.(withoutKind); ok {
		cause = w.inner
	}
	return &Error{Kind: kind, Message: err.Error(), cause: cause}
}

// withoutKind is an error inside the text of another, which has a kind already.
type withoutKind struct{ inner *Error }

// Error returns the message without the kind.
func (w withoutKind) Error() string { return w.inner.Message }

// errorOf makes a Go error of an Error object, whose reference it takes.
func errorOf(handle uintptr) error {
	if handle == 0 {
		return &Error{Kind: core.KindRuntime, Message: "the function failed without saying why"}
	}
	cell := core.At[abi.ErrorCell](handle + abi.ObjectSize)
	e := &Error{
		Kind:      core.Text(cell.Kind),
		Message:   core.Text(cell.Message),
		Backtrace: nativeBacktrace(cell),
	}
	if value, ok := goValue(cell.ExtraContext); ok {
		original := value.(error)
		if same := asError(original); same != nil {
			if e.Backtrace != same.Backtrace {
				atomic.StorePointer(&same.trace, unsafe.Pointer(&e.Backtrace))
			}
			core.DecRef(handle)
			return same
		}
		e.cause = original
	} else if cell.CauseChain != 0 {
		core.IncRef(cell.CauseChain)
		e.cause = errorOf(cell.CauseChain)
	}
	if cell.ExtraContext == 0 && cell.CauseChain == 0 && core.Strong(handle) == 1 && core.At[abi.Object](handle).TypeIndex == abi.TypeError {
		// Nobody else has the object, so its memory need not wait for the collector.
		e.plain = true
		core.DecRef(handle)
	} else {
		e.native = unsafe.Pointer(core.Own(handle))
	}
	return e
}

// own returns the Error object that e has, nil if it has none.
func (e *Error) own() *core.Object {
	if e == nil {
		return nil
	}
	return (*core.Object)(atomic.LoadPointer(&e.native))
}

// raised returns the Error object that stands for e, an error of the library, in C++; nil
// for other errors.
func (e *Error) raised() *core.Object {
	if o := e.own(); o != nil || e == nil || !e.plain {
		return o
	}
	handle, err := core.NewError(e.Kind, e.Message, e.Backtrace, 0, 0)
	if err != nil {
		return nil
	}
	o := core.Own(handle)
	if !atomic.CompareAndSwapPointer(&e.native, nil, unsafe.Pointer(o)) {
		o.Release()
	}
	return e.own()
}

// visitContext is what the library puts around the extra context of an error that
// leaves a structural visit.
var (
	visitContext = core.Type{Key: "ffi.VisitErrorContext"}
	innerContext = core.Field{Owner: &visitContext, Name: "prev_error_context"}
)

// goValue returns the Go value in the extra context of an error.
func goValue(context uintptr) (any, bool) {
	if context == 0 {
		return nil, false
	}
	if value, ok := core.GoValue(context); ok || core.KeyOf(core.At[abi.Object](context).TypeIndex) != visitContext.Key {
		return value, ok
	}
	core.IncRef(context)
	o := core.Own(context)
	inner := innerContext.Get(o)
	o.Release()
	if !inner.TypeIndex.IsObject() {
		return nil, false
	}
	defer release(inner)
	return goValue(uintptr(inner.Bits))
}

// nativeBacktrace copies the backtrace of an Error object, to which another thread
// may add.
func nativeBacktrace(cell *abi.ErrorCell) string {
	core.Backtraces.Lock()
	defer core.Backtraces.Unlock()
	return core.Text(cell.Backtrace)
}

// raise puts err into the error slot of this thread, which must be that of the
// callback that failed.
func raise(err error) int64 {
	handle, made := nativeError(err)
	if made != nil {
		// Only a broken library cannot make an error; -1 with an empty slot is all
		// that is left to say.
		return -1
	}
	purego.SyscallN(core.API.ErrorSetRaised, handle)
	core.DecRef(handle)
	return -1
}

// nativeError makes an owned Error object of err. An error that came from the
// library is that object again; any other carries err itself, for the Go side.
func nativeError(err error) (uintptr, error) { return nativeErrorAt(err, 0) }

func nativeErrorAt(err error, depth int) (uintptr, error) {
	if o := asError(err).raised(); o != nil {
		defer runtime.KeepAlive(o)
		core.IncRef(o.Handle())
		return o.Handle(), nil
	}
	kind, message, backtrace := core.KindRuntime, err.Error(), ""
	var e *Error
	if errors.As(err, &e) && e != nil {
		kind, backtrace = e.Kind, e.Backtrace
		if original(err) == error(e) {
			message = e.Message
		}
	}
	if p, ok := err.(*passing); ok {
		err, backtrace = p.err, p.backtrace
	}
	cause, failed := causeOf(err, depth)
	if failed != nil {
		return 0, failed
	}
	if cause != 0 {
		defer core.DecRef(cause)
	}
	value, failed := core.NewValue(err)
	if failed != nil {
		return 0, failed
	}
	defer core.DecRef(value)
	handle, err := core.NewError(kind, message, backtrace, cause, value)
	if err != nil {
		return 0, errors.New("the library cannot make an error")
	}
	return handle, nil
}

// recovered makes an error of a panic, with the Go stack as its backtrace.
func recovered(p any) error {
	if e, ok := p.(*Error); ok && e != nil {
		return e
	}
	e := &Error{Kind: core.KindRuntime, Message: fmt.Sprintf("panic in a Go callback: %v", p), Backtrace: goStack()}
	if cause, ok := p.(error); ok {
		e.cause = cause
	}
	return e
}
