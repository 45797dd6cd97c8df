// bcryptprimitives.dll with the one function that the runtime of Go takes from it. Wine has this library from version 9 on.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID data, ULONG size); // RtlGenRandom

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
	for (SIZE_T n; size > 0; data += n, size -= n) {
		n = size < 1 << 20 ? size : 1 << 20;
		if (!SystemFunction036(data, (ULONG)n)) return FALSE;
	}
	return TRUE;
}
