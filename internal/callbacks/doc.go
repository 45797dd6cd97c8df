// Package callbacks holds the calls of native code into Go: the Function objects of Go funcs,
// their arguments as they lie on the C stack, calls that go on after C has its answer, and the
// words for errors about arguments. It stands on package values. A file uses only those above it:
//
//	about.go     what an exported function says about its arguments
//	callback.go  where all calls arrive; arguments and results
//	export.go    Go funcs behind exported C symbols
//	room.go      results for callers of this module
//	task.go      calls that go on
package callbacks
