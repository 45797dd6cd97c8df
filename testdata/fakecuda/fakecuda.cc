// A driver without a GPU, for tests: it has the functions of libcuda.so.1 that package cuda calls, with two devices
// whose memory is memory of the host. Work runs at once. Each call is logged with its OS thread and arguments; any
// call can be made to fail. It checks what the real driver checks about contexts, handles and sizes.
//
// PTX and cubins are read as far as names, parameters and sizes of kernels go. The kernels add_one and saxpy do what they are
// called, crash makes the error of the device sticky, the others do nothing.
//
// FAKECUDA_INIT is the result of cuInit, FAKECUDA_DEVICES the number of devices, FAKECUDA_LOG a file that gets the log
// too, and FAKECUDA_SLEEP, such as cuStreamSynchronize=100, a function and the milliseconds that it sleeps. With -DFAKE_OLD it is the driver of
// CUDA 11.2: no cuGetProcAddress, no function that came later.
#include "state.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

// ---- what the tests call

// Copies the log, one call a line, and returns its length without the final NUL.
EXPORT size_t fakecuda_log(char* out, size_t n) {
  LOCK;
  std::string all;
  for (auto& l : log_lines) all += l + "\n";
  if (out && all.size() < n) std::memcpy(out, all.c_str(), all.size() + 1);
  return all.size();
}
// Empties the log, lets all functions work, and resets devices with a sticky error, whose memory is lost.
EXPORT void fakecuda_clear() {
  LOCK;
  log_lines.clear();
  failures.clear();
  for (int i = 0; i < 2; ++i) {
    std::vector<uintptr_t> lost;
    for (auto& b : blocks) {
      bool variable = false;
      for (auto m : modules)
        for (auto& g : m->globals) variable |= reinterpret_cast<uintptr_t>(g.second.data()) == b.first;
      if (devices[i].sticky && b.second.device == i && !variable) lost.push_back(b.first);
    }
    for (auto p : lost) release(p, blocks[p].host);
    devices[i].sticky = 0;
  }
}
// Makes a function fail: skip calls pass, then times calls (-1: all) return code.
EXPORT void fakecuda_fail(const char* name, int code, int skip, int times) { LOCK; failures[name] = {code, skip, times}; }
// How many things are not freed: 0 memory, 1 bytes of the devices, 2 streams, 3 events, 4 modules, 5 graphs, 6 retained contexts, 7 pools.
EXPORT size_t fakecuda_live(int what) {
  LOCK;
  size_t variables = 0;
  for (auto m : modules) variables += m->globals.size();
  switch (what) {
    case 0: return blocks.size() - variables;
    case 1: return devices[0].used + devices[1].used;
    case 2: return streams.size();
    case 3: return events.size();
    case 4: return modules.size();
    case 5: return graph_set.size() + executables.size();
    case 7: return pools.size();
    default: return devices[0].retained + devices[1].retained;
  }
}

// ---- the driver

EXPORT int cuInit(unsigned flags) {
  CALL("%u", flags);
  const char* rc = std::getenv("FAKECUDA_INIT");
  if (rc) return std::atoi(rc);
  initialized = true;
  return kOk;
}
EXPORT int cuDriverGetVersion(int* v) { CALL("%s", ""); *v = kVersion; return kOk; }

