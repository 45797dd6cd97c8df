// Package codec converts between Go values and values of the ABI. It has one converter,
// a [Codec], for each Go type, made at the first use.
//
// Package tvmffi makes the codecs of public types, such as tensors and functions; [Public]
// asks it. Calls, fields and callbacks have packages of their own below this one.
//
// # Files
//
//	codecs                              codec.go, gotypes.go, structs.go, wire.go, bigint.go, schema.go
//	elements of containers              elements.go, maps.go, orempty.go
//	arguments and results               arguments.go, receiver.go, value.go, tensor.go
//	the bound of nesting                depth.go
//	the parts of a value                parts.go, holds.go
//	functions that some libraries lack  libraryfunc.go
//	JSON text that the library reads    jsonnumber.go
//	errors                              errors.go
package codec
