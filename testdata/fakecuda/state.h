// What the fake driver knows: devices, contexts, memory, streams, graphs, and the log of calls. The functions of the
// driver are in fakecuda.cc.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

enum {
  kOk = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200,
  kInvalidContext = 201, kNoBinary = 209, kInvalidPTX = 218, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700,
  kPeerAlready = 704, kCaptureUnsupported = 900, kGraphUpdate = 910, kUnknown = 999,
};

#ifdef FAKE_OLD
const int kVersion = 11020;
#else
const int kVersion = 12040;
#endif

struct Pool { int device; uint64_t attributes[9]; std::set<int> access; };
struct Block { size_t size; int device; bool host; Pool* pool = nullptr; };
struct Function;
struct Dim { unsigned x, y, z; };
struct Node { int type; Function* f; Dim grid, block; unsigned shared; std::function<void()> work; };  // type: 0 kernel, 1 copy, 2 fill
struct Device { int retained = 0; int sticky = 0; size_t used = 0; std::set<int> peers; };
struct Stream { int device; unsigned flags; int priority; bool capturing = false; std::vector<std::shared_ptr<Node>> work; };
struct Event { int device; unsigned flags; bool recorded = false; float at = 0; };
struct Function { std::string name; int device; std::vector<size_t> sizes; int shared = 0, dynamic = 0, threads = 1024; };
struct Module { int device; std::map<std::string, std::unique_ptr<Function>> functions; std::map<std::string, std::vector<char>> globals; };
struct Graph { std::vector<std::shared_ptr<Node>> work; };
struct GraphExec { int device; Graph* of; std::vector<std::shared_ptr<Node>> names, work; };  // names are the nodes of the graph

const size_t kTotal = size_t(1) << 30;
std::recursive_mutex mutex;
std::vector<std::string> log_lines;
struct Failure { int code, skip, times; };
std::map<std::string, Failure> failures;
Device devices[2];
char contexts[2];  // their addresses are the primary contexts
bool initialized = false;
float clock_ms = 0;
std::map<uintptr_t, Block> blocks;
std::set<Stream*> streams;
std::set<Event*> events;
std::set<Module*> modules;
std::set<Function*> functions;
std::set<Graph*> graph_set;
std::set<GraphExec*> executables;
Pool default_pools[2] = {{0, {0, 1, 1, 1}, {}}, {1, {0, 1, 1, 1}, {}}};
std::set<Pool*> pools;

std::atomic<int> threads{0};
thread_local int thread_number = 0;
thread_local void* current = nullptr;

int device_count() {
  const char* n = std::getenv("FAKECUDA_DEVICES");
  return n ? std::atoi(n) : 2;
}

// Logs a call; returns the code that was asked for it.
__attribute__((format(printf, 2, 3))) int enter(const char* name, const char* format, ...) {
  if (thread_number == 0) thread_number = ++threads;
  char text[4096];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  std::string line = "T" + std::to_string(thread_number) + " " + name;
  if (text[0]) line += std::string(" ") + text;
  log_lines.push_back(line);
  static FILE* file = std::getenv("FAKECUDA_LOG") ? std::fopen(std::getenv("FAKECUDA_LOG"), "w") : nullptr;
  if (file) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fflush(file);
  }
  static const std::string sleep = std::getenv("FAKECUDA_SLEEP") ? std::getenv("FAKECUDA_SLEEP") : "";
  if (sleep.compare(0, sleep.find('='), name) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(sleep.c_str() + sleep.find('=') + 1)));
  auto f = failures.find(name);
  if (f != failures.end()) {
    if (f->second.skip > 0) {
      --f->second.skip;
    } else if (f->second.times != 0) {
      --f->second.times;
      return f->second.code;
    }
  }
  if (!initialized && std::strcmp(name, "cuInit") != 0) return kNotInitialized;
  return kOk;
}

// The device of the current context, or -1.
int device() {
  for (int i = 0; i < 2; ++i)
    if (current == &contexts[i] && devices[i].retained > 0) return i;
  return -1;
}

#define LOCK std::lock_guard<std::recursive_mutex> lock(mutex)
#define CALL(...)                                            \
  LOCK;                                                      \
  if (int rc = enter(__func__, __VA_ARGS__)) return rc
#define CONTEXT()                                            \
  int dev = device();                                        \
  if (dev < 0) return kInvalidContext;                       \
  if (devices[dev].sticky) return devices[dev].sticky
#define STREAM(h)                                            \
  Stream* st = static_cast<Stream*>(h);                      \
  if (st && (!streams.count(st) || st->device != dev)) return kInvalidHandle

