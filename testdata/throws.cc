// Types whose functions throw: the constructor of one, the destructor of the other.
#include <tvm/ffi/tvm_ffi.h>

#include <stdexcept>

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
  int64_t throws;  // 1: what TVM-FFI does not catch, 2: what it does
  explicit EndingObj(int64_t throws) : throws(throws) {}
  ~EndingObj() noexcept(false) {
    ++ended;
    if (throws == 1) throw "an end";
    if (throws == 2) throw std::runtime_error("an end");
  }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("throws.Ending", EndingObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<UnmadeObj>();
  refl::GlobalDef()
      .def("throws.ending", [](int64_t throws) { return ObjectRef(make_object<EndingObj>(throws)); })
      .def("throws.ended", [] { return ended; }, "How many objects of the type Ending have been destroyed.");
}

}  // namespace throws
