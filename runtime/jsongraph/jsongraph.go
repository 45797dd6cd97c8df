// Package jsongraph reads and writes values as JSON text that keeps types and sharing.
// Every language of TVM-FFI reads that text back. JSON as Go programs expect it, without
// types, is the job of encoding/json.
//
// [Marshal] writes a value, [Unmarshal] checks a text and makes the value, and [Metadata] reads
// the writer's metadata. Unmarshal accepts untrusted text: [MaxBytes], [MaxNodes], [MaxDepth] and
// [MaxVisits] are its limits.
package jsongraph

import (
	"encoding/json"
	"runtime"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var (
	toJSONGraph   = codec.NewLibraryFunc("ffi.ToJSONGraphString", "0.1.9")
	fromJSONGraph = codec.NewLibraryFunc("ffi.FromJSONGraphString", "0.1.9")
	stringify     = codec.NewLibraryFunc("ffi.json.Stringify", "0.1.9")
)

// Marshal writes a value and everything that it refers to as JSON, in the form that every
// language of TVM-FFI reads: each node of the graph once, with the references between them.
// metadata, which may be nil, is written beside it; [Metadata] reads it. Marshal fails with
// ErrType for values that cannot be written, such as functions and tensors, and with ErrValue for
// a value that contains itself or is nested deeper than 1000 levels (of which [Unmarshal] reads 100 on Windows), for a data type without a name that is read
// everywhere, such as complex64, for a map with two keys that are NaN, of which JSON has one, and for metadata that is not UTF-8
// or that [tvmffi.StringifyJSON] does not write, such as bytes and an int beyond int64.
func Marshal(x any, metadata map[string]any) ([]byte, error) {
	var o codec.PackedArgs
	defer o.Close()
	v, err := o.Pack(x)
	if err != nil {
		return nil, err
	}
	if err := serializable(v); err != nil {
		return nil, err
	}
	m := abi.Any{}
	if metadata != nil {
		if m, err = o.PackFinite(metadata); err != nil {
			return nil, failure.Annotate("metadata", err)
		}
	}
	text, ok, err := writeGraph(v)
	if err != nil {
		return nil, err
	}
	if ok {
		return withMetadata(text, m)
	}
	out, err := toJSONGraph.Call(v, m)
	if err != nil {
		return nil, err
	}
	if text, err = codec.TakeJSON(out); err != nil {
		return nil, err
	}
	if err := checkWritten(text); err != nil {
		return nil, err
	}
	if m.TypeIndex != abi.TypeNone {
		written, err := Metadata(text)
		if err == nil {
			err = readable(written)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// withMetadata ends the text of a graph.
func withMetadata(text []byte, m abi.Any) ([]byte, error) {
	if m.TypeIndex == abi.TypeNone {
		return append(text, '}'), nil
	}
	out, err := stringify.Call(m, abi.Any{})
	if err != nil {
		return nil, failure.Annotate("metadata", err)
	}
	more, err := codec.TakeJSON(out)
	if err == nil {
		err = readable(more)
	}
	text = append(text, `,"metadata":`...)
	return append(append(text, more...), '}'), err
}

// readable returns an error for metadata that json.Unmarshal would change: it makes U+FFFD of what is not UTF-8.
func readable(metadata []byte) error {
	if !utf8.Valid(metadata) {
		return failure.Errorf(failure.KindValue, "metadata: a text in it is not UTF-8, so it has no form in JSON: write it in base64")
	}
	return nil
}

// serializable returns an error for values on which ToJSONGraph of the library would not
// end.
func serializable(v abi.Any) (err error) {
	defer codec.Catch(&err)
	var b codec.Bounder
	if _, err = b.Visit(v, 0); err != nil && b.Cycle != 0 {
		name := capi.KeyOf(b.Cycle)
		if crossing.Mutable(b.Cycle) {
			name = strings.TrimPrefix(name, "ffi.")
		}
		err = failure.Errorf(failure.KindValue, "Cycle detected during serialization: a %s contains itself", name)
	}
	return err
}

// Option sets a limit of [Unmarshal].
type Option func(*graphLimits)

type graphLimits struct{ bytes, nodes, depth, visits int }

// MaxBytes sets the largest size of the text, 1 GiB if it is not given.
func MaxBytes(n int) Option { return func(l *graphLimits) { l.bytes = n } }

// MaxNodes sets the largest number of nodes, 2^25 if it is not given.
func MaxNodes(n int) Option { return func(l *graphLimits) { l.nodes = n } }

// MaxDepth sets how deep nodes may be nested, at most and by default 1000, because the library
// recurses into them. On Windows that is 100: threads of Go have stacks of 2 MB there.
func MaxDepth(n int) Option { return func(l *graphLimits) { l.depth = min(n, deepest()) } }

// deepest is the limit of [MaxDepth]. A level takes 10 to 13 kB of the stack of libtvm_ffi for Windows: under wine, 150 levels
// were read, and 200 ended the process.
func deepest() int {
	if runtime.GOOS == "windows" {
		return 100
	}
	return codec.MaxDepth
}

// MaxVisits sets how many nodes a function may visit that goes through a shared node once for
// each reference to it, as those do that hash, compare and print a value: 2^27 if it is not
// given. A short text may refer to two nodes from many levels, and double the visits with each.
func MaxVisits(n int) Option { return func(l *graphLimits) { l.visits = n } }

// Unmarshal reads a JSON graph, written in any language, as a T: *P for an object, a container,
// [tvmffi.Any]. The text may be untrusted: it is checked before the library sees it, because the
// library follows endless and invalid references. It can create objects of any registered type
// with fields; the hooks of a type that reads its own data get that data unchanged. Members of
// enums are the registered ones again, since libtvm_ffi 0.1.14. A member of an object that occurs twice, and a key that a map
// has twice, are errors, and so are members that nothing reads: the library would drop them. Errors are ErrValue for the form,
// ErrType for types, and ErrRuntime if no object of a type can be made.
func Unmarshal[T any](data []byte, options ...Option) (T, error) {
	var none T
	limits := graphLimits{1 << 30, 1 << 25, deepest(), codec.MaxVisits}
	for _, o := range options {
		o(&limits)
	}
	if err := tvmffi.Load(); err != nil {
		return none, err
	}
	if err := checkGraph(data, limits); err != nil {
		return none, err
	}
	data = codec.SignedZeros(codec.ExactNumbers(data))
	v, err := values.NewString(unsafe.String(unsafe.SliceData(data), len(data))) // copies
	if err != nil {
		return none, err
	}
	defer codec.Release(v)
	out, err := fromJSONGraph.Call(v)
	if err != nil {
		return none, err
	}
	return codec.Take[T](out)
}

// Metadata returns the metadata in a JSON graph as JSON text, nil if there is
// none.
func Metadata(data []byte) (json.RawMessage, error) {
	var found json.RawMessage
	s := &jsonScanner{data: data}
	err := s.object(func(key []byte) error {
		s.peek()
		start := s.at
		if err := s.Value(1); err != nil {
			return err
		}
		if string(key) == "metadata" {
			found = s.data[start:s.at]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Graph is a value that is written to JSON, and to binary forms such as the form of
// encoding/gob, as a JSON graph:
//
//	type Checkpoint struct {
//		Step int
//		Rose jsongraph.Graph[*garden.Rose]
//	}
//
// Without Graph, json.Marshal writes an object without types, and it cannot be read back.
type Graph[T any] struct{ Value T }

// MarshalJSON returns [Marshal] of the value.
func (g Graph[T]) MarshalJSON() ([]byte, error) { return Marshal(g.Value, nil) }

// UnmarshalJSON sets the value to the result of [Unmarshal].
func (g *Graph[T]) UnmarshalJSON(data []byte) (err error) {
	x, err := Unmarshal[T](data)
	if err == nil {
		g.Value = x
	}
	return err
}

// MarshalBinary returns the text of [Marshal].
func (g Graph[T]) MarshalBinary() ([]byte, error) { return Marshal(g.Value, nil) }

// UnmarshalBinary reads what MarshalBinary returned.
func (g *Graph[T]) UnmarshalBinary(data []byte) error { return g.UnmarshalJSON(data) }
