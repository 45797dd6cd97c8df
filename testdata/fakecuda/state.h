// What the fake driver knows: devices, memory, and the log of calls. Work and its order are in engine.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum {
  kOk = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200,
  kInvalidContext = 201, kNoBinary = 209, kInvalidPTX = 218, kUnsupportedPTX = 222, kInvalidHandle = 400, kIllegalState = 401, kNotFound = 500, kNotReady = 600,
  kIllegalAddress = 700, kPeerAlready = 704, kHostRegistered = 712, kHostNotRegistered = 713, kMisalignedAddress = 716, kCooperativeTooLarge = 720,
  kNotPermitted = 800, kNotSupported = 801, kCaptureUnsupported = 900,
  kCaptureInvalidated = 901, kCaptureMerge = 902, kCaptureUnmatched = 903, kCaptureUnjoined = 904, kCaptureIsolation = 905,
  kCaptureImplicit = 906, kCapturedEvent = 907, kCaptureWrongThread = 908, kUnknown = 999,
};

// The CUDA version of the driver, which FAKECUDA_VERSION changes.
int version() {
  const char* v = std::getenv("FAKECUDA_VERSION");
  return v ? std::atoi(v) : 13000;
}

struct Task;
struct Stream;
struct Pool {
  int device;
  uint64_t attributes[9];
  std::set<int> access;
};
struct Device { int retained = 0; int sticky = 0; size_t used = 0; std::set<int> peers; };

const size_t kTotal = size_t(1) << 30;  // bytes of a device
const int kMultiprocessors[2] = {132, 40};
std::mutex mutex;
std::vector<std::string> log_lines;
struct Failure { int code, skip, times; };
std::map<std::string, Failure> failures;
Device devices[2];
char contexts[2];  // their addresses are the primary contexts
bool initialized = false;
float clock_ms = 0;
Pool default_pools[2] = {{0, {0, 1, 1, 1}, {}}, {1, {0, 1, 1, 1}, {}}};
std::set<Pool*> pools;

std::atomic<int> threads{0};
thread_local int thread_number = 0;
thread_local void* current = nullptr;

int device_count() {
  const char* n = std::getenv("FAKECUDA_DEVICES");
  return n ? std::atoi(n) : 2;
}

