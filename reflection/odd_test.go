package reflection_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// odd is a library whose types have what the testing library has not: narrow
// numbers, defaults by factory, getters and setters that fail or make objects,
// setters that are functions, enums with payload.
const odd = `
#include <tvm/ffi/tvm_ffi.h>
#ifdef ODD_NEW
#include <tvm/ffi/reflection/enum_def.h>
#endif
namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;
static int64_t factories = 0;
static bool fail = false, knot = false;

class NarrowObj : public ffi::Object {
 public:
  int8_t i8 = 0; uint8_t u8 = 0; int16_t i16 = 0; uint32_t u32 = 0; int64_t i64 = 0; uint64_t u64 = 0; float f32 = 0; bool flag = false;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("odd.Narrow", NarrowObj, ffi::Object);
};
class MostObj : public ffi::Object {
 public:
  uint64_t most = ~uint64_t{0}, few = 7;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("odd.Most", MostObj, ffi::Object);
};
class NodeObj : public ffi::Object {
 public:
  ffi::Any left, right;
  ffi::Array<ffi::Any> list;
  int64_t computed = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("odd.Node", NodeObj, ffi::Object);
};
#ifdef ODD_NEW
class LevelObj : public ffi::IntEnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("odd.Level", LevelObj, ffi::IntEnumObj);
};
class ColorObj : public ffi::StrEnumObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("odd.Color", ColorObj, ffi::StrEnumObj);
};
#endif

// A getter that makes a new array of two new arrays each time, or a list that holds
// itself, or fails.
static int Computed(void*, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (fail) TVM_FFI_THROW(ValueError) << "the getter fails";
  if (knot) {
    ffi::List<ffi::Any> list{ffi::Any(1)};
    list.push_back(list);
    *reinterpret_cast<ffi::Any*>(result) = list;
    return 0;
  }
  ffi::Array<ffi::Any> inner{ffi::Any(1)};
  *reinterpret_cast<ffi::Any*>(result) = ffi::Array<ffi::Any>{inner, inner};
  TVM_FFI_SAFE_CALL_END();
}
static int Refuse(void*, const TVMFFIAny*) {
  TVM_FFI_SAFE_CALL_BEGIN();
  TVM_FFI_THROW(PermissionError) << "the setter refuses";
  TVM_FFI_SAFE_CALL_END();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<NarrowObj>()
      .def_rw("i8", &NarrowObj::i8, refl::DefaultValue(int64_t{-8})).def_rw("u8", &NarrowObj::u8, refl::DefaultValue(int64_t{8}))
      .def_rw("i16", &NarrowObj::i16, refl::DefaultValue(int64_t{0})).def_rw("u32", &NarrowObj::u32, refl::DefaultValue(int64_t{0}))
      .def_rw("i64", &NarrowObj::i64, refl::DefaultValue(int64_t{0})).def_rw("u64", &NarrowObj::u64, refl::DefaultValue(int64_t{0})).def_rw("f32", &NarrowObj::f32, refl::DefaultValue(0.5))
      .def_rw("flag", &NarrowObj::flag, refl::DefaultValue(true));
  refl::ObjectDef<MostObj>().def_ro("most", &MostObj::most).def_ro("few", &MostObj::few);
  refl::GlobalDef().def("odd.most", [] { return ffi::ObjectRef(ffi::make_object<MostObj>()); });
  refl::ObjectDef<NodeObj>()
      .def_rw("left", &NodeObj::left, refl::DefaultValue(nullptr)).def_rw("right", &NodeObj::right, refl::DefaultValue(nullptr))
#ifdef ODD_NEW
      .def_rw("list", &NodeObj::list, refl::DefaultFactory(ffi::Function::FromTyped([] { ++factories; return ffi::Array<ffi::Any>{}; })));
  refl::ObjectDef<LevelObj>(refl::init(false));
  refl::ObjectDef<ColorObj>(refl::init(false));
#else
      .def_rw("list", &NodeObj::list, refl::DefaultValue(ffi::Array<ffi::Any>{}));
#endif
#ifdef ODD_NEW
  refl::EnumDef<LevelObj>("low", -1);
  refl::EnumDef<LevelObj>("high", 70);
  refl::EnumDef<ColorObj>("red");
#endif
  auto field = [](const char* name, size_t offset, TVMFFIFieldGetter getter, void* setter, int64_t flags) {
    TVMFFIFieldInfo info{};
    info.name = TVMFFIByteArray{name, std::strlen(name)};
    info.flags = flags | kTVMFFIFieldFlagBitMaskHasDefault;
    info.size = 8; info.alignment = 8; info.offset = static_cast<int64_t>(offset);
    info.getter = getter;
    info.setter = reinterpret_cast<decltype(info.setter)>(setter);
    info.default_value_or_factory.type_index = kTVMFFIInt;
    info.field_static_type_index = -1;
    TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterField(NodeObj::RuntimeTypeIndex(), &info));
  };
  refl::GlobalDef().def("odd.factories", [] { return factories; }).def("odd.fail", [](bool on) { fail = on; }).def("odd.knot", [](bool on) { knot = on; })
      .def("odd.add_computed", [field] {
        field("computed", sizeof(ffi::Object), Computed, reinterpret_cast<void*>(Refuse), kTVMFFIFieldFlagBitMaskWritable);
      });
}
`

var oddOnce nativetest.Once

// oddType returns a type of the library.
func oddType(t testing.TB, key string) *reflection.Type {
	t.Helper()
	load(t)
	oddOnce.Do(t, func() {
		var options []nativetest.Option
		if atLeast(14) { // of the enums of before the testing library has some
			options = append(options, nativetest.Flags("-DODD_NEW"))
		}
		must(t, 0, tvmffi.LoadLibrary(nativetest.BuildText(t, "odd", odd, options...)))
	})
	return typeByKey(t, key)
}

// call calls a global function.
func call(t testing.TB, name string, args ...any) tvmffi.Any {
	t.Helper()
	f, err := tvmffi.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Release()
	v, err := f.Call(args...)
	return must(t, v, err)
}

var computedOnce nativetest.Once

// nodeWithComputed makes an odd.Node, whose type gets one more field, with a
// getter and a setter of its own, after it was first seen.
func nodeWithComputed(t testing.TB) *tvmffi.Object {
	t.Helper()
	typ := oddType(t, "odd.Node")
	computedOnce.Do(t, func() {
		if got := names(typ.Fields()); len(got) != 3 {
			t.Errorf("fields: %q", got)
		}
		call(t, "odd.add_computed")
		if got := names(typ.Fields()); len(got) != 4 {
			t.Errorf("fields: %q", got)
		}
	})
	creator, err := typ.New(reflection.Kwargs{"computed": 1})
	if err == nil || creator != nil {
		t.Errorf("a setter that refuses: %v", err)
	}
	return node(t, nil, nil)
}
