// Package codec converts between Go values and values of the ABI. It has one converter,
// a [Codec], for each Go type, made at the first use.
//
// The codecs of public types, such as tensors and functions, are made by package
// tvmffi, which [Public] asks. Calls, fields and callbacks belong to package core.
//
// # Files
//
//	codecs                              codec.go, gotypes.go, structs.go, bigint.go, schema.go
//	elements of containers              elements.go, maps.go, orempty.go
//	arguments and results               arguments.go, receiver.go, value.go, tensor.go
//	the bound of nesting                depth.go
//	the parts of a value                parts.go, holds.go
//	functions that some libraries lack  libraryfunc.go
//	JSON text that the library reads    jsonnumber.go
//	errors                              errors.go
package codec
