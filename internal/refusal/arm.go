package refusal

import (
	"errors"
	"fmt"
	"math/bits"
)

// arm is arm64 with the calls of AAPCS64.
type arm struct{}

const sp, lr = 31, 30

func (arm) begin(m *machine) {
	m.regs[sp], m.regs[lr] = value(stackBase+stackSize), value(returnTo)
	m.regs[1], m.regs[2], m.regs[3] = value(argsBase), value(TooMany), value(resultBase)
}

func (arm) arg(m *machine, i int) word { return m.regs[i] }

func (arm) leave(m *machine, result word) error {
	for r := range 19 {
		m.regs[r] = unknown
	}
	m.vectors = [32][4]word{}
	m.regs[0], m.flags = result, flags{}
	return m.jump(m.regs[lr], nil)
}

// armCode is an instruction.
type armCode struct {
	m  *machine
	c  uint32
	at uint64
}

// field returns the bits from high to low.
func (a armCode) field(high, low int) int { return int(a.c >> low & (1<<(high-low+1) - 1)) }

// signed is a field with a sign, and offset one in instructions.
func (a armCode) signed(high, low int) uint64 {
	n := 64 - (high - low + 1)
	return uint64(int64(uint64(a.field(high, low))<<n) >> n)
}

func (a armCode) offset(high, low int) uint64 { return 4 * a.signed(high, low) }

// reg is register n, or zero for 31.
func (a armCode) reg(n, size int) word {
	if n == 31 {
		return value(0)
	}
	return a.m.regs[n].cut(size)
}

func (a armCode) set(n, size int, w word) {
	if n != 31 {
		a.m.regs[n] = w.cut(size)
	}
}

func (a armCode) size() int { return 4 + 4*a.field(31, 31) }

func (arm) step(m *machine) (other *machine, err error) {
	code, err := m.fetch(m.pc, 4)
	if err != nil {
		return nil, err
	}
	if len(code) < 4 {
		return nil, errors.New("its code ends within an instruction")
	}
	a := armCode{m, little.Uint32(code), m.pc}
	m.pc += 4
	switch {
	case a.field(30, 26) == 0b00101: // b, bl
		if a.field(31, 31) == 1 {
			m.regs[lr] = value(m.pc)
		}
		m.pc = a.at + a.offset(25, 0)
	case a.field(31, 24) == 0b01010100 && a.field(4, 4) == 0:
		holds, isKnown := a.condition(a.field(3, 0))
		return m.branch(a.at+a.offset(23, 5), holds, isKnown), nil
	case a.field(30, 25) == 0b011010: // cbz, cbnz
		w := a.reg(a.field(4, 0), a.size())
		return m.branch(a.at+a.offset(23, 5), (w.v == 0) == (a.field(24, 24) == 0), w.known), nil
	case a.field(30, 25) == 0b011011: // tbz, tbnz
		w := a.reg(a.field(4, 0), 8)
		bit := w.v >> (a.field(31, 31)<<5 | a.field(23, 19)) & 1
		return m.branch(a.at+a.offset(18, 5), (bit == 0) == (a.field(24, 24) == 0), w.known), nil
	case a.field(31, 25) == 0b1101011 && a.field(20, 10) == 0b11111000000 && a.field(24, 23) == 0 && a.field(4, 0) == 0: // br, blr, ret
		to := a.reg(a.field(9, 5), 8)
		if a.field(22, 21) == 1 {
			m.regs[lr] = value(m.pc)
		}
		return nil, m.jump(to, nil)
	case a.field(28, 26) == 0b100: // with a number
		return nil, a.withNumber()
	case a.field(27, 25) == 0b101: // of registers
		return nil, a.ofRegisters()
	case a.field(27, 27) == 1 && a.field(25, 25) == 0:
		return nil, a.memory()
	case a.c&0xfffff01f == 0xd503201f: // nop and other hints
	default:
		return nil, a.vector()
	}
	return nil, nil
}

func (a armCode) notUnderstood() error {
	return fmt.Errorf("the instruction %08x is not understood", a.c)
}

// condition tells whether a condition holds.
func (a armCode) condition(c int) (holds, isKnown bool) {
	f := a.m.flags
	switch c >> 1 {
	case 0:
		holds = f.zero
	case 1:
		holds = !f.carry // the carry of this machine is a borrow
	case 2:
		holds = f.sign
	case 3:
		holds = f.overflow
	case 4:
		holds = !f.carry && !f.zero
	case 5:
		holds = f.sign == f.overflow
	case 6:
		holds = !f.zero && f.sign == f.overflow
	case 7:
		return true, true
	}
	return holds != (c&1 != 0), f.known
}

