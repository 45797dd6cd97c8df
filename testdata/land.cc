// A library whose names share no namespace, with functions that make objects whose types
// can be made by their fields too.
#include <tvm/ffi/tvm_ffi.h>

#include <cstdint>

namespace land {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class HillObj : public ffi::Object {
 public:
  int64_t height = 0;

  explicit HillObj(ffi::UnsafeInit) {}
  explicit HillObj(int64_t height) : height(height) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("hill.Hill", HillObj, ffi::Object);
};

class Hill : public ffi::ObjectRef {
 public:
  explicit Hill(int64_t height) {
    if (height <= 0) TVM_FFI_THROW(ValueError) << "a hill is higher than " << height;
    data_ = ffi::make_object<HillObj>(height);
  }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Hill, ffi::ObjectRef, HillObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<HillObj>().def_ro("height", &HillObj::height);
  refl::GlobalDef()
      .def("hill.Hill", [](int64_t height) { return Hill(height); })
      .def("lake.depth", [](const Hill& below) { return -below->height; });
}

}  // namespace land
