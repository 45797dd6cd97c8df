// Uses object types of any language by reflection alone, and has a class to compare them with.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

namespace {

// The class that a type made in Go is compared with; the same fields as the Go test has.
struct PointObj : public Object {
  int64_t x = 0;
  double y = 0;
  String name;
  Any tag;
  ObjectRef next{nullptr};
  static constexpr bool _type_mutable = true;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("define.Point", PointObj, Object);
};

// A parent for types made in Go: all of its memory is fields.
struct BaseObj : public Object {
  int64_t id = 0;
  String label;
  ObjectRef link{nullptr};
  bool flag = false;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("define.Base", BaseObj, Object);
};
struct Base : public ObjectRef {
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Base, ObjectRef, BaseObj);
};

// Not for parents: memory that no field describes.
struct HiddenObj : public Object {
  int64_t id = 0;
  std::vector<int64_t> hidden;
  int64_t last = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("define.Hidden", HiddenObj, Object);
};

struct FinalObj : public Object {
  int64_t id = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("define.Final", FinalObj, Object);
};

// What a C++ program writes down to read objects of the Go type gotest.Mirrored directly.
struct MirroredObj : public Object {
  int64_t x;
  double y;
  String name;
  ObjectRef next;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("gotest.Mirrored", MirroredObj, Object);
};

int32_t IndexOf(const String& key) {
  TVMFFIByteArray name{key.data(), key.size()};
  int32_t index = 0;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&name, &index));
  return index;
}

const TVMFFIFieldInfo* FindField(int32_t index, const String& name) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  auto in = [&](const TVMFFITypeInfo* t) -> const TVMFFIFieldInfo* {
    for (int32_t i = 0; i < t->num_fields; ++i) {
      if (name == String(t->fields[i].name.data, t->fields[i].name.size)) return t->fields + i;
    }
    return nullptr;
  };
  if (auto* f = in(info)) return f;
  for (int32_t d = info->type_depth; d > 0; --d) {
    if (auto* f = in(info->type_ancestors[d - 1])) return f;
  }
  TVM_FFI_THROW(AttributeError) << "no field " << name;
}

void* Address(const Object* o, const TVMFFIFieldInfo* f) {
  return const_cast<char*>(reinterpret_cast<const char*>(o)) + f->offset;
}

Any Get(const Object* o, const TVMFFIFieldInfo* f) {
  Any v;
  TVM_FFI_CHECK_SAFE_CALL(f->getter(Address(o, f), reinterpret_cast<TVMFFIAny*>(&v)));
  return v;
}

void Set(const Object* o, const TVMFFIFieldInfo* f, AnyView value) {
  if (f->flags & (1 << 11)) {
    auto* fn = reinterpret_cast<FunctionObj*>(reinterpret_cast<void*>(f->setter));
    AnyView args[2] = {Address(o, f), value};
    Any result;
    fn->CallPacked(args, 2, &result);
    return;
  }
  auto* setter = reinterpret_cast<int (*)(void*, const TVMFFIAny*)>(reinterpret_cast<void*>(f->setter));
  TVM_FFI_CHECK_SAFE_CALL(setter(Address(o, f), reinterpret_cast<const TVMFFIAny*>(&value)));
}

ObjectRef Create(int32_t index) {
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  TVMFFIObjectHandle handle = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(info->metadata->creator(&handle));
  TVMFFIAny owned{};
  owned.type_index = index;
  owned.v_obj = static_cast<TVMFFIObject*>(handle);
  ObjectRef object = AnyView::CopyFromTVMFFIAny(owned).cast<ObjectRef>();
  TVMFFIObjectDecRef(handle);
  return object;
}

Function Attribute(int32_t index, const char* name) {
  TVMFFIByteArray key{name, std::strlen(name)};
  const TVMFFITypeAttrColumn* column = TVMFFIGetTypeAttrColumn(&key);
  if (column == nullptr || index < column->begin_index || index - column->begin_index >= column->size) {
    TVM_FFI_THROW(AttributeError) << "no attribute " << name;
  }
  return AnyView::CopyFromTVMFFIAny(column->data[index - column->begin_index]).cast<Function>();
}

