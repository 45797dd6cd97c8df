// A small language for the tests of structural comparison, walks and rewrites: functions that define variables and
// use them. All names begin with "program.".
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <cstdint>

namespace program {

using namespace tvm::ffi;  // NOLINT: the whole file speaks of these types
namespace refl = tvm::ffi::reflection;

std::atomic<int64_t> live{0};

struct Counted : public Object {
  Counted() { ++live; }
  Counted(const Counted& other) : Object(other) { ++live; }
  ~Counted() { --live; }
  static constexpr bool _type_mutable = true;
  static constexpr uint32_t _type_child_slots = 8;
  TVM_FFI_DECLARE_OBJECT_INFO("program.Node", Counted, Object);
};

// A variable, which is itself and nothing else.
struct VarObj : public Counted {
  String name;
  VarObj() = default;
  explicit VarObj(String name) : name(name) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("program.Var", VarObj, Counted);
};

// A function of parameters, with a body that uses them.
struct FuncObj : public Counted {
  Array<Any> params;
  Array<Any> body;
  Any note;
  FuncObj() = default;
  FuncObj(Array<Any> params, Array<Any> body, Any note) : params(params), body(body), note(note) {}
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("program.Func", FuncObj, Counted);
};

// A link of a chain that C++ takes apart by recursion.
struct LinkObj : public Counted {
  ObjectRef next;
  int64_t value = 0;
  int8_t small = 1;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("program.Link", LinkObj, Counted);
};

// Numbers of several widths, and one that no comparison sees.
struct SlimObj : public Counted {
  int8_t a = 1;
  uint16_t b = 2;
  int64_t c = 3;
  float d = 0.5;
  int8_t out = 44;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("program.Slim", SlimObj, Counted);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<Counted>();
  refl::ObjectDef<SlimObj>()
      .def_ro("a", &SlimObj::a).def_ro("b", &SlimObj::b).def_ro("c", &SlimObj::c).def_ro("d", &SlimObj::d)
      .def_ro("out", &SlimObj::out, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<VarObj>().def_ro("name", &VarObj::name, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<FuncObj>()
      .def_ro("params", &FuncObj::params, refl::AttachFieldFlag(1 << 4))  // defines: a pattern
      .def_ro("body", &FuncObj::body)
      .def_ro("note", &FuncObj::note, refl::AttachFieldFlag::SEqHashIgnore());
  refl::ObjectDef<LinkObj>().def_rw("next", &LinkObj::next).def_rw("value", &LinkObj::value).def_ro("small", &LinkObj::small);
  refl::GlobalDef()
      .def("program.slim", [] { return ObjectRef(make_object<SlimObj>()); })
      .def("program.var", [](String name) { return ObjectRef(make_object<VarObj>(name)); })
      .def("program.func",
           [](Array<Any> params, Array<Any> body, Any note) {
             return ObjectRef(make_object<FuncObj>(params, body, note));
           })
      .def("program.chain",
           [](int64_t n) {
             ObjectRef link;
             for (int64_t i = 0; i < n; ++i) {
               auto next = make_object<LinkObj>();
               next->value = i;
               next->next = link;
               link = ObjectRef(next);
             }
             return link;
           })
      // A complete tree: arrays of 16, down to ints, n leaves.
      .def("program.tree",
           [](int64_t n) {
             Array<Any> level;
             for (int64_t i = 0; i < n; ++i) level.push_back(i);
             while (level.size() > 16) {
               Array<Any> up;
               for (size_t i = 0; i < level.size(); i += 16) {
                 up.push_back(Array<Any>(level.begin() + i, level.begin() + std::min(i + 16, level.size())));
               }
               level = up;
             }
             return level;
           })
      .def("program.live", []() -> int64_t { return live; });
}

}  // namespace program