unsigned long long num(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// ---- violations: what a real driver would not report, but what would spoil results

std::vector<std::string> violations;

// Notes that the program did something wrong. With FAKECUDA_ABORT=1 the process ends.
__attribute__((format(printf, 1, 2))) void violation(const char* format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  violations.push_back(text);
  const char* end = std::getenv("FAKECUDA_ABORT");
  if (end && *end == '1') {
    std::fprintf(stderr, "fakecuda: %s\n", text);
    std::abort();
  }
}

// ---- memory

// Ranges is a set of bytes.
struct Ranges {
  std::map<uintptr_t, uintptr_t> parts;  // begin to end
  void add(uintptr_t from, uintptr_t to) {
    if (from >= to) return;
    auto p = parts.upper_bound(from);
    if (p != parts.begin() && std::prev(p)->second >= from) --p;
    while (p != parts.end() && p->first <= to) {
      from = std::min(from, p->first);
      to = std::max(to, p->second);
      p = parts.erase(p);
    }
    parts[from] = to;
  }
  bool has(uintptr_t from, uintptr_t to) const {
    if (from >= to) return true;
    auto p = parts.upper_bound(from);
    return p != parts.begin() && std::prev(p)->second >= to;
  }
};

// ---- time

// A Time says which work comes before other work. Work on one stream is on one line of time, and so is each branch of a
// graph that is not the first. Its clock has, for each line, the last tick that comes before. What the host has waited
// for comes before all that it queues from then on, on any thread: what threads tell each other is not seen here.
unsigned made = 0;  // lines, and so streams
std::map<unsigned, unsigned> last_of;  // the last tick of each line
using Clock = std::map<unsigned, unsigned>;
std::shared_ptr<const Clock> host_time = std::make_shared<Clock>();
struct Time {
  Clock clock;
  std::shared_ptr<const Clock> host;  // when the work was queued
  unsigned line = 0, tick = 0, stream = 0;
  void join(const Time& o) {
    for (auto& c : o.clock) join(c.first, c.second);
    if (o.line) join(o.line, o.tick);
  }
  void join(unsigned l, unsigned t) {
    auto h = host_time->find(l);
    if (h == host_time->end() || h->second < t) clock[l] = std::max(clock[l], t);
  }
  void begin(unsigned l, unsigned s) {
    line = l;
    stream = s;
    tick = ++last_of[l];
    host = host_time;
  }
  bool after(unsigned l, unsigned t) const {
    auto find = [&](const Clock& c) { auto f = c.find(l); return f != c.end() && f->second >= t; };
    return (line == l && tick >= t) || find(clock) || (host && find(*host));
  }
};
Time device_time[2], blocking_time[2];  // of all work of a device, and of that of streams that its default stream waits for
Time* now = nullptr;                    // of the work that runs, null for the host

void host_waited(const Time& t) {
  auto next = std::make_shared<Clock>(*host_time);
  for (auto& c : t.clock) (*next)[c.first] = std::max((*next)[c.first], c.second);
  if (t.line) (*next)[t.line] = std::max((*next)[t.line], t.tick);
  host_time = next;
}

// Use is what work has done with a range of memory. A guess is that of a kernel of which only the parameters are known.
struct Use { uintptr_t from, to; unsigned line, tick, stream; bool write, guess; std::string who; };

enum class Kind { device, host, managed, variable };
// Block is memory of the driver.
struct Block {
  size_t size;
  int device;
  Kind kind;
  Pool* pool = nullptr;   // of stream-ordered memory
  bool promised = false;  // its allocation waits in a stream
  bool ending = false;    // its end waits in a stream
  const char* ended = nullptr;  // the function that freed it
  bool alias = false;     // another address of memory of the host
  Ranges written;
  std::vector<Use> uses;  // the last write of each byte, and the reads since
};
std::map<uintptr_t, Block> blocks;
std::map<uintptr_t, Block> graves;  // freed, still mapped, filled with 0xDD
struct Registration { size_t size; unsigned flags; };
std::map<uintptr_t, Registration> registered;  // memory of the program that it pinned
std::map<uintptr_t, unsigned> host_flags;      // of cuMemHostAlloc
std::map<uintptr_t, uintptr_t> aliases;        // of write-combined memory: its address for kernels

// All memory is taken from one file, so that it can be mapped twice. Freed memory is not used again until
// the arena is full.
const size_t kArena = size_t(16) << 30;
struct Arena { int file = -1; uintptr_t base = 0, next = 0; } arena;

bool open_arena() {
  if (arena.base) return true;
  arena.file = memfd_create("fakecuda", MFD_CLOEXEC);
  if (arena.file < 0 || ftruncate(arena.file, static_cast<off_t>(kArena))) return false;
  void* p = mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, arena.file, 0);
  if (p == MAP_FAILED) return false;
  arena.base = arena.next = reinterpret_cast<uintptr_t>(p);
  return true;
}

// Finds a place of n bytes, with a gap behind it.
uintptr_t place(size_t n) {
  if (!open_arena()) return 0;
  const size_t want = (n + 511) / 256 * 256;
  for (int round = 0; round < 2; ++round) {
    for (;;) {
      if (arena.next + want > arena.base + kArena) break;
      auto b = blocks.lower_bound(arena.next);
      if (b != blocks.begin() && std::prev(b)->first + std::prev(b)->second.size > arena.next) b = std::prev(b);
      if (b == blocks.end() || b->first >= arena.next + want) {
        auto g = graves.lower_bound(arena.next);
        if (g != graves.begin() && std::prev(g)->first + std::prev(g)->second.size > arena.next) g = std::prev(g);
        while (g != graves.end() && g->first < arena.next + want) g = graves.erase(g);
        uintptr_t p = arena.next;
        arena.next += want;
        return p;
      }
      arena.next = (b->first + b->second.size + 511) / 256 * 256;
    }
    arena.next = arena.base;
  }
  return 0;
}

const size_t kFilled = size_t(4) << 20;  // the most bytes that are filled
size_t buried = 0;

