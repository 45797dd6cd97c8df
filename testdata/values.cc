// Values that bindings got wrong once: numbers for narrow fields, variants of every kind, and nil containers.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <cstdint>

namespace values {

using namespace tvm::ffi;  // NOLINT: the whole file speaks of these types
namespace refl = tvm::ffi::reflection;

std::atomic<int64_t> live{0};

enum class Level : int8_t { kLow = -1, kHigh = 100 };

// The parent of a type whose constructor follows from the fields.
class BaseObj : public Object {
 public:
  int8_t i8 = 0;
  uint8_t u8 = 0;
  BaseObj() { ++live; }
  BaseObj(const BaseObj& other) : Object(other), i8(other.i8), u8(other.u8) { ++live; }
  ~BaseObj() { --live; }
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("values.Base", BaseObj, Object);
};

class NarrowObj : public BaseObj {
 public:
  int16_t i16 = 0;
  uint32_t u32 = 0;
  float f32 = 0;
  int64_t i64 = 0;
  Optional<int8_t> opt_i8;
  Optional<uint32_t> opt_u32;
  Optional<float> opt_f32;
  Optional<int64_t> opt_i64;
  Level level = Level::kLow;
  Variant<int8_t, String> variant{String("none")};
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("values.Narrow", NarrowObj, BaseObj);
};

// Another type for variants.
class LeafObj : public Object {
 public:
  int64_t size = 0;
  LeafObj() = default;
  explicit LeafObj(int64_t size) : size(size) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("values.Leaf", LeafObj, Object);
};

class Base : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Base, ObjectRef, BaseObj);
};

class Leaf : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Leaf, ObjectRef, LeafObj);
};

// Containers as fields, of which some may be None.
class HolderObj : public Object {
 public:
  Array<int64_t> items;
  Map<String, int64_t> table;
  List<int64_t> list;
  Dict<String, int64_t> dict;
  Optional<Array<int64_t>> maybe;
  Array<int64_t> more;
  int64_t Sizes(const Array<int64_t>& a, const Map<String, int64_t>& m, const Optional<Array<int64_t>>& o) const {
    return static_cast<int64_t>(100 * a.size() + 10 * m.size()) + (o.has_value() ? static_cast<int64_t>(o.value().size()) : -1);
  }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("values.Holder", HolderObj, Object);
};

using Small = Variant<bool, int64_t, double, String, Bytes>;
using Things = Variant<Base, Leaf, String>;
using Arrays = Variant<Array<int64_t>, Array<String>, Array<Base>, Map<String, int64_t>, Map<String, Array<String>>>;
using Rest = Variant<TypedFunction<int64_t(int64_t)>, Tensor, DLDataType, DLDevice, void*, Tuple<int64_t, String>, Shape>;
using Nested = Variant<Variant<int64_t, Array<Variant<int64_t, String>>>, Leaf>;

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BaseObj>().def_rw("i8", &BaseObj::i8).def_rw("u8", &BaseObj::u8);
  refl::ObjectDef<NarrowObj>()
      .def_rw("i16", &NarrowObj::i16)
      .def_rw("i64", &NarrowObj::i64)
      .def_rw("u32", &NarrowObj::u32, refl::kw_only(true))
      .def_rw("f32", &NarrowObj::f32, refl::kw_only(true))
      .def_rw("opt_i8", &NarrowObj::opt_i8, refl::DefaultValue(nullptr))
      .def_rw("opt_u32", &NarrowObj::opt_u32, refl::DefaultValue(nullptr))
      .def_rw("opt_f32", &NarrowObj::opt_f32, refl::DefaultValue(nullptr))
      .def_rw("opt_i64", &NarrowObj::opt_i64, refl::DefaultValue(nullptr))
      .def_rw("level", &NarrowObj::level, refl::DefaultValue(int64_t{-1}))
      .def_rw("variant", &NarrowObj::variant, refl::DefaultValue(String("none")));
  refl::ObjectDef<LeafObj>().def(refl::init<int64_t>()).def_ro("size", &LeafObj::size);
  refl::ObjectDef<HolderObj>()
      .def_rw("items", &HolderObj::items)
      .def_rw("table", &HolderObj::table)
      .def_rw("list", &HolderObj::list)
      .def_rw("dict", &HolderObj::dict, refl::kw_only(true))
      .def_rw("maybe", &HolderObj::maybe)
      .def_rw("more", &HolderObj::more, refl::DefaultValue(Array<int64_t>{1, 2, 3}))
      .def("sizes", &HolderObj::Sizes);
  refl::GlobalDef()
      .def("values.alive", [] { return live.load(); })
      .def("values.small", [](Small x) { return x; })
      .def("values.things", [](Things x) { return x; })
      .def("values.arrays", [](Arrays x) { return x; })
      .def("values.rest", [](Rest x) { return x; })
      .def("values.nested", [](Nested x) { return x; })
      .def("values.maybe_things", [](Optional<Things> x) { return x; })
      .def("values.sizes",
           [](Array<int64_t> a, Map<String, Base> m, List<int64_t> l, Dict<String, int64_t> d, Shape s, Optional<Array<int64_t>> o) {
             return Array<int64_t>{static_cast<int64_t>(a.size()), static_cast<int64_t>(m.size()), static_cast<int64_t>(l.size()),
                                   static_cast<int64_t>(d.size()), static_cast<int64_t>(s.size()),
                                   o.has_value() ? static_cast<int64_t>(o.value().size()) : -1};
           })
      .def("values.call", [](TypedFunction<Array<int64_t>()> f) { return static_cast<int64_t>(f().size()); })
      .def("values.call_map", [](TypedFunction<Map<String, int64_t>()> f) { return static_cast<int64_t>(f().size()); })
      .def("values.call_optional", [](TypedFunction<Optional<Array<int64_t>>()> f) { return f().has_value(); })
      .def_packed("values.which", [](PackedArgs args, Any* ret) { *ret = String(args[0].GetTypeKey()); });
}

}  // namespace values
