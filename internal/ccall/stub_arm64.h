// Macros of the stubs.
//
// R27 belongs to C in the stubs, so the assembler must not use it: variables are reached
// by their addresses. The frames are of our own making, because the assembler would save
// R29 below the stack pointer, where the C functions that are called write.

// CALL calls a function of StubFunctions.
#define CALL(function) \
	MOVD $·stubs+function(SB), R9; \
	MOVD (R9), R9;                 \
	BL   (R9)

// SPECIFIC calls a function that reads or sets what the thread has under the key deletions.
#define SPECIFIC(function) \
	MOVD $·deletions(SB), R0; \
	MOVD (R0), R0;            \
	MOVD $function(SB), R9;   \
	MOVD (R9), R9;            \
	BL   (R9)

// ADDREF adds a strong reference to the object at p, whose counts come first.
#define ADDREF(p, label) \
label:  \
	LDXR  (p), R11;      \
	ADD   $1, R11, R11;  \
	STXR  R11, (p), R12; \
	CBNZW R12, label

// INT_OR_BOOL goes to no unless R2 is the type index of an int or of a bool, which follow
// each other. It changes R2.
#define INT_OR_BOOL(no) \
	SUBW $const_typeInt, R2;                  \
	CMPW $(const_typeBool-const_typeInt), R2; \
	BHI  no
