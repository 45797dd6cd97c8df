package refusal

import (
	"errors"
	"fmt"
	"maps"
)

// word is a value, if it is known.
type word struct {
	v     uint64
	known bool
}

var unknown word

func value(v uint64) word { return word{v, true} }

func (w word) plus(n uint64) word { w.v += n; return w }

// cut keeps the low n bytes.
func (w word) cut(n int) word { w.v &= mask(n); return w }

// signed extends the sign of a value of n bytes.
func (w word) signed(n int) word {
	shift := 64 - 8*n
	w.v = uint64(int64(w.v<<shift) >> shift)
	return w
}

func mask(n int) uint64 { return ^uint64(0) >> (64 - 8*n) }

// Addresses that no process has. The stack, the arguments, the place of the result, and new memory are there.
const (
	stackBase  = 0xfff0 << 48
	argsBase   = 0xfff1 << 48
	resultBase = 0xfff2 << 48
	heapBase   = 0xfff3 << 48
	// returnTo is where the function returns to.
	returnTo  = 0xfff4 << 48
	stackSize = 1 << 20
)

// memory is the memory of the process with what the function has written.
type memory struct {
	read    func(uint64, []byte) error
	written map[uint64]word // by byte
	used    map[uint64]bool // the memory of the process that was read, by byte
}

func newMemory(read func(uint64, []byte) error) memory {
	return memory{read, map[uint64]word{}, map[uint64]bool{}}
}

// machine is a way through the function.
type machine struct {
	code Code
	cpu  cpu
	memory
	pc      uint64
	regs    [32]word
	vectors [32][4]word
	flags   flags
	heap    uint64
	guarded bool      // a static variable is being initialised
	static  [2]uint64 // where the part of it begins and ends that was written, 0 before
	wrote   bool      // other memory than its own was written
}

// staticSize is the most that a static variable with a name takes, the size of a std::string.
const staticSize = 32

// cpu is a kind of processor.
type cpu interface {
	begin(*machine)
	step(*machine) (other *machine, err error)
	arg(*machine, int) word
	leave(*machine, word) error
}

// flags are those of a comparison.
type flags struct {
	known, zero, carry, sign, overflow bool
	noCarry                            bool // the carry is not known
}

// fork copies the way.
func (m *machine) fork() *machine {
	c := *m
	c.written, c.used = maps.Clone(m.written), maps.Clone(m.used)
	return &c
}

var errAddress = errors.New("it uses memory at an unknown address")

func (m *machine) load(at word, n int) (word, error) {
	if !at.known {
		return unknown, errAddress
	}
	if address, ok := m.code.Slots[at.v]; ok && n == 8 && !m.writtenIn(at.v, n) {
		return value(address), nil
	}
	w := value(0)
	for i := range n {
		a := at.v + uint64(i)
		b, ok := m.written[a]
		switch {
		case ok:
		case a>>48 == stackBase>>48 && a < stackBase+2*stackSize, a>>48 == resultBase>>48 && a < resultBase+16, a>>48 == heapBase>>48:
		case a>>48 == argsBase>>48 && a < argsBase+16*TooMany:
			b = value(0)
		default:
			if i == 0 && n > 1 && !m.writtenIn(a, n) {
				var all [8]byte
				if err := m.read(a, all[:n]); err != nil {
					return unknown, fmt.Errorf("it reads memory at %#x: %w", a, err)
				}
				for j := range n {
					m.used[a+uint64(j)] = true
				}
				return value(little.Uint64(all[:])), nil
			}
			var one [1]byte
			if err := m.read(a, one[:]); err != nil {
				return unknown, fmt.Errorf("it reads memory at %#x: %w", a, err)
			}
			m.used[a] = true
			b = value(uint64(one[0]))
		}
		w.known = w.known && b.known
		w.v |= b.v & 0xff << (8 * i)
	}
	return w, nil
}

func (m *machine) writtenIn(at uint64, n int) bool {
	for i := range n {
		if _, ok := m.written[at+uint64(i)]; ok {
			return true
		}
	}
	return false
}

func (m *machine) store(at word, n int, w word) error {
	if !at.known {
		return errAddress
	}
	if len(m.written) > maxWritten {
		return errors.New("it writes much memory")
	}
	switch {
	case at.v>>48 == stackBase>>48, at.v>>48 == heapBase>>48:
	case !m.guarded || !m.isStatic(at.v, n):
		m.wrote = true
	}
	for i := range n {
		m.written[at.v+uint64(i)] = word{w.v >> (8 * i) & 0xff, w.known}
	}
	return nil
}

// isStatic reports whether memory belongs to the static variable that is being initialised. A counter does not: its value
// was read before.
func (m *machine) isStatic(at uint64, n int) bool {
	for i := range n {
		if m.used[at+uint64(i)] {
			return false
		}
	}
	end := at + uint64(n)
	if m.static != [2]uint64{} {
		at, end = min(at, m.static[0]), max(end, m.static[1])
	}
	m.static = [2]uint64{at, end}
	return end-at <= staticSize
}

// add computes a+b or, with subtract, a-b, in n bytes.
func (m *machine) add(a, b word, n int, subtract bool) word {
	a, b = a.cut(n), b.cut(n)
	r := word{a.v + b.v, a.known && b.known}
	if subtract {
		r.v = a.v - b.v
	}
	r = r.cut(n)
	top := uint64(1) << (8*n - 1)
	m.flags = flags{known: r.known, zero: r.v == 0, sign: r.v&top != 0}
	if subtract {
		m.flags.carry = a.v < b.v
		m.flags.overflow = (a.v^b.v)&(a.v^r.v)&top != 0
	} else {
		m.flags.carry = r.v < a.v
		m.flags.overflow = ^(a.v^b.v)&(a.v^r.v)&top != 0
	}
	return r
}

// logic sets the flags of a result of and, or, xor.
func (m *machine) logic(r word, n int) word {
	r = r.cut(n)
	m.flags = flags{known: r.known, zero: r.v == 0, sign: r.v>>(8*n-1)&1 != 0}
	return r
}

// branch goes to an address if a condition holds. If that is unknown, other goes there.
func (m *machine) branch(to uint64, holds, isKnown bool) (other *machine) {
	switch {
	case !isKnown:
		other = m.fork()
		other.pc = to
	case holds:
		m.pc = to
	}
	return other
}

// jump goes to an address, unless there was an error in finding it.
func (m *machine) jump(to word, err error) error {
	switch {
	case err != nil:
		return err
	case !to.known:
		return errors.New("it goes on at an unknown address")
	case to.v == returnTo:
		return errors.New("it returns without an error that is known")
	}
	m.pc = to.v
	return nil
}
