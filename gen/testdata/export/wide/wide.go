// Package wide has an exported func of every form.
package wide

import (
	"context"
	"iter"
	big2 "math/big"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
)

// Names that the generated file must not take.
var bindrt, exportrt = 1, 2

// Nothing takes nothing.
//
//tvmffi:export
func Nothing() {}

// HTTPGet has initialisms, and a context.
//
//tvmffi:export
func HTTPGet(ctx context.Context, url string) (body []byte, err error) { return nil, ctx.Err() }

//tvmffi:export renamed
func Big(_ *big2.Int, int64 *int64) *big2.Int { return nil }

//tvmffi:export
func Spread(args ...any) (any, error) { return nil, nil }

//tvmffi:export
func Packed(args []tvmffi.Any) tvmffi.Any { return tvmffi.Any{} }

//tvmffi:export
func Funcs(f func([]string, map[string]int64) (*tvmffi.Tensor, error)) func(x any) error { return nil }

// DivMod has several results, and an error.
//
//tvmffi:export
func DivMod(a, b int) (quotient int, rest *big2.Int, err error) { return 0, nil, nil }

//tvmffi:export
func Both() (float64, bool) { return 0, false }

//tvmffi:export total
func Total(scale float64, numbers ...int8) float64 { return 0 }

//tvmffi:export
func Logged(level string, values ...any) {}

// Mode is how to search.
type Mode uint8

//tvmffi:export search limit=0x10 mode=fast sep=", " // a comment
func Search(text string, exact *bool, limit int, mode Mode, sep string) []string { return nil }

// Constants may be defaults.
const (
	seven      = 7
	half       = 1 / 2.0
	on         = true
	fast  Mode = 2
)

//tvmffi:export text=x ratio=1.5 up=on dtype=float16 none=nil some=seven nan=NaN f=nil
func Defaults(text string, ratio float32, up bool, dtype tvmffi.DataType, none, some *int16, nan float64, f func(int64) error, rest ...string) {
}

//tvmffi:export lend
func Scaled(x []float32, by float32, names []string) (scaled []float32, total float64, err error) {
	return nil, 0, nil
}

//tvmffi:export lend
func Lent() []uint16 { return nil }

//tvmffi:export
func Countdown(from int64) (iter.Seq[int64], error) { return nil, nil }

//tvmffi:export
func Entries() (iter.Seq2[string, []float64], int64) { return nil, 0 }

// A Node refers to itself.
//
//tvmffi:object tree.Node parent=testing.Base final structural=tree
type Node struct {
	Value any                      `ffi:"value"`
	Next  []*define.Instance[Node] `ffi:"next"`
}

//tvmffi:method
func (n Node) Sum(ctx map[string]float64) (float64, error) { return 0, nil }

// Wait has a context.
//
//tvmffi:method
func (n Node) Wait(_ context.Context, object0 int32) (self0 int32, err error) { return object0, nil }

// GrowSlowly changes the object.
//
//tvmffi:method
func (n *Node) GrowSlowly(ctx context.Context, by *big2.Int) {}

//tvmffi:compare
func (n Node) Compare(other Node) int { return 0 }

//tvmffi:method weight=1
func (n *Node) Grow(weight float64, names ...string) (int64, error) { return 0, nil }

//tvmffi:method lend
func (n Node) Walk(by []float64) iter.Seq[*define.Instance[Node]] { return nil }

//tvmffi:method
func (n Node) Ends() (first, last string) { return "", "" }

//tvmffi:method
func (n *Node) Clear() {}

//tvmffi:method
func (n *Node) Cut(at int) error { return nil }

//tvmffi:method
func (n *Node) Pop() (value any, ok bool) { return nil, false }

// Color is an enum.
type Color int

// The colors.
const (
	Red  Color = 1 + iota // of fire
	Blue                  // of water
)

// A Store has fields that only Go sees.
//
//tvmffi:object opaque
type Store struct{ values map[string]Color }

// OpenStore opens a store.
//
//tvmffi:constructor size=-1 scale=half name=a,b color=Blue dtype=float32 mode=nil
func OpenStore(path string, size int, scale float64, name string, color Color, dtype tvmffi.DataType, mode *uint8, rest ...string) (*Store, error) {
	return &Store{}, nil
}

//tvmffi:method
func (s *Store) Put(values map[string]Color, visit func(*Store, Color) (*Store, error)) (*Store, error) {
	return s, nil
}

//tvmffi:property size
func (s *Store) Length() (int, error) { return len(s.values), nil }

//tvmffi:method
func (s *Store) Close() {}

//tvmffi:equal
func (s *Store) Equal(other *Store) bool { return s == other }

// Cache is a Store.
//
//tvmffi:object wide.Cache opaque final
type Cache struct {
	Store
	all []*Store
}

//tvmffi:method
func (c *Cache) Close() error { return nil }

//tvmffi:property
func (n Node) First() any { return n.Value }

//tvmffi:constructor
func NewNode(value any) (*define.Instance[Node], error) { return nil, nil }

// GoneError says that something is gone.
//
//tvmffi:error base=KeyError
type GoneError struct {
	What  string `ffi:"what"`
	Since int64  `ffi:"since,default=3"`
}

func (e *GoneError) Error() string { return e.What + " is gone" }

// Code is an error of a machine.
//
//tvmffi:error machine.Code
type Code uint8

func (c Code) Error() string { return "an error" }

//tvmffi:export
func Pairs(next func(at int64) (string, *Mode, error)) (func() (int8, bool), error) { return nil, nil }

// Sorted has func parameters without an error.
//
//tvmffi:export
func Sorted(words []string, less func(a, b string) bool, each func(word string), cut func(word string) (string, int)) {
}

// Flags has a constant beyond int64.
type Flags uint64

// The flags.
const (
	NoFlags  Flags = 0
	AllFlags Flags = 1<<64 - 1
)

// A Link is closed by a call that can be interrupted.
//
//tvmffi:object opaque
type Link struct{ open bool }

//tvmffi:method
func (l *Link) Close(ctx context.Context) error { return ctx.Err() }
