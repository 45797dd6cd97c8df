// Copies and fills of rows, pinned memory of the host, what an address is, and managed memory of the fake driver.
#pragma once

#include "memory.h"

// ---- boxes

struct Copy2D {
  size_t sx, sy; unsigned stype; uintptr_t shost, sdevice, sarray; size_t spitch;
  size_t dx, dy; unsigned dtype; uintptr_t dhost, ddevice, darray; size_t dpitch;
  size_t width, height;
};
struct Copy3D {
  size_t sx, sy, sz, slod; unsigned stype; uintptr_t shost, sdevice, sarray; void* scontext; size_t spitch, sheight;
  size_t dx, dy, dz, dlod; unsigned dtype; uintptr_t dhost, ddevice, darray; void* dcontext; size_t dpitch, dheight;
  size_t width, height, depth;
};
static_assert(sizeof(Copy2D) == 128 && sizeof(Copy3D) == 200, "the structures of cuda.h");

const size_t kMaxPitch = 2147483647;

// Where a box begins, or 0 for one that the driver refuses: it must lie in one allocation.
uintptr_t box(unsigned type, uintptr_t host, uintptr_t dev, size_t x, size_t y, size_t z, size_t pitch, size_t rows, const Copy3D& c, int* of) {
  if ((type != 1 && type != 2) || pitch < x + c.width || pitch > kMaxPitch || ((rows || c.depth > 1) && rows < y + c.height)) return 0;
  uintptr_t from = (type == 1 ? host : dev) + (z * rows + y) * pitch + x;
  *of = -2;
  if (!inside(from, ((c.depth - 1) * rows + c.height - 1) * pitch + c.width, of)) return 0;
  return (type == 1) == (*of == -1) ? from : 0;
}

int copy_box(const char* who, const Copy3D& c, Stream* st, bool peer) {
  if (!c.width || !c.height || !c.depth || c.slod || c.dlod) return kInvalidValue;
  int a = 0, b = 0;
  uintptr_t from = box(c.stype, c.shost, c.sdevice, c.sx, c.sy, c.sz, c.spitch, c.sheight, c, &a);
  uintptr_t to = box(c.dtype, c.dhost, c.ddevice, c.dx, c.dy, c.dz, c.dpitch, c.dheight, c, &b);
  if (!from || !to) return kInvalidValue;
  if (peer ? a < 0 || b < 0 || c.scontext != &contexts[a] || c.dcontext != &contexts[b] : c.scontext || c.dcontext) return kInvalidValue;
  std::string name = who;
  return queue(st, work(name, [=] {
    for (size_t z = 0; z < c.depth; ++z)
      for (size_t y = 0; y < c.height; ++y) {
        size_t d = (z * c.dheight + y) * c.dpitch, s = (z * c.sheight + y) * c.spitch;
        copy(name, to + d, from + s, c.width, false, false);
      }
  }));
}
EXPORT int cuMemcpy2DAsync_v2(const Copy2D* p, void* s) {
  CALL("%zu x %zu: %u %zx %zu to %u %zx %zu %llx", p->width, p->height, p->stype, p->shost + p->sdevice, p->spitch, p->dtype, p->dhost + p->ddevice, p->dpitch, num(s));
  CONTEXT(); STREAM(s);
  Copy3D c{p->sx, p->sy, 0, 0, p->stype, p->shost, p->sdevice, p->sarray, nullptr, p->spitch, p->height,
           p->dx, p->dy, 0, 0, p->dtype, p->dhost, p->ddevice, p->darray, nullptr, p->dpitch, p->height, p->width, p->height, 1};
  return copy_box(__func__, c, st, false);
}
EXPORT int cuMemcpy3DAsync_v2(const Copy3D* p, void* s) {
  CALL("%zu x %zu x %zu: %u %zx %zu %zu to %u %zx %zu %zu %llx", p->width, p->height, p->depth, p->stype, p->shost + p->sdevice, p->spitch, p->sheight, p->dtype,
       p->dhost + p->ddevice, p->dpitch, p->dheight, num(s));
  CONTEXT(); STREAM(s);
  return copy_box(__func__, *p, st, false);
}
EXPORT int cuMemcpy3DPeerAsync(const Copy3D* p, void* s) {
  CALL("%zu x %zu x %zu %llx", p->width, p->height, p->depth, num(s)); CONTEXT(); STREAM(s);
  return copy_box(__func__, *p, st, true);
}

