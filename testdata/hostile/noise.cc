// A library that prints to both streams while it is loaded, in the middle of what a parent process reads.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdio>

TVM_FFI_STATIC_INIT_BLOCK() {
  std::printf("hostile: noise on stdout {\"functions\":[]}\n");
  std::fflush(stdout);
  std::fprintf(stderr, "hostile: noise on stderr\n");
  tvm::ffi::reflection::GlobalDef().def("noise.one", [] { return int64_t{1}; });
}
