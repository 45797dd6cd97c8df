package golib

import (
	"errors"
	"math/big"
	"slices"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The functions in this file show how other languages see Go types.

// Celsius is a number with a name.
type Celsius float32

// Limits has tags but no directive, so other languages see a map.
type Limits struct {
	Low  Celsius `ffi:"low"`
	High Celsius `ffi:"high"`
	Note *string `ffi:"note,optional"`
}

// Within keeps a temperature inside limits.
//
//tvmffi:export
func Within(t Celsius, l Limits) Celsius { return max(l.Low, min(l.High, t)) }

// Small adds narrow integers; arguments that do not fit are errors.
//
//tvmffi:export
func Small(a int8, b uint16, up bool) int32 {
	if up {
		return int32(a) + int32(b)
	}
	return int32(a) - int32(b)
}

// Describe names a data type on a device.
//
//tvmffi:export
func Describe(t tvmffi.DataType, d tvmffi.Device) string { return t.String() + " on " + d.String() }

// Power raises an integer of any size to a power.
//
//tvmffi:export
func Power(base *big.Int, exponent int64) *big.Int {
	return new(big.Int).Exp(base, big.NewInt(exponent), nil)
}

// Swap returns a pair with its elements swapped.
//
//tvmffi:export
func Swap(pair tvmffi.Tuple2[int64, string]) tvmffi.Tuple2[string, int64] {
	return tvmffi.Tuple2[string, int64]{A: pair.B, B: pair.A}
}

// Volume multiplies the dimensions of a shape.
//
//tvmffi:export
func Volume(s *tvmffi.Shape) int64 {
	volume := int64(1)
	for _, n := range s.Slice() {
		volume *= n
	}
	return volume
}

// Append adds to the list of the caller, and returns it.
//
//tvmffi:export
func Append(l *tvmffi.List[int64], x int64) (*tvmffi.List[int64], error) {
	return l, l.Append(x)
}

// Sorted sorts the numbers of each row.
//
//tvmffi:export
func Sorted(rows map[string][][3]float64) map[string][][3]float64 {
	for _, row := range rows {
		for i := range row {
			slices.Sort(row[i][:])
		}
	}
	return rows
}

// Compose makes one function of two, which may have any signature.
//
//tvmffi:export
func Compose(f, g *tvmffi.Function) func(x any) (tvmffi.Any, error) {
	f, g = tvmffi.Retain(f), tvmffi.Retain(g) // arguments end when Compose returns
	return func(x any) (tvmffi.Any, error) {
		y, err := g.Call(x)
		if err != nil {
			return tvmffi.Any{}, err
		}
		return f.Call(y)
	}
}

// TypeKey returns the type key of an object.
//
//tvmffi:export
func TypeKey(o tvmffi.ObjectRef) string { return tvmffi.TypeKey(o) }

// Explain returns the message of an error that is passed as a value.
//
//tvmffi:export
func Explain(err *tvmffi.Error) string {
	if err == nil {
		return "no error"
	}
	return err.Message
}

// First returns the first of any values.
//
//tvmffi:export
func First(values []tvmffi.Any) (any, error) {
	if len(values) == 0 {
		return nil, errors.New("there are no values")
	}
	return values[0], nil
}