double Now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Nanoseconds of one of n operations on objects of the type.
double Bench(const String& key, const String& op, int64_t n) {
  int32_t index = IndexOf(key);
  auto* x = FindField(index, "x");
  auto* name = FindField(index, "name");
  auto* next = FindField(index, "next");
  ObjectRef a = Create(index), b = Create(index);
  const Object* o = a.get();
  Set(o, x, int64_t(7));
  Set(o, name, String("a name that is not small"));
  Set(o, next, b);
  static Function deep = Function::GetGlobalRequired("ffi.DeepCopy");
  static std::optional<Function> eq = Function::GetGlobal("ffi.RecursiveEq");
  String text("another name that is not small");
  double start = Now();
  if (op == "make") {
    for (int64_t i = 0; i < n; ++i) Create(index);
  } else if (op == "set_int") {
    for (int64_t i = 0; i < n; ++i) Set(o, x, i);
  } else if (op == "get_int") {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += Get(o, x).cast<int64_t>();
    if (sum != 7 * n) TVM_FFI_THROW(RuntimeError) << sum;
  } else if (op == "set_string") {
    for (int64_t i = 0; i < n; ++i) Set(o, name, text);
  } else if (op == "get_string") {
    for (int64_t i = 0; i < n; ++i) Get(o, name);
  } else if (op == "set_object") {
    for (int64_t i = 0; i < n; ++i) Set(o, next, b);
  } else if (op == "get_object") {
    for (int64_t i = 0; i < n; ++i) Get(o, next);
  } else if (op == "deep_copy") {
    for (int64_t i = 0; i < n; ++i) deep(a);
  } else if (op == "equal") {
    for (int64_t i = 0; i < n; ++i) (*eq)(a, a);
  } else {
    TVM_FFI_THROW(ValueError) << op;
  }
  return (Now() - start) / double(n);
}

// Makes, writes, reads, copies and drops objects on threads of its own, and returns how many steps went well.
int64_t Churn(const String& key, int64_t threads, int64_t rounds) {
  int32_t index = IndexOf(key);
  auto* x = FindField(index, "x");
  auto* name = FindField(index, "name");
  auto* next = FindField(index, "next");
  Function copy = Attribute(index, "__ffi_shallow_copy__");
  Function deep = Function::GetGlobalRequired("ffi.DeepCopy");
  Function repr = Function::GetGlobalRequired("ffi.ReprPrint");
  ObjectRef shared = Create(index);
  std::vector<int64_t> good(threads);
  std::vector<std::thread> pool;
  for (int64_t t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      for (int64_t i = 0; i < rounds; ++i) {
        ObjectRef a = Create(index);
        Set(a.get(), x, i);
        Set(a.get(), name, String("thread " + std::to_string(t) + " round " + std::to_string(i)));
        Set(a.get(), next, shared);
        try {
          Set(a.get(), x, String("no int"));
        } catch (const Error&) {
          ++good[t];
        }
        ObjectRef b = copy(a).cast<ObjectRef>();
        ObjectRef c = deep(b).cast<ObjectRef>();
        good[t] += Get(c.get(), x).cast<int64_t>() == i;
        good[t] += Get(c.get(), next).cast<ObjectRef>().get() != shared.get();
        good[t] += Get(b.get(), next).cast<ObjectRef>().get() == shared.get();
        good[t] += repr(c).cast<String>().size() > 0;
      }
    });
  }
  int64_t sum = 0;
  for (int64_t t = 0; t < threads; ++t) {
    pool[t].join();
    sum += good[t];
  }
  return sum;
}

