// dbghelp.dll that knows no symbols. Libtvm_ffi asks it at each error of C++ for the libraries of the process, which
// takes wine 20 ms or more; without it an error has no frames of C++.
#include <windows.h>

__declspec(dllexport) BOOL WINAPI SymInitialize(HANDLE process, PCSTR path, BOOL invade) { return FALSE; }
__declspec(dllexport) DWORD WINAPI SymSetOptions(DWORD options) { return options; }
__declspec(dllexport) BOOL WINAPI SymRefreshModuleList(HANDLE process) { return FALSE; }
__declspec(dllexport) BOOL WINAPI SymFromAddr(HANDLE process, DWORD64 address, PDWORD64 displacement, PVOID symbol) { return FALSE; }
__declspec(dllexport) BOOL WINAPI SymGetLineFromAddr64(HANDLE process, DWORD64 address, PDWORD displacement, PVOID line) { return FALSE; }
__declspec(dllexport) PVOID WINAPI SymFunctionTableAccess64(HANDLE process, DWORD64 base) { return NULL; }
__declspec(dllexport) DWORD64 WINAPI SymGetModuleBase64(HANDLE process, DWORD64 address) { return 0; }
__declspec(dllexport) BOOL WINAPI StackWalk64(DWORD machine, HANDLE process, HANDLE thread, PVOID frame, PVOID context,
                                             PVOID read, PVOID table, PVOID base, PVOID translate) { return FALSE; }
