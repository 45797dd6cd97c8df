// Schedules, priorities, attributes, waits for values, limits, the profiler and green contexts of the fake driver.
#pragma once

#include "device.h"
#include "stream.h"

namespace {

const int kUnsupportedLimit = 215, kResourceType = 914, kResourceConfiguration = 915;

int attribute_of(int a, int dev) {
  static const std::map<int, std::pair<int, int>> values = {  // device 0, device 1
      {98, {1, 0}}, {108, {32768000, 0}}, {109, {134213632, 0}}, {122, {1, 0}}, {123, {1, 0}}, {126, {4, 1}},
  };
  auto f = values.find(a);
  return f == values.end() ? -1 : dev ? f->second.second : f->second.first;
}
const bool attributes_added = (more_attributes.push_back(attribute_of), true);

unsigned primary_flags[2];
const int kGreatest[2] = {-5, -1};

}  // namespace

EXPORT int cuDevicePrimaryCtxSetFlags_v2(int d, unsigned flags) {
  CALL("%d %u", d, flags);
  DEVICE(d);
  if (flags & ~0xffu || ((flags & 7) != 0 && (flags & 7) != 1 && (flags & 7) != 2 && (flags & 7) != 4)) return kInvalidValue;
  primary_flags[d] = flags;
  return kOk;
}
EXPORT int cuDevicePrimaryCtxGetState(int d, unsigned* flags, int* active) {
  CALL("%d", d);
  DEVICE(d);
  *flags = primary_flags[d];
  *active = devices[d].retained > 0;
  return kOk;
}

EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  CALL("%s", ""); CONTEXT();
  if (least) *least = 0;
  if (greatest) *greatest = kGreatest[dev];
  return kOk;
}
EXPORT int cuStreamGetPriority(void* s, int* priority) {
  CALL("%llx", num(s)); CONTEXT(); STREAM(s);
  *priority = std::max(kGreatest[dev], std::min(st->priority, 0));
  return kOk;
}
EXPORT int cuStreamGetFlags(void* s, unsigned* flags) { CALL("%llx", num(s)); CONTEXT(); STREAM(s); *flags = st->flags; return kOk; }

// ---- attributes

namespace {
struct Window { uintptr_t base; size_t bytes; float ratio; int hit, miss; };
union AttributeValue { Window window; int policy; char all[64]; };
std::map<std::pair<unsigned, int>, AttributeValue> stream_attributes;  // by the number of the stream

int check_window(const Window& w, int dev) {
  if (w.bytes == 0) return kOk;
  if (w.bytes > static_cast<size_t>(attribute_of(109, dev)) || !inside(w.base, w.bytes)) return kInvalidValue;
  return w.ratio < 0 || w.ratio > 1 || w.hit < 0 || w.hit > 2 || w.miss < 0 || w.miss > 1 ? kInvalidValue : kOk;
}
}  // namespace

EXPORT int cuStreamSetAttribute(void* s, int id, const AttributeValue* v) {
  CALL("%llx %d %llx %zu %g %d %d", num(s), id, static_cast<unsigned long long>(v->window.base), id == 1 ? v->window.bytes : 0,
       id == 1 ? static_cast<double>(v->window.ratio) : 0, id == 1 ? v->window.hit : 0, id == 1 ? v->window.miss : 0);
  CONTEXT(); STREAM(s);
  if (id != 1 && id != 3) return kInvalidValue;
  if (id == 3 && (v->policy < 1 || v->policy > 4)) return kInvalidValue;
  if (int rc = id == 1 ? check_window(v->window, dev) : kOk) return rc;
  stream_attributes[{st->number, id}] = *v;
  return kOk;
}
EXPORT int cuStreamGetAttribute(void* s, int id, AttributeValue* v) {
  CALL("%llx %d", num(s), id); CONTEXT(); STREAM(s);
  if (id != 1 && id != 3) return kInvalidValue;
  auto a = stream_attributes.find({st->number, id});
  *v = AttributeValue{};
  if (a != stream_attributes.end()) *v = a->second;
  else if (id == 3) v->policy = 1;
  return kOk;
}
EXPORT int cuCtxResetPersistingL2Cache() { CALL("%s", ""); CONTEXT(); return attribute_of(108, dev) ? kOk : kNotSupported; }

