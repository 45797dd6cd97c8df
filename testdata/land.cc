// A library whose names share no namespace, with functions that make objects whose types
// can be made by their fields too, or are registered by the first object only.
#include <tvm/ffi/tvm_ffi.h>

#include <cstdint>
#include <utility>

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

// As the headers of older versions declare it: the first object registers the type.
class FogObj : public ffi::Object {
 public:
  int64_t thickness = 0;

  static constexpr const char* _type_key = "lake.Fog";
  static constexpr int _type_child_slots = 0;
  static constexpr bool _type_final = true;
  static constexpr int32_t _type_depth = ffi::Object::_type_depth + 1;
  static int32_t _GetOrAllocRuntimeTypeIndex() {
    TVMFFIByteArray key{_type_key, 8};
    static int32_t index =
        TVMFFITypeGetOrAllocIndex(&key, -1, _type_depth, 0, 0, ffi::Object::_GetOrAllocRuntimeTypeIndex());
    return index;
  }
  static int32_t RuntimeTypeIndex() { return _GetOrAllocRuntimeTypeIndex(); }
};

class Fog : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Fog, ffi::ObjectRef, FogObj);
};

Fog MakeFog(int64_t thickness) {
  auto fog = ffi::make_object<FogObj>();
  fog->thickness = thickness;
  return Fog(std::move(fog));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<HillObj>().def_ro("height", &HillObj::height);
  refl::GlobalDef()
      .def("hill.Hill", [](int64_t height) { return Hill(height); })
      .def("lake.depth", [](const Hill& below) { return -below->height; })
      .def("lake.make_fog", MakeFog)
      .def("lake.thickness", [](const Fog& fog) { return fog->thickness; });
}

}  // namespace land
