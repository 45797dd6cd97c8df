// A C++ program that launches the kernel of a package of kernels, which is a shared
// library of its own, on memory and a stream that it has from the driver.
// Usage: alone LIBKERNELS DRIVER
#include <dlfcn.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

#define CHECK(condition)                                                \
  if (!(condition)) {                                                   \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                       \
  }

int main(int argc, char** argv) {
  void* driver = dlopen(argv[2], RTLD_NOW);
  CHECK(driver != nullptr);
  auto cuda = [&](const char* name, auto... args) {
    auto f = reinterpret_cast<int (*)(decltype(args)...)>(dlsym(driver, name));
    CHECK(f != nullptr);
    CHECK(f(args...) == 0);
  };
  int device;
  void *context, *stream;
  uintptr_t px, py;
  std::vector<float> x(300), y(300, 1), got(300);
  for (int i = 0; i < 300; ++i) x[i] = static_cast<float>(i);
  const size_t bytes = 300 * sizeof(float);
  cuda("cuInit", 0u);
  cuda("cuDeviceGet", &device, 0);
  cuda("cuDevicePrimaryCtxRetain", &context, device);
  cuda("cuCtxSetCurrent", context);
  cuda("cuStreamCreateWithPriority", &stream, 1u, 0);
  cuda("cuMemAlloc_v2", &px, bytes);
  cuda("cuMemAlloc_v2", &py, bytes);
  cuda("cuMemcpyHtoD_v2", px, reinterpret_cast<uintptr_t>(x.data()), bytes);
  cuda("cuMemcpyHtoD_v2", py, reinterpret_cast<uintptr_t>(y.data()), bytes);
  cuda("cuStreamSynchronize", static_cast<void*>(nullptr));  // the driver may still copy, and the stream does not wait for that

  ffi::Module lib = ffi::Module::LoadFromFile(argv[1]);
  ffi::Function saxpy = lib->GetFunction("saxpy").value();
  ffi::Function global = ffi::Function::GetGlobalRequired("kernels.saxpy");
  int64_t shape[] = {300}, less[] = {299}, strides[] = {1};
  DLTensor dx{reinterpret_cast<void*>(px), {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor dy{reinterpret_cast<void*>(py), {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor half = dy, shorter = dy;
  half.dtype.bits = 16;
  shorter.shape = less;
  const std::string calling = " when calling: `saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)`, expected ";
  for (auto& f : {saxpy, global}) {
    for (auto& [wrong, begin, want] : std::vector<std::tuple<DLTensor*, std::string, std::string>>{
             {&half, "Mismatched Tensor", "dtype=float32"}, {&shorter, "Mismatched y.shape[0]", "to match x.shape[0]"}}) {
      try {
        f(&dx, wrong, 2.0, stream);
        CHECK(!"refused");
      } catch (const ffi::Error& e) {
        CHECK(e.kind() == "ValueError" && e.message() == begin + " on argument #1" + calling + want);
      }
    }
    f(&dx, &dy, 2.0, stream);
    cuda("cuStreamSynchronize", stream); // the default stream does not wait for it
    f(&dx, &dy, 0.5, nullptr);
    cuda("cuStreamSynchronize", static_cast<void*>(nullptr));
  }
  cuda("cuMemcpyDtoH_v2", reinterpret_cast<uintptr_t>(got.data()), py, bytes);
  for (int i = 0; i < 300; ++i) CHECK(got[i] == 1 + 5.0f * i);
  cuda("cuMemFree_v2", px);
  cuda("cuMemFree_v2", py);
  cuda("cuStreamDestroy_v2", stream);
  std::puts("all right");
}