static const std::map<int, std::pair<const char*, const char*>> texts = {
    {0, {"CUDA_SUCCESS", "no error"}}, {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}}, {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}}, {201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
    {209, {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}}, {400, {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}}, {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {910, {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
    {803, {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"}},
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
#define DEVICE(d)                                 \
  d -= 10;                                        \
  if (d < 0 || d >= device_count()) return kInvalidDevice
EXPORT int cuDeviceGetName(char* out, int n, int d) { CALL("%d", d); DEVICE(d); std::snprintf(out, n, "Fake %d", d); return kOk; }
EXPORT int cuDeviceGetPCIBusId(char* out, int n, int d) { CALL("%d", d); DEVICE(d); std::snprintf(out, n, "0000:0%d:00.0", d + 1); return kOk; }
EXPORT int cuDeviceGetUuid(unsigned char* out, int d) {
  CALL("%d", d);
  DEVICE(d);
  for (int i = 0; i < 16; ++i) out[i] = static_cast<unsigned char>(16 * d + i);
  return kOk;
}
EXPORT int cuDeviceTotalMem_v2(size_t* n, int d) { CALL("%d", d); DEVICE(d); *n = kTotal; return kOk; }
EXPORT int cuDeviceGetAttribute(int* v, int a, int d) {
  CALL("%d %d", a, d);
  DEVICE(d);
  static const std::map<int, std::pair<int, int>> values = {  // device 0, device 1
      {1, {1024, 512}}, {2, {1024, 1024}}, {3, {1024, 1024}}, {4, {64, 64}}, {5, {2147483647, 2147483647}}, {6, {65535, 65535}},
      {7, {65535, 65535}}, {8, {49152, 49152}}, {10, {32, 32}}, {12, {65536, 65536}}, {13, {1980000, 1590000}}, {16, {132, 40}},
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
EXPORT int cuCtxSynchronize() { CALL("%s", ""); CONTEXT(); return kOk; }
EXPORT int cuCtxEnablePeerAccess(void* c, unsigned flags) {
  CALL("%d %u", static_cast<int>(static_cast<char*>(c) - contexts), flags);
  CONTEXT();
  return devices[dev].peers.insert(static_cast<int>(static_cast<char*>(c) - contexts)).second ? kOk : kPeerAlready;
}

// Memory. The function without version is the one of CUDA 3.1, which nobody may call.
EXPORT int cuMemAlloc(unsigned*, unsigned) { CALL("%s", "legacy"); return kUnknown; }
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) { CALL("%s", ""); CONTEXT(); *total = kTotal; *free = kTotal - devices[dev].used; return kOk; }
EXPORT int cuMemAlloc_v2(uintptr_t* p, size_t n) { CALL("%zu", n); CONTEXT(); return allocate(p, n, false, dev); }
EXPORT int cuMemFree_v2(uintptr_t p) { CALL("%zx", p); CONTEXT(); return release(p, false); }
EXPORT int cuMemAllocManaged(uintptr_t* p, size_t n, unsigned flags) { CALL("%zu %u", n, flags); CONTEXT(); return allocate(p, n, false, dev); }
EXPORT int cuMemHostAlloc(uintptr_t* p, size_t n, unsigned flags) { CALL("%zu %u", n, flags); CONTEXT(); return allocate(p, n, true, dev); }
EXPORT int cuMemFreeHost(uintptr_t p) { CALL("%zx", p); CONTEXT(); return release(p, true); }
EXPORT int cuMemAllocAsync(uintptr_t* p, size_t n, void* s) { CALL("%zu %llx", n, num(s)); CONTEXT(); STREAM(s); return allocate(p, n, false, dev, &default_pools[dev]); }
EXPORT int cuMemFreeAsync(uintptr_t p, void* s) { CALL("%zx %llx", p, num(s)); CONTEXT(); STREAM(s); return release(p, false); }
EXPORT int cuDeviceGetDefaultMemPool(void** p, int d) { CALL("%d", d); DEVICE(d); *p = &default_pools[d]; return kOk; }
#define POOL(h)                                                                              \
  auto pool = static_cast<Pool*>(h);                                                         \
  if (!pools.count(pool) && pool != &default_pools[0] && pool != &default_pools[1]) return kInvalidValue
struct PoolProps { int allocation, handles, where, id; void* security; size_t most; unsigned char rest[56]; };
EXPORT int cuMemPoolCreate(void** out, const PoolProps* p) {
  CALL("%d %d %zu", p->where, p->id, p->most);
  for (auto c : p->rest) if (c) return kInvalidValue;
  if (p->allocation != 1 || p->handles || p->where != 1 || p->id < 0 || p->id >= device_count() || p->security) return kInvalidValue;
  auto pool = new Pool{p->id, {0, 1, 1, 1}, {}};
  pools.insert(pool);
  *out = pool;
  return kOk;
}
EXPORT int cuMemPoolDestroy(void* h) { CALL("%s", ""); if (!pools.erase(static_cast<Pool*>(h))) return kInvalidValue; delete static_cast<Pool*>(h); return kOk; }
EXPORT int cuMemPoolTrimTo(void* h, size_t n) { CALL("%zu", n); POOL(h); if (pool->attributes[5] > n) pool->attributes[5] = std::max<size_t>(n, pool->attributes[7]); return kOk; }
EXPORT int cuMemPoolSetAttribute(void* h, int a, void* v) {
  uint64_t value = 0;
  std::memcpy(&value, v, a >= 4 ? 8 : 4);
  CALL("%d %llu", a, static_cast<unsigned long long>(value)); POOL(h);
  if (a < 1 || a > 8 || a == 5 || a == 7 || ((a == 6 || a == 8) && value)) return kInvalidValue;
  pool->attributes[a] = value;
  return kOk;
}
EXPORT int cuMemPoolGetAttribute(void* h, int a, void* v) {
  CALL("%d", a); POOL(h);
  if (a < 1 || a > 8) return kInvalidValue;
  std::memcpy(v, &pool->attributes[a], a >= 4 ? 8 : 4);
  return kOk;
}
struct Access { int where, id, flags; };
EXPORT int cuMemPoolSetAccess(void* h, const Access* a, size_t n) {
  CALL("%d %d %d %zu", a->where, a->id, a->flags, n); POOL(h);
  if (n != 1 || a->where != 1 || a->flags != 3 || a->id < 0 || a->id >= device_count() || a->id == pool->device) return kInvalidValue;
  pool->access.insert(a->id);
  return kOk;
}
EXPORT int cuMemAllocFromPoolAsync(uintptr_t* p, size_t n, void* h, void* s) { CALL("%zu %llx", n, num(s)); CONTEXT(); STREAM(s); POOL(h); return allocate(p, n, false, pool->device, pool); }

// Host memory of a synchronous copy may be any; that of an asynchronous one must be pinned.
EXPORT int cuMemcpyHtoD_v2(uintptr_t d, uintptr_t h, size_t n) { CALL("%zx %zu", d, n); CONTEXT(); if (!inside(d, n)) return kInvalidValue; copy(d, h, n); return kOk; }
EXPORT int cuMemcpyDtoH_v2(uintptr_t h, uintptr_t d, size_t n) { CALL("%zx %zu", d, n); CONTEXT(); if (!inside(d, n)) return kInvalidValue; copy(h, d, n); return kOk; }
EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t d, uintptr_t h, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", d, h, n, num(s)); CONTEXT(); STREAM(s);
  int of = 0;
  if (!inside(d, n) || !inside(h, n, &of) || of != -1) return kInvalidValue;
  return queue(st, [=] { copy(d, h, n); });
}
EXPORT int cuMemcpyDtoHAsync_v2(uintptr_t h, uintptr_t d, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", h, d, n, num(s)); CONTEXT(); STREAM(s);
  int of = 0;
  if (!inside(d, n) || !inside(h, n, &of) || of != -1) return kInvalidValue;
  return queue(st, [=] { copy(h, d, n); });
}
EXPORT int cuMemcpyDtoDAsync_v2(uintptr_t a, uintptr_t b, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", a, b, n, num(s)); CONTEXT(); STREAM(s);
  if (!inside(a, n) || !inside(b, n)) return kInvalidValue;
  return queue(st, [=] { copy(a, b, n); });
}
EXPORT int cuMemcpyPeerAsync(uintptr_t a, void* ca, uintptr_t b, void* cb, size_t n, void* s) {
  CALL("%zx %d %zx %d %zu %llx", a, static_cast<int>(static_cast<char*>(ca) - contexts), b, static_cast<int>(static_cast<char*>(cb) - contexts), n, num(s));
  CONTEXT(); STREAM(s);
  int da = -1, db = -1;
  if (!inside(a, n, &da) || !inside(b, n, &db) || ca != &contexts[da] || cb != &contexts[db]) return kInvalidValue;
  return queue(st, [=] { copy(a, b, n); });
}
EXPORT int cuMemsetD8Async(uintptr_t p, unsigned char v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint8_t>(p, v, n, st); }
EXPORT int cuMemsetD16Async(uintptr_t p, unsigned short v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint16_t>(p, v, n, st); }
EXPORT int cuMemsetD32Async(uintptr_t p, unsigned v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint32_t>(p, v, n, st); }

EXPORT int cuStreamCreateWithPriority(void** s, unsigned flags, int priority) {
  CALL("%u %d", flags, priority); CONTEXT();
  auto st = new Stream{dev, flags, priority, false, {}};
  streams.insert(st);
  *s = st;
  return kOk;
}
// A stream may be destroyed, waited for and asked from any context.
EXPORT int cuStreamDestroy_v2(void* s) { CALL("%llx", num(s)); if (!streams.erase(static_cast<Stream*>(s))) return kInvalidHandle; delete static_cast<Stream*>(s); return kOk; }
EXPORT int cuStreamSynchronize(void* s) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); return st && st->capturing ? kCaptureUnsupported : kOk; }
EXPORT int cuStreamQuery(void* s) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); return kOk; }
EXPORT int cuStreamWaitEvent(void* s, void* e, unsigned flags) { CALL("%llx %llx %u", num(s), num(e), flags); CONTEXT(); STREAM(s); return events.count(static_cast<Event*>(e)) ? kOk : kInvalidHandle; }
EXPORT int cuStreamBeginCapture_v2(void* s, int mode) {
  CALL("%llx %d", num(s), mode); CONTEXT(); STREAM(s);
  if (!st || st->capturing) return kCaptureUnsupported;
  st->capturing = true;
  return kOk;
}
EXPORT int cuStreamEndCapture(void* s, void** out) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  if (!st || !st->capturing) return kInvalidValue;
  st->capturing = false;
  auto g = new Graph{std::move(st->work)};
  st->work.clear();
  graph_set.insert(g);
  *out = g;
  return kOk;
}

EXPORT int cuStreamIsCapturing(void* s, int* status) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); *status = st && st->capturing; return kOk; }
EXPORT int cuLaunchHostFunc(void* s, void (*f)(void*), void* data) {
  {
    CALL("%llx", num(s)); CONTEXT(); STREAM(s);
    if (st && st->capturing) return kCaptureUnsupported;
  }
  std::thread(f, data).join();  // functions of the host run on a thread of the driver
  return kOk;
}

