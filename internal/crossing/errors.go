package crossing

import (
	"slices"
	"strings"
)

// ErrorKind is a kind of errors that more than one language knows.
type ErrorKind struct {
	Name string
	// Base is the kind of which it is a special case, or empty.
	Base string
	// Native is set for a kind without a class in Python: TVM-FFI or this module raises it. All others are exceptions
	// of Python, and a message is enough to make one.
	Native bool
}

// ErrorKinds are the kinds, sorted by name. Those of package runtime/kind, and the list in the Python packages that are
// exported, are these.
var ErrorKinds = []ErrorKind{
	{Name: "ArithmeticError"}, {Name: "AssertionError"}, {Name: "AttributeError"}, {Name: "BlockingIOError", Base: "OSError"},
	{Name: "BrokenPipeError", Base: "ConnectionError"}, {Name: "BufferError"}, {Name: "ChildProcessError", Base: "OSError"},
	{Name: "ConnectionAbortedError", Base: "ConnectionError"}, {Name: "ConnectionError", Base: "OSError"},
	{Name: "ConnectionRefusedError", Base: "ConnectionError"}, {Name: "ConnectionResetError", Base: "ConnectionError"}, {Name: "EOFError"},
	{Name: "EnvErrorAlreadySet", Native: true}, {Name: "FileExistsError", Base: "OSError"}, {Name: "FileNotFoundError", Base: "OSError"},
	{Name: "FloatingPointError", Base: "ArithmeticError"}, {Name: "ImportError"}, {Name: "IndexError", Base: "LookupError"},
	{Name: "InternalError", Native: true}, {Name: "InterruptedError", Base: "OSError"}, {Name: "IsADirectoryError", Base: "OSError"},
	{Name: "KeyError", Base: "LookupError"}, {Name: "LibraryNotFound", Native: true}, {Name: "LookupError"}, {Name: "MemoryError"},
	{Name: "ModuleNotFoundError", Base: "ImportError"}, {Name: "NameError"}, {Name: "NotADirectoryError", Base: "OSError"},
	{Name: "NotImplementedError", Base: "RuntimeError"}, {Name: "OSError"}, {Name: "OverflowError", Base: "ArithmeticError"},
	{Name: "PermissionError", Base: "OSError"}, {Name: "ProcessLookupError", Base: "OSError"}, {Name: "RecursionError", Base: "RuntimeError"},
	{Name: "ReferenceError"}, {Name: "RuntimeError"}, {Name: "SchemaError", Native: true}, {Name: "StopAsyncIteration"}, {Name: "StopIteration"},
	{Name: "SyntaxError"}, {Name: "SystemError"}, {Name: "TimeoutError", Base: "OSError"}, {Name: "TypeError"},
	{Name: "UnboundLocalError", Base: "NameError"}, {Name: "UnicodeError", Base: "ValueError"}, {Name: "ValueError"},
	{Name: "ZeroDivisionError", Base: "ArithmeticError"},
}

// FindErrorKind returns the kind of a name, nil if it is not one that several languages know.
func FindErrorKind(name string) *ErrorKind {
	i, ok := slices.BinarySearchFunc(ErrorKinds, name, func(k ErrorKind, name string) int { return strings.Compare(k.Name, name) })
	if !ok {
		return nil
	}
	return &ErrorKinds[i]
}

// Exceptions returns the names of the kinds that are exceptions of Python.
func Exceptions() (names []string) {
	for _, k := range ErrorKinds {
		if !k.Native {
			names = append(names, k.Name)
		}
	}
	return names
}
