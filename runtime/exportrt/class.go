package exportrt

import (
	"slices"
	"strings"
	"sync"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Receiver returns argument 0, the receiver of a method of an opaque class. It must not be None
// or closed.
func Receiver[T any](a *bindrt.Args, class, method string) (*T, error) {
	v := a.Any(0)
	if v == nil {
		return nil, nil // the number of arguments is checked later
	}
	if v.TypeIndex == abi.TypeObjectRValueRef {
		moved := a.Value(0)
		v = &moved
	}
	if v.TypeIndex == abi.TypeNone {
		return nil, a.InArgument(0, failure.Errorf(failure.KindType, "expected %s, got None", class))
	}
	x, closed := objects.PeerAs[T](v)
	if closed {
		return nil, failure.Errorf(failure.KindValue, "%s.%s: the %s is closed", class, method, class)
	}
	if x != nil {
		return x, nil
	}
	return bindrt.Arg[*T](a, 0), nil // of a type that derives from T, or an error of Check
}

// Close is the method Close of an opaque class. The first call closes the object and calls f,
// all others do nothing. From then on Receiver refuses calls of methods. A call that began
// before may still run: f can end it, as Close of a network connection does, and protects
// what both use.
func Close[T any](a *bindrt.Args, class, method string, f func(*T) error) error {
	if v := a.Any(0); v != nil && v.TypeIndex == abi.TypeNone {
		_, err := Receiver[T](a, class, method)
		return err
	}
	x := bindrt.Arg[*T](a, 0)
	if err := a.Check(1); err != nil {
		return err
	}
	if v := a.Value(0); !objects.ClosePeer(&v) {
		return nil
	}
	return f(x)
}

// Constructor returns the option of define.StaticMethod with the code of a constructor, whose
// name is the name of the class. defaults returns the defaults of the last parameters that have one, in
// their order; it is nil if there are none. The constructor takes positional arguments, then the object KWARGS of the
// library, and pairs of names and values.
func Constructor(f Function, defaults func() []any) tvmffi.RegisterOption {
	c := &construction{about: f.about(), call: f.Call}
	c.defaults = sync.OnceValues(func() (values []abi.Any, err error) {
		if defaults == nil {
			return nil, nil
		}
		for _, d := range defaults() {
			v, err := constant(d)
			if err != nil {
				return nil, failure.Annotate(f.Name+"(): a default", err)
			}
			values = append(values, v)
		}
		return values, nil
	})
	return func(r *codec.Registration) { r.Call, r.Origin, r.About = c.construct, f.origin(), c.about }
}

// construction is a constructor.
type construction struct {
	about *callbacks.About
	call  func(*bindrt.Args) error
	// defaults last as long as the process, like the constructor.
	defaults func() ([]abi.Any, error)
}

// constant returns a default as a value that lasts.
func constant(value any) (abi.Any, error) {
	t, err := codec.For[any]().Encode(unsafe.Pointer(&value))
	if err != nil {
		return abi.Any{}, err
	}
	return t.Own()
}

func (c *construction) fail(format string, values ...any) ([]abi.Any, error) {
	return nil, failure.Errorf(failure.KindType, c.about.Name+"() "+format, values...)
}

// construct makes an object.
func (c *construction) construct(a *bindrt.Args) error {
	positional := keywords(a)
	if positional == a.Len() {
		return c.call(a)
	}
	args, err := c.arrange(a, positional)
	if err != nil {
		return err
	}
	return a.With(args, c.call)
}

// arrange returns the arguments of a call with keywords, all of them as positional ones.
func (c *construction) arrange(a *bindrt.Args, positional int) ([]abi.Any, error) {
	names := c.about.Params
	if c.about.Variadic {
		names = names[:len(names)-1]
	}
	if positional > len(names) && !c.about.Variadic {
		return c.fail("takes %s, got %d and keywords", parameters(names), positional)
	}
	args := make([]abi.Any, max(len(names), positional))
	set := make([]bool, len(args))
	for i := range positional {
		args[i], set[i] = *a.Any(i), true
	}
	for i := positional + 1; i < a.Len(); i += 2 {
		name, err := codec.Decode[string](*a.Any(i))
		if err != nil || i+1 == a.Len() {
			return c.fail("got KWARGS without pairs of a name and a value")
		}
		at := slices.Index(names, name)
		switch {
		case at < 0:
			return c.fail("takes %s, got the keyword %s", parameters(names), name)
		case set[at]:
			return c.fail("got two values for %s", name)
		}
		args[at], set[at] = *a.Any(i + 1), true
	}
	defaults, err := c.defaults()
	if err != nil {
		return nil, err
	}
	required := len(names) - len(defaults)
	for i, name := range names {
		switch {
		case set[i]:
		case i < required:
			return c.fail("takes %s: %s is missing", parameters(names), name)
		default:
			args[i] = defaults[i-required]
		}
	}
	return args, nil
}

// keywords returns the index of KWARGS, or the number of arguments. A libtvm_ffi without
// KWARGS has positional arguments only.
func keywords(a *bindrt.Args) int {
	kwargs, err := kwargs()
	if err != nil {
		return a.Len()
	}
	for i := range a.Len() {
		if v := a.Any(i); v.TypeIndex == kwargs.TypeIndex && v.Bits == kwargs.Bits {
			return i
		}
	}
	return a.Len()
}

// kwargs returns KWARGS, which the library keeps.
var kwargs = sync.OnceValues(calls.Kwargs)

// parameters lists the names of parameters for an error.
func parameters(names []string) string {
	switch len(names) {
	case 0:
		return "no arguments"
	case 1:
		return "the argument " + names[0]
	}
	return "the arguments " + strings.Join(names, ", ")
}
