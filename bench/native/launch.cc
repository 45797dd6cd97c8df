// The C++ peer of the launches: the CUDA driver, as a program without the runtime calls it. It speaks the protocol of
// ../launch/main.go. Usage: launch LIBTVM_FFI launch.ptx; the first is not used. TVMFFI_CUDA_LIBRARY names another driver.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace {

void* driver;

void fail(const char* what, const char* why) {
  std::fprintf(stderr, "launch: %s: %s\n", what, why);
  std::exit(1);
}

template <class F>
F* symbol(const char* name) {
  void* p = dlsym(driver, name);
  if (!p) fail(name, "the driver has no such function");
  return reinterpret_cast<F*>(p);
}

using Launch = int(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** params, void** extra);

int (*get_error_name)(int, const char**);
Launch* launch_kernel;
int (*synchronize)(void*);
int (*set_current)(void*);
int (*graph_launch)(void*, void*);

inline void check(int rc, const char* what) {
  if (__builtin_expect(rc == 0, 1)) return;
  const char* name = nullptr;
  if (!get_error_name || get_error_name(rc, &name) || !name) name = "an error without a name";
  fail(what, name);
}

const int kElements = 256;      // of the vectors
const int kLaunches = 200;      // in a batch; the queue of a stream has more room
const int kBusyLaunches = 50;   // in a batch of kernels that take time
const int kNodes = 20;          // of the graph
const int kGraphs = 40;         // launched in a batch
const int kBatches = 5;         // that count, after one that does not
const long long kCycles = 40000;  // of the kernel that takes time

void* context;
void *empty, *saxpy, *busy, *graph;
void* streams[2];
uintptr_t x, y;

void launch_empty(void* stream) {
  uintptr_t px = x, py = y;
  int n = kElements;
  void* params[] = {&px, &py, &n};
  check(launch_kernel(empty, 1, 1, 1, 32, 1, 1, 0, stream, params, nullptr), "cuLaunchKernel");
}