// sum adds or subtracts, and sets the flags if it should.
func (a armCode) sum(to int, x, y word) {
	m, n, subtract, sets := a.m, a.size(), a.field(30, 30) == 1, a.field(29, 29) == 1
	before := m.flags
	r := m.add(x, y, n, subtract)
	switch {
	case !sets:
		m.flags = before
	case !subtract:
		m.flags.carry = !m.flags.carry
	}
	if to == 31 && !sets {
		m.regs[sp] = r
		return
	}
	a.set(to, n, r)
}

// stackOr is a register, of which 31 is the stack.
func (a armCode) stackOr(n int) word { return a.m.regs[n].cut(a.size()) }

func (a armCode) withNumber() error {
	to, from, n := a.field(4, 0), a.field(9, 5), a.size()
	switch op := a.field(25, 23); op {
	case 0, 1: // adr, adrp
		offset := a.offset(23, 5) | uint64(a.field(30, 29))
		if a.field(31, 31) == 1 {
			a.set(to, 8, value(a.at&^0xfff+offset<<12))
		} else {
			a.set(to, 8, value(a.at+offset))
		}
	case 2: // add, sub
		a.sum(to, a.stackOr(from), value(uint64(a.field(21, 10))<<(12*a.field(22, 22))))
	case 4: // and, orr, eor, ands
		number, ok := bitPattern(a.field(22, 22), a.field(15, 10), a.field(21, 16), n)
		if !ok {
			return a.notUnderstood()
		}
		a.logic(to, a.field(30, 29), a.reg(from, n), value(number), true)
	case 5: // movn, movz, movk
		shift := 16 * a.field(22, 21)
		number := uint64(a.field(20, 5)) << shift
		switch a.field(30, 29) {
		case 0:
			a.set(to, n, value(^number))
		case 2:
			a.set(to, n, value(number))
		case 3:
			old := a.reg(to, n)
			a.set(to, n, word{old.v&^(0xffff<<shift) | number, old.known})
		default:
			return a.notUnderstood()
		}
	case 6: // sbfm, ubfm: shifts, extensions
		r, s, w := a.field(21, 16), a.field(15, 10), a.reg(from, n)
		kind := a.field(30, 29)
		if kind != 0 && kind != 2 || max(r, s) >= 8*n {
			return a.notUnderstood()
		}
		width, up := s-r+1, 0
		if s < r {
			width, up = s+1, 8*n-r
		} else {
			w.v >>= r
		}
		shift := 64 - width
		if kind == 0 {
			w.v = uint64(int64(w.v<<shift) >> shift)
		} else {
			w.v = w.v << shift >> shift
		}
		w.v <<= up
		a.set(to, n, w)
	default:
		return a.notUnderstood()
	}
	return nil
}

// bitPattern decodes the number of a logical instruction.
func bitPattern(n, s, r, size int) (uint64, bool) {
	length := bits.Len(uint(n<<6|^s&0x3f)) - 1
	if length < 1 {
		return 0, false
	}
	width := 1 << length
	ones, turn := s&(width-1)+1, r&(width-1)
	if ones == width || width > 8*size {
		return 0, false
	}
	element := uint64(1)<<ones - 1
	element = (element>>turn | element<<(width-turn)) & (^uint64(0) >> (64 - width))
	for ; width < 64; width *= 2 {
		element |= element << width
	}
	return element & mask(size), true
}

func (a armCode) logic(to, kind int, x, y word, stack bool) {
	n := a.size()
	r := word{known: x.known && y.known}
	switch kind {
	case 0, 3:
		r.v = x.v & y.v
	case 1:
		r.v = x.v | y.v
	case 2:
		r.v = x.v ^ y.v
	}
	if kind == 3 {
		a.m.logic(r, n)
		a.m.flags.carry = true // not a borrow here: see condition
	} else if to == 31 && stack {
		a.m.regs[sp] = r
		return
	}
	a.set(to, n, r)
}

