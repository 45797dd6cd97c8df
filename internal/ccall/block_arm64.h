// What callBlock and lightBlock do on the system stack, between their beginnings and done.
// R19: the head. R20: top of the goroutine stack. R21: the callStack, where the stack pointer
// is. R22: the return code. R23: the g.

	MOVD  const_stackLow(R23), R10
	MOVD  const_stackHigh(R23), R20
	MOVD  RSP, R21
	MOVBU Head_Units(R19), R2
	LSL   $const_unitShift, R2, R2
	SUB   R2, R21, R3
	MOVD  R3, RSP
	MOVD  R3, R5
	ADD   $const_HeadSize, R19, R4

copy:
	CBZ   R2, copied
	LDP.P const_unit(R4), (R6, R7)
	STP.P (R6, R7), const_unit(R5)
	SUB   $const_unit, R2, R2
	B     copy

copied:
	MOVD Head_Mask(R19), R6

relocate:
	CBZ  R6, second
	RBIT R6, R7
	CLZ  R7, R7
	MOVD (R3)(R7<<const_wordShift), R8
	ADD  R3, R8, R8
	MOVD R8, (R3)(R7<<const_wordShift)
	SUB  $1, R6, R9
	AND  R9, R6, R6
	B    relocate

second:
	MOVD  R3, R1
	MOVD  Head_Handle(R19), R0
	STP   (R10, R0), callStack_low(R21)
	MOVHU Head_N(R19), R2
	ADD   $callStack_result, R21, R3
	MOVBU Head_Mode(R19), R6
	CBZ   R6, call
	CMP   $const_Middle, R6
	BEQ   middle
	CMP   $const_First, R6
	BNE   notFirst
	MOVD  R1, R0

notFirst:
	MOVD R3, R1
	CMP  $const_Value, R6
	BNE  call
	MOVD Head_Word(R19), R1
	MOVD (Head_Res+abiAny_Bits)(R19), R2
	B    call

middle:
	MOVD R3, R2

call:
	STP  (ZR, ZR), callStack_result(R21)
	MOVD Head_Fn(R19), R9
	BL   (R9)
	MOVD R21, RSP
	SXTW R0, R22
	CBNZ R22, failed

returned:
	MOVD const_stackHigh(R23), R0
	CMP  R20, R0
	BNE  moved

results:
	MOVWU (callStack_result+abiAny_TypeIndex)(R21), R2
	MOVWU (callStack_result+abiAny_Small)(R21), R3
	MOVD  (callStack_result+abiAny_Bits)(R21), R0
	MOVW  R2, (Head_Res+abiAny_TypeIndex)(R19)
	MOVW  R3, (Head_Res+abiAny_Small)(R19)
	MOVD  R0, (Head_Res+abiAny_Bits)(R19)
	MOVW  R22, Head_RC(R19)
	CBNZ  R22, done
	CMPW  $const_typeStr, R2
	BNE   done
	MOVHU Head_Text(R19), R4
	CBZ   R4, done
	MOVH  ZR, Head_Text(R19)
	MOVD  const_stringSize(R0), R5
	CMP   R4, R5
	BHI   done
	ADD   $1, R5, R6
	MOVH  R6, Head_Text(R19)
	MOVD  const_stringData(R0), R6
	ADD   $const_HeadSize, R19, R7

word:
	CMP    $const_word, R5
	BLO    char
	MOVD.P const_word(R6), R8
	MOVD.P R8, const_word(R7)
	SUB    $const_word, R5, R5
	B      word

char:
	CBZ     R5, copiedText
	MOVBU.P 1(R6), R8
	MOVB.P  R8, 1(R7)
	SUB     $1, R5, R5
	B       char

copiedText:
	MOVD ·decRef(SB), R9
	BL   (R9)
	B    done

failed:  // the error goes to the place of the result
	ADD  $(callStack_result+abiAny_Bits), R21, R0
	MOVD ZR, (R0)

#ifdef GOOS_linux
	MOVD $const_Thrown, R9
	CMP  R9, R22
	BEQ  thrown

#endif
	MOVD ·errorMove(SB), R9
	BL   (R9)
	B    returned

#ifdef GOOS_linux
thrown:  // R1: the exception
	BL tvmffi_catch(SB)
	B  returned

#endif
moved:  // the frame moved with the stack, if it was there
	MOVD callStack_low(R21), R2
	CMP  R2, R19
	BLO  results
	CMP  R20, R19
	BHS  results
	SUB  R20, R0, R0
	ADD  R0, R19, R19
	B    results
