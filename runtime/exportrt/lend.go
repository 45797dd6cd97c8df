package exportrt

import (
	"reflect"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Lend returns a result that is a tensor of one dimension over the memory of data. It copies
// nothing. The tensor keeps data alive, and the Go heap moves nothing, so the memory is
// valid until the last reference to the tensor ends.
func Lend[T tvmffi.Element](data []T) tvmffi.Moved {
	t, err := tvmffi.FromSlice(data, int64(len(data)))
	if err != nil { // the library is loaded, and the shape fits
		panic(err)
	}
	return tvmffi.Move(t)
}

// Borrowed returns argument i, a tensor of one dimension on the host with elements of the
// type T, as a slice over its memory. The caller of the function keeps the memory until the
// function returns, and so the slice must not be used after that. Numbers in an Array or a List,
// and those of a tensor with gaps between them, are copied.
func Borrowed[T tvmffi.Element](a *bindrt.Args, i int) []T {
	v := a.Any(i)
	if v == nil {
		return nil // the number of arguments is checked later
	}
	data, err := borrowed[T](a, i)
	if err != nil {
		a.Fail(a.InArgument(i, err))
	}
	return data
}

func borrowed[T tvmffi.Element](a *bindrt.Args, i int) ([]T, error) {
	want := elements[T]()
	wrong := func(kind, got, remedy string) error {
		return failure.Errorf(kind, "expected a Tensor of %s with one dimension, got %s%s", want, got, remedy)
	}
	v := a.Value(i)
	if (v.TypeIndex == abi.TypeArray || v.TypeIndex == abi.TypeList) && !strings.HasSuffix(want, "float16") {
		return bindrt.Arg[[]T](a, i), nil // which reports its error itself
	}
	if v.TypeIndex != abi.TypeTensor && v.TypeIndex != abi.TypeDLTensorPtr {
		return nil, wrong(failure.KindType, capi.KeyOf(v.TypeIndex), "")
	}
	t := bindrt.Arg[*tvmffi.Tensor](a, i)
	if t == nil { // a DLTensor* that Arg refused, with its own error
		return nil, wrong(failure.KindType, "None", "")
	}
	switch {
	case t.DataType().String() != want:
		return nil, wrong(failure.KindType, "a Tensor of "+t.DataType().String(), ": convert it first")
	case t.NDim() != 1:
		return nil, wrong(failure.KindValue, t.String(), ": reshape it first")
	case !t.Device().IsHost():
		return nil, wrong(failure.KindValue, t.String(), ": copy it to the host first")
	}
	var data []T
	var err error
	if t.Contiguous() {
		data, err = tvmffi.Slice[T](t)
	} else {
		data = make([]T, t.Len())
		err = tvmffi.CopyTo(t, data)
	}
	if err != nil {
		return nil, failure.Errorf(failure.KindValue, "%w", err)
	}
	return data, nil
}

// elements names the data type of the elements of a []T.
func elements[T tvmffi.Element]() string {
	switch t := reflect.TypeFor[T](); {
	case t == reflect.TypeFor[tvmffi.F16]():
		return "float16"
	case t == reflect.TypeFor[tvmffi.BF16]():
		return "bfloat16"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Uint:
		return t.Kind().String() + "64" // the module needs a 64-bit platform
	default:
		return t.Kind().String()
	}
}
