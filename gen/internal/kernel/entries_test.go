package kernel

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// cubin assembles an image with sections of these names.
func cubin(names ...string) []byte {
	strs := []byte{0}
	var offsets []int
	for _, n := range append(names, ".shstrtab") {
		offsets = append(offsets, len(strs))
		strs = append(append(strs, n...), 0)
	}
	le := binary.LittleEndian
	data := make([]byte, 64)
	copy(data, "\x7fELF\x02\x01")
	le.PutUint16(data[18:], 190)
	le.PutUint64(data[40:], uint64(64+len(strs)))
	le.PutUint16(data[58:], 64)
	le.PutUint16(data[60:], uint16(len(offsets)))
	le.PutUint16(data[62:], uint16(len(offsets)-1))
	data = append(data, strs...)
	for i, at := range offsets {
		section := make([]byte, 64)
		le.PutUint32(section, uint32(at))
		if i == len(offsets)-1 {
			le.PutUint64(section[24:], 64)
			le.PutUint64(section[32:], uint64(len(strs)))
		}
		data = append(data, section...)
	}
	return data
}

func TestEntries(t *testing.T) {
	whole := cubin(".text.saxpy", ".nv.constant0.saxpy", ".nv.constant0._Z3cppPf")
	other := bytes.Clone(whole)
	other[18] = 62 // of another machine
	for _, c := range []struct {
		file, data string
		want       []string
		ok         bool
	}{
		{"a.ptx", ".visible .entry saxpy(.param .u32 n) { ret; }\n// .entry no(\n/* .entry\nno() */ .weak .entry\t_Z3cppPf(", []string{"saxpy", "_Z3cppPf"}, true},
		{"a.ptx", ".func (.param .b32 r) entry()", nil, true},
		{"a.ptx", "", nil, false},
		{"a.sm_90.cubin", string(whole), []string{"saxpy", "_Z3cppPf"}, true},
		{"a.sm_90.cubin", string(whole[:len(whole)-1]), nil, false},
		{"a.sm_90.cubin", string(other), nil, false},
		{"a.sm_90.cubin", "\x7fELF", nil, false},
		{"a.fatbin", string(whole), nil, false},
	} {
		entries, ok := entriesOf(c.file, []byte(c.data))
		got := namesOf(entries)
		if ok != c.ok || !slices.Equal(got, c.want) {
			t.Errorf("%s %.30q: %q, %t, want %q, %t", c.file, c.data, got, ok, c.want, c.ok)
		}
	}
}

func FuzzCubin(f *testing.F) {
	f.Add(cubin(".nv.constant0.saxpy"))
	f.Add(cubin())
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, ok := cubinEntries(data)
		for _, name := range namesOf(entries) {
			if !ok || !bytes.Contains(data, []byte(".nv.constant0."+name)) {
				t.Errorf("%q, %v, of a file without such a section", name, ok)
			}
		}
	})
}

func TestProgramEntries(t *testing.T) {
	const mangled = `has a mangled name, because it is C++: write extern "C" in front of __global__`
	for _, c := range []struct{ text, entry, want string }{
		{`extern "C" __global__ void saxpy(int n) {}`, "saxpy", ""},
		{"#define API extern \"C\"\nstruct S { int x; };\nAPI __global__ void saxpy(int n) {}", "saxpy", ""},
		{"#include <export.h>\nMY_API __global__ void saxpy(int n) {}", "saxpy", ""},
		{"#include <export.h>\n__global__ void saxpy(int n) {}", "saxpy", mangled},
		{`extern "C" __global__ void saxpy(int n) {}`, "saxpi", "there is no kernel saxpi, it has saxpy: name the kernel with entry"},
		{`__global__ void saxpy(int n) {}`, "saxpy", mangled},
		{`__global__ void saxpy(int n) {}`, "_Z5saxpyi", ""},
		{`__global__ void saxpy(int n) {}`, "_Z5saxpii", "there is no kernel _Z5saxpii, it has saxpy"},
		{`template <class T> __global__ void f(T* x) {} template __global__ void f<float>(float*);`, "_Z1fIfEvPT_", ""},
		{"extern \"C\" __global__ void\n__launch_bounds__(256, 2) __cluster_dims__(2, 1, 1) k (int n) {}", "k", ""},
		{"__global__ void __launch_bounds__(min(1, 2)) k(int n) {}", "k", ""},
		{`extern "C" __global__ void k(int n); __global__ void k(int n) {}`, "k", ""},
		{`extern "C" { __global__ void k(int n) {} }`, "k", ""},
		{`extern "C" { __global__ void k(int n) {} }`, "other", ""}, // not looked into
		{"#include \"kernels.h\"\n__global__ void k(int n) {}", "other", ""},
		{"#define K(n) extern \"C\" __global__ void kernel_##n()\nK(a) {} __global__ void x() {}", "kernel_a", ""},
		{"#define KERNEL extern \"C\" __global__ void\nKERNEL f() {}\n__global__ void g() {}", "f", ""},
		{"// __global__ void no() {}\n/* __global__ void no() */ const char* s = \"//\"; extern \"C\" __global__ void yes() {}", "no", "it has yes: name"},
		{"no kernel at all", "f", ""},
		{"", "f", ""},
	} {
		got := program(c.text).lacks(c.entry)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.entry, c.text, got, c.want)
		}
	}
}
