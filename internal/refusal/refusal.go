package refusal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// TooMany is a number of arguments that no function has.
const TooMany = 200

const (
	maxSteps = 1 << 14 // instructions, on all ways together
	maxWays  = 32
	maxParts = 64
	maxText  = 1 << 20
	maxCopy  = 4096 // of a known function
	// maxWritten bounds the bytes that a way has written, all of which a fork copies.
	maxWritten = 1 << 16
)

// Code is a function in the memory of a process.
type Code struct {
	// GOARCH is its machine: amd64 or arm64.
	GOARCH string
	// Entry is its address.
	Entry uint64
	// Read reads memory of the process, and returns an error if nothing is at the address.
	Read func(address uint64, b []byte) error
	// Functions has the addresses of the functions of [Names] that the process has.
	Functions map[uint64]string
	// Slots has the addresses of those that stand at an address of the library, or will when the
	// loader has looked for them.
	Slots map[uint64]uint64
}

// Answer says how the function refuses the call.
type Answer struct {
	// Text is the text of the error. If it is empty, a real call is refused with a text.
	Text string
}

// A known function is followed by its meaning instead of its code.
var known = map[string]func(*machine) (*Answer, error){
	"TVMFFIErrorSetRaisedFromCStr":      raised,
	"TVMFFIErrorSetRaisedFromCStrParts": raisedParts,
	"TVMFFIBacktrace":                   backtrace,
	"__cxa_guard_acquire": func(m *machine) (*Answer, error) {
		m.guarded, m.static = true, [2]uint64{}
		return nil, m.result(value(1))
	},
	"__cxa_guard_release": func(m *machine) (*Answer, error) { m.guarded = false; return nil, m.result(unknown) },
	"__cxa_atexit":        func(m *machine) (*Answer, error) { return nil, m.result(value(0)) },
	"_Znwm":               allocate,
	"strlen":              length,
	"memcpy":              move,
	"memmove":             move,
	// The constructors of std::string, and of its allocator, with which C++ keeps the function's name.
	"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1IS3_EEPKcRKS3_": construct,
	"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IS3_EEPKcRKS3_": construct,
	"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC1EPKcRKS3_":      construct,
	"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm":   allocate,
	"_ZNSaIcEC1Ev": nothing,
	"_ZNSaIcEC2Ev": nothing,
	"_ZNSaIcED1Ev": nothing,
	"_ZNSaIcED2Ev": nothing,
}

// Names lists the functions whose addresses [Code.Functions] should have.
func Names() []string {
	names := make([]string, 0, len(known))
	for name := range known {
		names = append(names, name)
	}
	return names
}

// Find follows the function. The error says where it gave up.
func Find(c Code) (Answer, error) {
	m := &machine{code: c, memory: newMemory(c.Read), pc: c.Entry}
	switch c.GOARCH {
	case "amd64":
		m.cpu = x86{}
	case "arm64":
		m.cpu = arm{}
	default:
		return Answer{}, fmt.Errorf("the code of %s is not understood", c.GOARCH)
	}
	m.cpu.begin(m)
	var found *Answer
	ways := []*machine{m}
	for steps, forks := 0, 0; len(ways) > 0; {
		m := ways[len(ways)-1]
		if steps++; steps > maxSteps {
			return Answer{}, fmt.Errorf("the function does more than %d steps", maxSteps)
		}
		at := m.pc
		answer, other, err := m.step()
		if err != nil {
			return Answer{}, fmt.Errorf("%d bytes from its entry: %w", int64(at-c.Entry), err)
		}
		if other != nil {
			if forks++; forks > maxWays {
				return Answer{}, fmt.Errorf("the function has more than %d ways", maxWays)
			}
			ways = append(ways, other)
		}
		if answer == nil {
			continue
		}
		if found != nil && *found != *answer {
			return Answer{}, errors.New("the function refuses the call in different ways")
		}
		found = answer
		ways = ways[:len(ways)-1] // a step that answers adds no way
	}
	return *found, nil
}

// step does one instruction, or all of a known function. Other is the second way of a branch.
func (m *machine) step() (answer *Answer, other *machine, err error) {
	if name, ok := m.code.Functions[m.pc]; ok {
		answer, err = known[name](m)
		return answer, nil, err
	}
	other, err = m.cpu.step(m)
	return nil, other, err
}

