// Package structural compares and hashes values by their structure, like a compiler
// compares programs, and walks, rewrites and copies what a value refers to. The library
// does the work, by the rules that the fields of each type declare. Comparison by
// contents belongs to package tvmffi; a loop in Go over all fields to package reflection.
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
// A type declares its [Kind]. A [Tree] is compared by its fields. In a [DAG] it counts, too,
// which objects are shared. A [FreeVar] is a variable, which is the same in two values if both
// define it at the same place. A [UniqueInstance] equals only itself. Objects of a type that is
// [Unsupported] cannot be compared: that is an error.
//
// # Ownership and threads
//
// What a function returns belongs to the caller, who releases it. The argument of a rule is
// borrowed until the rule returns. Everything may be used from any goroutine, but no other
// goroutine may change a List or a Dict that a walk reads.
//
// # Errors
//
// An error of a rule ends the walk and comes back, so that errors.Is finds it. [ErrorPaths]
// says where in the value it came up. A libtvm_ffi that is too old for a function gives
// errors.ErrUnsupported, and the doc comment of the function names the version.
package structural
