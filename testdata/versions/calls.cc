// The functions of testdata/calls that TestVersions calls, for headers of older releases.
#include <tvm/ffi/tvm_ffi.h>

#include <string>
#include <thread>

namespace {

using namespace tvm::ffi;  // NOLINT: the whole file speaks of these types
namespace refl = tvm::ffi::reflection;

class BoxObj : public Object {
 public:
  int64_t i64;
  explicit BoxObj(int64_t n) : i64(n) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("calls.Box", BoxObj, Object);
};

int64_t Repeat(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

int64_t RepeatOnThread(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  std::exception_ptr raised;
  std::thread thread([&] {
    try {
      sum = Repeat(f, n);
    } catch (...) {
      raised = std::current_exception();
    }
  });
  thread.join();
  if (raised) std::rethrow_exception(raised);
  return sum;
}

double SumTensor(const TensorView& x) {
  double sum = 0;
  const float* data = static_cast<const float*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) sum += data[i];
  return sum;
}

Map<String, int64_t> Table(int64_t n) {
  Map<String, int64_t> out;
  for (int64_t i = 0; i < n; ++i) out.Set("key " + std::to_string(i), i);
  return out;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BoxObj>().def_rw("i64", &BoxObj::i64);
  refl::GlobalDef()
      .def_packed("calls.echo", [](PackedArgs args, Any* result) { *result = args[0]; })
      .def("calls.echo_strings", [](Array<String> x) { return x; })
      .def("calls.fail", [](const String& kind, const String& message) { throw Error(std::string(kind), std::string(message), ""); })
      .def("calls.repeat", Repeat)
      .def("calls.repeat_on_thread", RepeatOnThread)
      .def("calls.sum_tensor", SumTensor)
      .def("calls.table", Table)
      .def("calls.box", [](int64_t n) { return ObjectRef(make_object<BoxObj>(n)); });
}

}  // namespace
