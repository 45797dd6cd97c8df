// Package failure makes errors. It turns an Error object or a C++ exception into a Go
// error (OfCall, ErrorOf, Thrown), and a Go error into an Error object (NativeError,
// Raise). Go values that travel as objects are here because an error carries one. The
// texts of errors belong to the packages that find them.
package failure

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	"github.com/ebitengine/purego"
)

// Failure is the record behind the errors that users see: package tvmffi declares
// Error with the same fields, and a pointer to one is a pointer to the other.
type Failure struct {
	Kind, Message, Backtrace string
	FailureState
}

// FailureState is the part of a Failure that users do not see.
type FailureState struct {
	Cause error
	Step  string // a step of a path, if Cause is the error of a part: [1], ["key"] or .field
	// levels counts the errors whose texts are in Message, one in the other. The innermost
	// text is the last leaf bytes of Message.
	levels, leaf int
	// native is an *Object, atomic: the Error object, to raise it again as the same.
	// A plain error gets one when it is raised again.
	native unsafe.Pointer
	plain  bool // the library made the error, and the fields here hold all of it
	// trace is a *string, atomic: the backtrace of the object that the error became
	// in a callback, when it came back as itself.
	trace unsafe.Pointer
}

// Errors converts between a Failure and the error type of package tvmffi, which sets
// it. The packages below package tvmffi ask nothing more of it.
var Errors interface {
	// Error returns f as an error, at the same address.
	Error(f *Failure) error
	// Failure returns the record of err, or nil if err is of another type.
	Failure(err error) *Failure
}

// NewFailure returns f as an error that users see.
func NewFailure(f Failure) error { return Errors.Error(&f) }

func (f *Failure) public() error { return Errors.Error(f) }

// FailureOf returns the record of err, or nil if err is not a *tvmffi.Error.
func FailureOf(err error) *Failure { return Errors.Failure(err) }

// Errorf returns an error of the given kind. A %w in the format becomes its cause.
func Errorf(kind, format string, args ...any) error {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			if f := FailureOf(err); f != nil {
				args[i] = withoutKind{f}
			}
		}
	}
	err := fmt.Errorf(format, args...)
	cause := errors.Unwrap(err)
	if w, ok := cause.(withoutKind); ok {
		cause = w.inner.public()
	}
	return around(&Failure{Kind: kind, Message: err.Error(), FailureState: FailureState{Cause: cause}}, cause).public()
}

// around completes f, whose message may end with the message of inner. A message of many
// levels loses the middle of what is before the innermost text, and so has a limit.
func around(f *Failure, inner error) *Failure {
	in := first(inner)
	if in == nil {
		return f
	}
	leaf := in.Message
	if in.levels > 0 && in.leaf <= len(leaf) { // a program may have set Message
		leaf = leaf[len(leaf)-in.leaf:]
	}
	if places, ok := strings.CutSuffix(f.Message, leaf); ok {
		f.levels, f.leaf = in.levels+1, len(leaf)
		if f.levels > 16 {
			f.Message = shorten(places) + leaf
		}
	}
	return f
}

// shorten cuts the middle out of a text of many places.
func shorten(places string) string {
	const most, head, tail = 4 << 10, 1 << 10, 2 << 10
	if len(places) <= most {
		return places
	}
	return strings.ToValidUTF8(places[:head]+" ... "+places[len(places)-tail:], "")
}

// withoutKind is an error inside the text of another error, which already has a kind.
type withoutKind struct{ inner *Failure }

// Error returns the message without the kind.
func (w withoutKind) Error() string { return w.inner.Message }

