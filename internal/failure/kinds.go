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
	// KindLibrary is the kind of errors about library files that were not found.
	KindLibrary = "LibraryNotFound"
	// KindSignal is the kind for which a host raises the error that it has set itself.
	KindSignal = "EnvErrorAlreadySet"
)
