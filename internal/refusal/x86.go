package refusal

import (
	"errors"
	"fmt"
	"math/bits"
)

// x86 is amd64 with the calls of System V.
type x86 struct{}

const (
	rax, rcx, rdx, rsp, rsi, rdi = 0, 1, 2, 4, 6, 7
)

func (x86) begin(m *machine) {
	m.regs[rsp] = value(stackBase + stackSize)
	m.regs[rsi], m.regs[rdx], m.regs[rcx] = value(argsBase), value(TooMany), value(resultBase)
	_ = m.push(value(returnTo))
}

func (x86) arg(m *machine, i int) word { return m.regs[[]int{rdi, rsi, rdx, rcx, 8, 9}[i]] }

func (x86) leave(m *machine, result word) error {
	for _, r := range []int{rcx, rdx, rsi, rdi, 8, 9, 10, 11} {
		m.regs[r] = unknown
	}
	m.vectors = [32][4]word{}
	m.regs[rax], m.flags = result, flags{}
	return m.ret()
}

func (m *machine) push(w word) error {
	m.regs[rsp].v -= 8
	return m.store(m.regs[rsp], 8, w)
}

func (m *machine) pop() (word, error) {
	w, err := m.load(m.regs[rsp], 8)
	m.regs[rsp].v += 8
	return w, err
}

func (m *machine) ret() error {
	to, err := m.pop()
	return m.jump(to, err)
}

// instruction is what stands before the operands.
type instruction struct {
	m       *machine
	code    []byte
	at      int
	short   bool // prefix 66
	repeat  byte // prefix F2 or F3
	segment bool // memory of the thread
	rex     byte
	vex     bool
	second  int // the register that VEX adds
	size    int // of the operands, in bytes
	reg     int
	place   place
}

// place is the operand that is a register or memory.
type place struct {
	isReg   bool
	reg     int
	address word
	thread  bool
}

type stop struct{ error }

func (in *instruction) byte() byte {
	if in.at >= len(in.code) {
		panic(stop{errors.New("its code ends within an instruction")})
	}
	in.at++
	return in.code[in.at-1]
}

// number reads n bytes and extends their sign.
func (in *instruction) number(n int) uint64 {
	var v uint64
	for i := range n {
		v |= uint64(in.byte()) << (8 * i)
	}
	return value(v).signed(n).v
}

// immediate is a number as long as the operands, or of 4 bytes.
func (in *instruction) immediate(size int) word { return value(in.number(min(size, 4))) }

func (in *instruction) unknownCode() {
	panic(stop{fmt.Errorf("the instruction % x is not understood", in.code[:in.at])})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(stop{err})
	}
	return v
}

func check(err error) {
	if err != nil {
		panic(stop{err})
	}
}

func (x86) step(m *machine) (other *machine, err error) {
	code, err := m.fetch(m.pc, 15)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s := recover(); s != nil {
			failed, ok := s.(stop)
			if !ok {
				panic(s)
			}
			err = failed.error
		}
	}()
	in := &instruction{m: m, code: code, size: 4}
	return in.run(), nil
}

func (in *instruction) run() (other *machine) {
	op := in.prefixes()
	switch {
	case in.vex:
		in.vector(op)
	case op == 0x0f:
		if op = in.byte(); op >= 0x80 && op <= 0x8f { // a branch
			offset := in.number(4)
			holds, isKnown := in.condition(op)
			return in.branch(offset, holds, isKnown)
		}
		in.two(op)
	case op >= 0x70 && op <= 0x7f:
		offset := in.number(1)
		holds, isKnown := in.condition(op)
		return in.branch(offset, holds, isKnown)
	case op == 0xe8:
		to := in.number(4)
		in.done()
		check(in.m.push(value(in.m.pc)))
		in.m.pc += to
		return nil
	case op == 0xe9 || op == 0xeb:
		to := in.number(map[byte]int{0xe9: 4, 0xeb: 1}[op])
		in.done()
		in.m.pc += to
		return nil
	case op == 0xc3:
		check(in.m.ret())
		return nil
	case op == 0xff:
		in.size = 8
		if kind := in.modrm(0); kind == 2 || kind == 4 {
			to := in.get(in.place, 8)
			in.done()
			if kind == 2 {
				check(in.m.push(value(in.m.pc)))
			}
			check(in.m.jump(to, nil))
			return nil
		} else if kind == 6 {
			check(in.m.push(in.get(in.place, 8)))
		} else {
			in.resize()
			in.step1(kind)
		}
	default:
		in.one(op)
	}
	in.done()
	return nil
}

