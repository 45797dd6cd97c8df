// Addresses, physical memory and multicast memory of the fake driver. Physical memory is a file; mapping maps it.
#pragma once

#include <fcntl.h>

#include "memory.h"

const size_t kGranularity = size_t(2) << 20;

struct Bound { int device; size_t offset, size; };
struct Physical {  // also multicast memory
  int file = -1;
  size_t size = 0;
  int device = 0, handles = 0;
  bool released = false;
  int maps = 0;
  size_t used = 0;       // bytes counted for the device
  unsigned team = 0;     // of multicast memory: how many devices
  std::set<int> added;
  std::vector<Bound> bound;
};
std::set<Physical*> physical;  // with a handle, or mapped
struct Mapping { size_t size; Physical* of; std::set<int> access; };
struct Reservation { size_t size; std::map<uintptr_t, Mapping> maps; };
std::map<uintptr_t, Reservation> reservations;

// Gives up physical memory that nobody has a handle of or has mapped.
void settle(Physical* p) {
  if (!p->released || p->maps) return;
  devices[p->device].used -= p->used;
  close(p->file);
  physical.erase(p);
  delete p;
}
Physical* handle_of(uint64_t h) {
  auto p = reinterpret_cast<Physical*>(h);
  return physical.count(p) && !p->released ? p : nullptr;
}
size_t virtual_things(int what) {  // 0 reservations, 1 physical memory, 2 multicast memory
  if (what == 0) return reservations.size();
  return static_cast<size_t>(std::count_if(physical.begin(), physical.end(), [&](Physical* p) { return (p->team > 0) == (what == 2); }));
}

