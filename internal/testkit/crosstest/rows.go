package crosstest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/values"
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

// everyone has what takes a value of any type and gives it back.
var everyone = []string{"Go", "C++", "Python", "Python package", "Rust", "RPC", "Disco", "JSON graph", "ffi.json", "encoding/json"}

// Groups are the tables in the order of the page.
var Groups = []Group{
	{values.Texts, everyone, rowsOfTable(values.Texts)},
	{values.Numbers, everyone, rowsOfTable(values.Numbers)},
	{values.Containers, everyone, rowsOfTable(values.Containers)},
	{values.Types, everyone, rowsOfTable(values.Types)},
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
		{"result: nil", Result{values.None{}}},
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
		{`result: keys 1 and "1"`, Result{values.Map{{Key: 1, Value: "a"}, {Key: "1", Value: "b"}}}},
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

// rowsOfTable returns the rows of package values for a table.
func rowsOfTable(title string) (rows []Row) {
	for _, r := range values.Rows {
		if r.Group == title {
			rows = append(rows, Row{r.Name, r.Value})
		}
	}
	return rows
}

func (g Group) has(row, peer string) bool {
	return slices.Contains(g.Peers, peer) && slices.ContainsFunc(g.Rows, func(r Row) bool { return r.Name == row })
}

// Make returns the value of the row and what releases it.
func (r Row) Make() (x any, release func(), err error) { return runtimetest.Value(r.Value) }

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
