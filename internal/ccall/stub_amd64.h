// Macros of the stubs.

// INT_OR_BOOL goes to no unless AX is the type index of an int or of a bool, which follow
// that of None. It changes AX.
#define INT_OR_BOOL(no) \
	DECL AX;                                  \
	CMPL AX, $(const_typeBool-const_typeInt); \
	JHI  no
