// Memory, pools and events of other processes. All device memory of a process is one file, so a handle says which
// process, which descriptor and where; another process opens it as /proc/PID/fd/N.
#pragma once

#include <fcntl.h>

#include "memory.h"

struct Shared {  // what the 64 bytes of a handle hold
  uint64_t magic;
  int pid, file, device, kind;  // kind: 1 memory, 2 event, 3 memory of a pool
  uint64_t offset, size, pool;
  char rest[64 - 48];
};
static_assert(sizeof(Shared) == 64, "the structures of cuda.h");
const uint64_t kMagic = 0x656c646e61686563;

Shared share(int kind, int dev, uintptr_t p, size_t n) {
  Shared h{};
  h.magic = kMagic;
  h.pid = getpid();
  h.file = arena.file;
  h.device = dev;
  h.kind = kind;
  h.offset = p - arena.base;
  h.size = n;
  return h;
}

// Maps a part of the memory of another process, which begins at a page; 0 if it is gone.
uintptr_t map_shared(const Shared& h) {
  int file = open(("/proc/" + std::to_string(h.pid) + "/fd/" + std::to_string(h.file)).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return 0;
  const size_t page = 4096, skip = h.offset % page;
  void* p = mmap(nullptr, h.size + skip, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(h.offset - skip));
  close(file);
  return p == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(p) + skip;
}

uintptr_t open_block(const Shared& h, Pool* pool) {
  uintptr_t p = map_shared(h);
  if (!p) return 0;
  Block b{h.size, h.device, Kind::device};
  b.pool = pool;
  b.foreign = true;
  b.written.add(p, p + h.size);  // by the other process, unseen
  graves.erase(p);
  blocks[p] = b;
  return p;
}

// Memory that was opened twice is one mapping.
struct Opened { uintptr_t p; int times; };
std::map<std::pair<int, uint64_t>, Opened> opened;

EXPORT int cuIpcGetMemHandle(Shared* out, uintptr_t p) {
  CALL("%zx", p); CONTEXT();
  auto b = blocks.find(p);
  if (b == blocks.end() || b->second.kind != Kind::device || b->second.pool || b->second.mapped || b->second.foreign) return kInvalidValue;
  *out = share(1, b->second.device, p, b->second.size);
  return kOk;
}
EXPORT int cuIpcOpenMemHandle_v2(uintptr_t* out, Shared h, unsigned flags) {
  CALL("%d %llu %u", h.pid == getpid(), static_cast<unsigned long long>(h.size), flags); CONTEXT(); UNSAFE();
  if (flags != 1 || h.magic != kMagic || h.kind != 1) return kInvalidValue;
  if (h.pid == getpid()) return kInvalidContext;
  if (h.device != dev) return kInvalidDevice;
  auto& o = opened[{h.pid, h.offset}];
  if (o.times == 0) o.p = open_block(h, nullptr);
  if (!o.p) return kInvalidHandle;
  ++o.times;
  *out = o.p;
  return kOk;
}
EXPORT int cuIpcCloseMemHandle(uintptr_t p) {
  CALL("%zx", p); CONTEXT(); UNSAFE();
  for (auto o = opened.begin(); o != opened.end(); ++o) {
    if (o->second.p != p || o->second.times == 0) continue;
    if (--o->second.times == 0) {
      bury(p, "cuIpcCloseMemHandle");
      opened.erase(o);
    }
    return kOk;
  }
  return kInvalidValue;
}

// An event of several processes has two numbers in their memory: how often it was recorded, and how often that
// was done.
EXPORT int cuIpcGetEventHandle(Shared* out, void* e) {
  CALL("%llx", num(e));
  auto ev = static_cast<Event*>(e);
  if (!events.count(ev)) return kInvalidHandle;
  if (!ev->counts || ev->opened) return kInvalidValue;
  *out = share(2, ev->device, reinterpret_cast<uintptr_t>(ev->counts), 16);
  return kOk;
}
EXPORT int cuIpcOpenEventHandle(void** out, Shared h) {
  CALL("%d", h.pid == getpid()); CONTEXT();
  if (h.magic != kMagic || h.kind != 2) return kInvalidValue;
  if (h.pid == getpid()) return kInvalidContext;
  if (h.device != dev) return kInvalidDevice;
  uintptr_t p = map_shared(h);
  if (!p) return kInvalidHandle;
  auto ev = new Event{dev, 6};
  ev->counts = reinterpret_cast<uint64_t*>(p);
  ev->opened = true;
  events.insert(ev);
  *out = ev;
  return kOk;
}

// ---- pools: their file holds a Shared

EXPORT int cuMemPoolExportToShareableHandle(int* out, void* h, int type, unsigned long long flags) {
  CALL("%d %llu", type, flags); POOL(h);
  if (type != 1 || flags || !(pool->handles & 1) || pool->imported) return kInvalidValue;
  if (!open_arena()) return kOutOfMemory;
  Shared s = share(3, pool->device, arena.base, 0);
  s.pool = num(pool);
  int file = memfd_create("fakecuda pool", 0);
  if (file < 0 || pwrite(file, &s, sizeof s, 0) != sizeof s) return kUnknown;
  *out = file;
  return kOk;
}
EXPORT int cuMemPoolImportFromShareableHandle(void** out, void* handle, int type, unsigned long long flags) {
  CALL("%d %llu", type, flags);
  Shared s{};
  if (type != 1 || flags) return kInvalidValue;
  if (pread(static_cast<int>(num(handle)), &s, sizeof s, 0) != sizeof s || s.magic != kMagic || s.kind != 3) return kInvalidValue;
  auto pool = new Pool{s.device, {0, 1, 1, 1}, {}};
  pool->imported = s.pool;
  pool->pid = s.pid;
  pools.insert(pool);
  *out = pool;
  return kOk;
}
EXPORT int cuMemPoolExportPointer(Shared* out, uintptr_t p) {
  CALL("%zx", p); CONTEXT();
  auto b = blocks.find(p);
  if (b == blocks.end() || !b->second.pool || !(b->second.pool->handles & 1) || b->second.foreign || b->second.ending) return kInvalidValue;
  *out = share(3, b->second.device, p, b->second.size);
  out->pool = num(b->second.pool);
  return kOk;
}
EXPORT int cuMemPoolImportPointer(uintptr_t* out, void* h, const Shared* data) {
  CALL("%llu", static_cast<unsigned long long>(data->size)); CONTEXT(); POOL(h);
  if (!pool->imported || data->magic != kMagic || data->kind != 3 || !data->size || data->pool != pool->imported || data->pid != pool->pid) return kInvalidValue;
  *out = open_block(*data, pool);
  if (!*out) return kInvalidHandle;
  pool->attributes[7] += data->size;
  return kOk;
}