// ---- limits and the profiler

namespace {
size_t limits[2][7] = {{1024, 1 << 20, 8 << 20, 0, 2048, 64, 0}, {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0}};
int has_limit(int l, int dev) {
  if (l < 0 || l > 6) return kInvalidValue;
  return l == 3 && dev == 0 ? kUnsupportedLimit : int(kOk);  // device 0 is of compute capability 9.0
}
}  // namespace

EXPORT int cuCtxGetLimit(size_t* v, int l) {
  CALL("%d", l); CONTEXT();
  if (int rc = has_limit(l, dev)) return rc;
  *v = limits[dev][l];
  return kOk;
}
EXPORT int cuCtxSetLimit(int l, size_t v) {
  CALL("%d %zu", l, v); CONTEXT();
  if (int rc = has_limit(l, dev)) return rc;
  if (l == 0) v = (v + 15) / 16 * 16;
  if (l == 5) v = std::min(v, size_t(128));
  if (l == 6) v = std::min(v, static_cast<size_t>(attribute_of(108, dev)));
  limits[dev][l] = v;
  return kOk;
}
EXPORT int cuProfilerStart() { CALL("%s", ""); CONTEXT(); return kOk; }
EXPORT int cuProfilerStop() { CALL("%s", ""); CONTEXT(); return kOk; }

// With FAKECUDA_MIG=N, device N is an instance of a device that is split.
EXPORT int cuDeviceGetUuid_v2(unsigned char* out, int d) {
  CALL("%d", d);
  DEVICE(d);
  const char* mig = std::getenv("FAKECUDA_MIG");
  for (int i = 0; i < 16; ++i) out[i] = static_cast<unsigned char>(16 * d + i + (mig && std::atoi(mig) == d ? 0x80 : 0));
  return kOk;
}

// ---- waits for values

namespace {
template <class T>
int check_word(uintptr_t p, unsigned flags, int dev) {
  auto b = around(blocks, p, sizeof(T));
  if (p % sizeof(T) || b == blocks.end() || b->second.kind == Kind::managed || (flags & ~(3u | 1u << 30))) return kInvalidValue;
  if (sizeof(T) == 8 && !attribute_of(122, dev)) return kNotSupported;
  if ((flags & 3) == 3 && !attribute_of(123, dev)) return kNotSupported;
  return flags >> 30 && !attribute_of(98, dev) ? kNotSupported : kOk;
}
template <class T>
int wait_for(Stream* st, uintptr_t p, T value, unsigned flags, int dev) {
  if (int rc = check_word<T>(p, flags, dev)) return rc;
  const std::string who = "a wait for a value";
  Node n = work(who, [=] { use(who, p, sizeof(T), dev, false); });
  n.ready = [=] {
    T now = __atomic_load_n(reinterpret_cast<T*>(p), __ATOMIC_SEQ_CST);
    switch (flags & 3) {
      case 0: return static_cast<std::make_signed_t<T>>(now - value) >= 0;
      case 1: return now == value;
      case 2: return (now & value) != 0;
      default: return static_cast<T>(~(now | value)) != 0;
    }
  };
  return queue(st, n);
}
template <class T>
int write_word(Stream* st, uintptr_t p, T value, unsigned flags, int dev) {
  if (flags) return kInvalidValue;
  if (int rc = check_word<T>(p, 0, dev)) return rc;
  const std::string who = "a write of a value";
  Node n = work(who, [=] {
    if (use(who, p, sizeof(T), dev, true)) __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_SEQ_CST);
  });
  n.driven = true;  // something may look for it: the host, or another stream
  return queue(st, n);
}
}  // namespace

#define WORD(name, T, does, print)                                                                 \
  EXPORT int name(void* s, uintptr_t p, T v, unsigned flags) {                                     \
    CALL("%llx %zx " print " %u", num(s), p, v, flags); CONTEXT(); STREAM(s);                      \
    return does<T>(st, p, v, flags, dev);                                                          \
  }
WORD(cuStreamWaitValue32_v2, uint32_t, wait_for, "%u")
WORD(cuStreamWaitValue64_v2, uint64_t, wait_for, "%lu")
WORD(cuStreamWriteValue32_v2, uint32_t, write_word, "%u")
WORD(cuStreamWriteValue64_v2, uint64_t, write_word, "%lu")

