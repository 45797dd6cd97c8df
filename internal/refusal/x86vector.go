package refusal

// vector does an operation on the registers of SSE or AVX.
func (in *instruction) vector(op byte) {
	m := in.m
	units := in.size / 8
	vec := func(i int) *[4]word { return &m.vectors[i] }
	clearTop := func(r *[4]word) {
		if in.vex {
			for i := units; i < 4; i++ {
				r[i] = value(0)
			}
		}
	}
	switch {
	case op == 0x57 || op == 0xef: // xorps, pxor
		in.modrm(0)
		if !in.vex {
			in.second = in.reg
		}
		if !in.place.isReg || in.second != in.place.reg {
			in.unknownCode()
		}
		to := vec(in.reg)
		for i := range units {
			to[i] = value(0)
		}
		clearTop(to)
	case (op == 0x10 || op == 0x28) && in.repeat == 0, op == 0x6f && (in.short || in.repeat == 0xf3): // move in
		in.modrm(0)
		to := vec(in.reg)
		for i := range units {
			to[i] = in.lane(i)
		}
		clearTop(to)
	case (op == 0x11 || op == 0x29) && in.repeat == 0, op == 0x7f && (in.short || in.repeat == 0xf3): // move out
		in.modrm(0)
		for i := range units {
			in.setLane(i, vec(in.reg)[i])
		}
		if in.place.isReg {
			clearTop(vec(in.place.reg))
		}
	case op == 0x6e && in.short && !(in.vex && in.second != 0): // movd, movq
		in.modrm(0)
		n := 4 + int(in.rex&8)/2
		to := vec(in.reg)
		to[0], to[1] = in.get(in.place, n), value(0)
		clearTop(to)
	case op == 0x7e && in.short:
		in.modrm(0)
		n := 4 + int(in.rex&8)/2
		in.set(in.place, n, vec(in.reg)[0].cut(n))
	case op == 0x7e && in.repeat == 0xf3: // movq
		in.modrm(0)
		to := vec(in.reg)
		to[0], to[1] = in.lane(0), value(0)
		clearTop(to)
	case op == 0xd6 && in.short:
		in.modrm(0)
		in.setLane(0, vec(in.reg)[0])
		if in.place.isReg {
			vec(in.place.reg)[1] = value(0)
			clearTop(vec(in.place.reg))
		}
	case op == 0x6c && in.short || op == 0x16 && in.repeat == 0: // punpcklqdq, movhps, movlhps
		in.modrm(0)
		if in.size != 16 {
			in.unknownCode()
		}
		to, top := vec(in.reg), in.lane(0)
		if in.vex {
			to[0] = vec(in.second)[0]
		}
		to[1] = top
		clearTop(to)
	case op == 0x77 && in.vex && in.size == 16: // vzeroupper
		for i := range 16 {
			m.vectors[i][2], m.vectors[i][3] = value(0), value(0)
		}
	default:
		in.unknownCode()
	}
}

// lane is 8 bytes of the operand that is a register or memory.
func (in *instruction) lane(i int) word {
	if in.place.isReg {
		return in.m.vectors[in.place.reg][i]
	}
	if in.place.thread {
		return unknown
	}
	return must(in.m.load(in.place.address.plus(uint64(8*i)), 8))
}

func (in *instruction) setLane(i int, w word) {
	if in.place.isReg {
		in.m.vectors[in.place.reg][i] = w
		return
	}
	if in.place.thread {
		panic(stop{errAddress})
	}
	check(in.m.store(in.place.address.plus(uint64(8*i)), 8, w))
}
