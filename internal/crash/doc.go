// Package crash says where a fault in foreign code is. Go's own report has the frames of Go, and of C an address
// alone. A handler in front of Go's first writes a line to the standard error:
//
//	tvmffi: SIGSEGV at /lib/libgarden.so+0x1139 (garden_water+0x19), address 0x0, in a call of garden.Water
//
// The place is the file, and the address in it, as addr2line takes it. The name in parentheses is the exported
// function that contains the place; if none does, it is the nearest one before it, after the word "behind". SIGABRT
// comes from the C library, and so do faults as in memcpy. Then up to four more lines have places in other
// libraries that the stack names, the innermost first, two of a library at most: its words that follow an instruction which
// calls. Some of these may be left over from earlier calls.
//
// # Which faults
//
// SIGSEGV, SIGBUS, SIGFPE, SIGILL and the SIGABRT of abort, in foreign code that a goroutine has called, or on a
// thread of C. Faults of Go code are Go's, and so are signals that somebody sends. The handler changes
// nothing: then Go's handler runs as ever. On a thread without a goroutine Go has nothing to show, so SIGSEGV goes
// to the handler of libtvm_ffi there, which prints the frames of C++. A library of Go in another program, and a
// program whose privileges were raised, have no handler of this package.
//
// # Why this is sound
//
// The handler runs on a signal stack, while its thread may hold any lock of C or of Go. So it takes no lock,
// allocates nothing and calls no C:
//
//   - All its code is nosplit, and without the checks of -race and checkptr. So it never needs a g, which a thread of C
//     lacks. TestPragmas finds a func without these pragmas. With -msan and -asan there is no handler.
//   - Its memory is variables. The first thread that faults has them. Others wait until it has written, two
//     seconds at most, and go on to Go's handler.
//   - All signals are blocked, as Go wants it for its own handler. A second fault would end the process without a
//     word, so memory is read as the kernel reads it: through a pipe, whose end says which memory is not readable.
//   - Files of the process come from /proc/self/maps, and names from the dynamic sections of libraries in memory.
//
// A thread of C has no signal stack. If it overflows its own, the kernel ends the process without a handler.
//
// # What belongs here
//
// The handler, and names of places in memory, belong here. The package knows nothing of TVM-FFI: the
// func that internal/ccall gives to Start says what runs.
//
// # Files
//
//	the API                    crash_linux.go, crash_none.go
//	the handler                handler.go, handler_linux_*
//	what it writes             text.go
//	memory, files and names    memory.go, place.go, symbol.go
package crash
