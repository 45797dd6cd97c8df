package probe

import (
	"bytes"
	"debug/elf"
	"runtime"
	"testing"
)

// TestStandIn: newer loaders refuse a library that does not say that its stack needs no code.
func TestStandIn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there are no stand-ins on ", runtime.GOOS)
	}
	data, err := standIn("libcuda.so.1")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil || f.Type != elf.ET_DYN || len(data) > 500 {
		t.Fatalf("%d bytes, %+v, %v", len(data), f, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_GNU_STACK && p.Flags == elf.PF_R|elf.PF_W {
			return
		}
	}
	t.Errorf("there is no PT_GNU_STACK without code among %v", f.Progs)
}
