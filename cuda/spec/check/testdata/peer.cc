// A kernel in C++ with the checks of
// `add_one(a: Tensor([n], float32, strides=[1], align=4, device=cpu:d), b: the same)`,
// written as the CuTe DSL and TVM compile them, and a loop around it.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <chrono>
#include <cstdint>

namespace ffi = tvm::ffi;

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

#define CHECK_ARG(cond, kind, message) \
  if (__builtin_expect(!(cond), 0)) return fail(kind, message)

extern "C" __attribute__((noinline)) int add_one(void*, const TVMFFIAny* args, int32_t num, TVMFFIAny* result) {
  CHECK_ARG(num == 2, "TypeError", "Expects 2 parameters");
  int64_t n = 0;
  int32_t device = 0;
  const DLTensor* t[2];
  for (int i = 0; i < 2; ++i) {
    int32_t index = args[i].type_index;
    if (index == kTVMFFITensor) {
      t[i] = reinterpret_cast<const DLTensor*>(reinterpret_cast<const char*>(args[i].v_ptr) + sizeof(TVMFFIObject));
    } else {
      CHECK_ARG(index == kTVMFFIDLTensorPtr, "TypeError", "Mismatched type");
      t[i] = static_cast<const DLTensor*>(args[i].v_ptr);
    }
    const DLTensor* d = t[i];
    CHECK_ARG((reinterpret_cast<uintptr_t>(d->data) + d->byte_offset) % 4 == 0, "ValueError", "Misaligned Tensor data");
    if (i == 0) device = d->device.device_id;
    CHECK_ARG(d->device.device_id == device, "ValueError", "Mismatched device index");
    CHECK_ARG(d->ndim == 1, "ValueError", "Mismatched Tensor, expected ndim=1");
    CHECK_ARG(d->device.device_type == kDLCPU, "ValueError", "Mismatched Tensor, expected device_type=cpu");
    CHECK_ARG(d->dtype.code == kDLFloat && d->dtype.bits == 32 && d->dtype.lanes == 1, "ValueError", "Mismatched Tensor, expected dtype=float32");
    if (i == 0) {
      n = d->shape[0];
      CHECK_ARG(n >= INT32_MIN && n <= INT32_MAX, "ValueError", "Out of bound a.shape[0]");
    }
    CHECK_ARG(d->shape[0] == n, "ValueError", "Mismatched b.shape[0]");
    CHECK_ARG(d->shape[0] == 1 || d->strides[0] == 1, "ValueError", "Mismatched strides[0]");
  }
  const float* a = reinterpret_cast<const float*>(static_cast<const char*>(t[0]->data) + t[0]->byte_offset);
  float* b = reinterpret_cast<float*>(static_cast<char*>(t[1]->data) + t[1]->byte_offset);
  for (int64_t i = 0; i < n; ++i) b[i] = a[i] + 1;
  return 0;
}

// Nanoseconds of one call through a Function, as C++ calls a kernel of a module.
static double time_calls(ffi::Tensor a, ffi::Tensor b, int64_t rounds) {
  static ffi::Function f = ffi::Function::FromExternC(nullptr, reinterpret_cast<TVMFFISafeCallType>(&add_one), nullptr);
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < rounds; ++i) f(a, b);
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / rounds;
}

// Nanoseconds of one bare call of the C function, with packed arguments.
static double time_bare(ffi::Tensor a, ffi::Tensor b, int64_t rounds) {
  TVMFFISafeCallType volatile f = reinterpret_cast<TVMFFISafeCallType>(&add_one);
  ffi::AnyView args[2] = {a, b};
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < rounds; ++i) {
    TVMFFIAny result{};
    if (f(nullptr, reinterpret_cast<const TVMFFIAny*>(args), 2, &result) != 0) return -1;
  }
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / rounds;
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(time_calls, time_calls);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(time_bare, time_bare);
