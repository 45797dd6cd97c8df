//go:build linux && (amd64 || arm64) && !tvmffi_portable && !msan && !asan

package crash_test

import (
	"encoding/binary"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/internal/crash"
)

// TestPlace: functions of libraries have their names, also in the middle, and other memory has none.
func TestPlace(t *testing.T) {
	for _, name := range []string{"getenv", "memcpy", "qsort", "pthread_create", "dlopen"} {
		address, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
		if err != nil {
			t.Fatal(err)
		}
		// A function may have several names, and memcpy leads to a copy for this processor.
		if got := crash.Written(func() { crash.Place(address) }); !regexp.MustCompile(`^/\S+\+0x[0-9a-f]+ \(\w+\+0x0\)$`).MatchString(got) && name != "memcpy" {
			t.Errorf("%s: %s", name, got)
		}
		if got := crash.Written(func() { crash.Place(address + 2) }); name == "qsort" && !strings.HasSuffix(got, " (qsort+0x2)") {
			t.Errorf("inside of %s: %s", name, got)
		}
	}
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	for _, address := range []uintptr{0, 1, uintptr(unsafe.Pointer(&page[0])), ^uintptr(0)} {
		if got := crash.Written(func() { crash.Place(address) }); !strings.HasSuffix(got, " (in no file)") {
			t.Errorf("%#x: %s", address, got)
		}
	}
	low := reflectPC(TestPlace)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := crash.Written(func() { crash.Place(low) }); !strings.HasPrefix(got, exe+"+0x") {
		t.Errorf("in the program: %s", got)
	}
}

func reflectPC(f func(*testing.T)) uintptr { return **(**uintptr)(unsafe.Pointer(&f)) }

// TestRead: the handler survives memory that is not readable.
func TestRead(t *testing.T) {
	pages, err := syscall.Mmap(-1, 0, 8192, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(pages)
	if err := syscall.Mprotect(pages[4096:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	pages[4095] = 7
	start := uintptr(unsafe.Pointer(&pages[0]))
	var to [64]byte
	crash.Written(func() {
		for _, c := range []struct {
			at, n uintptr
			want  bool
		}{{start, 64, true}, {start + 4095, 1, true}, {start + 4096, 1, false}, {start + 4090, 64, false}, {0, 8, false}, {start, 8, true}} {
			if got := crash.Read(unsafe.Pointer(&to), c.at, c.n); got != c.want {
				t.Errorf("%d bytes at %#x: %t, want %t", c.n, c.at-start, got, c.want)
			}
		}
		if got := crash.Word(start + 4088); got != 7<<56 {
			t.Errorf("the word before the end is %#x", got)
		}
		if got := crash.Word(start + 4092); got != 0 {
			t.Errorf("a word beyond the end is %#x", got)
		}
	})
}

// TestWriting: numbers as strconv has them, and a text that is too long is cut.
func TestWriting(t *testing.T) {
	if got, want := crash.Written(func() {
		crash.Hex(0)
		crash.Text(" ")
		crash.Hex(0x10)
		crash.Text(" ")
		crash.Hex(^uintptr(0))
	}), "0x0 0x10 0xffffffffffffffff"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := crash.Written(func() { crash.Text(strings.Repeat("x", 1<<20)) }); strings.Trim(got, "x") != "" || len(got) != 8<<10 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestAfterCall has instructions that call and others.
func TestAfterCall(t *testing.T) {
	cases := map[string]bool{ // the last bytes before an address
		"\xe8\x01\x02\x03\x04":         true,  // CALL rel32
		"\xff\xd0":                     true,  // CALL rax
		"\x41\xff\xd3":                 true,  // CALL r11
		"\xff\x50\x18":                 true,  // CALL [rax+0x18]
		"\xff\x54\x24\x08":             true,  // CALL [rsp+8]
		"\xff\x14\x24":                 true,  // CALL [rsp]
		"\xff\x15\x01\x02\x03\x04":     true,  // CALL [rip+x]
		"\xff\x90\x01\x02\x03\x04":     true,  // CALL [rax+x]
		"\xff\x94\x24\x01\x02\x03\x04": true,  // CALL [rsp+x]
		"\xff\xe0":                     false, // JMP rax
		"\x48\x89\xe5":                 false,
		"\x90\x90\x90\x90\x90\x90\x90": false,
	}
	if runtime.GOARCH == "arm64" {
		cases = map[string]bool{
			"\x01\x00\x00\x94": true,  // BL
			"\xff\xff\xff\x97": true,  // BL, backward
			"\x20\x01\x3f\xd6": true,  // BLR X9
			"\x20\x01\x1f\xd6": false, // BR X9
			"\xc0\x03\x5f\xd6": false, // RET
		}
	}
	for code, want := range cases {
		before := binary.LittleEndian.Uint64([]byte(strings.Repeat("\x00", 8-len(code)) + code))
		if got := crash.AfterCall(before); got != want {
			t.Errorf("% x: %t, want %t", code, got, want)
		}
	}
}

// TestPragmas finds a func of a handler without the pragmas that doc.go asks for. Those that only run before a fault are
// listed.
func TestPragmas(t *testing.T) {
	before := []string{"setAction", "install", "Share", "Start", "Open", "Close", "ReportFaults", "probeCrossing",
		"Named", "rename"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range append(files, "../ccall/crash_linux.go", "../ccall/names.go") {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_none.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || f.Body == nil || slices.Contains(before, f.Name.Name) {
				return true
			}
			seen++
			for _, want := range []string{"//go:nosplit", "//go:norace", "//go:nocheckptr"} {
				if f.Doc == nil || !slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool { return c.Text == want }) {
					t.Errorf("%s: %s lacks %s", set.Position(f.Pos()), f.Name.Name, want)
				}
			}
			return true
		})
	}
	if seen < 30 {
		t.Errorf("%d funcs were found", seen)
	}
}
