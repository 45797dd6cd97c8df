// Memory and copies of the fake driver, by NVIDIA's text: see "API synchronization behavior" and the stream-ordered
// allocator of the CUDA driver API.
#pragma once

#include "engine.h"

// Memory. The function without version is the one of CUDA 3.1, which nobody may call.
EXPORT int cuMemAlloc(unsigned*, unsigned) { CALL("%s", "legacy"); return kUnknown; }
EXPORT int cuMemGetInfo_v2(size_t* free, size_t* total) { CALL("%s", ""); CONTEXT(); *total = kTotal; *free = kTotal - devices[dev].used; return kOk; }
EXPORT int cuMemAlloc_v2(uintptr_t* p, size_t n) { CALL("%zu", n); CONTEXT(); UNSAFE(); return allocate(p, n, Kind::device, dev); }
// Memory of cuMemAlloc waits for the device (NVIDIA: it "may", and all drivers do). Memory of stream-ordered allocations does
// not: the driver takes it that all uses are over.
EXPORT int cuMemFree_v2(uintptr_t p) {
  CALL("%zx", p); CONTEXT(); UNSAFE();
  auto b = blocks.find(p);
  if (b != blocks.end() && !b->second.pool && b->second.kind != Kind::host) {
    force_all(b->second.device);
    if (devices[dev].sticky) return devices[dev].sticky;
  }
  return release(p, false, "cuMemFree");
}
EXPORT int cuMemAllocManaged(uintptr_t* p, size_t n, unsigned flags) { CALL("%zu %u", n, flags); CONTEXT(); UNSAFE(); return allocate(p, n, Kind::managed, dev); }
EXPORT int cuMemHostAlloc(uintptr_t* p, size_t n, unsigned flags) {
  CALL("%zu %u", n, flags); CONTEXT(); UNSAFE();
  if (flags & ~7u) return kInvalidValue;
  if (int rc = allocate(p, n, Kind::host, dev)) return rc;
  host_flags[*p] = flags;
  return kOk;
}
// It waits for nothing: copies that use the memory must be done.
EXPORT int cuMemFreeHost(uintptr_t p) {
  CALL("%zx", p); CONTEXT(); UNSAFE();
  auto a = aliases.find(p);
  int rc = release(p, true, "cuMemFreeHost");
  if (!rc && a != aliases.end()) {
    bury(a->second, "cuMemFreeHost");
    aliases.erase(a);
  }
  return rc;
}

// Allocates now, for work that comes after this place of the stream.
int allocate_ordered(uintptr_t* p, size_t n, int dev, Pool* pool, Stream* st) {
  if (st->capture) return spoil(st->capture, kNotSupported);  // memory of graphs is not modelled
  if (int rc = allocate(p, n, Kind::device, dev, pool)) return rc;
  const uintptr_t address = *p;
  blocks[address].promised = true;
  Node node = work("an allocation", [=] {
    auto b = blocks.find(address);
    if (b == blocks.end()) return;
    b->second.promised = false;
    judge(b->second, address, n, "an allocation", true, false);
  });
  int rc = queue(st, node);
  if (rc) bury(address, "an allocation that failed");
  return rc;
}
EXPORT int cuMemAllocAsync(uintptr_t* p, size_t n, void* s) { CALL("%zu %llx", n, num(s)); CONTEXT(); STREAM(s); return allocate_ordered(p, n, dev, &default_pools[dev], st); }
EXPORT int cuMemFreeAsync(uintptr_t p, void* s) {
  CALL("%zx %llx", p, num(s)); CONTEXT(); STREAM(s);
  auto b = blocks.find(p);
  if (b == blocks.end() || b->second.kind != Kind::device || b->second.ending) return kInvalidValue;
  if (st->capture) return kInvalidValue;  // NVIDIA: it "must be passed the address of a graph allocation"
  Node node = work("a free", [=] {
    auto b = blocks.find(p);
    if (b == blocks.end()) return;
    if (b->second.promised) violation("memory at %zx is freed before its allocation in stream order", p);
    judge(b->second, p, b->second.size, "cuMemFreeAsync", true, false);
    bury(p, "cuMemFreeAsync");
  });
  int rc = queue(st, node);
  b = blocks.find(p);  // it may have run
  if (!rc && b != blocks.end()) b->second.ending = true;
  return rc;
}
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
EXPORT int cuMemAllocFromPoolAsync(uintptr_t* p, size_t n, void* h, void* s) { CALL("%zu %llx", n, num(s)); CONTEXT(); STREAM(s); POOL(h); return allocate_ordered(p, n, pool->device, pool, st); }