// ErrorOf returns an Error object as a Go error. It takes over the reference.
func ErrorOf(handle uintptr) error {
	if handle == 0 {
		return NewFailure(Failure{Kind: KindRuntime, Message: "the function failed without an error message"})
	}
	cell := capi.PointerTo[abi.ErrorCell](handle + abi.ObjectSize)
	e := &Failure{
		Kind:      capi.GoString(cell.Kind),
		Message:   capi.GoString(cell.Message),
		Backtrace: nativeBacktrace(cell),
	}
	value, _ := errorValue(cell.ExtraContext)
	if original, ok := value.(error); ok {
		if same := FailureOf(original); same != nil {
			if e.Backtrace != same.Backtrace {
				atomic.StorePointer(&same.trace, unsafe.Pointer(&e.Backtrace))
			}
			objects.DecRef(handle)
			return same.public()
		}
		e.Cause = original
		if in := first(original); in != nil && in.Backtrace == e.Backtrace {
			e.Backtrace = in.Backtrace // one copy for all levels
		}
		around(e, original)
	} else {
		if cell.CauseChain != 0 {
			objects.IncRef(cell.CauseChain)
			e.Cause = ErrorOf(cell.CauseChain)
		}
		e.Cause = declaredCause(cell, e.Kind, e.Cause)
	}
	if cell.ExtraContext == 0 && cell.CauseChain == 0 && objects.Strong(handle) == 1 && capi.PointerTo[abi.Object](handle).TypeIndex == abi.TypeError {
		// Nobody else has the object, so its memory need not wait for the collector.
		e.plain = true
		objects.DecRef(handle)
	} else {
		e.native = unsafe.Pointer(objects.Own(handle))
	}
	return e.public()
}

// Native returns the Error object that e has, or nil.
func (e *Failure) Native() *objects.Object {
	if e == nil {
		return nil
	}
	return (*objects.Object)(atomic.LoadPointer(&e.native))
}

// Raised returns the Error object that stands for e, an error of the library, in C++; nil
// for other errors.
func (e *Failure) Raised() *objects.Object {
	if o := e.Native(); o != nil || e == nil || !e.plain {
		return o
	}
	handle, err := NewError(e.Kind, e.Message, e.Backtrace, 0, 0)
	if err != nil {
		return nil
	}
	o := objects.Own(handle)
	if !atomic.CompareAndSwapPointer(&e.native, nil, unsafe.Pointer(o)) {
		o.Release()
	}
	return e.Native()
}

// VisitContext is the type key of the object in which the library wraps the extra context
// of an error that leaves a structural visit.
const VisitContext = "ffi.VisitErrorContext"

// errorValue returns the Go value in the extra context of an error.
func errorValue(context uintptr) (any, bool) {
	if context == 0 {
		return nil, false
	}
	index := capi.PointerTo[abi.Object](context).TypeIndex
	if value, ok := GoValue(context); ok || capi.KeyOf(index) != VisitContext {
		return value, ok
	}
	inner, err := read(context, index, "prev_error_context")
	if err != nil || !inner.TypeIndex.IsObject() {
		return nil, false
	}
	defer objects.ReleaseValue(inner)
	return errorValue(uintptr(inner.Bits))
}

// read calls the getter of a field. Every field that an error has can be read in this way.
func read(handle uintptr, index abi.TypeIndex, name string) (abi.Any, error) {
	f := capi.FieldNamed(capi.InfoOf(index), name)
	if f == nil {
		return abi.Any{}, nil
	}
	return InvokeResult(f.Getter, handle+uintptr(f.Offset))
}

// nativeBacktrace copies the backtrace of an Error object, to which another thread
// may add.
func nativeBacktrace(cell *abi.ErrorCell) string {
	Backtraces.Lock()
	defer Backtraces.Unlock()
	return capi.GoString(cell.Backtrace)
}

// Raise puts err into the error slot of this thread, which must be the thread of the
// callback that failed.
func Raise(err error) int64 {
	handle, made := NativeError(err)
	if made != nil {
		// Only a broken library cannot make an error. The callback then returns -1
		// with an empty slot.
		return -1
	}
	purego.SyscallN(capi.API.ErrorSetRaised, handle)
	objects.DecRef(handle)
	return -1
}