func shifted(w word, kind, by, n int) word {
	switch kind {
	case 0:
		w.v <<= by
	case 1:
		w.v >>= by
	case 2:
		w.v = uint64(int64(w.signed(n).v) >> by)
	case 3:
		w.v = w.v>>by | w.v<<(8*n-by)
	}
	return w.cut(n)
}

func (a armCode) ofRegisters() error {
	to, from, second, n := a.field(4, 0), a.field(9, 5), a.field(20, 16), a.size()
	switch {
	case a.field(28, 25) == 0b0101 && a.field(15, 10) >= 8*n && (a.field(24, 24) == 0 || a.field(21, 21) == 0):
		return a.notUnderstood()
	case a.field(28, 24) == 0b01010:
		y := shifted(a.reg(second, n), a.field(23, 22), a.field(15, 10), n)
		if a.field(21, 21) == 1 {
			y.v = ^y.v
		}
		x, kind := a.reg(from, n), a.field(30, 29)
		if kind == 2 && from == second && a.field(21, 21) == 0 && a.field(15, 10) == 0 {
			x, y = value(0), value(0)
		}
		a.logic(to, kind, x, y.cut(n), false)
	case a.field(28, 24) == 0b01011 && a.field(21, 21) == 0:
		y := shifted(a.reg(second, n), a.field(23, 22), a.field(15, 10), n)
		if to == 31 && a.field(29, 29) == 0 {
			return nil
		}
		a.sum(to, a.reg(from, n), y)
	case a.field(28, 24) == 0b01011:
		a.sum(to, a.stackOr(from), a.extended(second))
	case a.field(28, 21) == 0b11010100: // csel, csinc, csinv, csneg
		holds, isKnown := a.condition(a.field(15, 12))
		x, y := a.reg(from, n), a.reg(second, n)
		if a.field(30, 30) == 1 {
			y.v = ^y.v
		}
		y.v += uint64(a.field(10, 10))
		switch y = y.cut(n); {
		case !isKnown && x != y:
			a.set(to, n, unknown)
		case holds || !isKnown:
			a.set(to, n, x)
		default:
			a.set(to, n, y)
		}
	case a.field(28, 21) == 0b11010010: // ccmp
		y := a.reg(second, n)
		if a.field(11, 11) == 1 {
			y = value(uint64(second))
		}
		holds, isKnown := a.condition(a.field(15, 12))
		switch {
		case !isKnown:
			a.m.flags = flags{}
		case holds:
			a.sum(31, a.reg(from, n), y)
		default:
			f := a.field(3, 0)
			a.m.flags = flags{known: true, zero: f&4 != 0, carry: f&2 == 0, sign: f&8 != 0, overflow: f&1 != 0}
		}
	case a.field(28, 24) == 0b11011 && a.field(23, 21) == 0: // madd, msub
		x, y, z := a.reg(from, n), a.reg(second, n), a.reg(a.field(14, 10), n)
		r := word{x.v * y.v, x.known && y.known && z.known}
		if a.field(15, 15) == 1 {
			r.v = -r.v
		}
		a.set(to, n, r.plus(z.v))
	default:
		return a.notUnderstood()
	}
	return nil
}

// extended is a register that is extended and shifted.
func (a armCode) extended(n int) word {
	size, w := 1<<a.field(14, 13), a.reg(n, 8)
	w = w.cut(size)
	if a.field(15, 15) == 1 {
		w = w.signed(size)
	}
	w.v <<= a.field(12, 10)
	return w
}