EXPORT int cuEventCreate(void** e, unsigned flags) { CALL("%u", flags); CONTEXT(); auto ev = new Event{dev, flags}; events.insert(ev); *e = ev; return kOk; }
EXPORT int cuEventDestroy_v2(void* e) { CALL("%llx", num(e)); if (!events.erase(static_cast<Event*>(e))) return kInvalidHandle; delete static_cast<Event*>(e); return kOk; }
EXPORT int cuEventRecord(void* e, void* s) {
  CALL("%llx %llx", num(e), num(s)); CONTEXT(); STREAM(s);
  auto ev = static_cast<Event*>(e);
  if (!events.count(ev) || ev->device != dev) return kInvalidHandle;
  return queue(st, [ev] { ev->recorded = true; ev->at = clock_ms += 1.5f; });
}
EXPORT int cuEventSynchronize(void* e) { CALL("%llx", num(e)); return events.count(static_cast<Event*>(e)) ? kOk : kInvalidHandle; }
EXPORT int cuEventQuery(void* e) { CALL("%llx", num(e)); return events.count(static_cast<Event*>(e)) ? kOk : kInvalidHandle; }
EXPORT int cuEventElapsedTime(float* ms, void* a, void* b) {
  CALL("%llx %llx", num(a), num(b));
  auto x = static_cast<Event*>(a), y = static_cast<Event*>(b);
  if (!events.count(x) || !events.count(y) || x->flags & 2 || y->flags & 2 || !x->recorded || !y->recorded) return kInvalidHandle;
  *ms = y->at - x->at;
  return kOk;
}