// Host memory that is not pinned is copied to a buffer of the driver before the call returns; the device gets it later.
int to_device(const char* who, uintptr_t d, uintptr_t h, size_t n, Stream* st) {
  std::string name = who;
  if (pinned(h, n)) return queue(st, work(name, [=] { copy(name, d, h, n, false, false); }));
  if (inside(h, 1)) return kInvalidValue;  // memory of a device, or a range that is too long
  if (st->capture) return queue(st, work(name, [=] { copy(name, d, h, n, true, false); }));
  auto staged = std::make_shared<std::vector<char>>(reinterpret_cast<char*>(h), reinterpret_cast<char*>(h) + n);
  return queue(st, work(name, [=] { copy(name, d, reinterpret_cast<uintptr_t>(staged->data()), n, true, false); }));
}
// A copy to host memory that is not pinned is done when the call returns.
int to_host(const char* who, uintptr_t h, uintptr_t d, size_t n, Stream* st) {
  std::string name = who;
  const bool paged = !pinned(h, n);
  if (paged && inside(h, 1)) return kInvalidValue;
  int rc = queue(st, work(name, [=] { copy(name, h, d, n, false, paged); }));
  return rc || !paged || st->capture ? rc : wait(st);
}
EXPORT int cuMemcpyHtoD_v2(uintptr_t d, uintptr_t h, size_t n) {
  CALL("%zx %zu", d, n); CONTEXT(); UNSAFE();
  if (!inside(d, n)) return kInvalidValue;
  Stream* st = &default_streams[dev];
  const bool paged = !pinned(h, n);
  if (paged)
    if (int rc = wait(st)) return rc;
  int rc = to_device(__func__, d, h, n, st);
  return rc || paged ? rc : wait(st);
}
EXPORT int cuMemcpyDtoH_v2(uintptr_t h, uintptr_t d, size_t n) {
  CALL("%zx %zu", d, n); CONTEXT(); UNSAFE();
  if (!inside(d, n)) return kInvalidValue;
  Stream* st = &default_streams[dev];
  int rc = to_host(__func__, h, d, n, st);
  return rc ? rc : wait(st);
}
EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t d, uintptr_t h, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", d, h, n, num(s)); CONTEXT(); STREAM(s);
  return inside(d, n) ? to_device(__func__, d, h, n, st) : kInvalidValue;
}
EXPORT int cuMemcpyDtoHAsync_v2(uintptr_t h, uintptr_t d, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", h, d, n, num(s)); CONTEXT(); STREAM(s);
  return inside(d, n) ? to_host(__func__, h, d, n, st) : kInvalidValue;
}
EXPORT int cuMemcpyDtoDAsync_v2(uintptr_t a, uintptr_t b, size_t n, void* s) {
  CALL("%zx %zx %zu %llx", a, b, n, num(s)); CONTEXT(); STREAM(s);
  if (!inside(a, n) || !inside(b, n)) return kInvalidValue;
  const std::string name = __func__;
  return queue(st, work(name, [=] { copy(name, a, b, n, false, false); }));
}
EXPORT int cuMemcpyPeerAsync(uintptr_t a, void* ca, uintptr_t b, void* cb, size_t n, void* s) {
  CALL("%zx %d %zx %d %zu %llx", a, static_cast<int>(static_cast<char*>(ca) - contexts), b, static_cast<int>(static_cast<char*>(cb) - contexts), n, num(s));
  CONTEXT(); STREAM(s);
  int da = -1, db = -1;
  if (!inside(a, n, &da) || !inside(b, n, &db) || ca != &contexts[da] || cb != &contexts[db]) return kInvalidValue;
  const std::string name = __func__;
  return queue(st, work(name, [=] { copy(name, a, b, n, false, false); }));
}
EXPORT int cuMemsetD8Async(uintptr_t p, unsigned char v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint8_t>(__func__, p, v, n, st); }
EXPORT int cuMemsetD16Async(uintptr_t p, unsigned short v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint16_t>(__func__, p, v, n, st); }
EXPORT int cuMemsetD32Async(uintptr_t p, unsigned v, size_t n, void* s) { CALL("%zx %x %zu %llx", p, v, n, num(s)); CONTEXT(); STREAM(s); return fill<uint32_t>(__func__, p, v, n, st); }

