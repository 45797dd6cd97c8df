package tvmffi

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// feature is a function that not every version of libtvm_ffi has.
type feature struct {
	core.Func
	// since is the first supported version that has it.
	since string
}

func newFeature(name, since string) *feature {
	return &feature{Func: core.Func{Name: name}, since: since}
}

// need returns nil if the loaded library has the function.
func (f *feature) need() error {
	err := f.Resolve()
	if err == nil || !errors.Is(err, ErrAttribute) {
		return err
	}
	v := core.Version()
	return errorf(core.KindAttr, "%s: the loaded libtvm_ffi is %d.%d.%d, this needs %s or newer: %w", f.Name, v.Major, v.Minor, v.Patch, f.since, errors.ErrUnsupported)
}

// call calls the function with values that it borrows; the result is owned.
func (f *feature) call(values ...abi.Any) (abi.Any, error) {
	if err := f.need(); err != nil {
		return abi.Any{}, err
	}
	fn, err := f.Handle()
	if err != nil {
		return abi.Any{}, err
	}
	return core.Apply(fn, values)
}

// operands are values of the caller, packed for one or more calls.
type operands struct{ temps []core.Temp }

// pack adds x. Close ends the operands.
func (o *operands) pack(x any) (abi.Any, error) {
	t, err := codecFor[any]().encode(unsafe.Pointer(&x))
	if err != nil {
		return abi.Any{}, err
	}
	o.temps = append(o.temps, t)
	return t.Value, nil
}

// close releases what pack made and keeps the rest alive until here.
func (o *operands) close() {
	for _, t := range o.temps {
		if t.Owned {
			release(t.Value)
		}
		runtime.KeepAlive(t.Keep)
	}
	o.temps = nil
}

// unary calls f with x and further packed values, and takes the result as an R.
func unary[R any](f *feature, x any, more ...abi.Any) (result R, err error) {
	if err := f.need(); err != nil {
		return result, err
	}
	var o operands
	defer o.close()
	v, err := o.pack(x)
	if err != nil {
		return result, err
	}
	out, err := f.call(append([]abi.Any{v}, more...)...)
	if err != nil {
		return result, err
	}
	return take[R](out)
}

// binary is unary for two values.
func binary[R any](f *feature, x, y any, more ...abi.Any) (result R, err error) {
	if err := f.need(); err != nil {
		return result, err
	}
	return callWithTwo[R](f, (*operands).pack, x, y, more)
}

// callWithTwo calls f with two values, packed in a way.
func callWithTwo[R any](f *feature, pack func(*operands, any) (abi.Any, error), x, y any, more []abi.Any) (result R, err error) {
	var o operands
	defer o.close()
	a, err := pack(&o, x)
	if err != nil {
		return result, err
	}
	b, err := pack(&o, y)
	if err != nil {
		return result, err
	}
	out, err := f.call(append([]abi.Any{a, b}, more...)...)
	if err != nil {
		return result, err
	}
	return take[R](out)
}

func boolValue(v bool) abi.Any { return abi.Any{TypeIndex: abi.TypeBool, Bits: boolBits(v)} }

func intValue(v int64) abi.Any { return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)} }

// typeIndexFor returns the index of the values that become a T: that of the type
// for an object, TypeAny for any and Any.
func typeIndexFor[T any]() (abi.TypeIndex, error) {
	if class := classFor[T](); class != nil {
		info, err := class.Info()
		if err != nil {
			return 0, err
		}
		return info.TypeIndex, nil
	}
	var x T
	switch any(&x).(type) {
	case *any, *Any:
		return abi.TypeAny, nil
	case *ObjectRef:
		return abi.TypeObject, nil
	case *int64:
		return abi.TypeInt, nil
	case *bool:
		return abi.TypeBool, nil
	case *float64:
		return abi.TypeFloat, nil
	case *string:
		return abi.TypeStr, nil
	case *[]byte:
		return abi.TypeBytes, nil
	case *DataType:
		return abi.TypeDataType, nil
	case *Device:
		return abi.TypeDevice, nil
	case *Pointer:
		return abi.TypeOpaquePtr, nil
	}
	return 0, errorf(core.KindType, "%s names no type of the library: use a pointer to an object type, any, tvmffi.Any, int64, float64, bool, string, []byte, DataType or Device", fmt.Sprintf("%T", &x)[1:])
}
