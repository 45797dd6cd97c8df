//go:build !tvmffi_portable && !msan && !asan

#include "textflag.h"
#include "go_asm.h"

// void crossingProbe(crossingProbe*), by cgocall, which wants no register back but the link register.
TEXT tvmffi_crossingProbe(SB), NOSPLIT|NOFRAME, $0
	MOVD.W R30, -saved2__size(RSP)
	MOVD   g, crossingProbe_g0(R0)
	MOVD   ·findCrossing(SB), R26
	MOVD   (R26), R9
	BL     (R9)
	MOVD.P saved2__size(RSP), R30
	RET
