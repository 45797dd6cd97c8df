// A library whose functions write to the file that RECORD names. It is to be read without a line in that file.
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

static void Record(const char* what) {
  if (std::FILE* f = std::fopen(std::getenv("RECORD"), "a")) {
    std::fprintf(f, "%s\n", what);
    std::fclose(f);
  }
}

// A C function does not look at the number of its arguments.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_delete_old_files(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  Record("delete_old_files");
  result->type_index = kTVMFFINone;
  return 0;
}

// Another one trusts its arguments: it ends the process if they are wrong.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_scale(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  auto* tensor = reinterpret_cast<DLTensor*>(reinterpret_cast<char*>(args[0].v_obj) + sizeof(TVMFFIObject));
  *static_cast<float*>(tensor->data) *= static_cast<float>(args[1].v_float64);
  result->type_index = kTVMFFINone;
  return 0;
}

int64_t Typed(int64_t x) {
  Record("typed");
  return x;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(typed, Typed)

class ThingObj : public ffi::Object {
 public:
  int64_t count = 0;
  explicit ThingObj(int64_t count) : count(count) { Record("a constructor"); }
  int64_t Method() const {
    Record("a method");
    return count;
  }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("records.Thing", ThingObj, ffi::Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef().def("records.make", Typed).def_packed("records.packed", [](ffi::PackedArgs, ffi::Any*) { Record("packed"); });
  refl::ObjectDef<ThingObj>()
      .def(refl::init<int64_t>())
      .def_rw("count", &ThingObj::count, refl::default_value(int64_t{1}))
      .def("method", &ThingObj::Method);
}
