package calls

import (
	"math"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Take takes the result of a call as it is, with its reference. It must not be
// used where a String result was asked for.
func (c *Call) Take() abi.Any {
	r := &c.head.Res // C wrote it in parts, and a load of the whole would wait for them
	return abi.Any{TypeIndex: r.TypeIndex, Small: r.Small, Bits: r.Bits}
}

// Target returns the function that is called, for error texts; nil for a
// Function object.
func (c *Call) Target() *Func { return c.fn }

// ResultError is the error of a result that cannot be converted. A Function object was made by
// another language, so the types have the names that hold in every language.
func (c *Call) ResultError(err error) error {
	if c.fn == nil {
		path, leaf := failure.PathOf(err)
		f := failure.AtPath(failure.KindType, "the called function: result"+path, callbacks.Plain(failure.Message(leaf)), leaf)
		f.Cause = err
		return failure.NewFailure(*f)
	}
	return failure.Errorf(failure.KindType, "%s: result: %w", c.fn, err)
}

// mismatch reports a result of the wrong type and releases it.
func (c *Call) mismatch(want string) error {
	got := c.head.Res
	err := c.ResultError(failure.Errorf(failure.KindType, "expected %s, got %s", want, capi.KeyOf(got.TypeIndex)))
	objects.ReleaseValue(got)
	c.head.Res = abi.Any{}
	return err
}

// DoBool makes a call whose result is a bool.
func (c *Call) DoBool() (bool, error) {
	err := c.do(abi.TypeBool)
	return c.head.Res.Bits != 0, err
}

// BoolResult takes a bool.
func (c *Call) BoolResult() (bool, error) {
	if !c.loose(abi.TypeBool) {
		return false, c.mismatch("bool")
	}
	return c.head.Res.Bits != 0, nil
}

// loose reports whether the result has a type. That of a Function object, which another language may have made, is converted as
// an argument is.
func (c *Call) loose(want abi.TypeIndex) (ok bool) {
	if c.head.Res.TypeIndex != want && c.fn == nil {
		c.head.Res, ok = values.Convert(c.head.Res, want)
		return ok
	}
	return c.head.Res.TypeIndex == want
}

// DoInt makes a call whose result is an int.
func (c *Call) DoInt() (int64, error) {
	err := c.do(abi.TypeInt)
	return int64(c.head.Res.Bits), err
}

// IntResult takes an int.
func (c *Call) IntResult() (v int64, err error) {
	if !c.loose(abi.TypeInt) {
		err = c.mismatch("int")
	}
	return int64(c.head.Res.Bits), err
}

// DoFloat makes a call whose result is a float.
func (c *Call) DoFloat() (float64, error) {
	err := c.do(abi.TypeFloat)
	return *(*float64)(unsafe.Pointer(&c.head.Res.Bits)), err
}

// FloatResult takes a float.
func (c *Call) FloatResult() (float64, error) {
	if v, ok := values.Convert(c.head.Res, abi.TypeFloat); ok {
		return math.Float64frombits(v.Bits), nil
	}
	return 0, c.mismatch("float")
}

// DoDataType makes a call whose result is a data type.
func (c *Call) DoDataType() (v struct {
	Code, Bits uint8
	Lanes      uint16
}, err error) {
	err = c.do(abi.TypeDataType)
	*(*uint32)(unsafe.Pointer(&v)) = uint32(c.head.Res.Bits)
	return v, err
}

// DoDevice makes a call whose result is a device.
func (c *Call) DoDevice() (v struct{ Type, ID int32 }, err error) {
	err = c.do(abi.TypeDevice)
	v.Type, v.ID = int32(c.head.Res.Bits), int32(c.head.Res.Bits>>32)
	return v, err
}

// DoPointer makes a call whose result is an opaque pointer; None is the null pointer.
func (c *Call) DoPointer() (v struct{ Address uintptr }, err error) {
	if err := c.Do(); err != nil {
		return v, err
	}
	if t := c.head.Res.TypeIndex; t != abi.TypeOpaquePtr && t != abi.TypeNone {
		return v, c.mismatch("void*")
	}
	v.Address = uintptr(c.head.Res.Bits)
	return v, nil
}

// wantString asks that a String result be copied into the block and released in the
// crossing of the call. It must come before Do, and StringResult after it.
func (c *Call) wantString() {
	c.head.Text = 16 * uint16(c.head.Units)
}

// DoString makes a call whose result is a string.
func (c *Call) DoString() (string, error) {
	c.wantString()
	if err := c.do(anyType); err != nil {
		return "", err
	}
	return c.StringResult()
}

// StringResult takes a string.
func (c *Call) StringResult() (string, error) {
	switch c.head.Res.TypeIndex {
	case abi.TypeSmallStr:
		return string((*[8]byte)(unsafe.Pointer(&c.head.Res.Bits))[:c.head.Res.Small]), nil
	case abi.TypeStr:
		if end := c.head.Text; end != 0 {
			return string(unsafe.Slice((*byte)(unsafe.Pointer(c.word(0))), end-1)), nil
		}
		return objects.TakeString(c.head.Res), nil
	}
	return "", c.mismatch("ffi.String")
}

// TryString makes a call whose result may be a string. If it is not a string, isString is
// false and Take takes the result.
func (c *Call) TryString() (s string, isString bool, err error) {
	c.wantString()
	if err := c.Do(); err != nil {
		return "", false, err
	}
	switch c.head.Res.TypeIndex {
	case abi.TypeStr, abi.TypeSmallStr:
		s, err = c.StringResult()
		return s, true, err
	}
	return "", false, nil
}

// DoBytes makes a call whose result is bytes, and copies them.
func (c *Call) DoBytes() ([]byte, error) {
	if err := c.Do(); err != nil {
		return nil, err
	}
	switch c.head.Res.TypeIndex {
	case abi.TypeSmallBytes:
		return append([]byte{}, (*[8]byte)(unsafe.Pointer(&c.head.Res.Bits))[:c.head.Res.Small]...), nil
	case abi.TypeBytes:
		return []byte(objects.TakeString(c.head.Res)), nil
	}
	return nil, c.mismatch("ffi.Bytes")
}

// DoObject makes a call whose result is an object of type t; None is nil.
func (c *Call) DoObject(t *fields.Type) (*objects.Object, error) {
	if err := c.do(anyType); err != nil {
		return nil, err
	}
	if t.Is(c.head.Res.TypeIndex) {
		return objects.Own(uintptr(c.head.Res.Bits)), nil
	}
	return c.ObjectResult(t)
}

// ObjectResult takes an object of type t; None is nil.
func (c *Call) ObjectResult(t *fields.Type) (*objects.Object, error) {
	v := c.head.Res
	if v.TypeIndex == abi.TypeNone {
		return nil, nil
	}
	if v.TypeIndex.IsObject() {
		ok, err := t.Accepts(v.TypeIndex)
		if err != nil {
			objects.ReleaseValue(v)
			return nil, err
		}
		if ok {
			return objects.Own(uintptr(v.Bits)), nil
		}
	}
	return nil, c.mismatch(t.Key)
}