int allocate(uintptr_t* out, size_t n, Kind kind, int dev, Pool* pool = nullptr) {
  if (n == 0) return kInvalidValue;
  const bool host = kind == Kind::host;
  if (!host && n > kTotal - devices[dev].used) return kOutOfMemory;
  uintptr_t p = place(n);
  if (!p) return kOutOfMemory;
  std::memset(reinterpret_cast<void*>(p), 0xCD, std::min(n, kFilled));
  Block b{n, dev, kind};
  b.pool = pool;
  if (kind != Kind::device) b.written.add(p, p + n);  // the host writes these unseen
  blocks[p] = b;
  *out = p;
  if (pool) {
    pool->attributes[5] = pool->attributes[7] += n;
    for (int i : {6, 8}) pool->attributes[i] = std::max(pool->attributes[i], pool->attributes[7]);
  }
  if (!host) devices[dev].used += n;
  return kOk;
}

// Ends memory: its content is overwritten, and later uses are violations.
void bury(uintptr_t p, const char* how) {
  auto b = blocks.find(p);
  if (b->second.alias) {  // the memory itself stays: only the mapping ends
    uintptr_t from = p / 4096 * 4096;
    mmap(reinterpret_cast<void*>(from), p + b->second.size - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  } else if (b->second.kind != Kind::host) {
    devices[b->second.device].used -= b->second.size;
  }
  Pool* pool = b->second.pool;
  if (pool && (pools.count(pool) || pool == &default_pools[b->second.device])) pool->attributes[7] -= b->second.size;
  b->second.ended = how;
  std::memset(reinterpret_cast<void*>(p), 0xDD, std::min(b->second.size, kFilled));
  buried += b->second.size;
  graves[p] = std::move(b->second);
  blocks.erase(b);
  while (buried > (size_t(256) << 20) && !graves.empty()) {  // give pages back; the place stays known as freed
    for (auto& g : graves) {
      uintptr_t from = (g.first + 4095) / 4096 * 4096, to = (g.first + g.second.size) / 4096 * 4096;
      if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_REMOVE);
    }
    buried = 0;
  }
}

void judge(Block& b, uintptr_t p, size_t n, const std::string& who, bool write, bool guess);
int release(uintptr_t p, bool host, const char* how) {
  auto b = blocks.find(p);
  if (b == blocks.end() || registered.count(p) || (b->second.kind == Kind::host) != host || b->second.kind == Kind::variable || b->second.ending) return kInvalidValue;
  judge(b->second, p, b->second.size, how, true, false);
  bury(p, how);
  return kOk;
}

template <class Map>
auto around(Map& m, uintptr_t p, size_t n) {
  auto b = m.upper_bound(p);
  if (b == m.begin()) return m.end();
  --b;
  if (p - b->first > b->second.size || n > b->second.size - (p - b->first)) return m.end();
  return b;
}

// Whether [p, p+n) lies in one allocation; its device, -1 for the host, in *of.
bool inside(uintptr_t p, size_t n, int* of = nullptr) {
  auto b = around(blocks, p, n);
  if (b == blocks.end()) return false;
  if (of) *of = b->second.kind == Kind::host ? -1 : b->second.device;
  return true;
}

// Whether memory of the host is pinned.
bool pinned(uintptr_t p, size_t n) {
  auto b = around(blocks, p, n);
  return b != blocks.end() && b->second.kind == Kind::host;
}

bool reachable(int dev, const Block& b) {
  if (dev < 0 || b.device == dev || b.kind == Kind::host || b.kind == Kind::managed) return true;
  if (b.pool ? b.pool->access.count(dev) > 0 : devices[dev].peers.count(b.device) > 0) return true;
  return false;
}

// Whether guesses count as writes, so that two kernels that may only read are judged too.
std::atomic<bool> strict{std::getenv("FAKECUDA_STRICT") != nullptr};

const char* verb(const std::string& who, bool write, bool guess) {
  if (who.compare(0, 9, "cuMemFree") == 0) return "frees";
  return guess ? "may use" : write ? "writes" : "reads";
}