// done goes to the next instruction.
func (in *instruction) done() { in.m.pc += uint64(in.at); in.at = 0 }

func (in *instruction) branch(offset uint64, holds, isKnown bool) *machine {
	in.done()
	return in.m.branch(in.m.pc+offset, holds, isKnown)
}

func (in *instruction) prefixes() byte {
	for {
		op := in.byte()
		switch {
		case op == 0x66:
			in.short = true
		case op == 0xf2 || op == 0xf3:
			in.repeat = op
		case op == 0x2e || op == 0x3e:
		case op == 0x64:
			in.segment = true
		case op&0xf0 == 0x40:
			in.rex = op
			op = in.byte()
			in.resize()
			return op
		case op == 0xc5:
			b := in.byte()
			in.rex = ^b >> 5 & 4 // R
			in.vexTail(b)
			return in.byte()
		case op == 0xc4:
			b := in.byte()
			in.rex = ^b >> 5 & 7 // R, X, B
			if b&0x1f != 1 {
				in.unknownCode()
			}
			c := in.byte()
			in.rex |= c >> 4 & 8
			in.vexTail(c)
			return in.byte()
		default:
			in.resize()
			return op
		}
	}
}

func (in *instruction) vexTail(b byte) {
	in.vex, in.second = true, int(^b>>3&15)
	in.short, in.repeat = b&3 == 1, [4]byte{0, 0, 0xf3, 0xf2}[b&3]
	in.size = 16
	if b&4 != 0 {
		in.size = 32
	}
}

// resize sets the size of the operands by the prefixes.
func (in *instruction) resize() {
	switch {
	case in.rex&8 != 0:
		in.size = 8
	case in.short:
		in.size = 2
	default:
		in.size = 4
	}
}

// modrm reads the operands and returns the number of the register, or of the operation. After bytes
// follow the operand, which addresses relative to the next instruction need.
func (in *instruction) modrm(after int) int {
	b := in.byte()
	mod, low := b>>6, int(b&7)
	in.reg = int(b>>3&7) | int(in.rex&4)<<1
	in.place = place{thread: in.segment}
	if mod == 3 {
		in.place = place{isReg: true, reg: low | int(in.rex&1)<<3}
		return in.reg & 7
	}
	var a word
	switch {
	case low == 4:
		s := in.byte()
		index, base := int(s>>3&7)|int(in.rex&2)<<2, int(s&7)|int(in.rex&1)<<3
		a = value(0)
		if base&7 == 5 && mod == 0 {
			a.v = in.number(4)
		} else {
			a = in.m.regs[base]
		}
		if index != 4 {
			i := in.m.regs[index]
			a = word{a.v + i.v<<(s>>6), a.known && i.known}
		}
	case low == 5 && mod == 0:
		offset := in.number(4)
		a = value(in.m.pc + uint64(in.at+after) + offset)
	default:
		a = in.m.regs[low|int(in.rex&1)<<3]
	}
	switch mod {
	case 1:
		a.v += in.number(1)
	case 2:
		a.v += in.number(4)
	}
	in.place.address = a
	return in.reg & 7
}

func (in *instruction) get(p place, n int) word {
	if p.isReg {
		if n == 1 && in.rex == 0 && p.reg >= 4 && p.reg < 8 { // AH, CH, DH, BH
			w := in.m.regs[p.reg-4]
			w.v >>= 8
			return w.cut(1)
		}
		return in.m.regs[p.reg].cut(n)
	}
	if p.thread {
		return unknown
	}
	return must(in.m.load(p.address, n))
}

func (in *instruction) set(p place, n int, w word) {
	switch {
	case p.isReg && n >= 4:
		in.m.regs[p.reg] = w.cut(n)
	case p.isReg:
		r, shift, bits := p.reg, 0, mask(n)
		if n == 1 && in.rex == 0 && r >= 4 && r < 8 {
			r, shift = r-4, 8
		}
		old := in.m.regs[r]
		in.m.regs[r] = word{old.v&^(bits<<shift) | w.v&bits<<shift, old.known && w.known}
	case p.thread:
		panic(stop{errAddress})
	default:
		check(in.m.store(p.address, n, w))
	}
}

func register(n int) place { return place{isReg: true, reg: n} }

