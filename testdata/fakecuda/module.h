// Modules, kernels and launches of the fake driver.
#pragma once

#include "fatbin.h"

EXPORT int cuModuleLoadDataEx(void** out, const void* image, unsigned n, const int* options, void** values) {
  std::string given;
  char* failure = nullptr;
  size_t room = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (options[i] == 5) failure = static_cast<char*>(values[i]);
    else if (options[i] == 6) room = num(values[i]);
    else if (options[i] != 3 && options[i] != 4) given += (given.empty() ? "" : " ") + std::to_string(options[i]) + "=" + std::to_string(num(values[i]));
  }
  CALL("%s", given.c_str()); CONTEXT(); UNSAFE();
  auto text = static_cast<const char*>(image);
  auto m = std::make_unique<Module>();
  m->device = dev;
  if (std::memcmp(text, "\x7f" "ELF", 4) == 0) {
    if (int rc = parse_cubin(m.get(), text)) return rc;
  } else if (std::memcmp(text, "\x50\xed\x55\xba", 4) == 0) {
    std::string ptx;
    if (int rc = parse_fatbin(m.get(), text, &ptx, failure, room)) return rc;
  } else {
    std::string ptx = text;
    if (int rc = check_ptx(ptx, failure, room)) return rc;
    if (int rc = parse_ptx(m.get(), ptx)) return rc;
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
  Arguments args;
  if (functions.count(static_cast<Function*>(h))) args = arguments(static_cast<Function*>(h), params, &text);
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%llx args=%s extra=%llx", gx, gy, gz, bx, by, bz, shared, num(s), text.c_str(), num(extra))) return rc;
  CONTEXT(); STREAM(s); FUNCTION(h);
  return f->device == dev ? start_kernel(f, {gx, gy, gz}, {bx, by, bz}, shared, st, args) : kInvalidHandle;
}
// How many blocks of a kernel run on a multiprocessor at once.
unsigned active_blocks(unsigned long long threads) { return static_cast<unsigned>(2048 / threads); }
EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void* h, int threads, size_t shared) {
  CALL("%d %zu", threads, shared); CONTEXT(); FUNCTION(h);
  *n = static_cast<int>(active_blocks(static_cast<unsigned>(threads)));
  return kOk;
}
EXPORT int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void* h, void*, size_t shared, int limit) {
  CALL("%zu %d", shared, limit); CONTEXT(); FUNCTION(h);
  *block = limit ? limit : f->threads;
  *grid = 132 * 2048 / *block;
  return kOk;
}

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
  Arguments args;
  if (functions.count(static_cast<Function*>(h))) args = arguments(static_cast<Function*>(h), params, &text);
  for (unsigned i = 0; i < c->n; ++i) {
    attrs += (i ? ";" : "") + std::to_string(c->attrs[i].id) + "=" + std::to_string(c->attrs[i].value.words[0]);
    if (c->attrs[i].id == 4) attrs += "x" + std::to_string(c->attrs[i].value.words[1]) + "x" + std::to_string(c->attrs[i].value.words[2]);
  }
  if (int rc = enter(__func__, "grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%llx attributes=%s args=%s extra=%llx", c->gx, c->gy, c->gz, c->bx, c->by, c->bz,
                     c->shared, num(c->stream), attrs.c_str(), text.c_str(), num(extra))) return rc;
  CONTEXT(); STREAM(c->stream); FUNCTION(h);
  const unsigned long long blocks = 1ull * c->gx * c->gy * c->gz, threads = 1ull * c->bx * c->by * c->bz;
  const bool fits = threads > 0 && threads <= static_cast<unsigned>(f->threads);  // otherwise the launch is an error for that
  for (unsigned i = 0; i < c->n; ++i)
    if (c->attrs[i].id == 2 && c->attrs[i].value.words[0] && fits && blocks > 1ull * active_blocks(threads) * kMultiprocessors[dev]) return kCooperativeTooLarge;
  return f->device == dev ? start_kernel(f, {c->gx, c->gy, c->gz}, {c->bx, c->by, c->bz}, c->shared, st, args) : kInvalidHandle;
}