EXPORT int cuModuleLoadDataEx(void** out, const void* image, unsigned n, const int* options, void** values) {
  std::string given;
  char* failure = nullptr;
  size_t room = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (options[i] == 5) failure = static_cast<char*>(values[i]);
    else if (options[i] == 6) room = num(values[i]);
    else if (options[i] != 3 && options[i] != 4) given += (given.empty() ? "" : " ") + std::to_string(options[i]) + "=" + std::to_string(num(values[i]));
  }
  CALL("%s", given.c_str()); CONTEXT();
  auto text = static_cast<const char*>(image);
  auto m = std::make_unique<Module>();
  m->device = dev;
  if (std::memcmp(text, "\x7f" "ELF", 4) == 0) {
    if (int rc = parse_cubin(m.get(), text)) return rc;
  } else if (std::memcmp(text, "\x50\xed\x55\xba", 4) != 0) {
    std::string ptx = text;
    size_t bad = ptx.find("syntax_error");
    if (bad != std::string::npos) {
      if (failure) std::snprintf(failure, room, "ptxas application ptx input, line 3; fatal   : Parsing error near 'syntax_error'");
      return kInvalidPTX;
    }
    parse(m.get(), ptx);
  }
  modules.insert(m.get());
  *out = m.release();
  return kOk;
}
EXPORT int cuModuleUnload(void* h) {
  CALL("%llx", num(h)); CONTEXT();
  auto m = static_cast<Module*>(h);
  if (!modules.count(m) || m->device != dev) return kInvalidHandle;
  for (auto& f : m->functions) functions.erase(f.second.get());
  for (auto& g : m->globals) blocks.erase(reinterpret_cast<uintptr_t>(g.second.data()));
  modules.erase(m);
  delete m;
  return kOk;
}
EXPORT int cuModuleGetFunction(void** out, void* h, const char* name) {
  CALL("%llx %s", num(h), name);
  auto m = static_cast<Module*>(h);
  if (!modules.count(m)) return kInvalidHandle;
  auto f = m->functions.find(name);
  if (f == m->functions.end()) return kNotFound;
  *out = f->second.get();
  return kOk;
}
EXPORT int cuModuleGetGlobal_v2(uintptr_t* p, size_t* n, void* h, const char* name) {
  CALL("%llx %s", num(h), name);
  auto m = static_cast<Module*>(h);
  if (!modules.count(m)) return kInvalidHandle;
  auto g = m->globals.find(name);
  if (g == m->globals.end()) return kNotFound;
  *p = reinterpret_cast<uintptr_t>(g->second.data());
  *n = g->second.size();
  return kOk;
}
#define FUNCTION(h)                                        \
  auto f = static_cast<Function*>(h);                      \
  if (!functions.count(f)) return kInvalidHandle
