// Devices and contexts of the fake driver.
#pragma once

#include "engine.h"

EXPORT int cuInit(unsigned flags) {
  CALL("%u", flags);
  const char* rc = std::getenv("FAKECUDA_INIT");
  if (rc) return std::atoi(rc);
  initialized = true;
  return kOk;
}
EXPORT int cuDriverGetVersion(int* v) { CALL("%s", ""); *v = version(); return kOk; }

static const std::map<int, std::pair<const char*, const char*>> texts = {
    {0, {"CUDA_SUCCESS", "no error"}}, {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}}, {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}}, {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}}, {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}}, {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {910, {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {712, {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"}},
    {713, {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}},
    {716, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
    {720, {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"}},
    {803, {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"}},
    {708, {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"}}, {800, {"CUDA_ERROR_NOT_PERMITTED", "operation not permitted"}},
    {801, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}}, {702, {"CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"}},
    {401, {"CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"}},
    {900, {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"}},
    {901, {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"}},
    {902, {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"}},
    {903, {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"}},
    {904, {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"}},
    {905, {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"}},
    {906, {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"}},
    {907, {"CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"}},
    {908, {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"}},
};
EXPORT int cuGetErrorName(int code, const char** out) {
  auto t = texts.find(code);
  *out = t == texts.end() ? nullptr : t->second.first;
  return *out ? kOk : kInvalidValue;
}
EXPORT int cuGetErrorString(int code, const char** out) {
  auto t = texts.find(code);
  *out = t == texts.end() ? nullptr : t->second.second;
  return *out ? kOk : kInvalidValue;
}

EXPORT int cuDeviceGetCount(int* n) { CALL("%s", ""); *n = device_count(); return kOk; }
EXPORT int cuDeviceGet(int* d, int i) {
  CALL("%d", i);
  if (i < 0 || i >= device_count()) return kInvalidDevice;
  *d = i + 10;  // a handle is not the number
  return kOk;
}
EXPORT int cuDeviceGetName(char* out, int n, int d) { CALL("%d", d); DEVICE(d); std::snprintf(out, n, "Fake %d", d); return kOk; }
EXPORT int cuDeviceGetPCIBusId(char* out, int n, int d) { CALL("%d", d); DEVICE(d); std::snprintf(out, n, "0000:0%d:00.0", d + 1); return kOk; }
EXPORT int cuDeviceGetUuid(unsigned char* out, int d) {
  CALL("%d", d);
  DEVICE(d);
  for (int i = 0; i < 16; ++i) out[i] = static_cast<unsigned char>(16 * d + i);
  return kOk;
}
// With FAKECUDA_MIG=N, device N is an instance of a device that is split.
EXPORT int cuDeviceGetUuid_v2(unsigned char* out, int d) {
  CALL("%d", d);
  DEVICE(d);
  const char* mig = std::getenv("FAKECUDA_MIG");
  for (int i = 0; i < 16; ++i) out[i] = static_cast<unsigned char>(16 * d + i + (mig && std::atoi(mig) == d ? 0x80 : 0));
  return kOk;
}
EXPORT int cuDeviceTotalMem_v2(size_t* n, int d) { CALL("%d", d); DEVICE(d); *n = kTotal; return kOk; }
EXPORT int cuDeviceGetAttribute(int* v, int a, int d) {
  CALL("%d %d", a, d);
  DEVICE(d);
  static const std::map<int, std::pair<int, int>> values = {  // device 0, device 1
      {1, {1024, 512}}, {2, {1024, 1024}}, {3, {1024, 1024}}, {4, {64, 64}}, {5, {2147483647, 2147483647}}, {6, {65535, 65535}},
      {7, {65535, 65535}}, {8, {49152, 49152}}, {10, {32, 32}}, {11, {2147483647, 2147483647}}, {12, {65536, 65536}}, {13, {1980000, 1590000}}, {16, {kMultiprocessors[0], kMultiprocessors[1]}},
      {38, {52428800, 4194304}}, {39, {2048, 1024}}, {75, {9, 7}}, {76, {0, 5}}, {81, {233472, 65536}}, {83, {1, 1}}, {95, {1, 0}},
      {97, {232448, 65536}}, {106, {32, 16}}, {115, {1, 1}}, {120, {1, 0}},
  };
  auto f = values.find(a);
  if (f == values.end()) return kInvalidValue;
  *v = d ? f->second.second : f->second.first;
  return kOk;
}
EXPORT int cuDeviceCanAccessPeer(int* v, int a, int b) { CALL("%d %d", a, b); *v = a != b; return kOk; }
EXPORT int cuDevicePrimaryCtxRetain(void** c, int d) { CALL("%d", d); DEVICE(d); ++devices[d].retained; *c = &contexts[d]; return kOk; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int d) {
  CALL("%d", d);
  DEVICE(d);
  if (devices[d].retained == 0) return kInvalidContext;
  --devices[d].retained;
  return kOk;
}
EXPORT int cuCtxGetCurrent(void** c) { CALL("%s", ""); *c = current; return kOk; }
EXPORT int cuCtxSetCurrent(void* c) {
  CALL("%d", c == nullptr ? -1 : static_cast<int>(static_cast<char*>(c) - contexts));
  current = c;
  return kOk;
}
// Nobody may wait for a device of which a stream is captured.
EXPORT int cuCtxSynchronize() {
  CALL("%s", ""); CONTEXT();
  if (int rc = broad(dev)) return rc;
  force_all(dev);
  return devices[dev].sticky;
}
EXPORT int cuCtxEnablePeerAccess(void* c, unsigned flags) {
  CALL("%d %u", static_cast<int>(static_cast<char*>(c) - contexts), flags);
  CONTEXT();
  return devices[dev].peers.insert(static_cast<int>(static_cast<char*>(c) - contexts)).second ? kOk : kPeerAlready;
}

