// Package arguments is the rule for arguments on their way to other processes: by RPC, and to the workers of Disco. Both send
// integers as int64.
package arguments

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// One returns x as it is to be sent. Numbers, bools, strings and bytes of all Go types, and those in an Any, become
// those of the language, and a *big.Int an int64. An integer that does not fit int64 is an error, which says what to pass. All other values stay
// as they are.
func One(x any) (any, error) {
	switch v := x.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64, string, []byte, tvmffi.DataType, tvmffi.Device, *tvmffi.Tensor, *tvmffi.Module:
		return x, nil
	case *big.Int:
		if v != nil && !v.IsInt64() {
			return nil, tooLarge(v)
		}
		if v != nil {
			return v.Int64(), nil
		}
		return x, nil
	case tvmffi.Any:
		switch v.TypeKey() {
		case "ffi.BigInt":
			return nil, tooLarge(v)
		case "None", "bool", "int", "float", "ffi.String", "ffi.SmallStr", "ffi.Bytes", "ffi.SmallBytes":
			return v.Value(), nil
		}
		return x, nil
	}
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return nil, tooLarge(x)
		}
		return int64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Bytes(), nil
		}
	}
	return x, nil
}

func tooLarge(x any) error {
	return tvmffi.NewError("OverflowError", fmt.Sprintf("%v does not fit int64, the integers that go to other processes: pass int64(x) if the function wants the 64 bits, or else the digits as a string", x))
}

// RPC returns arguments as RPC is to send them: as [One], and no string may have a zero byte, where RPC ends it.
func RPC(args []any) ([]any, error) {
	sent, shared := args, true
	for i, x := range args {
		if plain(x) {
			continue
		}
		v, err := One(x)
		if text := reflect.Indirect(reflect.ValueOf(v)); err == nil && text.Kind() == reflect.String {
			err = Text(text.String(), "pass []byte")
		}
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		if shared {
			sent, shared = append([]any(nil), args...), false
		}
		sent[i] = v
	}
	return sent, nil
}

// Name is Text for the name of a function or a file.
func Name(s string) error { return Text(s, "choose another name") }

// plain reports whether x goes as it is. These are most arguments, for which nothing is allocated.
func plain(x any) bool {
	switch v := x.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint8, uint16, uint32, float32, float64, []byte, tvmffi.DataType, tvmffi.Device, *tvmffi.Tensor, *tvmffi.Module:
		return true
	case string:
		return strings.IndexByte(v, 0) < 0
	}
	return false
}

// Text returns an error for a string that TVM would cut, with what to do about it.
func Text(s, remedy string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return tvmffi.NewError("ValueError", fmt.Sprintf("the string %.50q has a zero byte at %d, where TVM would end it: %s", s, i, remedy))
	}
	return nil
}
