// Package values has one list of values for the tests of everything that a value goes through: calls, copies, texts, graphs,
// comparisons and other languages. A test gives each row to its package and compares the columns. It is data without a
// library: runtimetest.Value makes the values whose types are of package tvmffi.
package values

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Row is a value, and what others make of it.
type Row struct {
	// Name is unique.
	Name string
	// Group is the table of docs/CROSSES.md that has the row, or empty.
	Group string
	Value any
	// Key is the key of its type.
	Key string
	// Back is what Go gets when it reads the value, where that differs from Value. Containers come back as objects.
	Back any
	// JSON is its text by encoding/json, "" if it has none.
	JSON string
	// Graph is the data of its one node in a JSON graph, or all nodes, or the text. It is "" if the value has none.
	Graph string
	// Text is how the library prints it, see Row.Repr. Refused says that it does not.
	Text string
}

// Refused is the Text of what the library does not print.
const Refused = "refused"

// Repr returns how the library prints the value: Text, or what it follows from.
func (r Row) Repr() string {
	switch {
	case r.Text != "":
		return r.Text
	case r.Key == "None":
		return "None"
	case r.Key == "bool":
		return map[string]string{"true": "True", "false": "False"}[r.JSON]
	case r.Key == "DataType" || r.Key == "Device":
		return strings.Trim(r.JSON, `"`)
	}
	return r.JSON
}

// GraphText returns the whole JSON graph.
func (r Row) GraphText() string {
	nodes := r.Graph
	switch {
	case nodes == "" || strings.HasPrefix(nodes, `{"root_index"`):
		return nodes
	case !strings.HasPrefix(nodes, `{"type"`):
		nodes = `{"type":"` + r.Key + `","data":` + nodes + `}`
	}
	return fmt.Sprintf(`{"nodes":[%s],"root_index":%d}`, nodes, strings.Count(nodes, `{"type"`)-1)
}

// Those that stand for types of package tvmffi.
type (
	DataType struct {
		Code, Bits uint8
		Lanes      uint16
	}
	Device  struct{ Type, ID int32 }
	Pointer struct{ Address uintptr }
	List    []any
	Shape   []int64
	// Map and Dict have their entries in this order.
	Map  []Pair
	Dict []Pair
	Pair struct{ Key, Value any }
	// Loop is a List that holds 1 and itself.
	Loop struct{}
	// None is nil as a result: it distinguishes a row with a Back from one without.
	None struct{}
)

// The tables of docs/CROSSES.md.
const (
	Texts      = "Text and bytes"
	Numbers    = "Numbers"
	Containers = "Lists and maps"
	Types      = "Data types and devices"
)

// These have names of their own, and values of what is below.
type (
	text  string
	small int16
	mode  uint8
	modes []mode
	blob  []byte
)

var three = int64(3)

var (
	longText, longerText = strings.Repeat("long ", 200), strings.Repeat("long ", 10_000)
	longBytes            = slices.Repeat([]byte("\x00\xff"), 50)
)

func quoted(s string) string { return `"` + s + `"` }

func beyond(negative bool, bits uint) *big.Int {
	x := new(big.Int).Lsh(big.NewInt(1), bits)
	if negative {
		x.Neg(x)
	}
	return x
}

