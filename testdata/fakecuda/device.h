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

// The codes that package cuda knows by name need no text here.
static const std::map<int, std::pair<const char*, const char*>> texts = {
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}}, {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}}, {716, {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"}},
    {712, {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"}},
    {713, {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"}},
    {720, {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"}}, {800, {"CUDA_ERROR_NOT_PERMITTED", "operation not permitted"}},
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