// condition tells whether the condition in the low bits of an operation holds.
func (in *instruction) condition(op byte) (holds, isKnown bool) {
	f := in.m.flags
	switch op & 15 >> 1 {
	case 0:
		holds = f.overflow
	case 1:
		holds = f.carry
	case 2:
		holds = f.zero
	case 3:
		holds = f.carry || f.zero
	case 4:
		holds = f.sign
	case 5:
		in.unknownCode()
	case 6:
		holds = f.sign != f.overflow
	case 7:
		holds = f.zero || f.sign != f.overflow
	}
	usesCarry := op&15>>1 == 1 || op&15>>1 == 3
	return holds != (op&1 != 0), f.known && !(usesCarry && f.noCarry)
}

// arithmetic does add, or, and, sub, xor or cmp.
func (in *instruction) arithmetic(kind int, to, from place, a, b word, n int) {
	m := in.m
	switch kind {
	case 0, 5, 7:
		if kind == 5 && to == from && to.isReg {
			a, b = value(0), value(0)
		}
		r := m.add(a, b, n, kind != 0)
		if kind != 7 {
			in.set(to, n, r)
		}
		return
	case 1:
		in.set(to, n, m.logic(word{a.v | b.v, a.known && b.known}, n))
	case 4:
		in.set(to, n, m.logic(both(a, b), n))
	case 6:
		if to == from && to.isReg {
			a, b = value(0), value(0)
		}
		in.set(to, n, m.logic(word{a.v ^ b.v, a.known && b.known}, n))
	default:
		in.unknownCode() // adc, sbb
	}
}

// both is a and b.
func both(a, b word) word { return word{a.v & b.v, a.known && b.known} }

// step1 adds or subtracts 1. It keeps the carry.
func (in *instruction) step1(kind int) {
	if kind > 1 {
		in.unknownCode()
	}
	before := in.m.flags
	r := in.m.add(in.get(in.place, in.size), value(1), in.size, kind == 1)
	in.m.flags.carry, in.m.flags.noCarry = before.carry, !before.known || before.noCarry
	in.set(in.place, in.size, r)
}

// one does an operation of one byte.
func (in *instruction) one(op byte) {
	m, n := in.m, in.size
	if op < 0x40 && op&7 < 6 {
		kind := int(op >> 3)
		if op&1 == 0 {
			n = 1
		}
		if op&7 >= 4 {
			a := register(rax)
			in.arithmetic(kind, a, place{}, in.get(a, n), in.immediate(n), n)
			return
		}
		in.modrm(0)
		to, from := in.place, register(in.reg)
		if op&2 != 0 {
			to, from = from, to
		}
		in.arithmetic(kind, to, from, in.get(to, n), in.get(from, n), n)
		return
	}
	switch {
	case op >= 0x50 && op <= 0x57:
		check(m.push(m.regs[int(op&7)|int(in.rex&1)<<3]))
	case op >= 0x58 && op <= 0x5f:
		m.regs[int(op&7)|int(in.rex&1)<<3] = must(m.pop())
	case op == 0x63:
		in.modrm(0)
		in.set(register(in.reg), n, in.get(in.place, 4).signed(4))
	case op == 0x68:
		check(m.push(value(in.number(4))))
	case op == 0x6a:
		check(m.push(value(in.number(1))))
	case op == 0x80 || op == 0x81 || op == 0x83:
		after := 1
		if op == 0x80 {
			n = 1
		} else if op == 0x81 {
			after = min(n, 4)
		}
		kind := in.modrm(after)
		in.arithmetic(kind, in.place, place{}, in.get(in.place, n), value(in.number(after)), n)
	case op == 0x84 || op == 0x85:
		if op == 0x84 {
			n = 1
		}
		in.modrm(0)
		m.logic(both(in.get(in.place, n), in.get(register(in.reg), n)), n)
	case op == 0x88 || op == 0x89:
		if op == 0x88 {
			n = 1
		}
		in.modrm(0)
		in.set(in.place, n, in.get(register(in.reg), n))
	case op == 0x8a || op == 0x8b:
		if op == 0x8a {
			n = 1
		}
		in.modrm(0)
		in.set(register(in.reg), n, in.get(in.place, n))
	case op == 0x8d:
		in.modrm(0)
		if in.place.isReg {
			in.unknownCode()
		}
		in.set(register(in.reg), n, in.place.address)
	case op == 0x90 && in.rex&1 == 0: // with it, an exchange of rax and r8
	case op == 0x98:
		in.set(register(rax), n, in.get(register(rax), n/2).signed(n/2))
	case op == 0xa8:
		m.logic(both(in.get(register(rax), 1), value(in.number(1))), 1)
	case op == 0xa9:
		m.logic(both(in.get(register(rax), n), in.immediate(n)), n)
	case op >= 0xb0 && op <= 0xb7:
		in.set(register(int(op&7)|int(in.rex&1)<<3), 1, value(in.number(1)))
	case op >= 0xb8 && op <= 0xbf:
		in.set(register(int(op&7)|int(in.rex&1)<<3), n, value(in.number(n)))
	case op == 0xc0 || op == 0xc1 || op == 0xd0 || op == 0xd1:
		if op&1 == 0 {
			n = 1
		}
		after := 1
		if op >= 0xd0 {
			after = 0
		}
		kind, by := in.modrm(after), uint64(1)
		if after == 1 {
			by = in.number(1) & 63
		}
		in.shift(kind, n, int(by))
	case op == 0xc6 || op == 0xc7:
		if op == 0xc6 {
			n = 1
		}
		if in.modrm(min(n, 4)) != 0 {
			in.unknownCode()
		}
		in.set(in.place, n, in.immediate(n))
	case op == 0xc9:
		m.regs[rsp] = m.regs[5]
		m.regs[5] = must(m.pop())
	case op == 0xf6 || op == 0xf7:
		in.group3(op)
	case op == 0xfe:
		in.size = 1
		in.step1(in.modrm(0))
	default:
		in.unknownCode()
	}
}

