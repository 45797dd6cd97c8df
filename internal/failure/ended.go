package failure

import "github.com/tvmffi-go/tvmffi/internal/objects"

// Ended is the error of what, an object that is nil or has ended.
func Ended(what string, o *objects.Object) error {
	why, _ := o.Ended()
	if o == nil {
		why = "is nil"
	}
	return Errorf(KindRuntime, "%s: the object %s", what, why)
}

// NoReceiver is the error of a method, or of the accessor of a field, of o, which is
// nil or has ended.
func NoReceiver(kind, method string, o *objects.Object) error {
	why, _ := o.Ended()
	switch {
	case o == nil:
		why = "is nil, which stands for None: compare it with nil first"
	case o.Released():
		why += ": release it after its last use, or use a tvmffi.Retain of it"
	}
	return Errorf(kind, "%s: the receiver %s", method, why)
}
