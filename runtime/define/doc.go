// Package define makes object types of Go structs. C++, Python and Rust construct, read,
// copy, compare and print their objects without entering Go. Types that a library
// registers belong to generated packages; plain Go functions are registered by
// [tvmffi.Register].
//
// # Files
//
//	describing a type        define.go, options.go, definition.go, defaults.go
//	registering it           register.go, layout.go, methods.go, constructor.go
//	its fields in memory     field.go, record.go, typefield.go
//	state beside the fields  state.go
package define