func (in *instruction) shift(kind, n, by int) {
	if n == 8 {
		by &= 63
	} else {
		by &= 31
	}
	w := in.get(in.place, n)
	switch kind {
	case 4:
		w.v <<= by
	case 5:
		w.v >>= by
	case 7:
		w.v = uint64(int64(w.signed(n).v) >> by)
	default:
		in.unknownCode()
	}
	if by > 0 {
		in.m.logic(w, n)
		in.m.flags.known = false // the carry is not computed
	}
	in.set(in.place, n, w)
}

// group3 does test, not and neg.
func (in *instruction) group3(op byte) {
	n := in.size
	if op == 0xf6 {
		n = 1
	}
	if in.at < len(in.code) && in.code[in.at]>>3&7 == 0 { // test has a number behind it
		in.modrm(min(n, 4))
		in.m.logic(both(in.get(in.place, n), in.immediate(n)), n)
		return
	}
	switch in.modrm(0) {
	case 2:
		w := in.get(in.place, n)
		w.v = ^w.v
		in.set(in.place, n, w)
	case 3:
		in.set(in.place, n, in.m.add(value(0), in.get(in.place, n), n, true))
	default:
		in.unknownCode()
	}
}

// two does an operation of two bytes, except branches.
func (in *instruction) two(op byte) {
	n := in.size
	switch {
	case op == 0x1e && in.repeat == 0xf3 || op == 0x1f: // endbr64, nop
		in.modrm(0)
	case op >= 0x40 && op <= 0x4f:
		in.modrm(0)
		from, to := in.get(in.place, n), register(in.reg)
		holds, isKnown := in.condition(op)
		switch old := in.get(to, n); {
		case !isKnown && old == from && old.known:
		case !isKnown:
			in.set(to, n, unknown)
		case holds:
			in.set(to, n, from)
		default:
			in.set(to, n, old)
		}
	case op >= 0x90 && op <= 0x9f:
		in.modrm(0)
		holds, isKnown := in.condition(op)
		w := word{0, isKnown}
		if holds {
			w.v = 1
		}
		in.set(in.place, 1, w)
	case op == 0xaf:
		in.modrm(0)
		a, b := in.get(register(in.reg), n), in.get(in.place, n)
		in.set(register(in.reg), n, word{a.v * b.v, a.known && b.known})
		in.m.flags = flags{}
	case op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf:
		width := 1 << (op & 1)
		in.modrm(0)
		w := in.get(in.place, width)
		if op >= 0xbe {
			w = w.signed(width)
		}
		in.set(register(in.reg), n, w)
	case op == 0xbc || op == 0xbd:
		in.modrm(0)
		w := in.get(in.place, n)
		if w.known && w.v != 0 && op == 0xbc {
			w.v = uint64(bits.TrailingZeros64(w.v))
		} else {
			w = unknown
		}
		in.set(register(in.reg), n, w)
		in.m.flags = flags{}
	default:
		in.size = 16
		in.vector(op)
	}
}
