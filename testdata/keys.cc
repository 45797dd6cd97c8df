// A type that hashes and compares its objects by native hooks (with -DHOOKS), in the form that the headers of the
// release want, and a function that makes one, with a type schema (with -DTYPED) or without.
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/reflection/registry.h>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class KeyObj : public ffi::Object {
 public:
  int64_t n;
  explicit KeyObj(int64_t n) : n(n) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("keys.Key", KeyObj, ffi::Object);
};

[[maybe_unused]] static int64_t Hash(const ffi::Any& a) { return a.cast<const KeyObj*>()->n + 7; }
[[maybe_unused]] static bool Equal(const ffi::Any& a, const ffi::Any& b) { return a.cast<const KeyObj*>()->n == b.cast<const KeyObj*>()->n; }

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<KeyObj>(refl::init(false)).def_ro("n", &KeyObj::n);
#ifdef HOOKS
#if __has_include(<tvm/ffi/reflection/native_function.h>)
  refl::TypeAttrDef<KeyObj>()
      .native_fn_attr<&Hash>(ffi::type_attr::kAnyHash)
      .native_fn_attr<&Equal>(ffi::type_attr::kAnyEqual);
#else
  refl::TypeAttrDef<KeyObj>()
      .attr("__any_hash__", reinterpret_cast<void*>(&Hash))
      .attr("__any_equal__", reinterpret_cast<void*>(&Equal));
#endif
#endif
#ifdef TYPED
  refl::GlobalDef().def("keys.make", [](int64_t n) { return ffi::ObjectRef(ffi::make_object<KeyObj>(n)); });
#else
  refl::GlobalDef().def_packed("keys.make", [](ffi::PackedArgs args, ffi::Any* result) {
    *result = ffi::ObjectRef(ffi::make_object<KeyObj>(args[0].cast<int64_t>()));
  });
#endif
}
