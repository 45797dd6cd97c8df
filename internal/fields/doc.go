// Package fields holds the object types that bindings know, and their fields: compared with the
// loaded library on first use, read from memory where the registry makes that certain, and
// written through setters, with a check of numbers that a setter would cut. It stands on package
// libraries. A file uses only those above it:
//
//	difference.go  an item that the library has otherwise than the bindings expect
//	type.go        types
//	reader.go      how the bytes of a field are read, and which numbers it may change
//	field.go       fields of bindings: get and set
//	construct.go   what makes objects: defaults, creators, parameters of constructors
package fields