void launch_saxpy(void* stream) {
  int n = kElements;
  float a = 2;
  uintptr_t px = x, py = y;
  void* params[] = {&n, &a, &px, &py};
  check(launch_kernel(saxpy, (kElements + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, nullptr), "cuLaunchKernel");
}

void launch_graph(void* stream) { check(graph_launch(graph, stream), "cuGraphLaunch"); }

void launch_busy(void* stream) {
  long long cycles = kCycles;
  void* params[] = {&cycles};
  check(launch_kernel(busy, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr), "cuLaunchKernel");
}

using Clock = std::chrono::steady_clock;

// Measures launches by so many threads, each with a stream of its own; whole says that what the device does counts
// too. Returns nanoseconds per launch. Between the batches everything is waited for.
template <void (*launch)(void*)>
double measure(int threads, int launches, bool whole) {
  std::atomic<int> arrived{0};
  Clock::time_point from[2], to[2];
  double took = 0;
  auto work = [&](int i) {
    check(set_current(context), "cuCtxSetCurrent");
    int turn = 0;
    auto meet = [&] {  // all threads
      ++turn;
      ++arrived;
      while (arrived < threads * turn) std::this_thread::yield();
    };
    for (int batch = 0; batch <= kBatches; ++batch) {
      meet();
      from[i] = Clock::now();
      for (int n = 0; n < launches; ++n) launch(streams[i]);
      if (whole) check(synchronize(streams[i]), "cuStreamSynchronize");
      to[i] = Clock::now();
      check(synchronize(streams[i]), "cuStreamSynchronize");
      meet();
      if (i == 0 && batch > 0) {
        auto first = from[0], last = to[0];
        if (threads == 2) first = std::min(from[0], from[1]), last = std::max(to[0], to[1]);
        took += std::chrono::duration<double, std::nano>(last - first).count();
      }
    }
  };
  if (threads == 1) {
    work(0);
  } else {
    std::thread other(work, 1);
    work(0);
    other.join();
  }
  return took / (double(kBatches) * launches * threads);
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = std::getenv("TVMFFI_CUDA_LIBRARY");
  if (!name || !*name) name = "libcuda.so.1";
  if (argc != 3) fail("usage", "launch LIBTVM_FFI launch.ptx");
  driver = dlopen(name, RTLD_NOW);
  if (!driver && !std::strchr(name, '/')) driver = dlopen("/usr/lib/wsl/lib/libcuda.so.1", RTLD_NOW);  // as package cuda does
  if (!driver) fail(name, dlerror());
  get_error_name = symbol<int(int, const char**)>("cuGetErrorName");
  launch_kernel = symbol<Launch>("cuLaunchKernel");
  synchronize = symbol<int(void*)>("cuStreamSynchronize");
  set_current = symbol<int(void*)>("cuCtxSetCurrent");
  graph_launch = symbol<int(void*, void*)>("cuGraphLaunch");
  check(symbol<int(unsigned)>("cuInit")(0), "cuInit");
  int device = 0;
  check(symbol<int(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
  check(symbol<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device), "cuDevicePrimaryCtxRetain");
  check(set_current(context), "cuCtxSetCurrent");

  std::ifstream file(argv[2], std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) fail(argv[2], "cannot be read");
  void* module = nullptr;
  check(symbol<int(void**, const void*, unsigned, int*, void**)>("cuModuleLoadDataEx")(&module, text.str().c_str(), 0, nullptr, nullptr), "cuModuleLoadDataEx");
  auto function = symbol<int(void**, void*, const char*)>("cuModuleGetFunction");
  check(function(&empty, module, "empty"), "cuModuleGetFunction");
  check(function(&saxpy, module, "saxpy"), "cuModuleGetFunction");
  check(function(&busy, module, "busy"), "cuModuleGetFunction");
  const unsigned kNonBlocking = 1;
  for (auto& s : streams) check(symbol<int(void**, unsigned, int)>("cuStreamCreateWithPriority")(&s, kNonBlocking, 0), "cuStreamCreateWithPriority");
  const float zeros[kElements] = {};
  for (auto p : {&x, &y}) {
    check(symbol<int(uintptr_t*, size_t)>("cuMemAlloc_v2")(p, sizeof zeros), "cuMemAlloc");
    check(symbol<int(uintptr_t, const void*, size_t)>("cuMemcpyHtoD_v2")(*p, zeros, sizeof zeros), "cuMemcpyHtoD");
  }
  // A copy of memory that is not pinned may not have reached the device when it returns, and the streams do not wait.
  check(symbol<int()>("cuCtxSynchronize")(), "cuCtxSynchronize");

  const int kThreadLocal = 1;
  void* captured = nullptr;
  check(symbol<int(void*, int)>("cuStreamBeginCapture_v2")(streams[0], kThreadLocal), "cuStreamBeginCapture");
  for (int i = 0; i < kNodes; ++i) launch_empty(streams[0]);
  check(symbol<int(void*, void**)>("cuStreamEndCapture")(streams[0], &captured), "cuStreamEndCapture");
  check(symbol<int(void**, void*, unsigned long long)>("cuGraphInstantiateWithFlags")(&graph, captured, 0), "cuGraphInstantiate");

  const std::map<std::string, std::function<double()>> items = {
      {"empty", [] { return measure<launch_empty>(1, kLaunches, false); }},
      {"empty2", [] { return measure<launch_empty>(2, kLaunches, false); }},
      {"graph", [] { return measure<launch_graph>(1, kGraphs, false); }},
      {"saxpy", [] { return measure<launch_saxpy>(1, kLaunches, false); }},
      {"busy", [] { return measure<launch_busy>(1, kBusyLaunches, true); }},
      {"busy2", [] { return measure<launch_busy>(2, kBusyLaunches, true); }},
  };
  for (auto& i : items) std::cout << i.first << ' ';
  std::cout << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    auto item = items.find(line);
    if (item == items.end()) fail(line.c_str(), "no such item");
    std::printf("%.2f 0\n", item->second());
    std::fflush(stdout);
  }
}
