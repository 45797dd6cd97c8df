package refusal

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// record has libraries and functions: LIBRARY@FUNCTION. The recorded ones are of the kernels of cuda/spec/check,
// which the CuTe DSL compiled for amd64 and TVM for both machines, and of C++ that g++ and clang compiled.
var record = flag.String("record", "", "write what is read of functions, each given as LIBRARY@FUNCTION, to testdata/recorded.txt")

const recordedFile = "testdata/recorded.txt"

var goarch = map[string]string{"EM_X86_64": "amd64", "EM_AARCH64": "arm64"}

// recorded is the memory that was read of one function, and the answer. A line of the file is an address and bytes, or
// a name and an address.
type recorded struct {
	name   string
	code   Code
	memory map[uint64]byte
	lines  [][2]string
	answer Answer
}

func (r *recorded) read(address uint64, b []byte) error {
	for i := range b {
		v, ok := r.memory[address+uint64(i)]
		if !ok {
			return errors.New("no memory is there")
		}
		b[i] = v
	}
	return nil
}

func (r *recorded) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# %s\n%s %x %q\n", r.name, r.code.GOARCH, r.code.Entry, r.answer.Text)
	for _, at := range slices.Sorted(maps.Keys(r.code.Functions)) {
		fmt.Fprintf(&s, "%s %x\n", r.code.Functions[at], at)
	}
	addresses := slices.Sorted(maps.Keys(r.memory))
	for len(addresses) > 0 {
		n := 1
		for n < len(addresses) && n < 48 && addresses[n] == addresses[0]+uint64(n) {
			n++
		}
		fmt.Fprintf(&s, "%x ", addresses[0])
		for _, a := range addresses[:n] {
			fmt.Fprintf(&s, "%02x", r.memory[a])
		}
		s.WriteByte('\n')
		addresses = addresses[n:]
	}
	return s.String()
}

