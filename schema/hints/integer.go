package hints

import (
	"fmt"
	"math"
	"slices"

	"github.com/tvmffi-go/tvmffi/schema"
)

// Integer is an int of a certain width. TVM-FFI has one type of ints, of 64 bits, so a registry does not say which
// numbers a function of C++ takes; sources and hints do.
type Integer struct {
	Name  string // int8, int16, int32, uint8, uint16, uint32 or uint64; an int64 is an int
	Least int64
	Most  uint64
}

var integers = map[string]Integer{
	"int8": {"int8", math.MinInt8, math.MaxInt8}, "int16": {"int16", math.MinInt16, math.MaxInt16}, "int32": {"int32", math.MinInt32, math.MaxInt32},
	"uint8": {"uint8", 0, math.MaxUint8}, "uint16": {"uint16", 0, math.MaxUint16}, "uint32": {"uint32", 0, math.MaxUint32},
	"uint64": {"uint64", 0, math.MaxUint64},
}

// IntegerOf returns the width of a type that is an int of a certain width.
func IntegerOf(t schema.TypeSchema) (Integer, bool) {
	n, ok := integers[t.Name]
	return n, ok && len(t.Args) == 0 && t.Func == nil
}

// Holds reports whether v is one of the numbers.
func (n Integer) Holds(v int64) bool { return v >= n.Least && (v < 0 || uint64(v) <= n.Most) }

// Range returns the numbers as text: "from -128 to 127".
func (n Integer) Range() string { return fmt.Sprintf("from %d to %d", n.Least, n.Most) }

// Plain returns a type with int in place of each int of a certain width, which is how a registry writes it.
func Plain(t schema.TypeSchema) schema.TypeSchema {
	return t.Renamed(func(t schema.TypeSchema) string {
		if _, ok := IntegerOf(t); ok {
			return "int"
		}
		return t.Name
	})
}

// HasWidth reports whether a type is, or has in it, an int of a certain width.
func HasWidth(t schema.TypeSchema) bool {
	_, ok := IntegerOf(t)
	return ok || slices.ContainsFunc(t.Args, HasWidth) || t.Func != nil && SignatureHasWidth(t.Func)
}

// SignatureHasWidth reports whether a parameter or the result of a function has an int of a certain width.
func SignatureHasWidth(s *schema.Signature) bool {
	return s != nil && (HasWidth(s.Return) || slices.ContainsFunc(s.Params, func(p schema.Param) bool { return HasWidth(p.Type) }))
}
