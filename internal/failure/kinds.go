package failure

// The kinds of errors that this module raises itself.
const (
	KindType    = "TypeError"
	KindValue   = "ValueError"
	KindRuntime = "RuntimeError"
	KindIndex   = "IndexError"
	KindKey     = "KeyError"
	KindAttr    = "AttributeError"
	KindSchema  = "SchemaError"
	// KindRecursion is the kind of Python, which is a special case of KindRuntime.
	KindRecursion = "RecursionError"
	// KindLibrary is the kind of errors about library files that were not found.
	KindLibrary = "LibraryNotFound"
	// KindSignal is the kind for which a host raises the error that it has set itself.
	KindSignal = "EnvErrorAlreadySet"
)

// Builtins maps the kinds that are exceptions of Python to the kinds that they are special
// cases of, or to nothing. A message is enough to make one of each.
var Builtins = map[string]string{
	"ArithmeticError": "", "FloatingPointError": "ArithmeticError", "OverflowError": "ArithmeticError", "ZeroDivisionError": "ArithmeticError",
	"AssertionError": "", "AttributeError": "", "BufferError": "", "EOFError": "", "MemoryError": "", "ReferenceError": "",
	"ImportError": "", "ModuleNotFoundError": "ImportError",
	"LookupError": "", "IndexError": "LookupError", "KeyError": "LookupError",
	"NameError": "", "UnboundLocalError": "NameError",
	"OSError": "", "BlockingIOError": "OSError", "ChildProcessError": "OSError", "ConnectionError": "OSError", "FileExistsError": "OSError",
	"FileNotFoundError": "OSError", "InterruptedError": "OSError", "IsADirectoryError": "OSError", "NotADirectoryError": "OSError",
	"PermissionError": "OSError", "ProcessLookupError": "OSError", "TimeoutError": "OSError",
	"BrokenPipeError": "ConnectionError", "ConnectionAbortedError": "ConnectionError", "ConnectionRefusedError": "ConnectionError", "ConnectionResetError": "ConnectionError",
	"RuntimeError": "", "NotImplementedError": "RuntimeError", "RecursionError": "RuntimeError",
	"StopIteration": "", "StopAsyncIteration": "", "SyntaxError": "", "SystemError": "", "TypeError": "",
	"ValueError": "", "UnicodeError": "ValueError",
}

// KindIs reports whether errors of kind are errors of target: it is the same kind, or one
// that kind is a special case of.
func KindIs(kind, target string) bool {
	for range 8 { // a declared kind, then at most three of Builtins
		if kind == target {
			return true
		}
		base, ok := Builtins[kind]
		if d := DeclaredKind(kind); !ok && d != nil {
			base = d.Base
			if base == "" {
				base = KindRuntime
			}
		}
		if base == "" {
			return false
		}
		kind = base
	}
	return false
}
