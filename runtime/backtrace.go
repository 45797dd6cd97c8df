package tvmffi

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// Frame is a line of a backtrace.
type Frame struct {
	File     string
	Line     int
	Function string
}

// String returns the frame as a backtrace holds it.
func (f Frame) String() string {
	return fmt.Sprintf("File %q, line %d, in %s", f.File, f.Line, f.Function)
}

// Frames returns the frames of the backtrace, the most recent call first. Go
// frames are the func that a callback called, with the line where it begins, and
// those that had called C.
func (e *Error) Frames() []Frame {
	var frames []Frame
	for line := range strings.Lines(e.backtrace()) {
		if f, ok := parseFrame(line); ok {
			frames = append(frames, f)
		}
	}
	return frames
}

// parseFrame parses File "f", line n, in func.
func parseFrame(line string) (f Frame, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), `File "`)
	if !ok {
		return f, false
	}
	f.File, rest, ok = strings.Cut(rest, `", line `)
	if !ok {
		return f, false
	}
	number, function, _ := strings.Cut(rest, ", in ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	f.Line, f.Function = n, function
	return f, err == nil
}

// backtrace returns the backtrace with the frames of callbacks that e passed.
func (e *Error) backtrace() string {
	if e == nil {
		return ""
	}
	if trace := (*string)(atomic.LoadPointer(&e.trace)); trace != nil {
		return *trace
	}
	return e.Backtrace
}

// Format writes the backtrace too, oldest frame first, and the causes, for %+v.
func (e *Error) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(f, "%q", e.Error())
		return
	}
	all := verb == 'v' && f.Flag('+')
	if trace := e.backtrace(); all && trace != "" {
		lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
		io.WriteString(f, "Traceback (most recent call last):\n")
		for i := len(lines) - 1; i >= 0; i-- {
			io.WriteString(f, lines[i]+"\n")
		}
	}
	io.WriteString(f, e.Error())
	if cause := e.ownCause(); all && cause != nil {
		fmt.Fprintf(f, "\ncaused by: %+v", cause)
	}
}

// ownCause returns the cause of e if it is an *Error that the message of e does
// not tell already; nil otherwise.
func (e *Error) ownCause() *Error {
	if e == nil {
		return nil
	}
	cause := asError(e.cause)
	if cause == nil || strings.HasSuffix(e.Message, cause.Message) {
		return nil
	}
	return cause
}

// LogValue makes a group of the kind, the message, the cause and the frames.
func (e *Error) LogValue() slog.Value {
	if e == nil {
		return slog.Value{}
	}
	attributes := []slog.Attr{slog.String("kind", e.Kind), slog.String("message", e.Message)}
	if cause := e.ownCause(); cause != nil {
		attributes = append(attributes, slog.Any("cause", cause))
	}
	if frames := e.Frames(); len(frames) > 0 {
		attributes = append(attributes, slog.Any("frames", frames))
	}
	return slog.GroupValue(attributes...)
}

// ExtraContext returns the object that the library attached to the error, with a
// reference of its own, or nil: it may say where in a visited value the error
// arose.
func (e *Error) ExtraContext() *Object {
	o := e.own()
	if o == nil {
		return nil
	}
	defer runtime.KeepAlive(o)
	context := core.At[abi.ErrorCell](o.Handle() + abi.ObjectSize).ExtraContext
	if _, ours := core.GoValue(context); context == 0 || ours {
		return nil
	}
	core.IncRef(context)
	return wrap[*Object](core.Own(context))
}

// passing is an error on its way out of a callback, with the backtrace that its
// object gets.
type passing struct {
	err       error
	backtrace string
}

// Error returns the text of the error inside.
func (p *passing) Error() string { return p.err.Error() }

// Unwrap returns the error inside.
func (p *passing) Unwrap() error { return p.err }

// original is err without what passed adds.
func original(err error) error {
	if p, ok := err.(*passing); ok {
		return p.err
	}
	return err
}

// maxBacktrace is the size from which on a backtrace does not grow: an error may
// be kept and raised for ever.
const maxBacktrace = 64 << 10

// passed adds Go frames to the backtrace of an error that a callback returns.
func passed(err error, origin uintptr) error {
	if o := asError(err).raised(); o != nil {
		cell := core.At[abi.ErrorCell](o.Handle() + abi.ObjectSize)
		appendBacktrace(o, originFrame(origin, nativeBacktrace(cell))+goFrames())
		return err
	}
	return &passing{err, backtraceOf(err) + originFrame(origin, "") + goFrames()}
}

// backtraceOf returns the backtrace of the *Error in the chain of err.
func backtraceOf(err error) string {
	for err != nil {
		if e := asError(err); e != nil {
			return e.Backtrace
		}
		w, ok := err.(interface{ Unwrap() error })
		if !ok {
			return ""
		}
		err = w.Unwrap()
	}
	return ""
}

// appendBacktrace adds frames to the backtrace of an Error object.
func appendBacktrace(o *core.Object, frames string) {
	cell := core.At[abi.ErrorCell](o.Handle() + abi.ObjectSize)
	if frames == "" || cell.UpdateBacktrace == 0 || cell.Backtrace.Size > maxBacktrace {
		return
	}
	core.AppendBacktrace(o, frames)
}

// originFrame is the line of the func whose code is at origin, unless the backtrace
// has it: as the caller of what failed.
func originFrame(origin uintptr, backtrace string) string {
	name, file, line := originOf(origin)
	if name == "" || strings.Contains(backtrace, ", in "+name+"\n") {
		return ""
	}
	return frameLine(file, line, name)
}

// originOf names the func whose code is at origin, unless it is of this module.
func originOf(origin uintptr) (name, file string, line int) {
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

// callbackEntry is the function that stands between C and a Go callback.
const callbackEntry = "github.com/tvmffi-go/tvmffi/internal/core.callbackEntry"

// machinery are the packages whose functions stand between Go and C++ and tell nothing.
var machinery = []string{
	"runtime.", "reflect.", "internal/runtime/", "github.com/ebitengine/purego.",
	"github.com/tvmffi-go/tvmffi/internal/ccall.", "github.com/tvmffi-go/tvmffi/internal/core.",
	"github.com/tvmffi-go/tvmffi/runtime.", "github.com/tvmffi-go/tvmffi/runtime/bindrt.",
	"github.com/tvmffi-go/tvmffi/runtime/exportrt.",
}

// ours reports whether a function is of the Go runtime or of this module's.
func ours(function string) bool {
	return slices.ContainsFunc(machinery, func(pkg string) bool { return strings.HasPrefix(function, pkg) })
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
		case f.Function == callbackEntry:
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
	cause := asError(err).ownCause()
	if cause == nil || depth >= deepest {
		return 0, nil
	}
	return nativeErrorAt(cause, depth+1)
}
