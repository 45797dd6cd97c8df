// Package refusal finds out how a function would refuse a call with too many arguments, from its
// machine code and without running it. Kernels of TVM and of the CuTe DSL, and typed functions
// of C++, refuse such a call before they do anything else; the text has their signature.
//
// [Find] follows the code as the processor would in a call with [TooMany] arguments that are all
// None. It computes with values that it knows, writes to copies of memory only, takes both ways of
// a branch that it cannot decide, and gives up at everything that it does not know: an
// instruction, an address, a function of the system. If each way ends with the same refusal, that is the answer:
//
//   - A kernel passes its text to TVMFFIErrorSetRaisedFromCStr or to
//     TVMFFIErrorSetRaisedFromCStrParts. The text is the answer, and no function is called.
//   - A function of C++ makes its text while it runs, from types that only the process knows. It
//     begins by asking TVMFFIBacktrace for the place of the error, which is unpack_call in a header of
//     TVM-FFI. There it has compared the number of arguments, and everything after that makes
//     and throws the error. So such a function can be asked by a real call, whose only
//     effect is a static variable with its name. If the function would write to any
//     other memory before, or call any other function, it is not asked. The way of
//     the error out of the function is not followed: a function that catches it, or has objects with destructors,
//     may do more.
//
// # What belongs here
//
// The meaning of instructions, as far as the beginnings of such functions need it, belongs here.
// Package schema knows what the text means.
//
// # Files
//
//	the answer, and the ways to it    refusal.go
//	values and memory                 machine.go
//	instructions of amd64             x86.go, x86vector.go
//	instructions of arm64             arm.go
package refusal
