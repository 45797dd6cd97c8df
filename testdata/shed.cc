// A library in two versions: SHED_NEXT is the one that comes after its bindings were made.
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <cstdint>

namespace shed {

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class ToolObj : public ffi::Object {
 public:
  int64_t weight = 3;
  ffi::String name = "spade";
#ifdef SHED_NEXT
  ffi::String length = "long";
  int64_t added = 7;
#else
  int64_t length = 5;
  bool gone = true;
#endif

  int64_t Lift() { return weight; }
#ifdef SHED_NEXT
  int64_t Sharpen(int64_t by, bool both_sides) { return both_sides ? 2 * by : by; }
#else
  int64_t Sharpen(int64_t by) { return by; }
  void Lend() {}
#endif

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("shed.Tool", ToolObj, ffi::Object);
};

#ifndef SHED_NEXT
class BinObj : public ffi::Object {
 public:
  int64_t litres = 40;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("shed.Bin", BinObj, ffi::Object);
};
#endif

// Its constructor follows from the fields: their order is that of its parameters.
class PlotObj : public ffi::Object {
 public:
  int64_t width = 0;
  int64_t depth = 0;
  PlotObj() = default;
  explicit PlotObj(ffi::UnsafeInit) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("shed.Plot", PlotObj, ffi::Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PlotObj>()
#ifdef SHED_NEXT
      .def_rw("depth", &PlotObj::depth)
      .def_rw("width", &PlotObj::width);
#else
      .def_rw("width", &PlotObj::width)
      .def_rw("depth", &PlotObj::depth);
#endif

  refl::ObjectDef<ToolObj>()
      .def(refl::init<>())
      .def_rw("weight", &ToolObj::weight)
      .def_rw("name", &ToolObj::name)
      .def_rw("length", &ToolObj::length)
      .def("lift", &ToolObj::Lift)
#ifdef SHED_NEXT
      .def_rw("added", &ToolObj::added)
#else
      .def_rw("gone", &ToolObj::gone)
      .def("lend", &ToolObj::Lend)
#endif
      .def("sharpen", &ToolObj::Sharpen);
  refl::GlobalDef()
      .def("shed.same", [](int64_t x) { return x; })
#ifdef SHED_NEXT
      .def("shed.count", [](int64_t from, ffi::String unit) { return from; })
      .def("shed.added", [] { return true; })
      .def("shed.echo", [](int64_t x) { return x; });
#else
      .def("shed.count", [](int64_t from) { return from; })
      .def("shed.vanished", [] { return 1; })
      .def_packed("shed.echo", [](ffi::PackedArgs args, ffi::Any* ret) { *ret = args[0]; });
  refl::ObjectDef<BinObj>().def(refl::init<>()).def_ro("litres", &BinObj::litres);
#endif
}

#ifdef SHED_NEXT
double Measure(double x, double y) { return x + y; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(measure, Measure);
#else
double Measure(double x) { return x; }
int64_t Swept() { return 1; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(measure, Measure);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(swept, Swept);
#endif
double Weigh(double x) { return 2 * x; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(weigh, Weigh);

}  // namespace shed