EXPORT int cuFuncGetAttribute(int* v, int a, void* h) {
  CALL("%d", a); FUNCTION(h);
  switch (a) {
    case 0: *v = f->threads; return kOk;
    case 1: *v = f->shared; return kOk;
    case 2: *v = 128; return kOk;
    case 3: *v = 0; return kOk;
    case 4: *v = 16; return kOk;
    case 8: *v = f->dynamic; return kOk;
    default: return kInvalidValue;
  }
}
EXPORT int cuFuncSetAttribute(void* h, int a, int v) {
  CALL("%d %d", a, v); FUNCTION(h);
  if (a == 8) f->dynamic = v;
  return a == 8 || a == 14 ? kOk : kInvalidValue;
}
EXPORT int cuLaunchKernel(void* h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* s, void** params, void** extra) {
  LOCK;
  std::string text;
  std::vector<std::vector<char>> args;
  if (functions.count(static_cast<Function*>(h))) args = arguments(static_cast<Function*>(h), params, &text);
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%llx args=%s extra=%llx", gx, gy, gz, bx, by, bz, shared, num(s), text.c_str(), num(extra))) return rc;
  CONTEXT(); STREAM(s); FUNCTION(h);
  return f->device == dev ? start(f, {gx, gy, gz}, {bx, by, bz}, shared, st, args) : kInvalidHandle;
}
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* h, int threads, size_t shared) {
  CALL("%d %zu", threads, shared); CONTEXT(); FUNCTION(h);
  *n = 2048 / threads;
  return kOk;
}
EXPORT int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* h, void*, size_t shared, int limit) {
  CALL("%zu %d", shared, limit); CONTEXT(); FUNCTION(h);
  *block = limit ? limit : f->threads;
  *grid = 132 * 2048 / *block;
  return kOk;
}
EXPORT int cuGraphLaunch(void* g, void* s) {
  CALL("%llx %llx", num(g), num(s)); CONTEXT(); STREAM(s);
  auto x = static_cast<GraphExec*>(g);
  if (!executables.count(x) || x->device != dev) return kInvalidHandle;
  for (auto& node : x->work) node->work();
  return kOk;
}
EXPORT int cuGraphExecDestroy(void* g) { CALL("%llx", num(g)); if (!executables.erase(static_cast<GraphExec*>(g))) return kInvalidHandle; delete static_cast<GraphExec*>(g); return kOk; }
EXPORT int cuGraphGetNodes(void* g, void** nodes, size_t* n) {
  CALL("%llx", num(g));
  auto x = static_cast<Graph*>(g);
  if (!graph_set.count(x)) return kInvalidHandle;
  for (size_t i = 0; nodes && i < *n && i < x->work.size(); ++i) nodes[i] = x->work[i].get();
  *n = x->work.size();
  return kOk;
}
EXPORT int cuGraphNodeGetType(void* node, int* type) { CALL("%llx", num(node)); *type = static_cast<Node*>(node)->type; return kOk; }
struct KernelNode { Function* f; Dim grid, block; unsigned shared; void** params; void** extra; };
EXPORT int cuGraphKernelNodeGetParams(void* h, KernelNode* p) {
  CALL("%llx", num(h));
  auto node = static_cast<Node*>(h);
  if (node->type != 0) return kInvalidValue;
  *p = {node->f, node->grid, node->block, node->shared, nullptr, nullptr};
  return kOk;
}
EXPORT int cuGraphExecKernelNodeSetParams(void* g, void* h, const KernelNode* p) {
  LOCK;
  std::string text;
  auto args = arguments(p->f, p->params, &text);
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u args=%s extra=%llx", p->grid.x, p->grid.y, p->grid.z, p->block.x, p->block.y, p->block.z,
                     p->shared, text.c_str(), num(p->extra))) return rc;
  auto x = static_cast<GraphExec*>(g);
  if (!executables.count(x) || !graph_set.count(x->of)) return kInvalidHandle;
  for (size_t i = 0; i < x->names.size(); ++i) {
    if (x->names[i].get() != h) continue;
    auto node = std::make_shared<Node>();
    if (x->work[i]->f != p->f) return kInvalidValue;
    if (int rc = launch(p->f, p->grid, p->block, p->shared, args, node.get())) return rc;
    x->work[i] = node;
    return kOk;
  }
  return kInvalidValue;
}
EXPORT int cuGraphExecUpdate(void* e, void* g, void** node, int* result) {
  CALL("%llx %llx", num(e), num(g));
  auto x = static_cast<GraphExec*>(e);
  auto y = static_cast<Graph*>(g);
  if (!executables.count(x) || !graph_set.count(y)) return kInvalidHandle;
  *node = nullptr;
  *result = x->work.size() == y->work.size() ? 0 : 2;
  for (size_t i = 0; *result == 0 && i < y->work.size(); ++i)
    *result = x->work[i]->type != y->work[i]->type ? 3 : 0;
  if (*result) return kGraphUpdate;
  x->work = y->work;
  return kOk;
}
EXPORT int cuGraphDestroy(void* g) { CALL("%llx", num(g)); if (!graph_set.erase(static_cast<Graph*>(g))) return kInvalidHandle; delete static_cast<Graph*>(g); return kOk; }

