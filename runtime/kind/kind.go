// Package kind holds the kinds of errors for which Python has a class and which are not in package
// tvmffi, such as [tvmffi.ErrValue]. An exception of a Python callback has its kind in Go, and
// an error of one of these kinds becomes an exception of that class in a Python package that
// tvmffi-bind export writes:
//
//	if errors.Is(err, kind.ZeroDivision) { ... }
//	return tvmffi.NewError("FileNotFoundError", "there is no such file")
//
// As in Python, a kind may be a special case of another: errors.Is(err, kind.OS) also reports
// errors of the kinds FileNotFound, Permission, Timeout and so on, and kind.Lookup also reports
// tvmffi.ErrKey and tvmffi.ErrIndex.
package kind

import tvmffi "github.com/tvmffi-go/tvmffi/runtime"

// The kinds are targets for errors.Is.
var (
	Arithmetic    error = tvmffi.KindError("ArithmeticError")
	FloatingPoint error = tvmffi.KindError("FloatingPointError")
	ZeroDivision  error = tvmffi.KindError("ZeroDivisionError")

	Lookup error = tvmffi.KindError("LookupError")

	OS                error = tvmffi.KindError("OSError")
	BlockingIO        error = tvmffi.KindError("BlockingIOError")
	ChildProcess      error = tvmffi.KindError("ChildProcessError")
	Connection        error = tvmffi.KindError("ConnectionError")
	BrokenPipe        error = tvmffi.KindError("BrokenPipeError")
	ConnectionAborted error = tvmffi.KindError("ConnectionAbortedError")
	ConnectionRefused error = tvmffi.KindError("ConnectionRefusedError")
	ConnectionReset   error = tvmffi.KindError("ConnectionResetError")
	FileExists        error = tvmffi.KindError("FileExistsError")
	FileNotFound      error = tvmffi.KindError("FileNotFoundError")
	Interrupted       error = tvmffi.KindError("InterruptedError")
	IsADirectory      error = tvmffi.KindError("IsADirectoryError")
	NotADirectory     error = tvmffi.KindError("NotADirectoryError")
	Permission        error = tvmffi.KindError("PermissionError")
	ProcessLookup     error = tvmffi.KindError("ProcessLookupError")
	Timeout           error = tvmffi.KindError("TimeoutError")

	NotImplemented error = tvmffi.KindError("NotImplementedError")
	Recursion      error = tvmffi.KindError("RecursionError")

	Buffer             error = tvmffi.KindError("BufferError")
	EOF                error = tvmffi.KindError("EOFError")
	Import             error = tvmffi.KindError("ImportError")
	ModuleNotFound     error = tvmffi.KindError("ModuleNotFoundError")
	Name               error = tvmffi.KindError("NameError")
	UnboundLocal       error = tvmffi.KindError("UnboundLocalError")
	Reference          error = tvmffi.KindError("ReferenceError")
	StopIteration      error = tvmffi.KindError("StopIteration")
	StopAsyncIteration error = tvmffi.KindError("StopAsyncIteration")
	Syntax             error = tvmffi.KindError("SyntaxError")
	System             error = tvmffi.KindError("SystemError")
	Unicode            error = tvmffi.KindError("UnicodeError")
)
