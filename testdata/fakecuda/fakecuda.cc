// A driver without a GPU, for tests: it has the functions of libcuda.so.1 that package cuda calls, with two devices
// whose memory is memory of the host. It punishes what a real device does not forgive: work is queued and runs late
// (engine.h); freed memory is poisoned; each use of freed, unwritten or foreign memory, and each pair of uses without an
// order between them, is a violation that fails the test (state.h). Each call is logged with its OS thread and
// arguments; any call can be made to fail. It checks what the real driver checks about contexts, handles, captures and
// sizes.
//
// PTX and cubins, also in fatbins (fatbin.h), are read as far as variables, and names, parameters and sizes of kernels go
// (kernels.h says what kernels do).
//
// The environment: FAKECUDA_ABORT=1 ends the process at the first violation, FAKECUDA_STRICT=1 also compares two kernels
// without a model with each other, as if each wrote all that its parameters point to, FAKECUDA_VERSION is the CUDA version of the driver, such as 12020, FAKECUDA_INIT the result of cuInit, FAKECUDA_DEVICES the
// number of devices, FAKECUDA_LOG a file that gets the log too, FAKECUDA_SLEEP, such as cuStreamSynchronize=100, a
// function and the milliseconds that it sleeps, and FAKECUDA_MIG a device that is an instance of MIG. Linked with
// old.ld, it has the functions of CUDA 11.2.
#include "device.h"
#include "graph.h"
#include "memory.h"
#include "memory_more.h"
#include "module.h"
#include "stream.h"

// ---- what the tests call

// Copies the log, one call a line, and returns its length without the final NUL.
EXPORT size_t fakecuda_log(char* out, size_t n) {
  LOCK;
  std::string all;
  for (auto& l : log_lines) all += l + "\n";
  if (out && all.size() < n) std::memcpy(out, all.c_str(), all.size() + 1);
  return all.size();
}
// Copies the violations, one a line, and returns their length; the list is empty then. Work that is left runs first.
EXPORT size_t fakecuda_violations(char* out, size_t n) {
  LOCK;
  force_all(-1);
  std::string all;
  for (auto& v : violations) all += v + "\n";
  if (out && all.size() < n) {
    std::memcpy(out, all.c_str(), all.size() + 1);
    violations.clear();
  }
  return all.size();
}
// How much work fits into the queue of one stream from now on, 0 for any number.
EXPORT void fakecuda_queue(size_t n) { queue_length = n; }
// Whether two kernels without a model are compared with each other from now on.
EXPORT void fakecuda_strict(size_t on) { strict = on != 0; }
// Empties the log, lets all functions work, and resets devices with a sticky error, whose memory is lost.
EXPORT void fakecuda_clear() {
  LOCK;
  log_lines.clear();
  failures.clear();
  for (int i = 0; i < 2; ++i) {
    if (!devices[i].sticky) continue;
    force_all(i);  // which does nothing any more
    std::vector<uintptr_t> lost;
    for (auto& b : blocks)
      if (b.second.device == i && b.second.kind != Kind::variable) lost.push_back(b.first);
    for (auto p : lost) bury(p, "the reset of a device with a sticky error");
    devices[i].sticky = 0;
  }
}
// Makes a function fail: skip calls pass, then times calls (-1: all) return code.
EXPORT void fakecuda_fail(const char* name, int code, int skip, int times) { LOCK; failures[name] = {code, skip, times}; }
// How many things are not freed: 0 memory, 1 bytes of the devices, 2 streams, 3 events, 4 modules, 5 graphs, 6 retained contexts, 7 pools.
// Work that is left runs first.
EXPORT size_t fakecuda_live(int what) {
  LOCK;
  force_all(-1);
  size_t variables = 0;
  for (auto m : modules) variables += m->globals.size();
  switch (what) {
    case 0: return blocks.size() - aliases.size() - variables;
    case 1: return devices[0].used + devices[1].used;
    case 2: return streams.size();
    case 3: return events.size();
    case 4: return modules.size();
    case 5: return graph_set.size() + executables.size();
    case 7: return pools.size();
    default: return devices[0].retained + devices[1].retained;
  }
}

// Gives the newest function of a name whose signature the asked version has.
EXPORT int cuGetProcAddress_v2(const char* name, void** out, int asked, uint64_t flags, void* status) {
  LOCK;
  enter(__func__, "%s %d %llu %llx", name, asked, static_cast<unsigned long long>(flags), num(status));
  if (status != nullptr) *static_cast<int*>(status) = 0;
  if (asked > version()) return kNotFound;
  static const std::map<std::string, int> second = {
      {"cuDeviceTotalMem", 3020}, {"cuDevicePrimaryCtxRelease", 11000}, {"cuMemGetInfo", 3020}, {"cuMemAlloc", 3020}, {"cuMemFree", 3020},
      {"cuMemcpyHtoD", 3020}, {"cuMemcpyDtoH", 3020}, {"cuMemcpyHtoDAsync", 3020}, {"cuMemcpyDtoHAsync", 3020}, {"cuMemcpyDtoDAsync", 3020},
      {"cuMemHostRegister", 6050}, {"cuMemHostGetDevicePointer", 3020}, {"cuStreamDestroy", 4000}, {"cuStreamBeginCapture", 10010}, {"cuEventDestroy", 4000}, {"cuModuleGetGlobal", 3020},
      {"cuDeviceGetUuid", 11040},
  };
  auto v = second.find(name);
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* lib = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  *out = dlsym(lib, v != second.end() && asked >= v->second ? (std::string(name) + "_v2").c_str() : name);
  return *out ? kOk : kNotFound;
}

namespace {
// When the process ends, the thread that drives work stops before what it uses is gone. This stands last, so that it
// ends first. A function of the host that never returns does not keep the process.
struct Exit {
  ~Exit() {
    exiting = true;
    for (int i = 0; driving && i < 1000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
} at_exit;
}  // namespace
