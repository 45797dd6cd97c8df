package tvmffi

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Frame is one line of a backtrace.
type Frame struct {
	File     string
	Line     int
	Function string
}

// String returns the frame as it is written in a backtrace.
func (f Frame) String() string {
	return fmt.Sprintf("File %q, line %d, in %s", f.File, f.Line, f.Function)
}

// Frames returns the frames of the backtrace, the most recent call first. The Go frames
// are the func that a callback ran, with the line where that func begins, and the
// functions that called C.
func (e *Error) Frames() []Frame {
	var frames []Frame
	for line := range strings.Lines(e.failure().Trace()) {
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

// mostCauses limits the causes that are printed.
const mostCauses = 16

// Format writes the kind and the message. For %+v it also writes the backtrace, the oldest
// frame first, and the causes, at most 16.
func (e *Error) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprintf(f, "%q", e.Error())
		return
	}
	if verb != 'v' || !f.Flag('+') {
		io.WriteString(f, e.Error())
		return
	}
	e.print(f)
	cause := e.failure().OwnCause()
	for n := 0; cause != nil; n++ {
		io.WriteString(f, "\ncaused by: ")
		if n == mostCauses {
			io.WriteString(f, "...")
			return
		}
		(*Error)(unsafe.Pointer(cause)).print(f)
		cause = cause.OwnCause()
	}
}

// print writes the backtrace, the kind and the message.
func (e *Error) print(w io.Writer) {
	if trace := e.failure().Trace(); trace != "" {
		lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
		io.WriteString(w, "Traceback (most recent call last):\n")
		for i := len(lines) - 1; i >= 0; i-- {
			io.WriteString(w, lines[i]+"\n")
		}
	}
	io.WriteString(w, e.Error())
}

// LogValue returns a group of the kind, the message, the cause and the frames. A cause is a
// group too, and so on, for at most 16 causes.
func (e *Error) LogValue() slog.Value { return e.logValue(mostCauses) }

func (e *Error) logValue(causes int) slog.Value {
	if e == nil {
		return slog.Value{}
	}
	attributes := []slog.Attr{slog.String("kind", e.Kind), slog.String("message", e.Message)}
	if cause := e.failure().OwnCause(); cause != nil && causes > 0 {
		attributes = append(attributes, slog.Attr{Key: "cause", Value: (*Error)(unsafe.Pointer(cause)).logValue(causes - 1)})
	}
	if frames := e.Frames(); len(frames) > 0 {
		attributes = append(attributes, slog.Any("frames", frames))
	}
	return slog.GroupValue(attributes...)
}

// ExtraContext returns the object that the library attached to the error, or nil. The
// object has a reference of its own. It may say where in a visited value the error arose.
func (e *Error) ExtraContext() *Object {
	o := e.failure().Native()
	if o == nil {
		return nil
	}
	defer runtime.KeepAlive(o)
	context := capi.PointerTo[abi.ErrorCell](o.Handle() + abi.ObjectSize).ExtraContext
	if _, ours := failure.GoValue(context); context == 0 || ours {
		return nil
	}
	objects.IncRef(context)
	return codec.Wrap[*Object](objects.Own(context))
}