// NativeError makes an owned Error object of err. An error that came from the
// library is that object again; any other carries err itself, for the Go side.
func NativeError(err error) (uintptr, error) { return nativeErrorAt(err, 0) }

func nativeErrorAt(err error, depth int) (uintptr, error) {
	p, failed := partsAt(err, depth)
	if failed != nil {
		return 0, failed
	}
	return p.Make()
}

// Parts are what an Error object is made of. The references to objects are the holder's.
type Parts struct {
	Object                   uintptr // the object itself, if there is one, and nothing else
	Kind, Message, Backtrace string
	Cause, Value             uintptr
}

// PartsOf returns the parts of the Error object of err.
func PartsOf(err error) (Parts, error) { return partsAt(err, 0) }

func partsAt(err error, depth int) (p Parts, failed error) {
	if o := FailureOf(err).Raised(); o != nil {
		defer runtime.KeepAlive(o)
		objects.IncRef(o.Handle())
		return Parts{Object: o.Handle()}, nil
	}
	p.Kind, p.Message = KindRuntime, err.Error()
	if e, d, _ := search(err, hasKind); e != nil {
		p.Kind, p.Backtrace = e.Kind, e.Backtrace
		if FailureOf(original(err)) == e {
			p.Message = e.Message
		} else {
			p.Message = around(&Failure{Message: p.Message}, e.public()).Message
		}
	} else if d != nil {
		p.Kind = d.Kind
	}
	if on, ok := err.(*passing); ok {
		err, p.Backtrace = on.err, on.backtrace
	}
	if p.Cause, failed = causeOf(err, depth); failed != nil {
		return p, failed
	}
	if p.Value, failed = NewValue(err); failed != nil && p.Cause != 0 {
		objects.DecRef(p.Cause)
	}
	return p, failed
}

// Make makes the Error object, and ends the other references.
func (p Parts) Make() (uintptr, error) {
	if p.Object != 0 {
		return p.Object, nil
	}
	handle, err := NewError(p.Kind, p.Message, p.Backtrace, p.Cause, p.Value)
	if p.Cause != 0 {
		objects.DecRef(p.Cause)
	}
	objects.DecRef(p.Value)
	if err != nil {
		return 0, errors.New("the library cannot make an error")
	}
	return handle, nil
}

// Recovered returns an error for a panic in a func, with the Go stack as its backtrace.
func Recovered(p any, in string) error {
	cause, isError := p.(error)
	if isError && FailureOf(cause) != nil {
		return cause
	}
	if bad := Unsound(cause); bad != nil {
		p, isError = Message(bad), false
	}
	e := &Failure{Kind: KindRuntime, Message: "panic in " + in + ": " + panicText(p), Backtrace: goStack()}
	if isError {
		e.Cause = cause
		around(e, cause)
	}
	return e.public()
}

// Goexit returns an error for a func that ended its goroutine, with the Go stack as its
// backtrace. It must be called by a deferred func.
func Goexit(name string) error {
	return (&Failure{Kind: KindRuntime, Message: GoexitText(name), Backtrace: goStack()}).public()
}

// GoexitText says that a func ended its goroutine. The name may be empty.
func GoexitText(name string) string {
	who := "a Go callback"
	if name != "" {
		who = "the Go function " + name
	}
	return who + " ended by runtime.Goexit"
}

// panicText returns the text of what a func panicked with. A composite value without a text of
// its own is its type alone, as in the output of the Go runtime: package fmt does not end in one
// that contains itself, and the overflow of its stack ends the process.
func panicText(p any) string {
	switch p.(type) {
	case error, fmt.Stringer, fmt.Formatter:
		return fmt.Sprint(p)
	}
	switch reflect.TypeOf(p).Kind() {
	case reflect.Array, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Struct:
		return fmt.Sprintf("a value of type %T", p)
	}
	return fmt.Sprint(p)
}

