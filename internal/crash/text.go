//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash

import (
	"syscall"
	"unsafe"
)

// text is what the handler writes next.
var text struct {
	n     int
	bytes [8 << 10]byte
}

// char adds a byte.
//
//go:nosplit
//go:norace
//go:nocheckptr
func char(c byte) {
	if uint(text.n) < uint(len(text.bytes)) {
		text.bytes[text.n] = c
		text.n++
	}
}

// Text adds a text to the report. It is for the handler.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Text(s string) {
	for i := 0; i < len(s); i++ {
		char(s[i])
	}
}

// Hex adds a number to the report. It is for the handler.
//
//go:nosplit
//go:norace
//go:nocheckptr
func Hex(v uintptr) {
	char('0')
	char('x')
	shift := 60
	for shift > 0 && v>>shift == 0 {
		shift -= 4
	}
	for ; shift >= 0; shift -= 4 {
		if d := byte(v >> shift & 15); d < 10 {
			char('0' + d)
		} else {
			char('a' + d - 10)
		}
	}
}

// flush writes the text to the standard error.
//
//go:nosplit
//go:norace
//go:nocheckptr
func flush() {
	for from := 0; from < text.n; {
		n := system(syscall.SYS_WRITE, 2, uintptr(unsafe.Pointer(&text.bytes))+uintptr(from), uintptr(text.n-from), 0)
		if n <= 0 {
			break
		}
		from += n
	}
	text.n = 0
}
