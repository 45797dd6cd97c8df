// Package wide has an exported func of every form.
package wide

import (
	"context"
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

// A Node refers to itself.
//
//tvmffi:object tree.Node parent=testing.Base final structural=tree
type Node struct {
	Value any                      `ffi:"value"`
	Next  []*define.Instance[Node] `ffi:"next"`
}

//tvmffi:method
func (n Node) Sum(ctx map[string]float64) (float64, error) { return 0, nil }

//tvmffi:compare
func (n Node) Compare(other Node) int { return 0 }