template <class T>
int fill_rows(const char* who, uintptr_t p, size_t pitch, T v, size_t width, size_t height, Stream* st) {
  if (!width || !height || pitch < width * sizeof(T) || pitch > kMaxPitch || p % sizeof(T) || (height > 1 && pitch % sizeof(T))) return kInvalidValue;
  int of = 0;
  if (!inside(p, (height - 1) * pitch + width * sizeof(T), &of)) return kInvalidValue;
  std::string name = who;
  return queue(st, work(name, [=] {
    for (size_t y = 0; y < height; ++y) {
      if (!use(name, p + y * pitch, width * sizeof(T), -1, true)) return;
      for (size_t x = 0; x < width; ++x) reinterpret_cast<T*>(p + y * pitch)[x] = v;
    }
  }));
}
#define FILL_ROWS(bits, type)                                                                                                  \
  EXPORT int cuMemsetD2D##bits##Async(uintptr_t p, size_t pitch, type v, size_t width, size_t height, void* s) {               \
    CALL("%zx %zu %x %zu %zu %llx", p, pitch, v, width, height, num(s)); CONTEXT(); STREAM(s);                                 \
    return fill_rows<uint##bits##_t>(__func__, p, pitch, static_cast<uint##bits##_t>(v), width, height, st);                   \
  }
FILL_ROWS(8, unsigned char)
FILL_ROWS(16, unsigned short)
FILL_ROWS(32, unsigned)

// ---- memory of the host that the program pins

const size_t kPage = 4096;

EXPORT int cuMemHostRegister_v2(uintptr_t p, size_t n, unsigned flags) {
  CALL("%zx %zu %u", p, n, flags); CONTEXT(); UNSAFE();
  if (!p || !n || flags & ~15u) return kInvalidValue;
  if (flags & 8 && dev == 1) return kNotSupported;  // read-only registration
  for (auto& r : registered)                        // whole pages
    if (p / kPage <= (r.first + r.second.size - 1) / kPage && r.first / kPage <= (p + n - 1) / kPage) return kHostRegistered;
  if (inside(p, 1)) return kHostRegistered;
  registered[p] = {n, flags};
  Block b{n, dev, Kind::host};
  b.written.add(p, p + n);
  graves.erase(p);
  blocks[p] = b;
  return kOk;
}
EXPORT int cuMemHostUnregister(uintptr_t p) {
  CALL("%zx", p); CONTEXT(); UNSAFE();
  if (!registered.erase(p)) return kHostNotRegistered;
  blocks.erase(p);
  return kOk;
}
// Maps write-combined memory a second time: kernels see it at another address than the host.
uintptr_t alias_of(uintptr_t p, size_t n) {
  auto& a = aliases[p];
  if (a) return a;
  const size_t skip = (p - arena.base) % kPage;
  void* at = mmap(nullptr, n + skip, PROT_READ | PROT_WRITE, MAP_SHARED, arena.file, static_cast<off_t>(p - arena.base - skip));
  a = num(at) + skip;
  Block b{n, blocks[p].device, Kind::host};
  b.foreign = true;
  b.written.add(a, a + n);
  blocks[a] = b;
  return a;
}
// Plain memory of cuMemHostAlloc is mapped where all addresses are unified; other memory only if it was asked for.
EXPORT int cuMemHostGetDevicePointer_v2(uintptr_t* out, uintptr_t p, unsigned flags) {
  CALL("%zx %u", p, flags); CONTEXT();
  auto b = around(blocks, p, 1);
  if (flags || b == blocks.end() || b->second.kind != Kind::host) return kInvalidValue;
  auto r = registered.find(b->first);
  unsigned given = r == registered.end() ? host_flags[b->first] : r->second.flags;
  const bool plain = r == registered.end() && !(given & 4);
  if (!plain && !(given & 2)) return kInvalidValue;
  *out = given & 4 && r == registered.end() ? alias_of(b->first, b->second.size) + (p - b->first) : p;
  return kOk;
}

// ---- what an address is

