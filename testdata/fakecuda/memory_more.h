// Fills of columns, pinned memory of the host, and what an address is.
#pragma once

#include "memory.h"

EXPORT int cuMemsetD2D32Async(uintptr_t p, size_t pitch, unsigned v, size_t width, size_t height, void* s) {
  CALL("%zx %zu %x %zu %zu %llx", p, pitch, v, width, height, num(s)); CONTEXT(); STREAM(s);
  if (!width || !height || pitch < width * 4 || p % 4 || pitch % 4 || !inside(p, (height - 1) * pitch + width * 4)) return kInvalidValue;
  const std::string name = __func__;
  return queue(st, work(name, [=] {
    for (size_t y = 0; y < height; ++y) {
      if (!use(name, p + y * pitch, width * 4, -1, true)) return;
      std::fill_n(reinterpret_cast<unsigned*>(p + y * pitch), width, v);
    }
  }));
}

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
  b.alias = true;
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
      case 8: put(out[i], unsigned(known && b->second.kind == Kind::managed)); break;
      case 9: put(out[i], known ? b->second.device : -2); break;
      case 11: put(out[i], uint64_t(known ? b->first : 0)); break;
      case 12: put(out[i], uint64_t(known ? b->second.size : 0)); break;
      default: return kInvalidValue;
    }
  }
  return kOk;
}
