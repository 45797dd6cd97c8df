#!/usr/bin/env bash
# wine 8: in a thread that is older than vcruntime140_1.dll, the first exception of C++ may miss its handler.
#
# Guess: an exception finds the same handler in each thread. Seen: xgrammar 0.2.9 for Windows catches its own error and gives it
# the kind InvalidStructuralTagError; in a thread that runs before the library is loaded the first error passes that handler, and one
# further out makes it an InternalError. The second one is right. Wine keeps for each thread which handler is at work, -2 for none.
# It sets that when a thread starts and in the thread that loads the library; in the others it is 0, until an exception resets it.
# A program of Go has threads before it loads anything. Needs wine, wine64 and g++-mingw-w64-x86-64-posix of Debian 12.
set -euo pipefail
T=$(mktemp -d)
export WINEPREFIX=$T/wine WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
trap 'wineserver --kill || true; rm -rf "$T"' EXIT
for wheel in apache-tvm-ffi==0.1.15.post2 xgrammar==0.2.9; do
	python3 -m pip download -q --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.12 -d "$T" "$wheel"
done
(cd "$T" && for wheel in *.whl; do python3 -m zipfile -e "$wheel" packages; done)
mkdir "$T/lib"
cp "$T"/packages/tvm_ffi/lib/tvm_ffi.dll "$T"/packages/xgrammar/xgrammar_bindings.dll "$T/lib"
cat >"$T/program.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <windows.h>
#include <tvm/ffi/c_api.h>

static HANDLE go, runs;
static int (*call)(TVMFFIObjectHandle, const TVMFFIAny*, int32_t, TVMFFIAny*);
static void (*raised)(TVMFFIObjectHandle*);
static TVMFFIObjectHandle from;

static DWORD WINAPI work(LPVOID name) {
  SetEvent(runs);
  WaitForSingleObject(go, INFINITE);
  for (int i = 1; i <= 2; i++) {
    TVMFFIAny text = {0}, result = {0};
    text.type_index = kTVMFFIRawStr;
    text.v_c_str = "{\"type\": \"structural_tag\"}";
    if (call(from, &text, 1, &result) == 0) return 1;
    TVMFFIObjectHandle e;
    raised(&e);
    printf("%s, call %d: %s\n", (char*)name, i, ((TVMFFIErrorCell*)((char*)e + sizeof(TVMFFIObject)))->kind.data);
  }
  return 0;
}

int main(int n, char** files) {
  go = CreateEventA(NULL, TRUE, FALSE, NULL);
  runs = CreateEventA(NULL, TRUE, FALSE, NULL);
  HANDLE before = CreateThread(NULL, 0, work, "a thread from before the libraries", 0, NULL);
  WaitForSingleObject(runs, INFINITE);
  HMODULE core = LoadLibraryExA(files[1], NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (!LoadLibraryExA(files[2], NULL, LOAD_WITH_ALTERED_SEARCH_PATH)) return 1;
  int (*toIndex)(const TVMFFIByteArray*, int32_t*) = (void*)GetProcAddress(core, "TVMFFITypeKeyToIndex");
  const TVMFFITypeInfo* (*info)(int32_t) = (void*)GetProcAddress(core, "TVMFFIGetTypeInfo");
  call = (void*)GetProcAddress(core, "TVMFFIFunctionCall");
  raised = (void*)GetProcAddress(core, "TVMFFIErrorMoveFromRaised");
  const char* key = "xgrammar.tvm_ffi_binding.Grammar";
  TVMFFIByteArray bytes = {key, strlen(key)};
  int32_t index;
  if (toIndex(&bytes, &index) != 0) return 1;
  const TVMFFITypeInfo* type = info(index);
  for (int i = 0; i < type->num_methods; i++)
    if (strcmp(type->methods[i].name.data, "from_structural_tag") == 0) from = type->methods[i].method.v_obj;
  HANDLE after = CreateThread(NULL, 0, work, "a thread from after them", CREATE_SUSPENDED, NULL);
  SetEvent(go);
  WaitForSingleObject(before, INFINITE);
  ResumeThread(after);
  WaitForSingleObject(after, INFINITE);
  return 0;
}
C
x86_64-w64-mingw32-gcc-posix -I"$T/packages/tvm_ffi/include" "$T/program.c" -o "$T/program.exe"
mkdir -m 700 "$WINEPREFIX"
wineboot --init </dev/null >/dev/null 2>&1
wine "$T/program.exe" "Z:$T/lib/tvm_ffi.dll" "Z:$T/lib/xgrammar_bindings.dll" 2>/dev/null | tr -d '\r' | diff - <(printf '%s\n' \
	"a thread from before the libraries, call 1: InternalError" "a thread from before the libraries, call 2: InvalidStructuralTagError" \
	"a thread from after them, call 1: InvalidStructuralTagError" "a thread from after them, call 2: InvalidStructuralTagError")
echo "as described"