unsigned long long num(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// Whether [p, p+n) lies in one allocation; its device, -1 for the host, in *of.
bool inside(uintptr_t p, size_t n, int* of = nullptr) {
  auto b = blocks.upper_bound(p);
  if (b == blocks.begin()) return false;
  --b;
  if (p - b->first > b->second.size || n > b->second.size - (p - b->first)) return false;
  if (of) *of = b->second.host ? -1 : b->second.device;
  return true;
}

int allocate(uintptr_t* out, size_t n, bool host, int dev, Pool* pool = nullptr) {
  if (n == 0) return kInvalidValue;
  if (!host && n > kTotal - devices[dev].used) return kOutOfMemory;
  void* p = nullptr;
  if (posix_memalign(&p, 256, n)) return kOutOfMemory;
  std::memset(p, 0xCD, n);
  *out = reinterpret_cast<uintptr_t>(p);
  blocks[*out] = {n, dev, host, pool};
  if (pool) {
    pool->attributes[5] = pool->attributes[7] += n;
    for (int i : {6, 8}) pool->attributes[i] = std::max(pool->attributes[i], pool->attributes[7]);
  }
  if (!host) devices[dev].used += n;
  return kOk;
}

int release(uintptr_t p, bool host) {
  auto b = blocks.find(p);
  if (b == blocks.end() || b->second.host != host) return kInvalidValue;
  if (!host) devices[b->second.device].used -= b->second.size;
  if (pools.count(b->second.pool) || b->second.pool == &default_pools[b->second.device]) b->second.pool->attributes[7] -= b->second.size;
  std::free(reinterpret_cast<void*>(p));
  blocks.erase(b);
  return kOk;
}

// Runs work now, or records it.
int queue(Stream* st, Node node) {
  if (st && st->capturing) st->work.push_back(std::make_shared<Node>(std::move(node)));
  else node.work();
  return kOk;
}
int queue(Stream* st, std::function<void()> work, int type = 1) { return queue(st, Node{type, nullptr, {}, {}, 0, std::move(work)}); }

void copy(uintptr_t dst, uintptr_t src, size_t n) { std::memmove(reinterpret_cast<void*>(dst), reinterpret_cast<void*>(src), n); }

template <class T>
int fill(uintptr_t p, T v, size_t n, Stream* st) {
  if (p % sizeof(T) || !inside(p, n * sizeof(T))) return kInvalidValue;
  return queue(st, [=] { for (size_t i = 0; i < n; ++i) reinterpret_cast<T*>(p)[i] = v; }, 2);
}

void run(const Function* f, const std::vector<std::vector<char>>& args, unsigned long long threads) {
  auto get = [&](size_t i, auto* v) { std::memcpy(v, args[i].data(), sizeof *v); };
  if (f->name == "add_one" && args.size() == 3) {
    uint64_t a, b; uint32_t n;
    get(0, &a); get(1, &b); get(2, &n);
    for (uint32_t i = 0; i < n && i < threads; ++i) reinterpret_cast<float*>(b)[i] = reinterpret_cast<float*>(a)[i] + 1;
  } else if (f->name == "saxpy" && args.size() == 4) {
    uint32_t n; float a; uint64_t x, y;
    get(0, &n); get(1, &a); get(2, &x); get(3, &y);
    for (uint32_t i = 0; i < n && i < threads; ++i) reinterpret_cast<float*>(y)[i] += a * reinterpret_cast<float*>(x)[i];
  } else if (f->name == "crash") {
    devices[f->device].sticky = kIllegalAddress;
  }
}

// Reads the arguments that the array of pointers holds, and logs them as bytes.
std::vector<std::vector<char>> arguments(const Function* f, void** params, std::string* text) {
  std::vector<std::vector<char>> args;
  for (size_t i = 0; i < f->sizes.size(); ++i) {
    const char* p = static_cast<const char*>(params[i]);
    args.emplace_back(p, p + f->sizes[i]);
    *text += i ? "," : "";
    char hex[3];
    for (char c : args.back()) { std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(c)); *text += hex; }
  }
  return args;
}

size_t size_of(const std::string& type) {  // such as .u32
  return type.size() < 3 ? 0 : std::atoi(type.c_str() + 2) / 8;
}

// Reads one declaration such as ".param .align 4 .b8 name[12]"; returns its size and, in *name, its name.
size_t declared(const std::string& text, std::string* name) {
  size_t size = 0, at = 0;
  while ((at = text.find('.', at)) != std::string::npos) {
    size_t end = text.find_first_of(" \t\n,)", at);
    std::string word = text.substr(at, end - at);
    if (word.size() > 2 && std::strchr("bufs", word[1]) && std::isdigit(static_cast<unsigned char>(word[2]))) {
      size = size_of(word);
      size_t from = text.find_first_not_of(" \t\n", end), to = text.find_first_of(" \t\n,)[;", from);
      *name = text.substr(from, to - from);
      if (to != std::string::npos && text[to] == '[') size *= std::atoi(text.c_str() + to + 1);
      break;
    }
    at = end == std::string::npos ? text.size() : end;
  }
  return size;
}

