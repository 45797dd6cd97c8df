// A library that calls another one, which only machines with a device have.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

extern "C" int cudnnTestDevices();

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("driver.devices", [] { return int64_t{cudnnTestDevices()}; });
}
