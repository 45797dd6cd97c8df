// bcryptprimitives.dll with the one function that the runtime of Go takes from it. Wine has this library from version 9 on.
//
// The runtime loads it before it starts a thread, and with it vcruntime140_1.dll: in a thread that is older than that library of
// wine, the first exception of C++ may miss its handler. ../../../../findings/wine-old-threads-miss-exceptions.sh shows that.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID data, ULONG size); // RtlGenRandom
__declspec(dllimport) void __CxxFrameHandler4(void);

__declspec(dllexport) void *handler = __CxxFrameHandler4; // the linker leaves out a library that nothing uses

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
	for (SIZE_T n; size > 0; data += n, size -= n) {
		n = size < 1 << 20 ? size : 1 << 20;
		if (!SystemFunction036(data, (ULONG)n)) return FALSE;
	}
	return TRUE;
}
