//go:build bindings

package main

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// TestMemory compiles one kernel many times. The program leaves the modules to the garbage collector: a
// compiled one that stays takes more than 1 MB.
func TestMemory(t *testing.T) {
	runtime.LockOSThread() // the allocator of C keeps memory for each thread that has compiled
	defer runtime.UnlockOSThread()
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	repeat := func(times int) {
		for range times {
			m, err := twicePlusOne()
			if err != nil {
				t.Fatal(err)
			}
			library, err := compile(m, cpu)
			if err != nil {
				t.Fatal(err)
			}
			kernel, err := library.Function(twicePlusOneName)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := apply(kernel, []float32{1}); err != nil || got[0] != 3 {
				t.Fatal(got, err)
			}
			runtime.GC()
		}
	}
	repeat(10)
	before := resident(t)
	const times, most = 30, 10 << 20
	repeat(times)
	if grown := resident(t) - before; grown > most {
		t.Errorf("the process has grown by %d bytes in %d compilations, more than %d", grown, times, most)
	}
}

// resident returns how many bytes of memory this process occupies.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var all, pages int
	if _, err := fmt.Sscan(string(text), &all, &pages); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return pages * os.Getpagesize()
}
