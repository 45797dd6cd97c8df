// A driver that does nothing, for measurements: every function returns at once, without a lock, a check or a log. What
// a launch costs on it is the crossing and the work of the caller. It has one device without memory: device addresses
// that it gives out must not be read or written. Tests use fakecuda.cc.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void fakecuda_noop() {}  // by which programs know this driver

static char context, thing;
static thread_local void* current;

EXPORT int cuInit(unsigned) { return 0; }
EXPORT int cuDriverGetVersion(int* v) { *v = 12040; return 0; }
EXPORT int cuGetErrorName(int, const char** s) { *s = "CUDA_ERROR_UNKNOWN"; return 0; }
EXPORT int cuGetErrorString(int, const char** s) { *s = "the driver that does nothing failed"; return 0; }
EXPORT int cuDeviceGetCount(int* n) { *n = 1; return 0; }
EXPORT int cuDeviceGet(int* d, int) { *d = 0; return 0; }
EXPORT int cuDeviceGetName(char* s, int, int) { s[0] = '-', s[1] = 0; return 0; }
EXPORT int cuDeviceGetPCIBusId(char* s, int, int) { s[0] = '-', s[1] = 0; return 0; }
EXPORT int cuDeviceGetUuid(unsigned char* id, int) { for (int i = 0; i < 16; ++i) id[i] = 0; return 0; }
EXPORT int cuDeviceTotalMem_v2(size_t* n, int) { *n = size_t(1) << 30; return 0; }
EXPORT int cuDeviceGetAttribute(int* v, int a, int) {
  switch (a) {
    case 4: *v = 64; break;            // threads of a block in z
    case 6: case 7: *v = 65535; break; // blocks of a grid in y and z
    case 5: *v = 2147483647; break;    // and in x
    case 8: *v = 49152; break;         // shared memory of a block
    case 10: *v = 32; break;           // threads of a warp
    case 75: *v = 9; break;            // compute capability 9.0
    case 76: *v = 0; break;
    default: *v = 1024;
  }
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** c, int) { *c = &context; return 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EXPORT int cuCtxGetCurrent(void** c) { *c = current; return 0; }
EXPORT int cuCtxSetCurrent(void* c) { current = c; return 0; }
EXPORT int cuCtxSynchronize() { return 0; }
EXPORT int cuMemAlloc_v2(uintptr_t* p, size_t) { *p = 1 << 20; return 0; }
EXPORT int cuMemFree_v2(uintptr_t) { return 0; }
EXPORT int cuMemcpyHtoD_v2(uintptr_t, const void*, size_t) { return 0; }
EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t, const void*, size_t, void*) { return 0; }
EXPORT int cuMemHostAlloc(void** p, size_t n, unsigned) { *p = std::calloc(n, 1); return *p ? 0 : 2; }
EXPORT int cuMemFreeHost(void* p) { std::free(p); return 0; }
EXPORT int cuEventCreate(void** e, unsigned) { *e = &thing; return 0; }
EXPORT int cuEventRecord(void*, void*) { return 0; }
EXPORT int cuEventQuery(void*) { return 0; }
EXPORT int cuEventSynchronize(void*) { return 0; }
EXPORT int cuEventDestroy_v2(void*) { return 0; }
EXPORT int cuMemcpyDtoHAsync_v2(void*, uintptr_t, size_t, void*) { return 0; }
EXPORT int cuStreamCreateWithPriority(void** s, unsigned, int) { *s = &thing; return 0; }
EXPORT int cuStreamDestroy_v2(void*) { return 0; }
EXPORT int cuStreamSynchronize(void*) { return 0; }
EXPORT int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
EXPORT int cuStreamIsCapturing(void*, int* status) { *status = 0; return 0; }
EXPORT int cuStreamGetCaptureInfo(void*, int* status, unsigned long long*) { *status = 0; return 0; }
EXPORT int cuStreamBeginCapture_v2(void*, int) { return 0; }
EXPORT int cuStreamEndCapture(void*, void** g) { *g = &thing; return 0; }
EXPORT int cuGraphInstantiateWithFlags(void** g, void*, unsigned long long) { *g = &thing; return 0; }
EXPORT int cuGraphLaunch(void*, void*) { return 0; }
EXPORT int cuGraphExecDestroy(void*) { return 0; }
EXPORT int cuGraphDestroy(void*) { return 0; }
EXPORT int cuModuleLoadDataEx(void** m, const void*, unsigned, int*, void**) { *m = &thing; return 0; }
EXPORT int cuModuleUnload(void*) { return 0; }
EXPORT int cuModuleGetFunction(void** f, void*, const char*) { *f = &thing; return 0; }
EXPORT int cuFuncGetAttribute(int* v, int a, void*) { *v = a == 0 ? 1024 : 0; return 0; }
EXPORT int cuFuncSetAttribute(void*, int, int) { return 0; }
EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) { return 0; }
