package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

var (
	recursiveEq   = codec.NewLibraryFunc("ffi.RecursiveEq", "0.1.12")
	recursiveLt   = codec.NewLibraryFunc("ffi.RecursiveLt", "0.1.12")
	recursiveGt   = codec.NewLibraryFunc("ffi.RecursiveGt", "0.1.12")
	recursiveHash = codec.NewLibraryFunc("ffi.RecursiveHash", "0.1.12")
	printing      = codec.NewLibraryFunc("ffi.ReprPrint", "0.1.9")
)

// Repr returns the text that the library prints for x, which may be of any type that a
// function can take: "text" in quotes, (1, 2) for an Array, [1, 2] for a List. A value
// that contains itself is printed as "..." the second time. For objects,
// [Object.String] returns the same text. The error is of kind ErrValue if shared parts make
// the text of more than 2^27 values. Repr needs libtvm_ffi 0.1.9.
func Repr(x any) (string, error) {
	return codec.Unary[string](printing, (*codec.PackedArgs).PackCountable, x)
}

// Equal reports whether x and y have equal contents: elements, entries, and those fields
// of objects that their type compares. x and y may be of any types that a function can
// take. A type may define its own comparison. Values of different types differ, such as 1
// and 1.0. NaN equals NaN. A tensor, a function, a module, or an object of a type that shows
// no field is equal only to itself, also inside other values, and an error to those with its
// kind and its message; the library sees no contents there, and takes any two for equal. The
// error is of kind ErrValue if shared parts make more than 2^27 values to compare, here and for
// [Compare]. Equal needs libtvm_ffi 0.1.12.
func Equal(x, y any) (bool, error) {
	equal, err := codec.Binary[bool](recursiveEq, x, y)
	if err != nil || !equal {
		return false, err
	}
	return codec.Alike(x, y)
}

// Compare compares the contents of x and y, like [Equal]. It returns -1 if x comes before
// y, 1 if x comes after y, and 0 otherwise. None comes before every other value. The error
// is of kind ErrType for values without an order: values of different types, NaN, maps, and two tensors, functions or other
// objects without contents that differ. Compare needs libtvm_ffi 0.1.12.
func Compare(x, y any) (int, error) {
	if less, err := codec.Binary[bool](recursiveLt, x, y); err != nil || less {
		return -int(codec.BoolBits(less)), err
	}
	greater, err := codec.Binary[bool](recursiveGt, x, y)
	if err != nil || greater {
		return int(codec.BoolBits(greater)), err
	}
	if alike, err := codec.Alike(x, y); err != nil || alike {
		return 0, err
	}
	return 0, failure.Errorf(failure.KindType, "Cannot order objects in which nothing can be compared, such as tensors and functions")
}

// Hash returns a hash of the contents of x. Values that are equal by [Equal] have equal
// hashes within one process. The error is of kind ErrValue for a type that defines its own
// equality but no hash. Hash needs libtvm_ffi 0.1.12.
func Hash(x any) (uint64, error) {
	h, err := codec.Unary[int64](recursiveHash, (*codec.PackedArgs).Pack, x)
	return uint64(h), err
}
