// A library that starts a process, which keeps all open files and stays while the file exists that STAYS names.
#include <tvm/ffi/reflection/registry.h>
#include <unistd.h>

#include <cstdlib>

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef().def("stays.next", [](int64_t x) -> int64_t { return x + 1; });
  if (fork() == 0) {
    alarm(120);
    while (access(std::getenv("STAYS"), F_OK) == 0) usleep(10000);
    _exit(0);
  }
  if (std::getenv("STAYS_ALONE")) _exit(0);
}
