// Package structural compares and hashes values by their structure, as a compiler compares
// programs, and walks, rewrites and copies the graph of a value. The library does the work, by
// the rules that the fields of each type declare. Package tvmffi compares by contents; package
// reflection loops over all fields in Go.
//
// # Start here
//
//   - [Equal] compares two values, [Hash] hashes one, and [FirstMismatch] finds the place
//     where two differ. A [Key] is a key of Go maps; [KeyOf] makes one.
//   - [Clone] copies one object, [DeepCopy] everything that it refers to, and [Replace]
//     copies an object with other fields.
//   - [Walk] visits all values inside a value, and [Rewrite] replaces some. A rule is a Go
//     func, and the type of its argument decides for which values it is called: [On], [To].
//   - [Visit] and [Mutate] are Walk and Rewrite whose rules decide what inside a value is
//     visited or replaced.
//   - An [AccessPath] names a place inside a value.
//
// # Structure
//
// A type declares its [Kind]. A [Tree] is compared by its fields. In a [DAG], sharing of objects
// counts too. A [FreeVar] is a variable, which is the same in two values if both define it at the
// same place. A [UniqueInstance] equals only itself. Comparing objects of an [Unsupported] type
// is an error.
//
// # Ownership and threads
//
// The caller owns the result of a function and releases it. The argument of a rule is borrowed
// until the rule returns. Everything may be used from any goroutine, but no other goroutine may
// change a List or a Dict that a walk reads.
//
// # Errors
//
// An error of a rule ends the walk, which returns it, so that errors.Is finds it. [ErrorPaths]
// returns where in the value it occurred. With a libtvm_ffi that is too old for it, a function
// returns errors.ErrUnsupported; its doc comment names the version.
package structural