// ---- green contexts

namespace {
struct Resource {
  int type, device, split, padding[21];
  unsigned count, least, alignment, more[9];
};
static_assert(sizeof(Resource) == 144, "CUdevResource");
struct Description { int device; unsigned count; };
struct Green { int device; unsigned count; std::set<Stream*> streams; };
std::set<Description*> descriptions;
std::set<Green*> greens;
int splits = 0;
Resource resource(int dev, unsigned count, int split) {
  Resource r{};
  r.type = count ? 1 : 0;
  r.device = dev;
  r.split = split;
  r.count = count;
  r.least = r.alignment = dev ? 2 : 8;
  return r;
}
}  // namespace

// How many green contexts are not destroyed.
EXPORT size_t fakecuda_greens() { LOCK; return greens.size(); }
// Destroys them, and returns how many there were.
EXPORT size_t fakecuda_drop_greens() {
  LOCK;
  size_t n = greens.size();
  for (auto g : greens) {
    --devices[g->device].retained;
    delete g;
  }
  greens.clear();
  return n;
}

EXPORT int cuDeviceGetDevResource(int d, Resource* r, int type) {
  CALL("%d %d", d, type);
  DEVICE(d);
  if (type != 1) return kResourceType;
  *r = resource(d, d ? 40 : 132, 0);
  return kOk;
}
EXPORT int cuDevSmResourceSplitByCount(Resource* out, unsigned* n, const Resource* in, Resource* rest, unsigned flags, unsigned least) {
  CALL("%u %u %u %u", *n, in->count, flags, least);
  if (in->type != 1) return kResourceType;
  if (in->split) return kResourceConfiguration;
  if (least > in->count || flags & ~3u) return kInvalidValue;
  unsigned unit = flags & 1 ? 2 : in->least;
  unsigned size = (std::max(least, 1u) + unit - 1) / unit * unit, groups = in->count / size;
  *n = out ? std::min(*n, groups) : groups;
  ++splits;
  for (unsigned i = 0; out && i < *n; ++i) out[i] = resource(in->device, size, splits);
  if (rest) *rest = resource(in->device, in->count - *n * size, splits);
  return kOk;
}
EXPORT int cuDevResourceGenerateDesc(void** desc, const Resource* r, unsigned n) {
  CALL("%u", n);
  if (n == 0) return kInvalidValue;
  Description d{r[0].device, 0};
  for (unsigned i = 0; i < n; ++i) {
    if (r[i].type != 1) return kResourceType;
    if (r[i].device != d.device || r[i].split != r[0].split || (n > 1 && r[i].split == 0)) return kResourceConfiguration;
    d.count += r[i].count;
  }
  *desc = *descriptions.insert(new Description(d)).first;
  return kOk;
}
EXPORT int cuGreenCtxCreate(void** g, void* desc, int d, unsigned flags) {
  CALL("%d %u", d, flags);
  DEVICE(d);
  auto what = static_cast<Description*>(desc);
  if (flags != 1 || !descriptions.count(what) || what->device != d) return kInvalidValue;
  ++devices[d].retained;
  *g = *greens.insert(new Green{d, what->count, {}}).first;
  return kOk;
}
EXPORT int cuGreenCtxDestroy(void* g) {
  CALL("%llx", num(g));
  auto x = static_cast<Green*>(g);
  if (!greens.count(x)) return kInvalidContext;
  for (auto s : x->streams)
    if (streams.count(s)) violation("a green context is destroyed before its stream %llx", num(s));
  greens.erase(x);
  --devices[x->device].retained;
  delete x;
  return kOk;
}
EXPORT int cuGreenCtxStreamCreate(void** s, void* g, unsigned flags, int priority) {
  CALL("%llx %u %d", num(g), flags, priority);
  auto x = static_cast<Green*>(g);
  if (!greens.count(x)) return kInvalidContext;
  if (flags != 1) return kInvalidValue;
  auto st = new Stream{x->device, flags, priority};
  streams.insert(st);
  x->streams.insert(st);
  *s = st;
  return kOk;
}