double MirrorSum(const ObjectRef& object) {
  double sum = 0;
  for (const Object* o = object.get(); o != nullptr;) {
    if (!o->IsInstance<MirroredObj>()) TVM_FFI_THROW(TypeError) << "not a gotest.Mirrored";
    auto* m = static_cast<const MirroredObj*>(o);
    sum += double(m->x) + m->y + double(m->name.size());
    o = m->next.get();
  }
  return sum;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<PointObj>()
      .def_rw("x", &PointObj::x)
      .def_rw("y", &PointObj::y)
      .def_rw("name", &PointObj::name)
      .def_rw("tag", &PointObj::tag)
      .def_rw("next", &PointObj::next);
  refl::ObjectDef<BaseObj>()
      .def_rw("id", &BaseObj::id)
      .def_rw("label", &BaseObj::label)
      .def_rw("link", &BaseObj::link)
      .def_rw("flag", &BaseObj::flag);
  refl::ObjectDef<HiddenObj>().def_rw("id", &HiddenObj::id).def_rw("last", &HiddenObj::last);
  refl::ObjectDef<FinalObj>().def_rw("id", &FinalObj::id);
  refl::GlobalDef()
      .def("define.get", [](const ObjectRef& o, const String& name) { return Get(o.get(), FindField(o->type_index(), name)); })
      .def("define.set",
           [](const ObjectRef& o, const String& name, const Any& v) { Set(o.get(), FindField(o->type_index(), name), v); })
      .def("define.set_raw",
           [](const ObjectRef& o, const String& name, const String& text) {
             Set(o.get(), FindField(o->type_index(), name), AnyView(text.c_str()));
           })
      .def("define.create", [](const String& key) { return Create(IndexOf(key)); })
      .def_packed("define.init",
                  [](PackedArgs args, Any* rv) {
                    Attribute(IndexOf(args[0].cast<String>()), "__ffi_init__").CallPacked(args.Slice(1), rv);
                  })
      // A type as Python derives one: the library makes, copies and deletes its objects, by their fields.
      .def("define.derive",
           [](const String& key, const String& parent) {
             const TVMFFITypeInfo* p = TVMFFIGetTypeInfo(IndexOf(parent));
             TVMFFIByteArray text{key.data(), key.size()};
             int32_t index = TVMFFITypeGetOrAllocIndex(&text, -1, p->type_depth + 1, 0, 1, p->type_index);
             Function::GetGlobalRequired("ffi._PyClassRegisterTypeAttrColumns")(index, p->metadata->total_size);
           })
      .def("define.new", [](const String& key) { return Attribute(IndexOf(key), "__ffi_new__")(); })
      .def("define.copy", [](const ObjectRef& o) { return Attribute(o->type_index(), "__ffi_shallow_copy__")(o); })
      .def_packed("define.method",
                  [](PackedArgs args, Any* rv) {
                    int32_t index = IndexOf(args[0].cast<String>());
                    String name = args[1].cast<String>();
                    const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
                    for (int32_t i = 0; i < info->num_methods; ++i) {
                      if (name == String(info->methods[i].name.data, info->methods[i].name.size)) {
                        AnyView::CopyFromTVMFFIAny(info->methods[i].method).cast<Function>().CallPacked(args.Slice(2), rv);
                        return;
                      }
                    }
                    TVM_FFI_THROW(AttributeError) << "no method " << name;
                  })
      .def("define.describe",
           [](const String& key) {
             const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(IndexOf(key));
             auto text = [](const TVMFFIByteArray& b) { return std::string(b.data ? b.data : "", b.size); };
             std::string s = "size " + std::to_string(info->metadata->total_size) + " doc " + text(info->metadata->doc) + "\n";
             for (int32_t i = 0; i < info->num_fields; ++i) {
               const TVMFFIFieldInfo& f = info->fields[i];
               s += text(f.name) + " at " + std::to_string(f.offset) + " size " + std::to_string(f.size) + " flags " +
                    std::to_string(f.flags) + " static " + std::to_string(f.field_static_type_index) + " " +
                    text(f.metadata) + " " + text(f.doc) + "\n";
             }
             for (int32_t i = 0; i < info->num_methods; ++i) {
               const TVMFFIMethodInfo& m = info->methods[i];
               s += text(m.name) + " flags " + std::to_string(m.flags) + " " + text(m.metadata) + " " + text(m.doc) + "\n";
             }
             return String(s);
           })
      .def("define.is_base", [](const ObjectRef& o) { return o->IsInstance<BaseObj>(); })
      .def("define.base_label", [](const Base& b) { return b->label; })
      .def("define.mirror_sum", MirrorSum)
      .def("define.churn", Churn)
      .def("define.bench", Bench);
}

}  // namespace
