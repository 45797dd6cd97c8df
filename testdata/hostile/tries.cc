// Functions of which only one is good for a first program. It leaves a file in its working folder.
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <cstdlib>
#include <fstream>

static int64_t Works() {
  std::ofstream("left.txt") << "x";
  return 7;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("tries.a_internal", []() -> int64_t { return 1; })
      .def("tries.b", []() -> int64_t { TVM_FFI_THROW(RuntimeError) << "not without a plan"; })
      .def("tries.c", []() -> int64_t { std::abort(); })
      .def("tries.deep.works", Works)
      .def("tries.needs", [](int64_t n) { return n; });
}
