// Types whose functions throw what TVM-FFI does not catch: the constructor of one, the
// destructor of the other.
#include <tvm/ffi/tvm_ffi.h>

namespace throws {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class UnmadeObj : public Object {
 public:
  UnmadeObj() { throw 42; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("throws.Unmade", UnmadeObj, Object);
};

int64_t ended = 0;

class EndingObj : public Object {
 public:
  bool throws;
  explicit EndingObj(bool throws) : throws(throws) {}
  ~EndingObj() noexcept(false) {
    ++ended;
    if (throws) throw "an end";
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("throws.Ending", EndingObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<UnmadeObj>();
  refl::GlobalDef()
      .def("throws.ending", [](bool throws) { return ObjectRef(make_object<EndingObj>(throws)); })
      .def("throws.ended", [] { return ended; }, "How many objects of the type Ending have been destroyed.");
}

}  // namespace throws
