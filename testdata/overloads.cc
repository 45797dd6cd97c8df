// A library with overloads. Its next version, with NEXT, has an overload more in front of the others, an
// overload with another result, and functions whose usual Go names are those of others.
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>

namespace {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class BoxObj : public ffi::Object {
 public:
  int64_t size = 0;

  BoxObj() = default;
  explicit BoxObj(int64_t size) : size(size) {}
  BoxObj(ffi::String a, ffi::String b) : size(static_cast<int64_t>(a.size() + b.size())) {}

  int64_t AtIndex(int64_t index) const { return size + index; }
#ifdef NEXT
  int64_t AtPlace(int64_t row, int64_t column) const { return row * column; }
  int64_t AtName(ffi::String name) const { return static_cast<int64_t>(name.size()); }
#else
  ffi::String AtName(ffi::String name) const { return name + "!"; }
#endif
  static int64_t OfInt(int64_t a) { return a; }
  static int64_t OfBoth(int64_t a, ffi::String b) { return a + static_cast<int64_t>(b.size()); }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("over.Box", BoxObj, ffi::Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::OverloadObjectDef<BoxObj>("A box.")
      .def(refl::init<int64_t>())
      .def(refl::init<ffi::String, ffi::String>())
      .def_ro("size", &BoxObj::size)
#ifdef NEXT
      .def("at", &BoxObj::AtPlace)
#endif
      .def("at", &BoxObj::AtIndex)
      .def("at", &BoxObj::AtName)
      .def_static("of", &BoxObj::OfInt)
      .def_static("of", &BoxObj::OfBoth);
  refl::GlobalDef()
#ifdef NEXT
      .def("over.aB", [](int64_t x) { return x * 100; })
      .def("over.Gone", [](int64_t x) { return x * 10; })
#else
      .def("over.gone", [](int64_t x) { return x; })
#endif
      .def("over.a_b", [](int64_t x) { return x + 1; });
}

}  // namespace
