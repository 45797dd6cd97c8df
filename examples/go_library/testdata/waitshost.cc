// Calls functions of the library waits from threads of C++, and without waiting.
#include <tvm/ffi/tvm_ffi.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace ffi = tvm::ffi;

static void on_threads(ffi::Function call, ffi::Function f, int64_t n) {
  std::vector<std::thread> all;
  for (int64_t i = 0; i < n; i++) all.emplace_back([=] { call(f, i); });
  // Go calls Python on other threads, which need the lock that this thread has if the host keeps it.
  for (auto& t : all) t.join();
}

static void on_detached_threads(ffi::Function call, ffi::Function f, int64_t n) {
  // The functions are never released: the threads go on while the process ends.
  auto functions = new std::pair<ffi::Function, ffi::Function>(call, f);
  for (int64_t i = 0; i < n; i++) {
    std::thread([=] {
      for (;;) {
        try {
          functions->first(functions->second, i);
        } catch (const ffi::Error&) {
        }
      }
    }).detach();
  }
}

static void lend(ffi::Function start, ffi::Function done) {
  float data[3] = {};
  int64_t shape[1] = {3};
  DLTensor t{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  start(done, &t, 1.0);
}

// Async is a call that runs in Go.
template <typename R>
class Async {
 public:
  template <typename... Args>
  explicit Async(const ffi::Function& start, Args&&... args) {
    auto promise = std::make_shared<std::promise<R>>();
    result = promise->get_future();
    auto done = ffi::Function::FromPacked([promise](ffi::PackedArgs args, ffi::Any*) {
      try {
        if (auto error = args[1].try_cast<ffi::Error>()) throw *error;
        promise->set_value(args[0].cast<R>());
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    });
    cancel = start(done, std::forward<Args>(args)...).template cast<ffi::Function>();
  }
  std::future<R> result;
  ffi::Function cancel;
};

static void check(bool ok, const char* what) {
  if (!ok) throw ffi::Error("RuntimeError", what, "");
}

static void futures(ffi::Function async) {
  auto wait = async("wait").cast<ffi::Function>();
  std::vector<Async<ffi::String>> all;
  for (int i = 0; i < 100; i++) all.emplace_back(wait, 10, "a text that C++ does not keep");
  for (auto& a : all) check(a.result.get() == "a text that C++ does not keep", "another text");
  Async<ffi::String> cancelled(wait, 60000, "");
  check(cancelled.result.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout, "it did not wait");
  cancelled.cancel();
  try {
    cancelled.result.get();
    check(false, "no error");
  } catch (const ffi::Error& e) {
    check(std::string(e.what()).find("context canceled") != std::string::npos, e.what());
  }
  try {
    wait(1, 2);
    check(false, "no error");
  } catch (const ffi::Error& e) {
    check(e.kind() == "TypeError", e.what());
  }
  Async<int64_t> dropped(async("stubborn").cast<ffi::Function>(), 50);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(on_threads, on_threads);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(on_detached_threads, on_detached_threads);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(lend, lend);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(futures, futures);
