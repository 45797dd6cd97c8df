package ccall_test

import (
	"strconv"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
)

// TestNames: an address has its newest name, and of more functions than there is room for the newest have theirs.
func TestNames(t *testing.T) {
	const many = 20_000
	functions := new([many][8]uintptr)
	handle := func(i int) uintptr { return uintptr(unsafe.Pointer(&functions[i])) }
	if got := ccall.NameOf(handle(0)); got != "" {
		t.Errorf("the name of an unknown function is %q", got)
	}
	if got := ccall.NameOf(0); got != "" {
		t.Errorf("the name of no function is %q", got)
	}
	for i := range many {
		ccall.Named(handle(i), "old"+strconv.Itoa(i))
		ccall.Named(handle(i), strconv.Itoa(i))
		if got := ccall.NameOf(handle(i)); got != strconv.Itoa(i) {
			t.Fatalf("function %d has the name %q", i, got)
		}
	}
	known := 0
	for i := range many {
		if got := ccall.NameOf(handle(i)); got == strconv.Itoa(i) {
			known++
		} else if got != "" {
			t.Errorf("function %d has the name %q", i, got)
		}
	}
	if known < 1000 {
		t.Errorf("%d functions have names", known)
	}
	if n := testing.AllocsPerRun(100, func() { ccall.Named(handle(many-1), strconv.Itoa(many-1)) }); n > 1 { // Itoa makes one
		t.Errorf("a name that is known takes %v allocations", n)
	}
}
