package failure

import (
	"cmp"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

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

// KindIs reports whether errors of kind are errors of target: it is the same kind, or one
// that kind is a special case of.
func KindIs(kind, target string) bool {
	for range 8 { // a declared kind, then at most three that all languages know
		if kind == target {
			return true
		}
		base := ""
		if known := crossing.FindErrorKind(kind); known != nil {
			base = known.Base
		} else if d := DeclaredKind(kind); d != nil {
			base = cmp.Or(d.Base, KindRuntime)
		}
		if base == "" {
			return false
		}
		kind = base
	}
	return false
}
