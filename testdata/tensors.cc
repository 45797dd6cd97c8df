// Functions for the tests of tensors, DLPack, allocators and streams. All names begin with "tensors.".
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace tensors {

using namespace tvm::ffi;  // NOLINT: the whole file speaks of these types
namespace refl = tvm::ffi::reflection;

// The producer of DLPack structs: how many deleters ran.
std::atomic<int64_t> deleted{0};

// What a struct needs in addition to its data.
struct Holder {
  std::vector<int64_t> shape, strides;
  std::vector<float> data;
};

template <typename Managed>
Managed* NewManaged(Shape shape, Optional<Shape> strides, int64_t byte_offset, int64_t floats) {
  auto* h = new Holder{{shape.begin(), shape.end()}, {}, std::vector<float>(static_cast<size_t>(floats))};
  for (int64_t i = 0; i < floats; ++i) h->data[i] = static_cast<float>(i);
  if (strides.has_value()) h->strides.assign(strides.value().begin(), strides.value().end());
  auto* m = new Managed();
  m->dl_tensor.data = h->data.data();
  m->dl_tensor.device = DLDevice{kDLCPU, 0};
  m->dl_tensor.ndim = static_cast<int32_t>(h->shape.size());
  m->dl_tensor.dtype = DLDataType{kDLFloat, 32, 1};
  m->dl_tensor.shape = h->shape.data();
  m->dl_tensor.strides = h->strides.empty() ? nullptr : h->strides.data();
  m->dl_tensor.byte_offset = static_cast<uint64_t>(byte_offset);
  m->manager_ctx = h;
  m->deleter = [](Managed* self) {
    delete static_cast<Holder*>(self->manager_ctx);
    delete self;
    ++deleted;
  };
  return m;
}

// Memory of malloc, counted.
std::atomic<int64_t> live_bytes{0}, peak_bytes{0};

void* Take(size_t bytes) {
  int64_t now = live_bytes += static_cast<int64_t>(bytes);
  for (int64_t peak = peak_bytes; now > peak && !peak_bytes.compare_exchange_weak(peak, now);) {
  }
  return std::malloc(bytes);
}

void Give(void* p, size_t bytes) {
  if (bytes < 4096) std::memset(p, 7, bytes);  // who reads it now sees that it has ended
  std::free(p);
  live_bytes -= static_cast<int64_t>(bytes);
}

struct MallocAlloc {
  void AllocData(DLTensor* t) { t->data = Take(GetDataSize(*t)); }
  void FreeData(DLTensor* t) { Give(t->data, GetDataSize(*t)); }
};

// An allocator in C, as a framework would set it.
int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void*, void (*)(void*, const char*, const char*)) {
  Tensor t = Tensor::FromNDAlloc(MallocAlloc(), ShapeView(prototype->shape, prototype->ndim), prototype->dtype,
                                 prototype->device);
  *out = t.ToDLPackVersioned();
  return 0;
}

Tensor EnvAlloc(Shape shape, DLDataType dtype, DLDevice device) {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, shape, dtype, device);
}

double Sum(const TensorView& x, int64_t dim, int64_t at) {
  if (dim == x.ndim()) return static_cast<const float*>(x.data_ptr())[at];
  double sum = 0;
  for (int64_t i = 0; i < x.size(dim); ++i) sum += Sum(x, dim + 1, at + i * x.stride(dim));
  return sum;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
      .def("tensors.managed",
           [](Shape shape, Optional<Shape> strides, int64_t byte_offset, int64_t floats, int64_t major, int64_t flags) {
             auto* m = NewManaged<DLManagedTensorVersioned>(shape, strides, byte_offset, floats);
             m->version.major = static_cast<uint32_t>(major);
             m->version.minor = 0;
             m->flags = static_cast<uint64_t>(flags);
             return static_cast<void*>(m);
           })
      .def("tensors.managed_old",
           [](Shape shape, Optional<Shape> strides, int64_t byte_offset, int64_t floats) {
             return static_cast<void*>(NewManaged<DLManagedTensor>(shape, strides, byte_offset, floats));
           })
      .def("tensors.deleted", [] { return deleted.load(); })
      .def("tensors.consume",
           [](void* p) {
             auto* m = static_cast<DLManagedTensorVersioned*>(p);
             double sum = Sum(TensorView(&m->dl_tensor), 0, 0);
             int64_t flags = static_cast<int64_t>(m->flags);
             m->deleter(m);
             return sum + 1000.0 * static_cast<double>(flags);
           })
      .def("tensors.consume_old",
           [](void* p) {
             auto* m = static_cast<DLManagedTensor*>(p);
             double sum = Sum(TensorView(&m->dl_tensor), 0, 0);
             m->deleter(m);
             return sum;
           })
      .def("tensors.sum", [](const TensorView& x) { return Sum(x, 0, 0); })
      .def("tensors.with_view",
           [](const TypedFunction<double(TensorView)>& f) {
             float data[6] = {1, 2, 3, 4, 5, 6};
             int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
             DLTensor t{data, DLDevice{kDLCPU, 0}, 2, DLDataType{kDLFloat, 32, 1}, shape, strides, 0};
             double result = f(TensorView(&t));
             return result + 100.0 * data[0];
           })
      .def("tensors.lend_view",
           [](const Function& f) {
             uint8_t data[4] = {1, 2, 3, 4};
             int64_t shape[1] = {4}, strides[1] = {1};
             DLTensor t{data, DLDevice{kDLCPU, 0}, 1, DLDataType{kDLUInt, 8, 1}, shape, strides, 0};
             Any result = f(TensorView(&t));
             std::memset(data, 7, sizeof data);
             return result;
           })
      .def("tensors.malloc",
           [](int64_t bytes) {
             return Tensor::FromNDAlloc(MallocAlloc(), ShapeView({bytes}), DLDataType{kDLUInt, 8, 1}, DLDevice{kDLCPU, 0});
           })
      .def("tensors.live_bytes", [] { return live_bytes.load(); })
      .def("tensors.peak_bytes", [] { return peak_bytes.load(); })
      .def("tensors.env_alloc", EnvAlloc)
      .def("tensors.env_alloc_on_thread",
           [](Shape shape, DLDataType dtype, DLDevice device) {
             Optional<Tensor> result;
             std::string failure;
             std::thread([&] {
               try {
                 result = EnvAlloc(shape, dtype, device);
               } catch (const std::exception& e) {
                 failure = e.what();
               }
             }).join();
             if (!result.has_value()) TVM_FFI_THROW(RuntimeError) << "on the thread: " << failure;
             return result.value();
           })
      .def("tensors.set_allocator",
           [](bool set, bool global) {
             TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetDLPackManagedTensorAllocator(set ? Allocate : nullptr, global, nullptr));
           })
      .def("tensors.has_allocator", [] { return TVMFFIEnvGetDLPackManagedTensorAllocator() == Allocate; })
      .def("tensors.stream",
           [](int64_t type, int64_t id) { return TVMFFIEnvGetStream(static_cast<int32_t>(type), static_cast<int32_t>(id)); })
      .def("tensors.stream_on_thread", [](int64_t type, int64_t id) {
        void* stream = nullptr;
        std::thread([&] { stream = TVMFFIEnvGetStream(static_cast<int32_t>(type), static_cast<int32_t>(id)); }).join();
        return stream;
      });
}

}  // namespace tensors
