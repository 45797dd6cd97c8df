package tvmffi

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Call calls the function with args, which may be of any types that have a counterpart in
// TVM-FFI. The caller owns the reference of an object in the result. An argument that
// cannot be converted is an error of kind ErrType; otherwise the error comes from the
// function. Call does not check args against the parameters of the function: a packed
// function that gets too few arguments may read beyond them.
func (f *Function) Call(args ...any) (Any, error) {
	if o := codec.Ref(f); len(args) <= 8 && o.Handle() != 0 && !o.Elsewhere() {
		return callInFrame(o, args)
	}
	return f.callPacked(slices.Clone(args)) // so that the caller's may stay on its stack
}

// callPacked is Call for any number of arguments and any state of f.
func (f *Function) callPacked(args []any) (Any, error) {
	c := codec.For[any]()
	v, err := f.apply(len(args), func(i int) (values.AnyView, error) {
		t, err := c.Encode(unsafe.Pointer(&args[i]))
		return t, failure.Annotate("argument "+codec.Itoa(i), err)
	})
	if err != nil {
		return Any{}, err
	}
	return takeResult(v)
}

// callInFrame calls a function with up to 8 arguments in a frame on the stack.
func callInFrame(fn *objects.Object, args []any) (Any, error) {
	var c calls.Call8
	c.BeginFunction(fn, len(args))
	for i, arg := range args {
		switch x := arg.(type) { // the frequent types need no codec
		case int64:
			c.Int(i, x)
		case int:
			c.Int(i, int64(x))
		case float64:
			c.Float(i, x)
		case bool:
			c.Bool(i, x)
		case *Tensor:
			c.Object(i, codec.Ref(x))
		case temporary: // may be an object too
			putAny(&c.Call, i, arg)
		case ObjectRef:
			c.Object(i, objects.StateOf(x))
		default:
			putAny(&c.Call, i, arg)
		}
	}
	if err := c.Do(); err != nil {
		return Any{}, err
	}
	return takeResult(c.Take())
}

// putAny packs a value by its codec. It is a function of its own because x moves to the heap.
func putAny(c *calls.Call, i int, x any) {
	if c.Prepare() {
		t, err := codec.For[any]().Encode(unsafe.Pointer(&x))
		c.Put(i, t, err)
	}
}

// takeResult takes the result of a function.
func takeResult(v abi.Any) (Any, error) {
	if uint32(v.TypeIndex) <= uint32(abi.TypeDevice) { // a value that refers to nothing
		return Any{index: v.TypeIndex, bits: v.Bits}, nil
	}
	if err := values.Known(v); err != nil {
		return Any{}, failure.Annotate("the result", err)
	}
	return takeAny(v), nil
}

// apply calls the function with the n values that item returns.
func (f *Function) apply(n int, item func(i int) (values.AnyView, error)) (abi.Any, error) {
	defer runtime.KeepAlive(f)
	if o := codec.Ref(f); o.Elsewhere() {
		if handle := o.Hold(); handle != 0 {
			defer objects.DecRef(handle)
			return codec.Apply(handle, n, item)
		}
	}
	o, err := codec.Receiver(f, "Function")
	if err != nil {
		return abi.Any{}, err
	}
	return codec.Apply(o.Handle(), n, item)
}