void parse(Module* m, const std::string& ptx) {
  size_t at = 0;
  std::string name;
  while ((at = ptx.find(".global ", at)) != std::string::npos) {
    size_t n = declared(ptx.substr(at, ptx.find(';', at) - at), &name);
    m->globals[name] = std::vector<char>(n);
    char* p = m->globals[name].data();
    blocks[reinterpret_cast<uintptr_t>(p)] = {n, m->device, true};
    at += 8;
  }
  at = 0;
  while ((at = ptx.find(".entry ", at)) != std::string::npos) {
    at += 7;
    size_t open = ptx.find('(', at), close = ptx.find(')', open), next = ptx.find(".entry ", close);
    auto f = std::make_unique<Function>();
    f->name = ptx.substr(at, open - at);
    f->device = m->device;
    std::string params = ptx.substr(open + 1, close - open - 1), body = ptx.substr(close, next - close);
    for (size_t p = 0; (p = params.find(".param", p)) != std::string::npos; p += 6)
      f->sizes.push_back(declared(params.substr(p + 6), &name));
    for (size_t p = 0; (p = body.find(".shared ", p)) != std::string::npos; p += 8)
      f->shared += static_cast<int>(declared(body.substr(p), &name));
    size_t most = body.find(".maxntid ");
    if (most != std::string::npos) f->threads = std::atoi(body.c_str() + most + 9);
    f->dynamic = 49152 - f->shared;
    functions.insert(f.get());
    m->functions[f->name] = std::move(f);
  }
}

template <class T>
T at(const char* p, size_t offset) {
  T v;
  std::memcpy(&v, p + offset, sizeof v);
  return v;
}

// Whether code for an architecture such as 75 runs on the devices, which are 90 and 75.
bool runs_on(int arch, int device) { return arch / 10 == (device ? 7 : 9) && arch % 10 <= (device ? 5 : 0); }

// Reads names and parameters of the kernels of a cubin: the section .nv.info.NAME has a record for each parameter.
// Returns the error for the code of another architecture. The caller has checked that the offsets are inside.
int parse_cubin(Module* m, const char* elf) {
  int arch = static_cast<int>(at<uint32_t>(elf, 48) >> 8 & 0xff);  // 0 in the headers that tests make up
  if (arch != 0 && !runs_on(arch, m->device)) return kNoBinary;
  const char* table = elf + at<uint64_t>(elf, 40);
  size_t n = at<uint16_t>(elf, 60);
  if (n == 0) return kOk;
  const char* names = elf + at<uint64_t>(table + 64 * at<uint16_t>(elf, 62), 24);
  const std::string info = ".nv.info.";
  for (size_t i = 0; i < n; ++i) {
    const char* section = table + 64 * i;
    std::string name = names + at<uint32_t>(section, 0);
    if (name.compare(0, info.size(), info) != 0) continue;
    auto f = std::make_unique<Function>();
    f->name = name.substr(info.size());
    f->device = m->device;
    f->dynamic = 49152;
    const char *p = elf + at<uint64_t>(section, 24), *end = p + at<uint64_t>(section, 32);
    std::map<int, size_t> sizes;
    while (end - p >= 4) {
      unsigned char format = at<unsigned char>(p, 0), what = at<unsigned char>(p, 1);
      uint16_t length = format == 4 ? at<uint16_t>(p, 2) : 0;
      if (what == 0x17 && length == 12) sizes[at<uint16_t>(p, 8)] = at<uint32_t>(p, 12) >> 18;
      p += 4 + length;
    }
    for (auto& s : sizes) f->sizes.push_back(s.second);
    functions.insert(f.get());
    m->functions[f->name] = std::move(f);
  }
  return kOk;
}

// A launch, or the error of one that cannot be.
int launch(Function* f, Dim grid, Dim block, unsigned shared, std::vector<std::vector<char>> args, Node* out) {
  if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return kInvalidValue;
  unsigned long long n = 1ull * block.x * block.y * block.z;
  if (n > static_cast<unsigned>(f->threads) || static_cast<int>(shared) > f->dynamic) return kInvalidValue;
  n *= 1ull * grid.x * grid.y * grid.z;
  *out = Node{0, f, grid, block, shared, [=] { run(f, args, n); }};
  return kOk;
}

int start(Function* f, Dim grid, Dim block, unsigned shared, Stream* st, std::vector<std::vector<char>> args) {
  Node node;
  int rc = launch(f, grid, block, shared, std::move(args), &node);
  return rc ? rc : queue(st, node);
}

}  // namespace