func recordAll(t *testing.T) {
	var all strings.Builder
	for _, one := range strings.Fields(*record) {
		path, name, _ := strings.Cut(one, "@")
		library, file := mapLibrary(t, path)
		r := &recorded{name: name, memory: map[uint64]byte{}}
		r.code = Code{GOARCH: goarch[file.Machine.String()], Entry: library.names["__tvm_ffi_"+name], Functions: library.functions}
		r.code.Read = func(address uint64, b []byte) error {
			err := library.read(address, b)
			for i := range b {
				if err == nil {
					r.memory[address+uint64(i)] = b[i]
				}
			}
			return err
		}
		var err error
		if r.answer, err = Find(r.code); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		all.WriteString(r.String())
	}
	if err := os.WriteFile(recordedFile, []byte(all.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readRecorded(t testing.TB) (all []*recorded) {
	t.Helper()
	data, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	var r *recorded
	for line := range strings.Lines(string(data)) {
		first, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch _, isKnown := known[first]; {
		case first == "#":
			r = &recorded{name: rest, memory: map[uint64]byte{}}
			r.code = Code{Read: r.read, Functions: map[uint64]string{}}
			all = append(all, r)
		case r.code.GOARCH == "":
			entry, text, _ := strings.Cut(rest, " ")
			r.code.GOARCH, r.code.Entry = first, hex(t, entry)
			if r.answer.Text, err = strconv.Unquote(text); err != nil {
				t.Fatal(err)
			}
		case isKnown:
			r.code.Functions[hex(t, rest)] = first
		default:
			r.lines = append(r.lines, [2]string{first, rest})
			r.put(t, first, rest)
		}
	}
	return all
}

func (r *recorded) put(t testing.TB, address, data string) {
	for i := 0; i < len(data); i += 2 {
		r.memory[hex(t, address)+uint64(i/2)] = byte(hex(t, data[i:i+2]))
	}
}

func hex(t testing.TB, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Each function gives its text, or shows that it can be asked; without a part of its code or its text it gives neither.
func TestRecorded(t *testing.T) {
	if *record != "" {
		recordAll(t)
	}
	all := readRecorded(t)
	if len(all) < 7 {
		t.Errorf("only %d functions are recorded", len(all))
	}
	for _, r := range all {
		name := r.code.GOARCH + " " + r.name
		if got, err := Find(r.code); err != nil || got != r.answer {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, r.answer)
		}
		for _, line := range r.lines {
			at, n := hex(t, line[0]), len(line[1])/2
			for i := range n {
				delete(r.memory, at+uint64(i))
			}
			if got, err := Find(r.code); err == nil && got != r.answer {
				t.Errorf("%s without the %d bytes at %#x: %+v", name, n, at, got)
			}
			r.put(t, line[0], line[1])
		}
		delete(r.code.Functions, r.code.Entry)
		for at, function := range r.code.Functions {
			if strings.HasPrefix(function, "TVMFFI") {
				delete(r.code.Functions, at)
			}
		}
		if got, err := Find(r.code); err == nil {
			t.Errorf("%s, which calls unknown functions: %+v", name, got)
		}
	}
}

// What is not understood ends in an error, soon.
func TestGivesUp(t *testing.T) {
	for _, c := range []struct{ goarch, code, want string }{
		{"amd64", "c3", "returns without an error"},
		{"amd64", "ebfe", "more than 16384 steps"},
		{"amd64", "0f05", "0f 05 is not understood"},
		{"amd64", "488b06488b00", "it reads memory at 0x0"},          // what the first argument points to
		{"amd64", "488b07", "unknown address"},                       // its own object
		{"amd64", "ff05000000000f05", "it reads memory at 0x1006"},   // a counter
		{"amd64", "ffe6", "no memory is there"},                      // a jump to the arguments
		{"amd64", "64488b042528000000ffe0", "goes on at an unknown"}, // memory of the thread
		{"amd64", "64488b0425280000004885c074fee8f9ffffff", "more than 32 ways"},
		{"amd64", "4990c3", "49 90 is not understood"},
		{"amd64", "b801000000ffc072fec3", "more than 32 ways"}, // the carry before inc is not known
		{"amd64", "50ebfd", "16384 steps"},                     // 32 KiB of the stack
		{"amd64", "505050505050ebf8", "much memory"},           // and 112 KiB
		{"arm64", "c0035fd6", "returns without an error"},
		{"arm64", "00000014", "more than 16384 steps"},
		{"arm64", "010000d4", "d4000001 is not understood"},
		{"arm64", "200040f9000040f9", "it reads memory at 0x0"},
		{"arm64", "200080d2000400ca00001fd6", "-4093 bytes from its entry"}, // 1 ^ 1<<1 is not 0
		{"s390x", "00", "s390x is not understood"},
	} {
		r := &recorded{memory: map[uint64]byte{}}
		r.put(t, "1000", c.code)
		if got, err := Find(Code{GOARCH: c.goarch, Entry: 0x1000, Read: r.read}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %+v, %v, want %q", c.goarch, c.code, got, err, c.want)
		}
	}
}

// A function without a text that is known gives no answer: it is not called to get one.
func TestUnknownText(t *testing.T) {
	for _, c := range []struct{ code, text, want string }{
		{"48be0020000000000000e9f1070000", "6162", ""},
		{"48be0020000000000000e9f1070000", "", "its text is empty"},
		{"48be0020000000000000c60663e9ee070000", "6162", "it writes the text itself"}, // a byte of it
	} {
		r := &recorded{memory: map[uint64]byte{}}
		r.put(t, "1000", c.code)
		r.put(t, "2000", c.text+strings.Repeat("00", 64-len(c.text)/2))
		got, err := Find(Code{GOARCH: "amd64", Entry: 0x1000, Read: r.read, Functions: map[uint64]string{0x1800: "TVMFFIErrorSetRaisedFromCStr"}})
		if c.want == "" && (err != nil || got.Text != "ab") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v, want %q", c.code, got, err, c.want)
		}
	}
}

// A function that initialises a static variable before it refuses the call is asked, and one that does more is not.
func TestStatic(t *testing.T) {
	for _, c := range []struct {
		code string // with the address of a variable in rbx, and 1 in rax
		asks bool
	}{
		{"", true},
		{"48890348894318", true},        // all 32 bytes
		{"48890348894319", false},       // 33 bytes
		{"48890348898300100000", false}, // another variable
		{"ff03", false},                 // a counter
	} {
		code := "e80b080000" + "48bb0020000000000000" + c.code + strings.Repeat("90", 10-len(c.code)/2) + "48bf0021000000000000" + "48ba4021000000000000" + "e9ee070000"
		r := &recorded{memory: map[uint64]byte{}}
		r.put(t, "1000", code)
		r.put(t, "2000", strings.Repeat("00", 64))
		r.put(t, "2100", fmt.Sprintf("%x", "function_details.h")+strings.Repeat("00", 46))
		r.put(t, "2140", fmt.Sprintf("%x", "unpack_call")+strings.Repeat("00", 53))
		got, err := Find(Code{GOARCH: "amd64", Entry: 0x1000, Read: r.read, Functions: map[uint64]string{0x1810: "__cxa_guard_acquire", 0x1820: "TVMFFIBacktrace"}})
		if asks := err == nil && got.Text == ""; asks != c.asks {
			t.Errorf("%s: %+v, %v", c.code, got, err)
		}
	}
}

// Any code may stand there.
func FuzzFind(f *testing.F) {
	for _, r := range readRecorded(f) {
		var code []byte
		for at := r.code.Entry; ; at++ {
			b, ok := r.memory[at]
			if !ok {
				break
			}
			code = append(code, b)
		}
		f.Add(r.code.GOARCH == "arm64", code)
	}
	f.Add(false, []byte{0xe9, 0xed, 0xef, 0xff, 0xff}) // goes on at the last bytes of memory
	f.Fuzz(func(t *testing.T, isARM bool, code []byte) {
		c := Code{GOARCH: "amd64", Entry: 0x1000, Functions: map[uint64]string{0x1040: "TVMFFIErrorSetRaisedFromCStr", 0x1050: "memcpy"}}
		if isARM {
			c.GOARCH = "arm64"
		}
		c.Read = func(address uint64, b []byte) error {
			if n := uint64(len(code)); address < 0x1000 || address-0x1000 > n || uint64(len(b)) > n-(address-0x1000) {
				return errors.New("no memory is there")
			}
			copy(b, code[address-0x1000:])
			return nil
		}
		_, _ = Find(c)
	})
}
