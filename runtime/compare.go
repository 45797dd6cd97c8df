package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/codec"
)

var (
	recursiveEq   = codec.NewLibraryFunc("ffi.RecursiveEq", "0.1.12")
	recursiveLt   = codec.NewLibraryFunc("ffi.RecursiveLt", "0.1.12")
	recursiveGt   = codec.NewLibraryFunc("ffi.RecursiveGt", "0.1.12")
	recursiveHash = codec.NewLibraryFunc("ffi.RecursiveHash", "0.1.12")
	printing      = codec.NewLibraryFunc("ffi.ReprPrint", "0.1.9")
)

// Repr returns the text that the library prints for a value of any type, as
// [Object.String] does for objects: "text" in quotes, (1, 2) for an Array, [1, 2]
// for a List. What contains itself is printed as "..." the second time.
func Repr(x any) (string, error) { return codec.Unary[string](printing, x) }

// Equal reports whether x and y, of any types that a function can take, are equal
// by their contents: elements, entries, and the fields of objects that their type
// compares. A type may have an operator of its own. Values of different types
// differ, 1 and 1.0 too; NaN equals NaN. It needs libtvm_ffi 0.1.12.
func Equal(x, y any) (bool, error) { return codec.Binary[bool](recursiveEq, x, y) }

// Compare returns -1 if x comes before y, 1 if it comes after y, else 0, by their
// contents as [Equal] does; None comes before all else. It fails with ErrType for
// what has no order: values of different types, NaN, maps. It needs libtvm_ffi
// 0.1.12.
func Compare(x, y any) (int, error) {
	if less, err := codec.Binary[bool](recursiveLt, x, y); err != nil || less {
		return -int(codec.BoolBits(less)), err
	}
	greater, err := codec.Binary[bool](recursiveGt, x, y)
	return int(codec.BoolBits(greater)), err
}

// Hash returns a hash of the contents of x: equal values have equal hashes in one
// process. It fails with ErrValue for a type that defines its equality and no
// hash. It needs libtvm_ffi 0.1.12.
func Hash(x any) (uint64, error) {
	h, err := codec.Unary[int64](recursiveHash, x)
	return uint64(h), err
}
