// A C++ program that launches the kernel of the Go library: as a function of the
// module, which is the symbol __tvm_ffi_saxpy, and as a global function.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

#define CHECK(condition)                                                \
  if (!(condition)) {                                                   \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                       \
  }

static const std::string calling =
    " when calling: `saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)`";

// A view of a tensor with something else about it.
struct Changed {
  DLTensor t;
  std::vector<int64_t> shape, strides;
  explicit Changed(const ffi::Tensor& from)
      : t(*from.GetDLTensorPtr()), shape(from.shape().begin(), from.shape().end()), strides(from.strides().begin(), from.strides().end()) {}
  DLTensor* operator&() {
    t.ndim = static_cast<int>(shape.size());
    t.shape = shape.data();
    t.strides = strides.data();
    return &t;
  }
};

int main(int argc, char** argv) {
  ffi::Module lib = ffi::Module::LoadFromFile(argv[1]);
  auto function = [&](const char* name) { return lib->GetFunction(name).value(); };
  std::vector<ffi::Function> functions = {function("saxpy"), ffi::Function::GetGlobalRequired("kernels.saxpy")};

  auto refused = [&](const char* kind, const std::string& before, const std::string& after, auto... args) {
    for (auto& f : functions) {
      try {
        f(args...);
      } catch (const ffi::Error& e) {
        if (e.kind() == kind && e.message() == before + calling + after) continue;
        std::printf("%td: %s: %s\nwant %s: %s\n", &f - functions.data(), e.kind().c_str(), e.message().c_str(), kind, (before + calling + after).c_str());
        std::exit(1);
      }
      std::printf("no error in place of %s%s\n", before.c_str(), after.c_str());
      std::exit(1);
    }
  };

  const int64_t n = 1000;
  std::vector<float> ones(n, 1), ramp(n);
  std::iota(ramp.begin(), ramp.end(), 0.0f);
  int64_t shape[] = {n}, strides[] = {1};
  auto host = [&](std::vector<float>& v) { return DLTensor{v.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0}; };
  DLTensor hx = host(ramp), hy = host(ones);
  refused("ValueError", "Mismatched Tensor on argument #0", ", expected device_type=cuda", &hx, &hy, 2.0, nullptr);

  ffi::Tensor x = function("place")(&hx, 0).cast<ffi::Tensor>(), y = function("place")(&hy, 0).cast<ffi::Tensor>();
  CHECK(x.device().device_type == kDLCUDA);
  refused("ValueError", "Mismatched Tensor on argument #1", ", expected device_type=cuda", x, &hy, 2.0, nullptr);
  Changed c(y);
  c.shape[0] = n - 1;
  refused("ValueError", "Mismatched y.shape[0] on argument #1", ", expected to match x.shape[0]", x, &c, 2.0, nullptr);
  c.shape = {10, 100}, c.strides = {100, 1};
  refused("ValueError", "Mismatched Tensor on argument #1", ", expected ndim=1", x, &c, 2.0, nullptr);
  c = Changed(y), c.strides[0] = 2;
  refused("ValueError", "Mismatched Tensor on argument #1", ", expected contiguous", x, &c, 2.0, nullptr);
  c = Changed(y), c.t.dtype.bits = 16;
  refused("ValueError", "Mismatched Tensor on argument #1", ", expected dtype=float32", x, &c, 2.0, nullptr);
  c = Changed(y), c.t.device.device_id = 1;
  refused("ValueError", "Mismatched device index on argument #1", ", expected to match x.device.index", x, &c, 2.0, nullptr);
  refused("TypeError", "Mismatched type on argument #0", ", expected Tensor", 1, y, 2.0, nullptr);
  refused("TypeError", "Mismatched type on argument #2", ", expected float", x, y, "2", nullptr);
  refused("TypeError", "Expects 4 parameters", "", x, y, 2.0);

  std::string metadata = lib->GetFunctionMetadata("saxpy").value(), doc = lib->GetFunctionDoc("saxpy").value();
  CHECK(metadata.find("DLTensor*") != std::string::npos);
  CHECK(doc == "It adds a times x to y.\n\n" + calling.substr(16, calling.size() - 17));

  functions[0](x, y, 2.0, nullptr);
  functions[1](x, y, 1, static_cast<void*>(nullptr));
  ffi::Tensor got = function("fetch")(y).cast<ffi::Tensor>();
  for (int64_t i = 0; i < n; ++i) CHECK(static_cast<float*>(got.data_ptr())[i] == 1 + 3.0f * i);
  function("free")();
  std::puts("all right");
}
