// A profiler for tests, as NVTX describes one: it takes the tables of functions from the program and writes its own
// functions into them. Each call becomes a line of a log. NVTXTOOL=refuse makes it refuse to start, NVTXTOOL=old leaves
// out the functions for domains.
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/syscall.h>

namespace {

using Function = void (*)();
struct Callbacks {
  size_t size;
  int (*table)(int module, Function*** table, unsigned* size);
};
struct Version {
  size_t size;
  uint32_t version, reserved;
  void (*set)(uint32_t);
};
struct Attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  union { uint64_t u; int64_t i; double d; } payload;
  int32_t message_type;
  const char* message;
};

std::mutex mutex;
std::string text;
thread_local int depth = 0;

__attribute__((format(printf, 1, 2))) void log(const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  std::lock_guard<std::mutex> lock(mutex);
  text += line;
  text += "\n";
}

std::string show(const Attributes* a) {
  char out[512];
  std::snprintf(out, sizeof out, "v%d size=%d %s category=%u", a->version, a->size, a->message_type == 1 ? a->message : "-", a->category);
  std::string all = out;
  if (a->color_type == 1) {
    std::snprintf(out, sizeof out, " color=%08x", a->color);
    all += out;
  }
  if (a->payload_type == 1) all += " u=" + std::to_string(a->payload.u);
  if (a->payload_type == 2) all += " i=" + std::to_string(a->payload.i);
  if (a->payload_type == 3) all += " d=" + std::to_string(a->payload.d);
  return all;
}

long thread() { return syscall(SYS_gettid); }
uint64_t ranges = uint64_t(1) << 40;  // so that all 64 bits must come back

void mark(const Attributes* a) { log("mark %s", show(a).c_str()); }
uint64_t start(const Attributes* a) {
  log("start %s", show(a).c_str());
  return ++ranges;
}
void end(uint64_t id) { log("end %llx", static_cast<unsigned long long>(id)); }
int push(const Attributes* a) {
  log("push %s depth=%d thread=%ld", show(a).c_str(), depth, thread());
  return depth++;
}
int pop() {
  log("pop depth=%d thread=%ld", --depth, thread());
  return depth;
}
void category(uint32_t n, const char* name) { log("category %u %s", n, name); }
void* create(const char* name) {
  log("domain %s", name);
  return reinterpret_cast<void*>(uintptr_t(0xd0));
}
void destroy(void* d) { log("destroy %p", d); }
void mark_in(void* d, const Attributes* a) {
  if (a->message_type == 1 && !std::strcmp(a->message, "slow")) usleep(5000);
  log("%p mark %s", d, show(a).c_str());
}
uint64_t start_in(void* d, const Attributes* a) {
  log("%p start %s", d, show(a).c_str());
  return ++ranges;
}
void end_in(void* d, uint64_t id) { log("%p end %llx", d, static_cast<unsigned long long>(id)); }
int push_in(void* d, const Attributes* a) {
  log("%p push %s depth=%d thread=%ld", d, show(a).c_str(), depth, thread());
  return depth++;
}
int pop_in(void* d) {
  log("%p pop depth=%d thread=%ld", d, --depth, thread());
  return depth;
}
void category_in(void* d, uint32_t n, const char* name) { log("%p category %u %s", d, n, name); }

template <class F>
void set(Function** table, int id, F f) { *table[id] = reinterpret_cast<Function>(f); }

}  // namespace

extern "C" __attribute__((visibility("default"))) size_t nvtxtool_log(char* out, size_t n) {
  std::lock_guard<std::mutex> lock(mutex);
  if (out && text.size() < n) {
    std::memcpy(out, text.c_str(), text.size() + 1);
    text.clear();
    return 0;
  }
  return text.size();
}

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*get)(uint32_t)) {
  const std::string mode = std::getenv("NVTXTOOL") ? std::getenv("NVTXTOOL") : "";
  auto callbacks = static_cast<const Callbacks*>(get(1));
  auto version = static_cast<const Version*>(get(3));
  if (!callbacks || !version || get(0) || get(2) || callbacks->size != sizeof(Callbacks) || version->size != sizeof(Version)) return 0;
  version->set(3);
  Function** table = nullptr;
  unsigned size = 0;
  const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (int m = 1; m < 7; ++m) {
    if (callbacks->table(m, &table, &size) != 1 || size != sizes[m]) return 0;
    for (unsigned i = 1; i < size; ++i)
      if (table[i] == nullptr) return 0;
    if (table[0] != nullptr || table[size] != nullptr) return 0;
  }
  if (callbacks->table(0, &table, &size) != 0 || callbacks->table(7, &table, &size) != 0 || callbacks->table(1, nullptr, nullptr) != 1) return 0;
  log("version %u", version->version);
  callbacks->table(1, &table, nullptr);
  set(table, 1, mark);
  set(table, 4, start);
  set(table, 7, end);
  set(table, 8, push);
  set(table, 11, pop);
  set(table, 12, category);
  if (mode == "refuse") return 0;
  if (mode == "old") return 1;
  callbacks->table(5, &table, &size);
  set(table, 1, mark_in);
  set(table, 2, start_in);
  set(table, 3, end_in);
  set(table, 4, push_in);
  set(table, 5, pop_in);
  set(table, 8, category_in);
  set(table, 12, create);
  set(table, 14, destroy);
  return 1;
}
