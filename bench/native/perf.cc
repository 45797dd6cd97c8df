// The library that every peer of the benchmark calls: one function per item. All names begin with "perf.".
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace perf {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class LeafObj : public ffi::Object {
 public:
  int64_t value = 0;
  LeafObj() = default;
  explicit LeafObj(int64_t v) : value(v) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("perf.Leaf", LeafObj, ffi::Object);
};
class Leaf : public ffi::ObjectRef {
 public:
  explicit Leaf(int64_t v) : ffi::ObjectRef(ffi::make_object<LeafObj>(v)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Leaf, ffi::ObjectRef, LeafObj);
};

class NodeObj : public ffi::Object {
 public:
  static constexpr bool _type_mutable = true;
  int64_t value = 0;
  double weight = 0;
  ffi::String name;
  Leaf leaf;
  int32_t delta = -7;  // which only the getter knows to have a sign
  explicit NodeObj(int64_t v) : value(v), weight(static_cast<double>(v) / 2), name("a name of 22 characters"), leaf(v) {}
  int64_t Add(int64_t n) const { return value + n; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("perf.Node", NodeObj, ffi::Object);
};
class Node : public ffi::ObjectRef {
 public:
  explicit Node(int64_t v) : ffi::ObjectRef(ffi::make_object<NodeObj>(v)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Node, ffi::ObjectRef, NodeObj);
};

// The class that a type made in Go is compared with; ours has the same fields.
class PointObj : public ffi::Object {
 public:
  static constexpr bool _type_mutable = true;
  int64_t x = 0;
  double y = 0;
  ffi::String name;
  ffi::Any tag;
  ffi::ObjectRef next{nullptr};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("perf.Point", PointObj, ffi::Object);
};

// Makes, writes or copies objects of a type n times by reflection, as every language does.
void UseObjects(const ffi::String& type, const ffi::String& what, int64_t n) {
  TVMFFIByteArray key{type.data(), type.size()};
  std::string_view text(type.data(), type.size());
  int32_t index;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&key, &index));
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  auto make = [&] {
    TVMFFIAny made{};
    made.type_index = index;
    TVMFFIObjectHandle handle = nullptr;
    TVM_FFI_CHECK_SAFE_CALL(info->metadata->creator(&handle));
    made.v_obj = static_cast<TVMFFIObject*>(handle);
    ffi::ObjectRef object = ffi::AnyView::CopyFromTVMFFIAny(made).cast<ffi::ObjectRef>();
    TVMFFIObjectDecRef(handle);
    return object;
  };
  refl::FieldSetter x(text, "x"), name(text, "name"), next(text, "next");
  static ffi::Function copy = ffi::Function::GetGlobalRequired("ffi.DeepCopy");
  ffi::ObjectRef object = make(), other = make();
  name(object, ffi::String("a name of 22 characters"));
  next(object, other);
  if (what == "make") {
    for (int64_t i = 0; i < n; ++i) make();
  } else if (what == "set_int") {
    for (int64_t i = 0; i < n; ++i) x(object, i);
  } else if (what == "set_object") {
    for (int64_t i = 0; i < n; ++i) next(object, other);
  } else {
    for (int64_t i = 0; i < n; ++i) copy(object);
  }
}

// An allocator by malloc, so that the environment can make tensors.
void Free(DLManagedTensorVersioned* self) {
  std::free(self->dl_tensor.data);
  std::free(self->dl_tensor.shape);
  std::free(self);
}
int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void*, void (*)(void*, const char*, const char*)) {
  auto* t = static_cast<DLManagedTensorVersioned*>(std::calloc(1, sizeof(DLManagedTensorVersioned)));
  size_t bytes = (prototype->dtype.bits * prototype->dtype.lanes + 7) / 8;
  for (int i = 0; i < prototype->ndim; ++i) bytes *= prototype->shape[i];
  t->version.major = DLPACK_MAJOR_VERSION;
  t->version.minor = DLPACK_MINOR_VERSION;
  t->dl_tensor = *prototype;
  t->dl_tensor.data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  t->dl_tensor.shape = static_cast<int64_t*>(std::malloc(2 * sizeof(int64_t) * prototype->ndim));
  t->dl_tensor.strides = t->dl_tensor.shape + prototype->ndim;
  int64_t stride = 1;
  for (int i = prototype->ndim - 1; i >= 0; --i) {
    t->dl_tensor.shape[i] = prototype->shape[i];
    t->dl_tensor.strides[i] = stride;
    stride *= prototype->shape[i];
  }
  t->deleter = Free;
  *out = t;
  return 0;
}

using Callback = ffi::TypedFunction<int64_t(int64_t)>;

int64_t Repeat(const Callback& f, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  TVMFFIEnvSetDLPackManagedTensorAllocator(Allocate, 1, nullptr);
  refl::ObjectDef<LeafObj>().def_ro("value", &LeafObj::value);
  refl::ObjectDef<NodeObj>()
      .def_rw("value", &NodeObj::value)
      .def_rw("weight", &NodeObj::weight)
      .def_rw("name", &NodeObj::name)
      .def_rw("leaf", &NodeObj::leaf)
      .def_rw("delta", &NodeObj::delta)
      .def("add", &NodeObj::Add, "The sum of value and n.");
  refl::ObjectDef<PointObj>()
      .def_rw("x", &PointObj::x)
      .def_rw("y", &PointObj::y)
      .def_rw("name", &PointObj::name)
      .def_rw("tag", &PointObj::tag)
      .def_rw("next", &PointObj::next);
  refl::GlobalDef()
      .def("perf.use_objects", UseObjects, "Makes, writes or copies objects of a type n times by reflection.")
      .def("perf.add_one", [](int64_t x) { return x + 1; })
      .def("perf.nop3_objects", [](const LeafObj*, const LeafObj*, const LeafObj*) {})
      .def("perf.nop3_tensors", [](const ffi::TensorView&, const ffi::TensorView&, const ffi::TensorView&) {})
      .def("perf.echo", [](ffi::String s) { return s; })
      .def("perf.make_leaf", [](int64_t v) { return Leaf(v); })
      .def("perf.make_node", [](int64_t v) { return Node(v); })
      .def("perf.fail", [](const ffi::String& message) { TVM_FFI_THROW(ValueError) << message; })
      .def("perf.repeat", Repeat, "Calls f n times on this thread.")
      .def("perf.repeat_on_thread",
           [](const Callback& f, int64_t n) {
             int64_t sum = 0;
             std::thread([&] { sum = Repeat(f, n); }).join();
             return sum;
           },
           "Calls f n times on a thread that C++ makes.");
}

}  // namespace perf

// The same function as the library of examples/go_library exports.
static int64_t Add(int64_t a, int64_t b) { return a + b; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add, Add);

// What an empty crossing calls.
extern "C" TVM_FFI_DLL_EXPORT void perf_empty(void*) {}
