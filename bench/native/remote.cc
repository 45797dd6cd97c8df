// What the server of RPC runs in the benchmark of the engines.
#include <tvm/ffi/tvm_ffi.h>

static tvm::ffi::Any Echo(tvm::ffi::Any x) { return x; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(echo, Echo);