// construct makes a std::string, whose bytes are not known then.
func construct(m *machine) (*Answer, error) {
	at := m.cpu.arg(m, 0)
	for i := range staticSize / 8 {
		if err := m.store(at.plus(uint64(8*i)), 8, unknown); err != nil {
			return nil, err
		}
	}
	return nil, m.result(unknown)
}

func nothing(m *machine) (*Answer, error) { return nil, m.result(unknown) }

// result returns from a known function.
func (m *machine) result(w word) error { return m.cpu.leave(m, w) }

func raised(m *machine) (*Answer, error) {
	text, err := m.text(m.cpu.arg(m, 1), maxText)
	if err != nil {
		return nil, err
	}
	return answerOf(text)
}

// answerOf is the answer of a text that is known. Without one the function cannot be asked, for it may have done anything.
func answerOf(text string) (*Answer, error) {
	if text == "" {
		return nil, errors.New("its text is empty")
	}
	return &Answer{Text: text}, nil
}

func raisedParts(m *machine) (*Answer, error) {
	parts, n := m.cpu.arg(m, 1), m.cpu.arg(m, 2)
	if !parts.known || !n.known || uint32(n.v) > maxParts {
		return nil, errors.New("the parts of its text are not known")
	}
	var b strings.Builder
	for i := range uint64(uint32(n.v)) {
		part, err := m.load(value(parts.v+8*i), 8)
		if err != nil {
			return nil, err
		}
		if part.known && part.v == 0 {
			continue
		}
		text, err := m.text(part, maxText)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return answerOf(b.String())
}

// backtrace is where C++ begins to make an error.
func backtrace(m *machine) (*Answer, error) {
	file, err := m.text(m.cpu.arg(m, 0), maxText)
	if err != nil {
		return nil, err
	}
	function, err := m.text(m.cpu.arg(m, 2), maxText)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(file, "function_detail") || !strings.Contains(function, "unpack_call") {
		return nil, fmt.Errorf("it makes an error in %s, not in unpack_call of TVM-FFI", file)
	}
	if m.wrote {
		return nil, errors.New("it changes memory before it refuses the call")
	}
	return &Answer{}, nil
}

func allocate(m *machine) (*Answer, error) {
	m.heap += 1 << 20
	return nil, m.result(value(heapBase + m.heap))
}

func length(m *machine) (*Answer, error) {
	text, err := m.text(m.cpu.arg(m, 0), maxCopy)
	if err != nil {
		return nil, err
	}
	return nil, m.result(value(uint64(len(text))))
}

func move(m *machine) (*Answer, error) {
	to, from, n := m.cpu.arg(m, 0), m.cpu.arg(m, 1), m.cpu.arg(m, 2)
	if !n.known || n.v > maxCopy {
		return nil, errors.New("it copies much memory, or an unknown amount")
	}
	bytes := make([]word, n.v)
	for i := range bytes {
		var err error
		if bytes[i], err = m.load(from.plus(uint64(i)), 1); err != nil {
			return nil, err
		}
	}
	for i, b := range bytes {
		if err := m.store(to.plus(uint64(i)), 1, b); err != nil {
			return nil, err
		}
	}
	return nil, m.result(to)
}

// text reads a text that ends in a zero byte, from memory that the function has not written.
func (m *machine) text(at word, limit int) (string, error) {
	if !at.known {
		return "", errors.New("a text is at an unknown address")
	}
	var text []byte
	for len(text) < limit {
		chunk := make([]byte, 64-(at.v+uint64(len(text)))%64) // does not cross the end of a page
		if err := m.code.Read(at.v+uint64(len(text)), chunk); err != nil {
			return "", err
		}
		end := bytes.IndexByte(chunk, 0)
		n := end + 1
		if end < 0 {
			n = len(chunk)
		}
		if m.writtenIn(at.v+uint64(len(text)), n) {
			return "", errors.New("it writes the text itself")
		}
		if end >= 0 {
			return string(append(text, chunk[:end]...)), nil
		}
		text = append(text, chunk...)
	}
	return "", errors.New("a text has no end")
}

// fetch returns up to n bytes of code at an address.
func (m *machine) fetch(at uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	if err := m.code.Read(at, b); err == nil {
		return b, nil
	}
	for i := range b { // the end of a page may be near
		if err := m.code.Read(at+uint64(i), b[i:i+1]); err != nil {
			if i == 0 {
				return nil, err
			}
			return b[:i], nil
		}
	}
	return b, nil
}

var little = binary.LittleEndian
