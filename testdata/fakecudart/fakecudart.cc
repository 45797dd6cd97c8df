// The functions of the CUDA runtime that compiled kernels of the examples call, on the driver of testdata/fakecuda. A
// library that is linked with this file in place of NVIDIA's runtime, which needs NVIDIA's driver, launches its kernels
// there: the driver logs and checks each call, but computes nothing for kernels that it does not know. Kernels are
// compiled with --no-compress, so that their names and parameters can be read.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

// Kernels are registered before the variables of this file are made, so these are made at their first use.
std::mutex& mutex() {
  static std::mutex m;
  return m;
}
thread_local cudaError_t last = cudaSuccess;
thread_local struct { dim3 grid, block; size_t shared; void* stream; } pushed;

struct Image { const char* data; void* module = nullptr; };
struct Kernel { Image* image; std::string name; void* handle = nullptr; };
std::map<const void*, Kernel>& kernels() {  // by the function of the host
  static std::map<const void*, Kernel> all;
  return all;
}

// Calls a function of the driver that the process has loaded.
template <class... Args>
cudaError_t driver(const char* name, Args... args) {
  static void* library = [] {
    const char* path = std::getenv("TVMFFI_CUDA_LIBRARY");
    return path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  }();
  if (!library) return last = cudaErrorInsufficientDriver;
  auto f = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  if (!f) return last = cudaErrorNotSupported;
  int rc = f(args...);
  return rc ? last = static_cast<cudaError_t>(rc) : cudaSuccess;
}

template <class T>
T at(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// The first cubin in the image that nvcc has written: a header, then entries with a header each.
const char* cubin(const char* image) {
  const char *p = image + at<uint16_t>(image + 6), *end = p + at<uint64_t>(image + 8);
  while (p < end) {
    const char* content = p + at<uint32_t>(p + 4);
    if (std::memcmp(content, "\x7f" "ELF", 4) == 0) return content;
    p = content + at<uint64_t>(p + 8);
  }
  return nullptr;
}

// The function of the driver for a kernel, whose image is loaded for the first one.
cudaError_t find(const void* host, void** handle) {
  std::lock_guard<std::mutex> lock(mutex());
  auto k = kernels().find(host);
  if (k == kernels().end()) return last = cudaErrorInvalidDeviceFunction;
  Image* image = k->second.image;
  if (!image->module) {
    const char* content = cubin(image->data);
    if (!content) return last = cudaErrorNoKernelImageForDevice;
    if (auto rc = driver("cuModuleLoadDataEx", &image->module, static_cast<const void*>(content), 0u, static_cast<int*>(nullptr), static_cast<void**>(nullptr))) return rc;
  }
  if (!k->second.handle)
    if (auto rc = driver("cuModuleGetFunction", &k->second.handle, image->module, k->second.name.c_str())) return rc;
  *handle = k->second.handle;
  return cudaSuccess;
}

cudaError_t launch(const void* host, dim3 grid, dim3 block, void** args, size_t shared, void* stream) {
  void* f = nullptr;
  if (auto rc = find(host, &f)) return rc;
  return driver("cuLaunchKernel", f, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(shared), stream, args, static_cast<void**>(nullptr));
}

}  // namespace

extern "C" {

// ---- what nvcc makes the host code call

void** __cudaRegisterFatBinary(void* wrapper) {  // two ints, then the image
  return reinterpret_cast<void**>(new Image{at<const char*>(static_cast<const char*>(wrapper) + 8)});
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** image, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  std::lock_guard<std::mutex> lock(mutex());
  kernels()[host] = {reinterpret_cast<Image*>(image), name};
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
cudaError_t __cudaGetKernel(cudaKernel_t* out, const void* host) {
  *out = static_cast<cudaKernel_t>(const_cast<void*>(host));
  return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<void**>(stream) = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  return launch(kernel, grid, block, args, shared, stream);
}

// ---- the runtime

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  return launch(host, grid, block, args, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* host, void** args) {
  return launch(host, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream);
}
cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  void* f = nullptr;
  if (auto rc = find(host, &f)) return rc;
  return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ? driver("cuFuncSetAttribute", f, 8, value) : cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host, int threads, size_t shared, unsigned) {
  void* f = nullptr;
  if (auto rc = find(host, &f)) return rc;
  return driver("cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks, f, threads, shared);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind != cudaMemcpyHostToDevice) return last = cudaErrorNotSupported;
  return driver("cuMemcpyHtoDAsync_v2", reinterpret_cast<uintptr_t>(to), from, n, static_cast<void*>(stream));
}
// Package cuda makes the device current; the tests use the first one.
cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : last = cudaErrorInvalidDevice; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  int handle = 0;
  if (auto rc = driver("cuDeviceGet", &handle, device)) return rc;
  return driver("cuDeviceGetAttribute", value, static_cast<int>(attribute), handle);
}
cudaError_t cudaGetLastError() {
  cudaError_t rc = last;
  last = cudaSuccess;
  return rc;
}
const char* cudaGetErrorName(cudaError_t rc) {
  const char* text = nullptr;
  driver("cuGetErrorName", static_cast<int>(rc), &text);
  return text ? text : "an error of CUDA without a name";
}
const char* cudaGetErrorString(cudaError_t rc) { return cudaGetErrorName(rc); }

}  // extern "C"