#ifndef FAKE_OLD
EXPORT int cuFuncGetParamInfo(void* h, size_t i, size_t* offset, size_t* size) {
  CALL("%zu", i); FUNCTION(h);
  if (i >= f->sizes.size()) return kInvalidValue;
  *offset = 8 * i;
  *size = f->sizes[i];
  return kOk;
}
struct LaunchAttribute { int id; int pad; union { unsigned words[16]; } value; };
struct LaunchConfig { unsigned gx, gy, gz, bx, by, bz, shared; void* stream; LaunchAttribute* attrs; unsigned n; };
EXPORT int cuOccupancyMaxActiveClusters(int* n, void* h, const LaunchConfig* c) {
  unsigned blocks = 1;
  std::string attrs;
  for (unsigned i = 0; i < c->n; ++i) {
    auto& a = c->attrs[i];
    attrs += " " + std::to_string(a.id);
    if (a.id == 4) blocks = a.value.words[0] * a.value.words[1] * a.value.words[2];
  }
  CALL("grid=%u,%u,%u block=%u,%u,%u shared=%u attributes%s", c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, attrs.c_str()); CONTEXT(); FUNCTION(h);
  *n = blocks > 8 ? 0 : 132 / blocks;
  return kOk;
}
EXPORT int cuLaunchKernelEx(const LaunchConfig* c, void* h, void** params, void** extra) {
  LOCK;
  std::string text, attrs;
  std::vector<std::vector<char>> args;
  if (functions.count(static_cast<Function*>(h))) args = arguments(static_cast<Function*>(h), params, &text);
  for (unsigned i = 0; i < c->n; ++i) {
    attrs += (i ? ";" : "") + std::to_string(c->attrs[i].id) + "=" + std::to_string(c->attrs[i].value.words[0]);
    if (c->attrs[i].id == 4) attrs += "x" + std::to_string(c->attrs[i].value.words[1]) + "x" + std::to_string(c->attrs[i].value.words[2]);
  }
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%llx attributes=%s args=%s extra=%llx", c->gx, c->gy, c->gz, c->bx, c->by, c->bz,
                     c->shared, num(c->stream), attrs.c_str(), text.c_str(), num(extra))) return rc;
  CONTEXT(); STREAM(c->stream); FUNCTION(h);
  return f->device == dev ? start(f, {c->gx, c->gy, c->gz}, {c->bx, c->by, c->bz}, c->shared, st, args) : kInvalidHandle;
}
EXPORT int cuGraphInstantiateWithFlags(void** out, void* g, unsigned long long flags) {
  CALL("%llx %llu", num(g), flags); CONTEXT();
  auto x = static_cast<Graph*>(g);
  if (!graph_set.count(x)) return kInvalidHandle;
  auto e = new GraphExec{dev, x, x->work, x->work};
  executables.insert(e);
  *out = e;
  return kOk;
}

#include <dlfcn.h>
// Gives the newest function of a name whose signature the asked version has.
EXPORT int cuGetProcAddress_v2(const char* name, void** out, int version, uint64_t flags, void* status) {
  LOCK;
  enter(__func__, "%s %d %llu %llx", name, version, static_cast<unsigned long long>(flags), num(status));
  static const std::map<std::string, int> second = {
      {"cuDeviceTotalMem", 3020}, {"cuDevicePrimaryCtxRelease", 11000}, {"cuMemGetInfo", 3020}, {"cuMemAlloc", 3020}, {"cuMemFree", 3020},
      {"cuMemcpyHtoD", 3020}, {"cuMemcpyDtoH", 3020}, {"cuMemcpyHtoDAsync", 3020}, {"cuMemcpyDtoHAsync", 3020}, {"cuMemcpyDtoDAsync", 3020},
      {"cuStreamDestroy", 4000}, {"cuStreamBeginCapture", 10010}, {"cuEventDestroy", 4000}, {"cuModuleGetGlobal", 3020},
  };
  auto v = second.find(name);
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* lib = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *out = dlsym(lib, v != second.end() && version >= v->second ? (std::string(name) + "_v2").c_str() : name);
  return *out ? kOk : kNotFound;
}
#endif