// Compares a use of memory with those before: two that have no order are a mistake, unless both read or both are guesses.
void judge(Block& b, uintptr_t p, size_t n, const std::string& who, bool write, bool guess) {
  Time host;
  host.host = host_time;
  const Time& at = now ? *now : host;
  std::vector<Use> left;
  for (auto& u : b.uses) {
    const bool overlap = u.from < p + n && p < u.to, ordered = at.after(u.line, u.tick);
    if (overlap && !ordered && (u.write || write) && !(u.guess && guess && !strict))
      violation("%s on stream %u %s %zu bytes at %zx, and %s on stream %u %s them without an order: let one wait for an event of the other, or synchronise", u.who.c_str(), u.stream,
                verb(u.who, u.write, u.guess), n, p, who.c_str(), at.stream, verb(who, write, guess));
    const bool covered = p <= u.from && u.to <= p + n;
    if (!(covered && (ordered || u.line == at.line) && (write || !u.write))) left.push_back(u);
  }
  b.uses = std::move(left);
  if (now) b.uses.push_back({p, p + n, at.line, at.tick, at.stream, write, guess, who});
}

// Checks that work may use a range, at the moment when it runs. dev is the device whose kernel does it, -1 for a
// copy of the driver. Otherwise the program has made a mistake, and the memory must not be touched if the result is false.
bool use(const std::string& who, uintptr_t p, size_t n, int dev, bool write) {
  if (n == 0) return true;
  const char* does = write ? "writes" : "reads";
  auto b = around(blocks, p, n);
  if (b == blocks.end()) {
    auto g = around(graves, p, n);
    if (g != graves.end()) {
      violation("%s %s %zu bytes at %zx of freed memory: %zu bytes at %zx, freed by %s", who.c_str(), does, n, p, g->second.size, g->first, g->second.ended);
      return true;  // it is still mapped; what is there is garbage, as on a device
    }
    violation("%s %s %zu bytes at %zx, which is not memory of the driver", who.c_str(), does, n, p);
    const bool mapped = p >= arena.base && p + n <= arena.next;  // a little beyond an allocation, which no device notices
    if (dev >= 0 && !mapped) devices[dev].sticky = kIllegalAddress;
    return false;
  }
  if (b->second.promised) violation("%s %s %zu bytes at %zx before the allocation in stream order", who.c_str(), does, n, p);
  if (!reachable(dev, b->second)) {
    violation("%s %s %zu bytes at %zx: device %d has no access to memory of device %d", who.c_str(), does, n, p, dev, b->second.device);
    devices[std::max(dev, 0)].sticky = kIllegalAddress;
    return false;
  }
  judge(b->second, p, n, who, write, false);
  if (write) b->second.written.add(p, p + n);
  else if (!b->second.written.has(p, p + n)) violation("%s reads %zu bytes at %zx that nothing has written", who.c_str(), n, p);
  return true;
}

// ---- calls

// Whether this thread runs a function of the host, which must not call the driver.
thread_local bool in_host_function = false;

// The lock that this thread holds, which work of the host and slow calls release meanwhile.
thread_local std::unique_lock<std::mutex>* held = nullptr;

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
  if (sleep.compare(0, sleep.find('='), name) == 0) {  // other calls overtake it
    auto lock = held;
    lock->unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(sleep.c_str() + sleep.find('=') + 1)));
    lock->lock();
  }
  if (in_host_function) {
    violation("a function of the host calls %s", name);
    return kNotPermitted;
  }
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

struct Lock {
  std::unique_lock<std::mutex> lock{mutex};
  Lock() { held = &lock; }
  ~Lock() { held = nullptr; }
};

#define LOCK Lock lock
#define CALL(...)                                            \
  LOCK;                                                      \
  if (int rc = enter(__func__, __VA_ARGS__)) return rc
#define CONTEXT()                                            \
  int dev = device();                                        \
  if (dev < 0) return kInvalidContext;                       \
  if (devices[dev].sticky) return devices[dev].sticky
#define DEVICE(d)                                            \
  d -= 10;                                                   \
  if (d < 0 || d >= device_count()) return kInvalidDevice

}  // namespace
