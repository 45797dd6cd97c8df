// Package calls holds calls of Go into native code: functions, frames with their arguments,
// and results. It is the top of the machine below package codec, which converts Go values, and
// it knows none of the public types of package tvmffi. It stands on package fields. A file uses
// only those above it:
//
//	func.go      functions of bindings, found on first use
//	call.go      the head of a frame, the packing of arguments, the call
//	frames.go    frames by size
//	result.go    results by type
//	calln.go     calls with up to 128 arguments, and constructors
//	sequence.go  calls with any number of arguments
//	check.go     all items of bindings against the loaded library
package calls
