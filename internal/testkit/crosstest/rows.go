package crosstest

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Group is a table of the page.
type Group struct {
	Title string // of its section
	Peers []string
	Rows  []Row
}

// Row is a value of the page.
type Row struct {
	Name  string
	Value any // the value itself, or what makes it
}

// none is the value nil.
type none struct{}

// loop is a List that holds 1 and itself.
type loop struct{}

// made makes a value.
type made func() (tvmffi.ObjectRef, error)

// everyone has what takes a value of any type and gives it back.
var everyone = []string{"Go", "C++", "Python", "Python package", "Rust", "RPC", "Disco", "JSON graph", "ffi.json", "encoding/json"}

// Groups are the tables in the order of the page.
var Groups = []Group{
	{"Text and bytes", everyone, []Row{
		{"empty text", ""},
		{"7 bytes", "1234567"},
		{"8 bytes", "12345678"},
		{"long text", strings.Repeat("long ", 200)},
		{"not ASCII", "é€𝄞"},
		{"a zero byte", "a\x00b"},
		{"a zero byte in long text", "a long text \x00 with a zero byte"},
		{"a zero byte at the end", "a\x00"},
		{"not UTF-8", "a\xffb"},
		{"not UTF-8, long", "a long text \xff that is not UTF-8"},
		{"half a surrogate pair", "\xed\xa0\x80"},
		{"control characters", "\x01\t\n\r\x7f"},
		{"quotes and a backslash", "\"'\\/"},
		{"empty bytes", []byte{}},
		{"bytes", []byte("a\x00\xff")},
		{"long bytes", slices.Repeat([]byte("\x00\xff"), 50)},
	}},
	{"Numbers", everyone, []Row{
		{"nil", none{}},
		{"true", true},
		{"true, 1 and 1.0", []any{true, 1, 1.0}},
		{"2^53+1", int64(1<<53 + 1)},
		{"2^63-1", int64(math.MaxInt64)},
		{"-2^63", int64(math.MinInt64)},
		{"2^63", uint64(1 << 63)},
		{"2^64-1", uint64(math.MaxUint64)},
		{"2^64", new(big.Int).Lsh(big.NewInt(1), 64)},
		{"-2^100", new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 100))},
		{"0.0", 0.0},
		{"-0.0", math.Copysign(0, -1)},
		{"NaN", math.NaN()},
		{"infinity", math.Inf(1)},
		{"-infinity", math.Inf(-1)},
		{"0.1", 0.1},
		{"float32 0.1", float32(0.1)},
		{"1e15", 1e15},
		{"1e16", 1e16},
		{"2^53 as a float", float64(1 << 53)},
		{"1e300", 1e300},
		{"least float", math.SmallestNonzeroFloat64},
	}},
	{"Lists and maps", everyone, []Row{
		{"empty list", []any{}},
		{"empty map", map[string]any{}},
		{"nil slice", []any(nil)},
		{"nil map", map[string]any(nil)},
		{"list of nil", []any{nil}},
		{"list of a list of nothing", []any{[]any{}, map[string]any{}}},
		{"List", made(func() (tvmffi.ObjectRef, error) { return tvmffi.NewList[any](1, "two") })},
		{"Dict", made(func() (tvmffi.ObjectRef, error) {
			return tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[string, int64]{Key: "k", Value: 1}))
		})},
		{"Shape", made(func() (tvmffi.ObjectRef, error) { return tvmffi.NewShape(2, 3) })},
		{"order of keys", pairs("b", 1, "a", 2)},
		{"empty key", pairs("", 1)},
		{"keys 1 and 2", pairs(1, "a", 2, "b")},
		{`keys 1 and "1"`, pairs(1, "a", "1", "b")},
		{"keys 1 and true", pairs(1, "a", true, "b")},
		{"keys 1 and 1.0", pairs(1, "a", 1.0, "b")},
		{`keys nil and "null"`, pairs(none{}, "a", "null", "b")},
		{"key that is bytes", pairs([]byte("k"), 1)},
		{"key that is not UTF-8", pairs("a\xff", 1)},
		{"two keys that are not UTF-8", pairs("a\xff", 1, "a\xfe", 2)},
		{"key with a zero byte", pairs("a\x00b", 1)},
		{"key NaN", pairs(math.NaN(), 1)},
		{"list within itself", loop{}},
	}},
	{"Data types and devices", everyone, []Row{
		{"float32", tvmffi.Float32},
		{"bool", tvmffi.Bool},
		{"bfloat16", tvmffi.BFloat16},
		{"float8_e4m3fn", tvmffi.Float8E4M3FN},
		{"float8_e8m0fnu", tvmffi.Float8E8M0FNU},
		{"float4_e2m1fn", tvmffi.Float4E2M1FN},
		{"int32x4", tvmffi.Int32.WithLanes(4)},
		{"int32x65535", tvmffi.Int32.WithLanes(65535)},
		{"int1", tvmffi.DataType{Code: 0, Bits: 1, Lanes: 1}},
		{"int0", tvmffi.DataType{Code: 0, Bits: 0, Lanes: 1}},
		{"complex64", tvmffi.Complex64},
		{"complex128", tvmffi.Complex128},
		{"handle", tvmffi.OpaqueHandle},
		{"void", tvmffi.DataType{Code: 3}},
		{"unknown code 77", tvmffi.DataType{Code: 77, Bits: 8, Lanes: 1}},
		{"no lanes", tvmffi.DataType{Code: 2, Bits: 32}},
		{"cpu:0", tvmffi.CPU},
		{"cuda:1", tvmffi.CUDA(1)},
		{"cuda:-1", tvmffi.CUDA(-1)},
		{"device of type 99", tvmffi.Device{Type: 99}},
	}},
	{"Parameters with a type", []string{"Go", "C++", "CuTe"}, []Row{
		{"2^31-1 for int32", Typed{1<<31 - 1, "int32"}},
		{"2^31 for int32", Typed{1 << 31, "int32"}},
		{"-2^31-1 for int32", Typed{-1<<31 - 1, "int32"}},
		{"128 for int8", Typed{128, "int8"}},
		{"256 for uint8", Typed{256, "uint8"}},
		{"-1 for uint8", Typed{-1, "uint8"}},
		{"-1 for uint64", Typed{-1, "uint64"}},
		{"2^63 for int64", Typed{uint64(1 << 63), "int64"}},
		{"2^63 for uint64", Typed{uint64(1 << 63), "uint64"}},
		{"2^40 for int32", Typed{1 << 40, "int32"}},
		{"true for int32", Typed{true, "int32"}},
		{"1.0 for int32", Typed{1.0, "int32"}},
		{"1.5 for int32", Typed{1.5, "int32"}},
		{"nil for int32", Typed{nil, "int32"}},
		{"text for int32", Typed{"x", "int32"}},
		{"1 for bool", Typed{1, "bool"}},
		{"7 for bool", Typed{7, "bool"}},
		{"1000 for bool", Typed{1000, "bool"}},
		{"1.0 for bool", Typed{1.0, "bool"}},
		{"1 for float64", Typed{1, "float64"}},
		{"true for float64", Typed{true, "float64"}},
		{"2^53+1 for float64", Typed{1<<53 + 1, "float64"}},
		{"2^63 for float64", Typed{uint64(1 << 63), "float64"}},
		{"text for float64", Typed{"x", "float64"}},
		{"1 for float32", Typed{1, "float32"}},
		{"false for float32", Typed{false, "float32"}},
		{"nil for float32", Typed{nil, "float32"}},
		{"0.1 for float32", Typed{0.1, "float32"}},
		{"2^24+1 for float32", Typed{1<<24 + 1, "float32"}},
		{"1e300 for float32", Typed{1e300, "float32"}},
		{"NaN for float32", Typed{math.NaN(), "float32"}},
		{"text for bytes", Typed{"text", "bytes"}},
		{"bytes for text", Typed{[]byte("text"), "text"}},
		{"text for a data type", Typed{"float32", "dtype"}},
		{"text for a device", Typed{"cuda:1", "device"}},
	}},
	{"Results of other processes", []string{"RPC", "Disco"}, []Row{
		{"result: nil", Result{none{}}},
		{"result: long text", Result{strings.Repeat("long ", 200)}},
		{"result: a zero byte", Result{"a\x00b"}},
		{"result: a zero byte in long text", Result{"a long text \x00 with a zero byte"}},
		{"result: not UTF-8", Result{"a\xffb"}},
		{"result: empty bytes", Result{[]byte{}}},
		{"result: bytes", Result{[]byte("a\x00\xff")}},
		{"result: NaN", Result{math.NaN()}},
		{"result: -0.0", Result{math.Copysign(0, -1)}},
		{"result: 2^63", Result{uint64(1 << 63)}},
		{"result: true, 1 and 1.0", Result{[]any{true, 1, 1.0}}},
		{"result: empty list", Result{[]any{}}},
		{`result: keys 1 and "1"`, Result{pairs(1, "a", "1", "b")}},
		{"result: text that is not UTF-8 in a list", Result{[]any{"a\xffb"}}},
		{"result: int32x65535", Result{tvmffi.Int32.WithLanes(65535)}},
		{"result: float32 in a list", Result{[]any{tvmffi.Float32}}},
		{"result: cpu:0", Result{tvmffi.CPU}},
	}},
	{"Errors", []string{"Go", "C++", "Python", "Python package", "Rust", "RPC", "Disco"}, []Row{
		{"ValueError", Raised{"ValueError", "a message"}},
		{"KeyError", Raised{"KeyError", "a message"}},
		{"FileNotFoundError", Raised{"FileNotFoundError", "a message"}},
		{"StopIteration", Raised{"StopIteration", "a message"}},
		{"UnicodeDecodeError", Raised{"UnicodeDecodeError", "a message"}},
		{"unknown kind", Raised{"NoSuchKind", "a message"}},
		{"kind of two words", Raised{"two words", "a message"}},
		{"kind with a dot", Raised{"garden.Thorns", "a message"}},
		{"no kind", Raised{"", "a message"}},
		{"no kind, and a colon", Raised{"", "one: two"}},
		{"no message", Raised{"ValueError", ""}},
		{"message of two lines", Raised{"ValueError", "one\ntwo"}},
		{"message with a colon", Raised{"ValueError", "TypeError: a message"}},
		{"message with a zero byte", Raised{"ValueError", "a\x00b"}},
		{"message that is not UTF-8", Raised{"ValueError", "a\xffb"}},
	}},
}