struct Properties { int type, handles, where, id; void* security; unsigned char compression, rdma; unsigned short usage; unsigned char rest[4]; };
static_assert(sizeof(Properties) == 32, "the structures of cuda.h");
bool good(const Properties* p) {
  return p->type == 1 && !(p->handles & ~1) && p->where == 1 && p->id >= 0 && p->id < device_count() && !p->security && !p->compression && !p->rdma && !p->usage;
}
EXPORT int cuMemGetAllocationGranularity(size_t* out, const Properties* p, int which) {
  CALL("%d %d", p->id, which);
  if (!good(p) || which < 0 || which > 1) return kInvalidValue;
  *out = kGranularity;
  return kOk;
}
EXPORT int cuMemAddressReserve(uintptr_t* out, size_t n, size_t alignment, uintptr_t hint, unsigned long long flags) {
  CALL("%zu %zu %zx %llu", n, alignment, hint, flags); CONTEXT();
  if (!n || n % kGranularity || alignment & (alignment - 1) || flags) return kInvalidValue;
  void* p = mmap(nullptr, n + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return kOutOfMemory;
  *out = (num(p) + kGranularity - 1) / kGranularity * kGranularity;
  reservations[*out] = {n, {}};
  return kOk;
}
EXPORT int cuMemAddressFree(uintptr_t p, size_t n) {
  CALL("%zx %zu", p, n); CONTEXT();
  auto r = reservations.find(p);
  if (r == reservations.end() || r->second.size != n || !r->second.maps.empty()) return kInvalidValue;
  reservations.erase(r);  // the pages stay, so that work which comes too late is seen
  return kOk;
}
EXPORT int cuMemCreate(uint64_t* out, size_t n, const Properties* p, unsigned long long flags) {
  CALL("%zu %d %d %llu", n, p->id, p->handles, flags); CONTEXT();
  if (!good(p) || !n || n % kGranularity || flags) return kInvalidValue;
  if (n > kTotal - devices[p->id].used) return kOutOfMemory;
  auto m = new Physical;
  m->file = memfd_create("fakecuda physical", MFD_CLOEXEC);
  const int where[2] = {p->id, 0};
  if (m->file < 0 || ftruncate(m->file, static_cast<off_t>(n)) || pwrite(m->file, where, sizeof where, static_cast<off_t>(n)) < 0) return kOutOfMemory;
  m->size = m->used = n;
  m->device = p->id;
  m->handles = p->handles;
  devices[p->id].used += n;
  physical.insert(m);
  *out = num(m);
  return kOk;
}
EXPORT int cuMemRelease(uint64_t h) {
  CALL("%llx", static_cast<unsigned long long>(h));
  auto p = handle_of(h);
  if (!p) return kInvalidValue;
  p->released = true;
  settle(p);
  return kOk;
}
EXPORT int cuMemExportToShareableHandle(int* out, uint64_t h, int type, unsigned long long flags) {
  CALL("%d %llu", type, flags);
  auto p = handle_of(h);
  if (!p || type != 1 || flags || !(p->handles & 1)) return kInvalidValue;
  *out = fcntl(p->file, F_DUPFD, 0);
  return *out < 0 ? kUnknown : kOk;
}
EXPORT int cuMemImportFromShareableHandle(uint64_t* out, void* file, int type) {
  CALL("%d", type); CONTEXT();
  const int fd = static_cast<int>(num(file));
  off_t n = lseek(fd, 0, SEEK_END);
  int where[2];
  if (type != 1 || n <= 8 || (n - 8) % static_cast<off_t>(kGranularity) || pread(fd, where, sizeof where, n - 8) != 8) return kInvalidValue;
  auto m = new Physical;
  m->file = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  m->size = static_cast<size_t>(n) - 8;
  m->device = where[0];
  m->handles = 1;
  physical.insert(m);
  *out = num(m);
  return kOk;
}

// Makes the blocks of a reservation again: mappings side by side with one access are one block.
void rebuild(uintptr_t start, const Reservation& r) {
  blocks.erase(blocks.lower_bound(start), blocks.lower_bound(start + r.size));
  Block* last = nullptr;
  uintptr_t end = 0;
  for (auto& m : r.maps) {
    if (last && end == m.first && last->access == m.second.access && last->device == m.second.of->device) {
      last->size += m.second.size;
    } else {
      Block b{m.second.size, m.second.of->device, Kind::device};
      b.mapped = true;
      b.access = m.second.access;
      b.reservation = start;
      b.reserved = r.size;
      b.handles = m.second.of->handles;
      last = &(blocks[m.first] = b);
    }
    end = m.first + m.second.size;
    last->written.add(m.first, end);  // another mapping of the memory may have written it
  }
}
// Finds the reservation of a range.
std::map<uintptr_t, Reservation>::iterator reservation(uintptr_t p, size_t n) {
  auto r = reservations.upper_bound(p);
  if (r == reservations.begin()) return reservations.end();
  --r;
  return p - r->first > r->second.size || n > r->second.size - (p - r->first) ? reservations.end() : r;
}
EXPORT int cuMemMap(uintptr_t at, size_t n, size_t offset, uint64_t h, unsigned long long flags) {
  CALL("%zx %zu %zu %llu", at, n, offset, flags); CONTEXT();
  auto p = handle_of(h);
  auto r = reservation(at, n);
  if (!p || r == reservations.end() || !n || at % kGranularity || n % kGranularity || offset || n > p->size || flags) return kInvalidValue;
  if (p->added.size() != p->team) {
    violation("cuMemMap of multicast memory before all of its devices are added: a real driver waits forever");
    return kInvalidValue;
  }
  for (auto& m : r->second.maps)
    if (m.first < at + n && at < m.first + m.second.size) return kInvalidValue;
  if (mmap(reinterpret_cast<void*>(at), n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->file, 0) == MAP_FAILED) return kOutOfMemory;
  ++p->maps;
  r->second.maps[at] = {n, p, {}};
  graves.erase(graves.lower_bound(at), graves.lower_bound(at + n));
  rebuild(r->first, r->second);
  return kOk;
}
// It waits for nothing: the text promises that only for most cases.
EXPORT int cuMemUnmap(uintptr_t at, size_t n) {
  CALL("%zx %zu", at, n); CONTEXT(); UNSAFE();
  auto r = reservation(at, n);
  if (r == reservations.end()) return kInvalidValue;
  auto m = r->second.maps.find(at);
  if (m == r->second.maps.end() || m->second.size != n) return kInvalidValue;
  if (mmap(reinterpret_cast<void*>(at), n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED) return kUnknown;
  Block grave{n, m->second.of->device, Kind::device};
  grave.ended = "cuMemUnmap";
  grave.foreign = true;
  graves[at] = grave;
  auto p = m->second.of;
  r->second.maps.erase(m);
  --p->maps;
  settle(p);
  rebuild(r->first, r->second);
  return kOk;
}
EXPORT int cuMemSetAccess(uintptr_t at, size_t n, const Access* list, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += " " + std::to_string(list[i].id) + "=" + std::to_string(list[i].flags);
  CALL("%zx %zu%s", at, n, text.c_str()); CONTEXT();
  auto r = reservation(at, n);
  if (r == reservations.end() || !n || !count) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    if (list[i].where != 1 || list[i].id < 0 || list[i].id >= device_count() || (list[i].flags != 0 && list[i].flags != 3)) return kInvalidValue;
  uintptr_t end = at;
  for (auto& m : r->second.maps)
    if (m.first == end && end < at + n) end += m.second.size;
  if (end != at + n) return kInvalidValue;  // whole mappings, without a gap
  for (auto& m : r->second.maps)
    for (size_t i = 0; i < count && m.first >= at && m.first < end; ++i) {
      if (list[i].flags) m.second.access.insert(list[i].id);
      else m.second.access.erase(list[i].id);
    }
  rebuild(r->first, r->second);
  return kOk;
}

// ---- multicast memory. That a write reaches all devices cannot be shown without them: the arguments are checked.

struct Multicast { unsigned devices; size_t size; unsigned long long handles, flags; };
static_assert(sizeof(Multicast) == 32, "the structures of cuda.h");
EXPORT int cuMulticastGetGranularity(size_t* out, const Multicast* p, int which) {
  CALL("%u %d", p->devices, which);
  if (!p->devices || !p->size || p->handles || p->flags || which < 0 || which > 1) return kInvalidValue;
  *out = which ? 2 * kGranularity : kGranularity;
  return kOk;
}
EXPORT int cuMulticastCreate(uint64_t* out, const Multicast* p) {
  CALL("%u %zu", p->devices, p->size); CONTEXT();
  if (!p->devices || !p->size || p->size % kGranularity || p->handles || p->flags) return kInvalidValue;
  auto m = new Physical;
  m->file = memfd_create("fakecuda multicast", MFD_CLOEXEC);
  if (m->file < 0 || ftruncate(m->file, static_cast<off_t>(p->size))) return kOutOfMemory;
  m->size = p->size;
  m->device = dev;
  m->team = p->devices;
  physical.insert(m);
  *out = num(m);
  return kOk;
}
EXPORT int cuMulticastAddDevice(uint64_t h, int d) {
  CALL("%d", d);
  DEVICE(d);
  auto m = handle_of(h);
  if (!m || !m->team || m->added.size() == m->team || !m->added.insert(d).second) return kInvalidValue;
  return kOk;
}
EXPORT int cuMulticastBindMem(uint64_t h, size_t offset, uint64_t memory, size_t from, size_t n, unsigned long long flags) {
  CALL("%zu %zu %zu %llu", offset, from, n, flags);
  auto m = handle_of(h), p = handle_of(memory);
  if (!m || !p || !m->team || p->team || flags || !n || (offset | from | n) % kGranularity || offset + n > m->size || from + n > p->size) return kInvalidValue;
  if (m->added.size() != m->team) {
    violation("cuMulticastBindMem before all devices are added: a real driver waits forever");
    return kInvalidValue;
  }
  if (!m->added.count(p->device)) return kInvalidDevice;
  for (auto& b : m->bound)
    if (b.device == p->device && b.offset < offset + n && offset < b.offset + b.size) return kInvalidValue;
  m->bound.push_back({p->device, offset, n});
  return kOk;
}
EXPORT int cuMulticastUnbind(uint64_t h, int d, size_t offset, size_t n) {
  CALL("%d %zu %zu", d, offset, n);
  DEVICE(d);
  auto m = handle_of(h);
  if (!m || !m->team) return kInvalidValue;
  for (auto b = m->bound.begin(); b != m->bound.end(); ++b)
    if (b->device == d && b->offset == offset && b->size == n) {
      m->bound.erase(b);
      return kOk;
    }
  violation("cuMulticastUnbind of %zu bytes at %zu, which were not bound so", n, offset);
  return kInvalidValue;
}
