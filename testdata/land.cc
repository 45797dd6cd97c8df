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

// A parameter of this type takes an int too: the library makes the object.
class BoatObj : public ffi::Object {
 public:
  int64_t seats = 0;

  explicit BoatObj(int64_t seats) : seats(seats) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("lake.Boat", BoatObj, ffi::Object);
};

class Boat : public ffi::ObjectRef {
 public:
  explicit Boat(int64_t seats) { data_ = ffi::make_object<BoatObj>(seats); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Boat, ffi::ObjectRef, BoatObj);
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

}  // namespace land

namespace tvm {
namespace ffi {

template <>
inline constexpr bool use_default_type_traits_v<land::Boat> = false;

template <>
struct TypeTraits<land::Boat> : public ObjectRefWithFallbackTraitsBase<land::Boat, int64_t> {
  static land::Boat ConvertFallbackValue(int64_t seats) { return land::Boat(seats); }
};

}  // namespace ffi
}  // namespace tvm

namespace land {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BoatObj>().def_ro("seats", &BoatObj::seats);
  refl::TypeAttrDef<BoatObj>().attr("__ffi_convert_type_schema__",
                                    ffi::String(R"({"type":"Variant","args":[{"type":"lake.Boat"},{"type":"int"}]})"));
  refl::ObjectDef<HillObj>().def_ro("height", &HillObj::height);
  refl::GlobalDef()
      .def("hill.Hill", [](int64_t height) { return Hill(height); })
      .def("lake.depth", [](const Hill& below) { return -below->height; })
      .def("lake.seats", [](const Boat& boat, const ffi::Optional<Boat>& other) {
        return boat->seats + (other.has_value() ? other.value()->seats : 0);
      })
      .def("lake.board", [](const Boat& boat) { return boat; })
      .def("lake.make_fog", MakeFog)
      .def("lake.thickness", [](const Fog& fog) { return fog->thickness; });
}

}  // namespace land
