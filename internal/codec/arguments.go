package codec

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// ReturnTemp returns a packed value from a callback.
func ReturnTemp(a *callbacks.Args, t values.AnyView, err error) error {
	var v abi.Any
	if err == nil {
		v, err = t.Own()
	}
	if err != nil {
		return a.WrongResult(err)
	}
	a.Return(v)
	return nil
}

// ReadArgument reads argument i of a callback by the codec of its type in Go, in
// the way of the library: it converts what the library converts for a parameter.
func ReadArgument(a *callbacks.Args, i int, c *Codec, at unsafe.Pointer) error {
	from := objects.ReadBorrowed(a).Converting()
	from.Plain = a.Exported()
	err := c.Decode(a.Value(i), from, at)
	if err == nil {
		return nil
	}
	return failure.Errorf(ArgumentKind(err), "%w", a.InArgument(i, err))
}

// ArgumentKind returns the kind of the error of an argument of an exported func, for an error of its codec: TypeError also for a
// number that does not fit, because hosts know it, unlike OverflowError.
func ArgumentKind(err error) string {
	if f := failure.FailureOf(err); f != nil && failure.KindIs(f.Kind, failure.KindValue) {
		return failure.KindValue
	}
	return failure.KindType
}

// PackArgument packs argument i of a call.
func PackArgument[T any](c *calls.Call, i int, x T) {
	switch p := any(&x).(type) {
	case *int64:
		c.Int(i, *p)
	case *float64:
		c.Float(i, *p)
	case *bool:
		c.Bool(i, *p)
	case *string:
		c.String(i, *p)
	default:
		putArgument(c, i, x)
	}
}

// PackSought is PackArgument for what a container is asked for. The library finds a text, bytes and a number by what they are,
// and every other object by its address. So a Go value that becomes a new object, such as an array, is an error: it would never
// be found.
func PackSought[T any](c *calls.Call, i int, x T) {
	switch any(&x).(type) {
	case *int64, *float64, *bool, *string:
		PackArgument(c, i, x)
		return
	}
	t, err := Encode(x)
	if err == nil {
		err = t.CheckEscape()
	}
	if index := t.Value.TypeIndex; err == nil && t.Owned && HasParts(t.Value) && index != abi.TypeBigInt {
		ReleaseTemp(t)
		t, err = values.AnyView{}, failure.Errorf(failure.KindType, "a %T becomes a new %s, and the library finds one by its address alone: range over the container, and compare", x, capi.KeyOf(index))
	}
	c.Put(i, t, err)
}

func putArgument[T any](c *calls.Call, i int, x T) {
	t, err := Encode(x)
	if err == nil {
		err = t.CheckEscape()
	}
	c.Put(i, t, err)
}
