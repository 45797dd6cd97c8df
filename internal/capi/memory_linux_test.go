package capi_test

import (
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// TestCString: texts of all lengths are read up to their NUL, and no byte of the next page, which is of nobody.
func TestCString(t *testing.T) {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(memory)
	if err := syscall.Mprotect(memory[2*page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 31, 32, 33, 100, page - 1, page, page + 33, 2*page - 1} {
		want := strings.Repeat("x", n)
		at := memory[2*page-1-n : 2*page]
		copy(at, want+"\x00")
		if got := capi.CString(uintptr(unsafe.Pointer(&at[0]))); got != want {
			t.Errorf("a text of %d bytes has %d", n, len(got))
		}
	}
}
