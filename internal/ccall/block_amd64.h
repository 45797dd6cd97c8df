// AT is a field of the callStack that ends at BP.
#define AT(field) (field-callStack__size)(BP)

// What callBlock and lightBlock do on the system stack, between their beginnings and done.
// BX: the head. R12: top of the goroutine stack. R14: the g, which C keeps there. BP: the end
// of a callStack, whose beginning is the stack pointer and, until the call, R10.

	MOVQ    const_stackLow(R14), AX
	MOVQ    AX, AT(callStack_low)
	MOVQ    const_stackHigh(R14), R12
	MOVQ    SP, R10
	MOVBLZX Head_Units(BX), CX
	CMPL    CX, $1
	JNE     several
	MOVQ    const_HeadSize(BX), AX
	MOVQ    (const_HeadSize+const_word)(BX), R9
	SUBQ    $const_unit, SP
	MOVQ    SP, SI
	MOVQ    AX, (SI)
	MOVQ    R9, const_word(SI)
	JMP     copied

several:
	SHLQ    $const_unitShift, CX
	SUBQ    CX, SP
	MOVQ    SP, SI
	LEAQ    const_HeadSize(BX), R8
	TESTQ   CX, CX
	JEQ     copied

copy:
	SUBQ $const_unit, CX
	MOVQ (R8)(CX*1), AX
	MOVQ const_word(R8)(CX*1), R9
	MOVQ AX, (SI)(CX*1)
	MOVQ R9, const_word(SI)(CX*1)
	JNE  copy                     // a MOVQ changes no flags

copied:
	MOVQ Head_Mask(BX), R9

relocate:
	TESTQ R9, R9
	JEQ   second
	BSFQ  R9, AX
	ADDQ  SI, (SI)(AX*8)
	LEAQ  -1(R9), R11
	ANDQ  R11, R9
	JMP   relocate

second:
	MOVQ    Head_Handle(BX), DI
	MOVQ    DI, AT(callStack_rc)
	MOVWLZX Head_N(BX), DX
	MOVBLZX Head_Mode(BX), AX
	TESTL   AX, AX
	JNE     other

call:
	XORPS  X0, X0
	MOVUPS X0, callStack_result(R10)
	MOVQ  R10, CX
	MOVQ  Head_Fn(BX), AX
	CALL  AX
	TESTL AX, AX
	JNE   failed

returned:  // AX: the return code
	MOVQ const_stackHigh(R14), R9
	CMPQ R9, R12
	JNE  moved

results:  // 4+4+8 bytes: a wider load would miss store forwarding
	MOVL    AT(callStack_result+abiAny_TypeIndex), CX
	MOVL    AT(callStack_result+abiAny_Small), DX
	MOVQ    AT(callStack_result+abiAny_Bits), DI
	MOVL    CX, (Head_Res+abiAny_TypeIndex)(BX)
	MOVL    DX, (Head_Res+abiAny_Small)(BX)
	MOVQ    DI, (Head_Res+abiAny_Bits)(BX)
	MOVL    AX, Head_RC(BX)
	TESTL   AX, AX
	JNE     done
	CMPL    CX, $const_typeStr
	JNE     done
	MOVWLZX Head_Text(BX), R9
	TESTL   R9, R9
	JEQ     done
	MOVW    AX, Head_Text(BX)
	MOVQ    const_stringSize(DI), DX
	CMPQ    DX, R9
	JHI     done
	LEAL    1(DX), R11
	MOVW    R11, Head_Text(BX)
	MOVQ    const_stringData(DI), SI
	LEAQ    const_HeadSize(BX), R8
	XORL    CX, CX
	JMP     wordTest

word:
	MOVQ (SI)(CX*1), R9
	MOVQ R9, (R8)(CX*1)
	ADDQ $const_word, CX

wordTest:
	LEAQ const_word(CX), R11
	CMPQ R11, DX
	JLS  word
	JMP  charTest

char:
	MOVB (SI)(CX*1), R9
	MOVB R9, (R8)(CX*1)
	INCQ CX

charTest:
	CMPQ CX, DX
	JLT  char
	MOVQ ·decRef(SB), AX
	CALL AX
	JMP  done

other:
	CMPL AX, $const_Middle
	JEQ  middle
	CMPL AX, $const_First
	JNE  notFirst
	MOVQ SI, DI

notFirst:
	MOVQ R10, SI
	CMPL AX, $const_Value
	JNE  call
	MOVQ Head_Word(BX), SI
	MOVQ (Head_Res+abiAny_Bits)(BX), DX
	JMP  call

middle:
	MOVQ R10, DX
	JMP  call

failed:  // the error goes to the place of the result
	MOVL AX, AT(callStack_rc)
	LEAQ AT(callStack_result+abiAny_Bits), DI
	MOVQ $0, (DI)

#ifdef GOOS_linux
	CMPL AX, $const_Thrown
	JEQ  thrown

#endif
	MOVQ ·errorMove(SB), AX
	CALL AX
	MOVL AT(callStack_rc), AX
	JMP  returned

#ifdef GOOS_linux
thrown:  // DX: the exception
	MOVQ DX, SI
	CALL tvmffi_catch(SB)
	MOVL AT(callStack_rc), AX
	JMP  returned

#endif
moved:  // the frame moved with the stack, if it was there
	CMPQ BX, AT(callStack_low)
	JLO  results
	CMPQ BX, R12
	JHS  results
	SUBQ R12, R9
	ADDQ R9, BX
	JMP  results
