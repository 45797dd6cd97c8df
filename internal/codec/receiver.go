package codec

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Live returns the state behind x, or an error that says why there is no object.
func Live(x objects.Ref) (*objects.Object, error) {
	s := objects.StateOf(x)
	if s.Handle() != 0 {
		return s, nil
	}
	if why, ended := s.Ended(); ended {
		return nil, failure.Errorf(failure.KindRuntime, "the object %s", why)
	}
	return nil, failure.Errorf(failure.KindType, "the object is nil")
}

// Receiver is live for the receiver of a method of a type.
func Receiver(x objects.Ref, kind string) (*objects.Object, error) {
	s := objects.StateOf(x)
	switch {
	case s.Handle() != 0:
		return s, nil
	case s == nil:
		return nil, noReceiver(failure.KindType, kind, s)
	}
	return nil, noReceiver(failure.KindRuntime, kind, s)
}

// noReceiver is the error of a method of a type of this package that got no object.
// It finds on the stack which method the user called: no method hands its name down
// for this.
func noReceiver(errorKind, kind string, o *objects.Object) error {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	method := kind
	for {
		f, more := frames.Next()
		function, ours := strings.CutPrefix(f.Function, "github.com/tvmffi-go/tvmffi/")
		if !ours {
			break
		}
		if _, of, ok := strings.Cut(function, ".(*"+kind); ok {
			_, name, _ := strings.Cut(of, ").")
			if name, _, _ = strings.Cut(name, "."); name != "" && name[0] >= 'A' && name[0] <= 'Z' {
				method = kind + "." + name
			}
		}
		if !more {
			break
		}
	}
	return failure.NoReceiver(errorKind, method, o)
}

// Ref returns the state behind p, a pointer to an object type, which may be nil:
// promoted methods cannot be called on a nil one.
func Ref[P any](p *P) *objects.Object { return (*objects.Object)(unsafe.Pointer(p)) }

// Wrap makes P, a pointer to an object type, of a state.
func Wrap[P any](s *objects.Object) P { return *(*P)(unsafe.Pointer(&s)) }