// Rows are the values. Two of them are equal if their keys and their graphs are, or if both have no graph and one value.
var Rows = []Row{
	{Name: "empty text", Group: Texts, Value: "", Key: "ffi.String", JSON: `""`, Graph: `""`},
	{Name: "7 bytes", Group: Texts, Value: "1234567", Key: "ffi.String", JSON: `"1234567"`, Graph: `"1234567"`},
	{Name: "8 bytes", Group: Texts, Value: "12345678", Key: "ffi.String", JSON: `"12345678"`, Graph: `"12345678"`},
	{Name: "long text", Group: Texts, Value: longText, Key: "ffi.String", JSON: quoted(longText), Graph: quoted(longText)},
	{Name: "not ASCII", Group: Texts, Value: "é€𝄞", Key: "ffi.String", JSON: `"é€𝄞"`, Graph: `"é€𝄞"`, Text: `"\u00e9\u20ac\U0001d11e"`},
	{Name: "a zero byte", Group: Texts, Value: "a\x00b", Key: "ffi.String", JSON: `"a\u0000b"`, Graph: `"a\u0000b"`, Text: `"a\x00b"`},
	{Name: "a zero byte in long text", Group: Texts, Value: "a long text \x00 with a zero byte", Key: "ffi.String", JSON: `"a long text \u0000 with a zero byte"`, Graph: `"a long text \u0000 with a zero byte"`, Text: `"a long text \x00 with a zero byte"`},
	{Name: "a zero byte at the end", Group: Texts, Value: "a\x00", Key: "ffi.String", JSON: `"a\u0000"`, Graph: `"a\u0000"`, Text: `"a\x00"`},
	{Name: "not UTF-8", Group: Texts, Value: "a\xffb", Key: "ffi.String", Graph: "\"a\xffb\"", Text: `"a\xffb"`},
	{Name: "not UTF-8, long", Group: Texts, Value: "a long text \xff that is not UTF-8", Key: "ffi.String", Graph: "\"a long text \xff that is not UTF-8\"", Text: `"a long text \xff that is not UTF-8"`},
	{Name: "half a surrogate pair", Group: Texts, Value: "\xed\xa0\x80", Key: "ffi.String", Graph: "\"\xed\xa0\x80\"", Text: `"\ud800"`},
	{Name: "control characters", Group: Texts, Value: "\x01\t\n\r\x7f", Key: "ffi.String", JSON: "\"\\u0001\\t\\n\\r\x7f\"", Graph: "\"\\u0001\\u0009\\u000a\\u000d\x7f\"", Text: `"\x01\t\n\r\x7f"`},
	{Name: "quotes and a backslash", Group: Texts, Value: "\"'\\/", Key: "ffi.String", JSON: `"\"'\\/"`, Graph: `"\"'\\/"`},
	{Name: "empty bytes", Group: Texts, Value: []byte{}, Key: "ffi.Bytes", JSON: `""`, Graph: `""`, Text: `b""`},
	{Name: "bytes", Group: Texts, Value: []byte("a\x00\xff"), Key: "ffi.Bytes", JSON: `"YQD/"`, Graph: `"YQD/"`, Text: `b"a\x00\xff"`},
	{Name: "long bytes", Group: Texts, Value: longBytes, Key: "ffi.Bytes", JSON: quoted(base64.StdEncoding.EncodeToString(longBytes)), Graph: quoted(base64.StdEncoding.EncodeToString(longBytes)), Text: `b"` + strings.Repeat(`\x00\xff`, 50) + `"`},
	{Name: "only a zero byte", Value: "\x00", Key: "ffi.String", JSON: `"\u0000"`, Graph: `"\u0000"`, Text: `"\x00"`},
	{Name: "text of 50,000 bytes", Value: longerText, Key: "ffi.String", JSON: quoted(longerText), Graph: quoted(longerText)},
	{Name: "text of a named type", Value: text("named"), Back: "named", Key: "ffi.String", JSON: `"named"`, Graph: `"named"`},
	{Name: "many escapes", Value: "a\x00\x1f\"\\/é\x7f<\n", Key: "ffi.String", JSON: "\"a\\u0000\\u001f\\\"\\\\/\u00e9\x7f\\u003c\\n\"", Graph: "\"a\\u0000\\u001f\\\"\\\\/\u00e9\x7f<\\u000a\"", Text: `"a\x00\x1f\"\\/\u00e9\x7f<\n"`},
	{Name: "nil bytes", Value: []byte(nil), Back: []byte{}, Key: "ffi.Bytes", JSON: `""`, Graph: `""`, Text: `b""`},
	{Name: "bytes of a named type", Value: blob("0123456789"), Back: []byte("0123456789"), Key: "ffi.Bytes", JSON: `"MDEyMzQ1Njc4OQ=="`, Graph: `"MDEyMzQ1Njc4OQ=="`, Text: `b"0123456789"`},
	{Name: "nil text", Value: (*string)(nil), Back: None{}, Key: "None", JSON: `null`, Graph: `{"type":"None"}`},

	{Name: "nil", Group: Numbers, Value: None{}, Key: "None", JSON: `null`, Graph: `{"type":"None"}`},
	{Name: "true", Group: Numbers, Value: true, Key: "bool", JSON: `true`, Graph: `true`},
	{Name: "true, 1 and 1.0", Group: Numbers, Value: []any{true, 1, 1.0}, Key: "ffi.Array", JSON: `[true,1,1.0]`, Graph: `{"type":"bool","data":true},{"type":"int","data":1},{"type":"float","data":1.0},{"type":"ffi.Array","data":[0,1,2]}`, Text: `(True, 1, 1)`},
	{Name: "2^53+1", Group: Numbers, Value: int64(1<<53 + 1), Key: "int", JSON: `9007199254740993`, Graph: `9007199254740993`},
	{Name: "2^63-1", Group: Numbers, Value: int64(math.MaxInt64), Key: "int", JSON: `9223372036854775807`, Graph: `9223372036854775807`},
	{Name: "-2^63", Group: Numbers, Value: int64(math.MinInt64), Key: "int", JSON: `-9223372036854775808`, Graph: `-9223372036854775808`},
	{Name: "2^63", Group: Numbers, Value: uint64(1 << 63), Back: beyond(false, 63), Key: "ffi.BigInt", JSON: `9223372036854775808`, Graph: `{"root_index":0,"nodes":[{"type":"ffi.BigInt","data":"9223372036854775808"}]}`},
	{Name: "2^64-1", Group: Numbers, Value: uint64(math.MaxUint64), Back: new(big.Int).SetUint64(math.MaxUint64), Key: "ffi.BigInt", JSON: `18446744073709551615`, Graph: `{"root_index":0,"nodes":[{"type":"ffi.BigInt","data":"18446744073709551615"}]}`},
	{Name: "2^64", Group: Numbers, Value: beyond(false, 64), Key: "ffi.BigInt", JSON: `18446744073709551616`, Graph: `{"root_index":0,"nodes":[{"type":"ffi.BigInt","data":"18446744073709551616"}]}`},
	{Name: "-2^100", Group: Numbers, Value: beyond(true, 100), Key: "ffi.BigInt", JSON: `-1267650600228229401496703205376`, Graph: `{"root_index":0,"nodes":[{"type":"ffi.BigInt","data":"-1267650600228229401496703205376"}]}`},
	{Name: "0.0", Group: Numbers, Value: 0.0, Key: "float", JSON: `0.0`, Graph: `0.0`, Text: `0`},
	{Name: "-0.0", Group: Numbers, Value: math.Copysign(0, -1), Key: "float", JSON: `-0.0`, Graph: `-0.0`, Text: `-0`},
	{Name: "NaN", Group: Numbers, Value: math.NaN(), Key: "float", Graph: `NaN`, Text: `nan`},
	{Name: "infinity", Group: Numbers, Value: math.Inf(1), Key: "float", Graph: `Infinity`, Text: `inf`},
	{Name: "-infinity", Group: Numbers, Value: math.Inf(-1), Key: "float", Graph: `-Infinity`, Text: `-inf`},
	{Name: "0.1", Group: Numbers, Value: 0.1, Key: "float", JSON: `0.1`, Graph: `1e-01`},
	{Name: "float32 0.1", Group: Numbers, Value: float32(0.1), Back: float64(float32(0.1)), Key: "float", JSON: `0.10000000149011612`, Graph: `1.0000000149011612e-01`, Text: `0.1`},
	{Name: "1e15", Group: Numbers, Value: 1e15, Key: "float", JSON: `1e+15`, Graph: `1000000000000000.0`},
	{Name: "1e16", Group: Numbers, Value: 1e16, Key: "float", JSON: `1e+16`, Graph: `1e+16`},
	{Name: "2^53 as a float", Group: Numbers, Value: float64(1 << 53), Key: "float", JSON: `9.007199254740992e+15`, Graph: `9.007199254740992e+15`, Text: `9.0072e+15`},
	{Name: "1e300", Group: Numbers, Value: 1e300, Key: "float", JSON: `1e+300`, Graph: `1e+300`},
	{Name: "least float", Group: Numbers, Value: math.SmallestNonzeroFloat64, Key: "float", JSON: `5e-324`, Graph: strconv.FormatFloat(math.SmallestNonzeroFloat64, 'e', 750, 64), Text: `4.94066e-324`},
	{Name: "false", Value: false, Key: "bool", JSON: `false`, Graph: `false`},
	{Name: "1", Value: 1, Back: int64(1), Key: "int", JSON: `1`, Graph: `1`},
	{Name: "int8", Value: int8(-128), Back: int64(-128), Key: "int", JSON: `-128`, Graph: `-128`},
	{Name: "int16", Value: int16(-1), Back: int64(-1), Key: "int", JSON: `-1`, Graph: `-1`},
	{Name: "int32", Value: int32(math.MinInt32), Back: int64(math.MinInt32), Key: "int", JSON: `-2147483648`, Graph: `-2147483648`},
	{Name: "int16 of a named type", Value: small(-3), Back: int64(-3), Key: "int", JSON: `-3`, Graph: `-3`},
	{Name: "uint", Value: uint(5), Back: int64(5), Key: "int", JSON: `5`, Graph: `5`},
	{Name: "uint8", Value: uint8(255), Back: int64(255), Key: "int", JSON: `255`, Graph: `255`},
	{Name: "uint16", Value: uint16(65535), Back: int64(65535), Key: "int", JSON: `65535`, Graph: `65535`},
	{Name: "uint32", Value: uint32(math.MaxUint32), Back: int64(math.MaxUint32), Key: "int", JSON: `4294967295`, Graph: `4294967295`},
	{Name: "uint64", Value: uint64(math.MaxInt64), Back: int64(math.MaxInt64), Key: "int", JSON: `9223372036854775807`, Graph: `9223372036854775807`},
	{Name: "uintptr", Value: uintptr(7), Back: int64(7), Key: "int", JSON: `7`, Graph: `7`},
	{Name: "pointer to an int", Value: &three, Back: int64(3), Key: "int", JSON: `3`, Graph: `3`},
	{Name: "nil pointer to an int", Value: (*int64)(nil), Back: None{}, Key: "None", JSON: `null`, Graph: `{"type":"None"}`},
	{Name: "small big.Int", Value: big.NewInt(-5), Back: int64(-5), Key: "int", JSON: `-5`, Graph: `-5`},
	{Name: "nil big.Int", Value: (*big.Int)(nil), Back: None{}, Key: "None", JSON: `null`, Graph: `{"type":"None"}`},
	{Name: "1.0", Value: 1.0, Key: "float", JSON: `1.0`, Graph: `1.0`, Text: `1`},
	{Name: "-2.5", Value: -2.5, Key: "float", JSON: `-2.5`, Graph: `-2.5e+00`},
	{Name: "2^53-1 as a float", Value: float64(1<<53 - 1), Key: "float", JSON: `9.007199254740991e+15`, Graph: `9007199254740991.0`, Text: `9.0072e+15`},

	{Name: "empty list", Group: Containers, Value: []any{}, Key: "ffi.Array", JSON: `[]`, Graph: `[]`, Text: `()`},
	{Name: "empty map", Group: Containers, Value: map[string]any{}, Key: "ffi.Map", JSON: `{}`, Graph: `[]`},
	{Name: "nil slice", Group: Containers, Value: []any(nil), Key: "ffi.Array", JSON: `[]`, Graph: `[]`, Text: `()`},
	{Name: "nil map", Group: Containers, Value: map[string]any(nil), Key: "ffi.Map", JSON: `{}`, Graph: `[]`},
	{Name: "list of nil", Group: Containers, Value: []any{nil}, Key: "ffi.Array", JSON: `[null]`, Graph: `{"type":"None"},{"type":"ffi.Array","data":[0]}`, Text: `(None,)`},
	{Name: "list of a list of nothing", Group: Containers, Value: []any{[]any{}, map[string]any{}}, Key: "ffi.Array", JSON: `[[],{}]`, Graph: `{"type":"ffi.Array","data":[]},{"type":"ffi.Map","data":[]},{"type":"ffi.Array","data":[0,1]}`, Text: `((), {})`},
	{Name: "List", Group: Containers, Value: List{1, "two"}, Key: "ffi.List", JSON: `[1,"two"]`, Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"two"},{"type":"ffi.List","data":[0,1]}`, Text: `[1, "two"]`},
	{Name: "Dict", Group: Containers, Value: Dict{{"k", 1}}, Key: "ffi.Dict", JSON: `{"k":1}`, Graph: `{"type":"ffi.String","data":"k"},{"type":"int","data":1},{"type":"ffi.Dict","data":[0,1]}`, Text: `{"k": 1}`},
	{Name: "Shape", Group: Containers, Value: Shape{2, 3}, Key: "ffi.Shape", JSON: `[2,3]`, Graph: `[2,3]`, Text: `Shape(2, 3)`},
	{Name: "order of keys", Group: Containers, Value: Map{{"b", 1}, {"a", 2}}, Key: "ffi.Map", JSON: `{"b":1,"a":2}`, Graph: `{"type":"ffi.String","data":"b"},{"type":"int","data":1},{"type":"ffi.String","data":"a"},{"type":"int","data":2},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{"b": 1, "a": 2}`},
	{Name: "empty key", Group: Containers, Value: Map{{"", 1}}, Key: "ffi.Map", JSON: `{"":1}`, Graph: `{"type":"ffi.String","data":""},{"type":"int","data":1},{"type":"ffi.Map","data":[0,1]}`, Text: `{"": 1}`},
	{Name: "keys 1 and 2", Group: Containers, Value: Map{{1, "a"}, {2, "b"}}, Key: "ffi.Map", JSON: `{"1":"a","2":"b"}`, Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"a"},{"type":"int","data":2},{"type":"ffi.String","data":"b"},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{1: "a", 2: "b"}`},
	{Name: `keys 1 and "1"`, Group: Containers, Value: Map{{1, "a"}, {"1", "b"}}, Key: "ffi.Map", Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"a"},{"type":"ffi.String","data":"1"},{"type":"ffi.String","data":"b"},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{1: "a", "1": "b"}`},
	{Name: "keys 1 and true", Group: Containers, Value: Map{{1, "a"}, {true, "b"}}, Key: "ffi.Map", JSON: `{"1":"a","true":"b"}`, Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"a"},{"type":"bool","data":true},{"type":"ffi.String","data":"b"},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{1: "a", True: "b"}`},
	{Name: "keys 1 and 1.0", Group: Containers, Value: Map{{1, "a"}, {1.0, "b"}}, Key: "ffi.Map", Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"a"},{"type":"float","data":1.0},{"type":"ffi.String","data":"b"},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{1: "a", 1: "b"}`},
	{Name: `keys nil and "null"`, Group: Containers, Value: Map{{nil, "a"}, {"null", "b"}}, Key: "ffi.Map", Graph: `{"type":"None"},{"type":"ffi.String","data":"a"},{"type":"ffi.String","data":"null"},{"type":"ffi.String","data":"b"},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{None: "a", "null": "b"}`},
	{Name: "key that is bytes", Group: Containers, Value: Map{{[]byte("k"), 1}}, Key: "ffi.Map", Graph: `{"type":"ffi.Bytes","data":"aw=="},{"type":"int","data":1},{"type":"ffi.Map","data":[0,1]}`, Text: `{b"k": 1}`},
	{Name: "key that is not UTF-8", Group: Containers, Value: Map{{"a\xff", 1}}, Key: "ffi.Map", Graph: "{\"type\":\"ffi.String\",\"data\":\"a\xff\"},{\"type\":\"int\",\"data\":1},{\"type\":\"ffi.Map\",\"data\":[0,1]}", Text: `{"a\xff": 1}`},
	{Name: "two keys that are not UTF-8", Group: Containers, Value: Map{{"a\xff", 1}, {"a\xfe", 2}}, Key: "ffi.Map", Graph: `{"type":"ffi.String","data":"a` + "\xff" + `"},{"type":"int","data":1},{"type":"ffi.String","data":"a` + "\xfe" + `"},{"type":"int","data":2},{"type":"ffi.Map","data":[0,1,2,3]}`, Text: `{"a\xff": 1, "a\xfe": 2}`},
	{Name: "key with a zero byte", Group: Containers, Value: Map{{"a\x00b", 1}}, Key: "ffi.Map", JSON: `{"a\u0000b":1}`, Graph: `{"type":"ffi.String","data":"a\u0000b"},{"type":"int","data":1},{"type":"ffi.Map","data":[0,1]}`, Text: `{"a\x00b": 1}`},
	{Name: "key NaN", Group: Containers, Value: Map{{math.NaN(), 1}}, Key: "ffi.Map", Graph: `{"type":"float","data":NaN},{"type":"int","data":1},{"type":"ffi.Map","data":[0,1]}`, Text: `{nan: 1}`},
	{Name: "list within itself", Group: Containers, Value: Loop{}, Key: "ffi.List", Text: `[1, ...]`},
	{Name: "what is equal is one node", Value: []any{1, "x", 1, "x", []byte("x")}, Key: "ffi.Array", JSON: `[1,"x",1,"x","eA=="]`, Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"x"},{"type":"ffi.Bytes","data":"eA=="},{"type":"ffi.Array","data":[0,1,0,1,2]}`, Text: `(1, "x", 1, "x", b"x")`},
	{Name: "floats that are equal, or only look so", Value: []any{math.NaN(), math.NaN(), 0.0, math.Copysign(0, -1)}, Key: "ffi.Array", Graph: `{"type":"float","data":NaN},{"type":"float","data":0.0},{"type":"float","data":-0.0},{"type":"ffi.Array","data":[0,0,1,2]}`, Text: `(nan, nan, 0, -0)`},
	{Name: "list in a map", Value: map[string]any{"k": []any{nil}}, Key: "ffi.Map", JSON: `{"k":[null]}`, Graph: `{"type":"ffi.String","data":"k"},{"type":"None"},{"type":"ffi.Array","data":[1]},{"type":"ffi.Map","data":[0,2]}`, Text: `{"k": (None,)}`},
	{Name: "slice of a type of uint8", Value: []mode{1, 200}, Key: "ffi.Array", JSON: `[1,200]`, Graph: `{"type":"int","data":1},{"type":"int","data":200},{"type":"ffi.Array","data":[0,1]}`, Text: `(1, 200)`},
	{Name: "named slice of a type of uint8", Value: modes{1}, Key: "ffi.Array", JSON: `[1]`, Graph: `{"type":"int","data":1},{"type":"ffi.Array","data":[0]}`, Text: `(1,)`},
	{Name: "array of a type of uint8", Value: [2]mode{1, 2}, Key: "ffi.Array", JSON: `[1,2]`, Graph: `{"type":"int","data":1},{"type":"int","data":2},{"type":"ffi.Array","data":[0,1]}`, Text: `(1, 2)`},
	{Name: "array of bytes", Value: [2]byte{1, 2}, Key: "ffi.Array", JSON: `[1,2]`, Graph: `{"type":"int","data":1},{"type":"int","data":2},{"type":"ffi.Array","data":[0,1]}`, Text: `(1, 2)`},
	{Name: "set of a type of uint8", Value: map[mode]struct{}{1: {}}, Key: "ffi.Array", JSON: `[1]`, Graph: `{"type":"int","data":1},{"type":"ffi.Array","data":[0]}`, Text: `(1,)`},
	{Name: "set of bytes", Value: map[byte]struct{}{1: {}}, Key: "ffi.Array", JSON: `[1]`, Graph: `{"type":"int","data":1},{"type":"ffi.Array","data":[0]}`, Text: `(1,)`},
	{Name: "list of two", Value: []any{1, "x"}, Key: "ffi.Array", JSON: `[1,"x"]`, Graph: `{"type":"int","data":1},{"type":"ffi.String","data":"x"},{"type":"ffi.Array","data":[0,1]}`, Text: `(1, "x")`},

	{Name: "float32", Group: Types, Value: DataType{2, 32, 1}, Key: "DataType", JSON: `"float32"`, Graph: `"float32"`},
	{Name: "bool", Group: Types, Value: DataType{6, 8, 1}, Key: "DataType", JSON: `"bool"`, Graph: `"bool"`},
	{Name: "bfloat16", Group: Types, Value: DataType{4, 16, 1}, Key: "DataType", JSON: `"bfloat16"`, Graph: `"bfloat16"`},
	{Name: "float8_e4m3fn", Group: Types, Value: DataType{10, 8, 1}, Key: "DataType", JSON: `"float8_e4m3fn"`, Graph: `"float8_e4m3fn"`},
	{Name: "float8_e8m0fnu", Group: Types, Value: DataType{14, 8, 1}, Key: "DataType", JSON: `"float8_e8m0fnu"`, Graph: `"float8_e8m0fnu"`},
	{Name: "float4_e2m1fn", Group: Types, Value: DataType{17, 4, 1}, Key: "DataType", JSON: `"float4_e2m1fn"`, Graph: `"float4_e2m1fn"`},
	{Name: "int32x4", Group: Types, Value: DataType{0, 32, 4}, Key: "DataType", JSON: `"int32x4"`, Graph: `"int32x4"`},
	{Name: "int32x65535", Group: Types, Value: DataType{0, 32, 65535}, Key: "DataType", JSON: `"int32xvscalex1"`, Graph: `"int32xvscalex1"`, Text: `int32`},
	{Name: "int1", Group: Types, Value: DataType{0, 1, 1}, Key: "DataType", JSON: `"int1"`, Graph: `"int1"`},
	{Name: "int0", Group: Types, Value: DataType{0, 0, 1}, Key: "DataType", JSON: `"int0"`},
	{Name: "complex64", Group: Types, Value: DataType{5, 64, 1}, Key: "DataType", JSON: `"complex64"`, Text: Refused},
	{Name: "complex128", Group: Types, Value: DataType{5, 128, 1}, Key: "DataType", JSON: `"complex128"`, Text: Refused},
	{Name: "handle", Group: Types, Value: DataType{3, 64, 1}, Key: "DataType", JSON: `"handle"`, Graph: `"handle"`},
	{Name: "void", Group: Types, Value: DataType{Code: 3}, Key: "DataType", JSON: `""`, Graph: `""`},
	{Name: "unknown code 77", Group: Types, Value: DataType{77, 8, 1}, Key: "DataType", JSON: `"code77_8"`, Text: Refused},
	{Name: "no lanes", Group: Types, Value: DataType{Code: 2, Bits: 32}, Key: "DataType", JSON: `"float32x0"`, Text: `float32`},
	{Name: "cpu:0", Group: Types, Value: Device{1, 0}, Key: "Device", JSON: `"cpu:0"`, Graph: `[1,0]`},
	{Name: "cuda:1", Group: Types, Value: Device{2, 1}, Key: "Device", JSON: `"cuda:1"`, Graph: `[2,1]`},
	{Name: "cuda:-1", Group: Types, Value: Device{2, -1}, Key: "Device", JSON: `"cuda:-1"`, Graph: `[2,-1]`},
	{Name: "device of type 99", Group: Types, Value: Device{99, 0}, Key: "Device", JSON: `"device99:0"`, Graph: `[99,0]`, Text: `unknown:0`},
	{Name: "cuda:3", Value: Device{2, 3}, Key: "Device", JSON: `"cuda:3"`, Graph: `[2,3]`},
	{Name: "pointer", Value: Pointer{0xdeadbeef}, Key: "void*", Text: `void*`},
	{Name: "nil func", Value: (func())(nil), Back: None{}, Key: "None", JSON: `null`, Graph: `{"type":"None"}`},
}
