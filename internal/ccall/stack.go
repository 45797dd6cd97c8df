package ccall

// mostReserve is the most that FullStack keeps free of a stack. The code that makes an error
// and the unwinder of C++ take a tenth of that; the rest is for C++ below the last callback.
const mostReserve = 256 << 10