// Typed is a value for a parameter of a type.
type Typed struct {
	Value any
	For   string
}

// Result is a value that a function of another process makes of a JSON graph.
type Result struct{ Value any }

// Raised is an error that a function ends with.
type Raised struct{ Kind, Message string }

// pairs makes a Map of keys and values, in this order.
func pairs(all ...any) made {
	return func() (tvmffi.ObjectRef, error) {
		var items []tvmffi.Pair[any, any]
		for i := 0; i < len(all); i += 2 {
			key := all[i]
			if key == any(none{}) {
				key = nil
			}
			items = append(items, tvmffi.Pair[any, any]{Key: key, Value: all[i+1]})
		}
		return tvmffi.NewMap(tvmffi.PairsOf(items...))
	}
}

func (g Group) has(row, peer string) bool {
	return slices.Contains(g.Peers, peer) && slices.ContainsFunc(g.Rows, func(r Row) bool { return r.Name == row })
}

// Make returns the value of the row and what releases it.
func (r Row) Make() (x any, release func(), err error) {
	nothing := func() {}
	switch x := r.Value.(type) {
	case none:
		return nil, nothing, nil
	case loop:
		l, err := tvmffi.NewList[any](1)
		if err == nil {
			err = l.Append(l)
		}
		return l, func() {
			if err := l.Clear(); err == nil {
				l.Release()
			}
		}, err
	case made:
		o, err := x()
		if err != nil {
			return nil, nothing, err
		}
		return o, func() { o.(interface{ Release() }).Release() }, nil
	}
	return r.Value, nothing, nil
}

// make is Make for tests.
func (r Row) make(t testing.TB) (any, func()) {
	t.Helper()
	x, release, err := r.Make()
	if err != nil {
		t.Fatalf("%s: %v", r.Name, err)
	}
	return x, release
}

// Text describes the value of the row.
func (r Row) Text() string {
	x, release, err := r.Make()
	if err != nil {
		return err.Error()
	}
	defer release()
	a, err := tvmffi.AnyOf(x)
	if err != nil {
		return err.Error() // an older libtvm_ffi
	}
	defer a.Release()
	return Text(a)
}

// IsValue reports whether the value of the row goes somewhere by itself.
func (r Row) IsValue() bool {
	switch r.Value.(type) {
	case Typed, Raised, Result:
		return false
	}
	return true
}

// Find returns the row of this name.
func Find(name string) (Row, bool) {
	for _, g := range Groups {
		for _, r := range g.Rows {
			if r.Name == name {
				return r, true
			}
		}
	}
	return Row{}, false
}
