// A library that was built for a libtvm_ffi that does not exist yet.
namespace tvm {
namespace ffi {
int FromTheFuture();
}
}  // namespace tvm
static int early = tvm::ffi::FromTheFuture();
extern "C" __attribute__((visibility("default"))) int hostile_future() { return early; }
