// Functions that misbehave in a light call: each is brief until it is asked for more.
#ifdef __linux__
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

namespace {

namespace ffi = tvm::ffi;
using Callback = ffi::TypedFunction<int64_t(int64_t)>;
using Clock = std::chrono::steady_clock;

std::atomic<int64_t> flag, urgent;
std::mutex mutex;

int64_t Micros(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - since).count();
}

int64_t Spin(int64_t us) {
  for (auto start = Clock::now(); us > 0 && Micros(start) < us;) {
  }
  return us;
}

// Waits until the flag is x, unless x is 0.
int64_t Await(int64_t x) {
  while (x != 0 && flag.load() != x) std::this_thread::yield();
  return x;
}

// Sleeps, and returns how long, in microseconds.
int64_t Sleep(int64_t us) {
  if (us == 0) return 0;
  auto start = Clock::now();
  usleep(static_cast<useconds_t>(us));
  return Micros(start);
}

int64_t Malloc(int64_t us) {
  int64_t n = 0;
  for (auto start = Clock::now(); us > 0 && Micros(start) < us; ++n) free(malloc(64 + n % 4000));
  return n;
}

int64_t Throw(int64_t x) {
  if (x == 1) throw 1;
  if (x == 2) throw std::runtime_error("two");
  return x;
}

ucontext_t outside, inside;

void Inside() {
  Spin(30000);
  swapcontext(&inside, &outside);
}

// Spins on a stack of its own.
int64_t OtherStack(int64_t x) {
  if (x == 0) return 0;
  constexpr size_t size = 1 << 16;
  void* stack = malloc(size);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = size;
  inside.uc_link = nullptr;
  makecontext(&inside, Inside, 0);
  swapcontext(&outside, &inside);
  free(stack);
  return x;
}

// Replaces the handler of SIGURG by one that calls it, as many do, and puts nothing back.
int64_t TakeUrgent(int64_t x) {
  static struct sigaction before;
  if (x == 0) return urgent.load();
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    ++urgent;
    before.sa_sigaction(signal, info, context);
  };
  return sigaction(SIGURG, &action, &before);
}

int64_t Fork(int64_t x) {
  if (x == 0) return 0;
  pid_t child = fork();
  if (child == 0) _exit(static_cast<int>(x));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WEXITSTATUS(status);
}

// An object with a field whose getter calls f if x is positive.
struct Odd {
  ffi::Function f;
  int64_t x;
};
class OddObj : public ffi::Object {
 public:
  Odd odd;
  explicit OddObj(ffi::Function f) : odd{std::move(f), 0} {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("light.Odd", OddObj, ffi::Object);
};

int GetOdd(void* at, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  auto* odd = static_cast<Odd*>(at);
  int64_t x = odd->x > 0 ? odd->f(odd->x).cast<int64_t>() : odd->x;
  *result = ffi::details::AnyUnsafe::MoveAnyToTVMFFIAny(ffi::Any(x));
  TVM_FFI_SAFE_CALL_END();
}

int SetOdd(void* at, const TVMFFIAny* x) {
  TVM_FFI_SAFE_CALL_BEGIN();
  static_cast<Odd*>(at)->x = x->v_int64;
  TVM_FFI_SAFE_CALL_END();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  TVMFFIFieldInfo field = {};
  field.name = {"x", 1};
  const char* metadata = R"({"type_schema":"{\"type\":\"int\"}"})";
  field.metadata = {metadata, strlen(metadata)};
  field.flags = kTVMFFIFieldFlagBitMaskWritable;
  field.size = sizeof(Odd);
  field.alignment = alignof(Odd);
  field.offset = sizeof(ffi::Object);
  field.getter = GetOdd;
  field.setter = reinterpret_cast<decltype(field.setter)>(SetOdd);
  field.field_static_type_index = kTVMFFIInt;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(OddObj::_GetOrAllocRuntimeTypeIndex(), &field));
  namespace refl = tvm::ffi::reflection;
  refl::ObjectDef<OddObj>()
      .def("unsaid", [](const OddObj* o) { return o->odd.x; })
      .def("always", [](const OddObj* o) { return o->odd.x; }, refl::Metadata{{"brief", true}})
      .def("never", [](const OddObj* o) { return o->odd.x; }, refl::Metadata{{"brief", false}})
      .def("brief", [](const OddObj* o) { return o->odd.x; }, refl::Metadata{{"brief", "The number."}});
  refl::GlobalDef()
      .def("light.add_one", [](int64_t x) { return x + 1; })
      .def("light.echo", [](ffi::String s) { return s; })
      .def("light.spin", Spin)
      .def("light.await", Await)
      .def("light.set", [](int64_t x) { return flag.exchange(x); })
      .def("light.sleep", Sleep)
      .def("light.malloc", Malloc)
      .def("light.throw", Throw)
      .def("light.other_stack", OtherStack)
      .def("light.take_urgent", TakeUrgent)
      .def("light.fork", Fork)
      .def("light.odd", [](ffi::Function f) { return ffi::ObjectRef(ffi::make_object<OddObj>(std::move(f))); })
      .def("light.lock", [](int64_t x) {
        std::lock_guard<std::mutex> lock(mutex);
        return x;
      })
      // The rest call f if x is positive.
      .def("light.bind",
           [](ffi::Function f) {
             return Callback([f](int64_t x) { return x > 0 ? f(x).cast<int64_t>() : x; });
           })
      .def("light.call", [](const Callback& f, int64_t x) { return x > 0 ? f(x) : x; })
      .def("light.call_locked", [](const Callback& f, int64_t x) {
        std::lock_guard<std::mutex> lock(mutex);
        return x > 0 ? f(x) : x;
      })
      .def("light.call_on_thread", [](const Callback& f, int64_t x) {
        int64_t r = x;
        if (x > 0) std::thread([&] { r = f(x); }).join();
        return r;
      });
}

}  // namespace
#endif