// Trace returns the backtrace with the frames of callbacks that e passed.
func (e *Failure) Trace() string {
	if e == nil {
		return ""
	}
	if trace := (*string)(atomic.LoadPointer(&e.trace)); trace != nil {
		return *trace
	}
	return e.Backtrace
}

// OwnCause returns the cause of e if the cause is a Failure whose text is not already part
// of the message of e. Otherwise it returns nil.
func (e *Failure) OwnCause() *Failure {
	if e == nil {
		return nil
	}
	cause := FailureOf(e.Cause)
	if cause == nil || e.levels > 0 || strings.HasSuffix(e.Message, cause.Message) {
		return nil
	}
	return cause
}

// passing is an error on its way out of a callback, with the backtrace that its
// object gets.
type passing struct {
	err       error
	backtrace string
}

// Error returns the text of the wrapped error.
func (p *passing) Error() string { return p.err.Error() }

// Unwrap returns the wrapped error.
func (p *passing) Unwrap() error { return p.err }

// original returns err without the wrapper that passed adds.
func original(err error) error {
	if p, ok := err.(*passing); ok {
		return p.err
	}
	return err
}

// maxBacktrace is the size in bytes from which a backtrace does not grow, because an error
// may be kept and raised again forever.
const maxBacktrace = 16 << 10

// Passed adds Go frames to the backtrace of an error that a callback returns. If the callback is
// outermost, no func of Go called what called it.
func Passed(err error, origin uintptr, outermost bool) error {
	if bad := Unsound(err); bad != nil {
		err = bad
	}
	callers := ""
	if !outermost {
		callers = goFrames()
	}
	if o := FailureOf(err).Raised(); o != nil {
		cell := capi.PointerTo[abi.ErrorCell](o.Handle() + abi.ObjectSize)
		appendBacktrace(o, originFrame(origin, nativeBacktrace(cell))+callers)
		return err
	}
	trace := ""
	if in := first(err); in != nil {
		trace = in.Backtrace
	}
	if len(trace) < maxBacktrace {
		trace += originFrame(origin, "") + callers
	}
	return &passing{err, trace}
}

// appendBacktrace adds frames to the backtrace of an Error object.
func appendBacktrace(o *objects.Object, frames string) {
	cell := capi.PointerTo[abi.ErrorCell](o.Handle() + abi.ObjectSize)
	if frames == "" || cell.UpdateBacktrace == 0 || cell.Backtrace.Size > maxBacktrace {
		return
	}
	AppendBacktrace(o, frames)
}

// originFrame is the line of the func whose code is at origin, unless the backtrace
// has it: as the caller of what failed.
func originFrame(origin uintptr, backtrace string) string {
	known, ok := originFrames.Load(origin)
	if !ok {
		frame := ""
		if name, file, line := OriginOf(origin); name != "" {
			frame = frameLine(file, line, name)
		}
		known, _ = originFrames.LoadOrStore(origin, frame)
	}
	frame := known.(string)
	if backtrace != "" && strings.Contains(backtrace, frame[strings.LastIndex(frame, ", in ")+1:]) {
		return ""
	}
	return frame
}

// originFrames has the lines of the functions that failed before, by their code.
var originFrames sync.Map

// OriginOf names the func whose code is at origin, unless it is of this module.
func OriginOf(origin uintptr) (name, file string, line int) {
	f := runtime.FuncForPC(origin)
	if f == nil || ours(f.Name()) {
		return "", "", 0
	}
	file, line = f.FileLine(origin)
	return f.Name(), file, line
}

func frameLine(file string, line int, function string) string {
	return "  File \"" + file + "\", line " + strconv.Itoa(line) + ", in " + function + "\n"
}

// callbackEntryName names the function that stands between C and a Go callback.
const callbackEntryName = "github.com/tvmffi-go/tvmffi/internal/callbacks.callbackEntry"

// module is the path of this module, and a slash.
const module = "github.com/tvmffi-go/tvmffi/"

