// Package arguments is the rule for arguments on their way to other processes: by RPC, and to the workers of Disco. Both send
// integers as int64.
package arguments

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// one returns x as it is to be sent, and reports whether that is another value. Numbers, bools, strings and bytes of all Go types,
// and those in an Any, a Variant or a Valuer or behind a pointer, become those of the language, and a *big.Int an int64. An integer
// that does not fit int64 is an error, which says what to pass. All other values stay as they are.
func one(x any) (sent any, changed bool, err error) {
	switch v := x.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64, string, []byte, tvmffi.DataType, tvmffi.Device, *tvmffi.Tensor, *tvmffi.Module:
		return x, false, nil
	case *big.Int:
		if v != nil && !v.IsInt64() {
			return nil, false, tooLarge(v)
		}
		if v != nil {
			return v.Int64(), true, nil
		}
		return x, false, nil
	case tvmffi.Any:
		return inside(v)
	case tvmffi.Valuer: // before the kinds: what it stands for may be of another one
		a, err := tvmffi.AnyOf(x)
		if err != nil {
			return nil, false, err
		}
		sent, _, err := inside(a)
		return sent, true, err // also an object, so that the call does not ask again
	case tvmffi.ObjectRef:
		return x, false, nil
	}
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Bool:
		return v.Bool(), true, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), true, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return nil, false, tooLarge(x)
		}
		return int64(v.Uint()), true, nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), true, nil
	case reflect.String:
		return v.String(), true, nil
	case reflect.Slice:
		if v.Type().Elem() == reflect.TypeFor[byte]() { // as in calls: a slice of another type has its values
			return v.Bytes(), true, nil
		}
	case reflect.Struct, reflect.Pointer:
		_, variant := x.(interface{ TypeKey() string }) // or a pointer to an Any
		if variant && v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer && !v.IsNil() && (variant || v.Type().Elem().Kind() != reflect.Struct) {
			return known(x)
		}
	}
	return x, false, nil
}

// known is one for a value that is a number or a text for the language. The call says what is wrong with a value that is nothing.
func known(x any) (sent any, changed bool, err error) {
	a, err := tvmffi.AnyOf(x)
	if err != nil {
		return x, false, nil
	}
	switch sent, _, err = inside(a); sent.(type) {
	case tvmffi.Any, *tvmffi.Tensor, *tvmffi.Module:
		return x, false, nil
	}
	return sent, true, err
}

// inside is one for the value of an Any.
func inside(a tvmffi.Any) (sent any, changed bool, err error) {
	switch a.TypeKey() {
	case "ffi.BigInt":
		return nil, false, tooLarge(a)
	case "None", "bool", "int", "float", "ffi.String", "ffi.SmallStr", "ffi.Bytes", "ffi.SmallBytes", "DataType", "Device", "ffi.Tensor", "ffi.Module":
		return a.Value(), true, nil
	}
	return a, false, nil
}

func tooLarge(x any) error {
	return tvmffi.NewError("OverflowError", fmt.Sprintf("%v does not fit int64, the integers that go to other processes: pass int64(x) if the function wants the 64 bits, or else the digits as a string", x))
}

// All returns arguments as they are to be sent: in a new slice if one of them is another value then. See one.
func All(args []any) ([]any, error) {
	sent := args
	for i, x := range args {
		v, changed, err := one(x)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		if !changed {
			continue
		}
		if &sent[0] == &args[0] {
			sent = slices.Clone(args)
		}
		sent[i] = v
	}
	return sent, nil
}

// RPC is [All] for RPC, where no string may have a zero byte: RPC ends it there.
func RPC(args []any) ([]any, error) {
	sent, err := All(args)
	for i, x := range sent {
		if text := reflect.Indirect(reflect.ValueOf(x)); text.Kind() == reflect.String {
			if err := Text(text.String(), "pass []byte"); err != nil {
				return nil, fmt.Errorf("argument %d: %w", i, err)
			}
		}
	}
	return sent, err
}

// Name is Text for the name of a function or a file.
func Name(s string) error { return Text(s, "choose another name") }

// Text returns an error for a string that TVM would cut, with what to do about it.
func Text(s, remedy string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return tvmffi.NewError("ValueError", fmt.Sprintf("the string %.50q has a zero byte at %d, where TVM would end it: %s", s, i, remedy))
	}
	return nil
}
