// Package core is the top of the machine under the runtime: libraries, types,
// functions, call frames and fields. The packages below it are objects
// (references), failure (errors), values (values outside of a call) and capi (C functions and C memory).
//
// It knows none of the public types of package tvmffi. The only variable through
// which it reaches them is failure.Errors. Conversions of Go values belong to
// package codec.
//
// # Files
//
//	functions         func.go
//	calls             call.go, calln.go, frames.go, result.go, packed.go, batch.go
//	arguments         sequence.go, rvalue.go
//	types made in Go  define.go
package core