// memory does loads and stores.
func (a armCode) memory() error {
	base := a.field(9, 5)
	switch {
	case a.field(29, 24) == 0b001000 && a.field(23, 21)&5 == 4 && a.field(15, 15) == 1: // ldar, stlr
		return a.move(a.field(4, 0), a.m.regs[base], 1<<a.field(31, 30), a.field(22, 22) == 1, 0)
	case a.field(29, 27) == 0b011 && a.field(24, 24) == 0: // ldr of a constant
		if a.field(26, 26) == 1 || a.field(31, 30) > 1 {
			return a.notUnderstood()
		}
		return a.move(a.field(4, 0), value(a.at+a.offset(23, 5)), 4<<a.field(30, 30), true, 0)
	case a.field(29, 27) == 0b101: // ldp, stp
		n := 4 << a.field(31, 31)
		if a.field(26, 26) == 1 {
			n = 4 << a.field(31, 30)
		} else if a.field(31, 30) == 1 {
			return a.notUnderstood()
		}
		at, err := a.indexed(base, a.signed(21, 15)*uint64(n), a.field(24, 23))
		if err != nil {
			return err
		}
		for i, r := range []int{a.field(4, 0), a.field(14, 10)} {
			if err := a.move(r, at.plus(uint64(i*n)), n, a.field(22, 22) == 1, 0); err != nil {
				return err
			}
		}
		return nil
	case a.field(29, 27) != 0b111:
		return a.notUnderstood()
	}
	n, load, sign := 1<<a.field(31, 30), a.field(23, 22) != 0, 0
	if a.field(26, 26) == 1 {
		if a.field(23, 23) == 1 {
			n = 16
		}
		load = a.field(22, 22) == 1
	} else if a.field(23, 23) == 1 { // with a sign, to 8 or 4 bytes
		if n == 8 {
			return nil // prefetch
		}
		sign = 8 >> a.field(22, 22)
	}
	var at word
	switch {
	case a.field(24, 24) == 1:
		at = a.m.regs[base].plus(uint64(a.field(21, 10) * n))
	case a.field(21, 21) == 0:
		var err error
		if at, err = a.indexed(base, a.signed(20, 12), [4]int{2, 1, -1, 3}[a.field(11, 10)]); err != nil {
			return err
		}
	case a.field(11, 10) == 2:
		w := a.reg(a.field(20, 16), 8)
		if a.field(14, 13) == 2 {
			w = w.cut(4)
			if a.field(15, 15) == 1 {
				w = w.signed(4)
			}
		}
		w.v *= uint64(1 + a.field(12, 12)*(n-1))
		b := a.m.regs[base]
		at = word{b.v + w.v, b.known && w.known}
	default:
		return a.notUnderstood()
	}
	return a.move(a.field(4, 0), at, n, load, sign)
}

// indexed is an address that may change its base: after the access, not, or before it.
func (a armCode) indexed(base int, offset uint64, mode int) (word, error) {
	at := a.m.regs[base]
	switch mode {
	case 0, 2:
		return at.plus(offset), nil
	case 1:
		a.m.regs[base] = at.plus(offset)
		return at, nil
	case 3:
		a.m.regs[base] = at.plus(offset)
		return a.m.regs[base], nil
	}
	return at, a.notUnderstood()
}

// move loads or stores n bytes, of a vector if the instruction says so. Sign is the size to which a sign is extended.
func (a armCode) move(r int, at word, n int, load bool, sign int) error {
	isVector := a.field(26, 26) == 1 && a.field(27, 27) == 1
	for part := 0; part < max(n, 8); part += 8 {
		width := min(n, 8)
		here := at.plus(uint64(part))
		if load {
			w, err := a.m.load(here, width)
			if err != nil {
				return err
			}
			switch {
			case isVector:
				if part == 0 {
					a.m.vectors[r] = [4]word{value(0), value(0)}
				}
				a.m.vectors[r][part/8] = w
			case sign > 0:
				a.set(r, sign, w.signed(width))
			default:
				a.set(r, 8, w)
			}
			continue
		}
		w := a.reg(r, 8)
		if isVector {
			w = a.m.vectors[r][part/8]
		}
		if err := a.m.store(here, width, w.cut(width)); err != nil {
			return err
		}
	}
	return nil
}

// vector does the few operations on vectors with which compilers fill memory.
func (a armCode) vector() error {
	to, from := a.field(4, 0), a.field(9, 5)
	v := &a.m.vectors
	switch a.c &^ 0x1f {
	case 0x6f00e400, 0x4f00e400, 0x2f00e400, 0x0f00e400, 0x4f000400, 0x0f000400: // movi 0
		v[to] = [4]word{value(0), value(0)}
		return nil
	}
	switch a.c &^ 0x3ff {
	case 0x9e670000: // fmov d, x
		v[to] = [4]word{a.reg(from, 8), value(0)}
	case 0x9e660000: // fmov x, d
		a.set(to, 8, v[from][0])
	case 0x4e181c00: // mov v.d[1], x
		v[to][1] = a.reg(from, 8)
	case 0x4e080c00: // dup v.2d, x
		v[to] = [4]word{a.reg(from, 8), a.reg(from, 8)}
	default:
		if a.c&0xffe0fc00 == 0x4ea01c00 && from == a.field(20, 16) { // mov v, v
			v[to] = v[from]
			return nil
		}
		return a.notUnderstood()
	}
	return nil
}