EXPORT int cuPointerGetAttributes(unsigned n, const int* what, void** out, uintptr_t p) {
  CALL("%u %zx", n, p); CONTEXT();
  auto b = around(blocks, p, 1);
  const bool known = b != blocks.end(), host = known && b->second.kind == Kind::host;
  auto put = [&](void* at, auto v) { std::memcpy(at, &v, sizeof v); };
  for (unsigned i = 0; i < n; ++i) {
    switch (what[i]) {
      case 2: put(out[i], !known ? 0u : host ? 1u : 2u); break;
      case 3: put(out[i], uint64_t(known ? p : 0)); break;
      case 4: put(out[i], uint64_t(host || (known && b->second.kind == Kind::managed) ? p : 0)); break;
      case 8: put(out[i], unsigned(known && b->second.kind == Kind::managed)); break;
      case 9: put(out[i], known ? b->second.device : -2); break;
      case 10: put(out[i], static_cast<unsigned char>(known && b->second.kind == Kind::device && !b->second.pool && !b->second.mapped && !b->second.foreign)); break;
      case 11: put(out[i], uint64_t(!known ? 0 : b->second.mapped ? b->second.reservation : b->first)); break;
      case 12: put(out[i], uint64_t(!known ? 0 : b->second.mapped ? b->second.reserved : b->second.size)); break;
      case 14: put(out[i], uint64_t(known && b->second.pool ? b->second.pool->handles : known && b->second.mapped ? b->second.handles : 0)); break;
      default: return kInvalidValue;
    }
  }
  return kOk;
}
EXPORT int cuMemGetAddressRange_v2(uintptr_t* base, size_t* size, uintptr_t p) {
  CALL("%zx", p); CONTEXT();
  auto b = around(blocks, p, 1);
  if (b == blocks.end() || b->second.kind == Kind::host) return kNotFound;
  if (base) *base = b->first;
  if (size) *size = b->second.size;
  return kOk;
}

// ---- managed memory: a place is the handle of a device, or -1 for the host

struct Advised {
  Ranges mostly;
  std::map<int, Ranges> preferred, accessed, prefetched;
} advised;

bool managed(uintptr_t p, size_t n) {
  auto b = around(blocks, p, n);
  return n > 0 && b != blocks.end() && b->second.kind == Kind::managed;
}
// Whether a place can use managed memory at the same time as others: device 1 is too old.
bool concurrent(int place) { return place == -1 || place == 10; }
bool is_place(int place) { return place == -1 || (place >= 10 && place - 10 < device_count()); }

EXPORT int cuMemPrefetchAsync(uintptr_t p, size_t n, int place, void* s) {
  CALL("%zx %zu %d %llx", p, n, place, num(s)); CONTEXT(); STREAM(s);
  if (!managed(p, n)) return kInvalidValue;
  if (!is_place(place) || !concurrent(place) || !concurrent(dev + 10)) return kInvalidDevice;
  if (st->capture) return spoil(st->capture, kCaptureUnsupported);
  for (auto& other : advised.prefetched) other.second.remove(p, p + n);
  advised.prefetched[place].add(p, p + n);
  return queue(st, work("a prefetch", [=] {
    auto b = around(blocks, p, n);
    if (b == blocks.end()) violation("cuMemPrefetchAsync moves %zu bytes at %zx of freed memory", n, p);
  }));
}
EXPORT int cuMemAdvise(uintptr_t p, size_t n, int advice, int place) {
  CALL("%zx %zu %d %d", p, n, advice, place); CONTEXT();
  if (!managed(p, n) || advice < 1 || advice > 6) return kInvalidValue;
  const bool placed = advice == 3 || advice > 4;
  if (placed && (!is_place(place) || !concurrent(place))) return kInvalidDevice;
  switch (advice) {
    case 1: advised.mostly.add(p, p + n); break;
    case 2: advised.mostly.remove(p, p + n); break;
    case 3:
    case 4:
      for (auto& other : advised.preferred) other.second.remove(p, p + n);
      if (advice == 3) advised.preferred[place].add(p, p + n);
      break;
    case 5: advised.accessed[place].add(p, p + n); break;
    case 6: advised.accessed[place].remove(p, p + n); break;
  }
  return kOk;
}
EXPORT int cuMemRangeGetAttribute(int* out, size_t size, int what, uintptr_t p, size_t n) {
  CALL("%zu %d %zx %zu", size, what, p, n); CONTEXT();
  if (!managed(p, n) || size == 0 || size % 4 || what < 1 || what > 4 || (what != 3 && size != 4)) return kInvalidValue;
  auto one = [&](const std::map<int, Ranges>& places) {
    for (auto& r : places)
      if (r.second.has(p, p + n)) return r.first;
    return -2;
  };
  switch (what) {
    case 1: *out = advised.mostly.has(p, p + n); break;
    case 2: *out = one(advised.preferred); break;
    case 4: *out = one(advised.prefetched); break;
    case 3: {
      size_t i = 0;
      for (auto& r : advised.accessed)
        if (r.second.has(p, p + n) && i < size / 4) out[i++] = r.first;
      while (i < size / 4) out[i++] = -2;
    }
  }
  return kOk;
}