// machinery lists the folders of this module whose functions stand between Go and C++, and what prefixes the names of such
// functions elsewhere. Their frames say nothing about the program.
var machinery = struct{ folders, elsewhere []string }{
	folders:   []string{"internal", "runtime", "cuda"},
	elsewhere: []string{"runtime.", "reflect.", "internal/runtime/", "github.com/ebitengine/purego.", "syscall.syscalln", "syscall.SyscallN"},
}

// ours reports whether a function belongs to the Go runtime or to the machinery of this module. A package of tests, or for
// tests, stands for a program.
func ours(function string) bool {
	below, inModule := strings.CutPrefix(function, module)
	if !inModule {
		return slices.ContainsFunc(machinery.elsewhere, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
	}
	dir, last := path.Split(below)
	pkg, _, _ := strings.Cut(last, ".")
	folder, _, _ := strings.Cut(dir+pkg, "/")
	forTests := strings.HasSuffix(pkg, "_test") || strings.HasPrefix(dir, "internal/testkit/")
	return slices.Contains(machinery.folders, folder) && !forTests
}

// goFrames describes the Go functions that called the C function that called the
// callback that is returning: a few of them, because most errors are only
// compared.
func goFrames() string {
	const few = 4
	var pcs [40]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var b strings.Builder
	for n, entries := 0, 0; n < few; {
		f, more := frames.Next()
		switch {
		case f.Function == callbackEntryName:
			entries++
		case !ours(f.Function):
			b.WriteString(frameLine(f.File, f.Line, f.Function))
			n++
		}
		if !more || entries == 2 { // the frames below belong to the callback around
			break
		}
	}
	return b.String()
}

// goStack describes the goroutine that panicked in the form of the library, without
// the machinery between Go and C++ unless there is nothing else.
func goStack() string {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var all, users strings.Builder
	for {
		f, more := frames.Next()
		if f.Function != "" {
			line := frameLine(f.File, f.Line, f.Function)
			all.WriteString(line)
			if !ours(f.Function) {
				users.WriteString(line)
			}
		}
		if !more {
			break
		}
	}
	if users.Len() == 0 {
		return all.String()
	}
	return users.String()
}

// causeOf makes an owned Error object of the cause of err, or 0.
func causeOf(err error, depth int) (uintptr, error) {
	const deepest = 16
	cause := FailureOf(err).OwnCause()
	if cause == nil || depth >= deepest {
		return 0, nil
	}
	return nativeErrorAt(cause.public(), depth+1)
}

// Annotate adds the place of an element to its error.
func Annotate(place string, err error) error {
	if err == nil {
		return nil
	}
	if bad := Unsound(err); bad != nil {
		err = bad
	}
	kind, trace := KindType, ""
	if e := FailureOf(err); e != nil {
		kind, trace = e.Kind, e.Trace()
	}
	return around(&Failure{kind, place + ": " + Message(err), trace, FailureState{Cause: err, Step: stepOf(place)}}, err).public()
}

// AtPath returns an error of the given kind whose text is place and text, which is the message
// of cause, perhaps in other words.
func AtPath(kind, place, text string, cause error) *Failure {
	return around(&Failure{Kind: kind, Message: place + ": " + text}, cause)
}

// Unsound returns an error if err has no text, because its method Error panics. That of a nil pointer does, which is an
// error of Go by mistake: a func returns a variable of a pointer type as an error, or joins it to others.
func Unsound(err error) (bad error) {
	if err == nil || FailureOf(err) != nil {
		return nil
	}
	defer func() {
		if recover() == nil {
			return
		}
		null := ""
		if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
			null = "nil "
		}
		bad = Errorf(KindValue, "the error is a %s%T, whose method Error panics: use nil, or an error that has a text", null, err)
	}()
	_ = err.Error()
	return nil
}

// Message returns the text of err without its kind.
func Message(err error) string {
	if e := FailureOf(err); e != nil {
		return e.Message
	}
	return err.Error()
}
