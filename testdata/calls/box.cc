// The types, tensors, and functions of the plain C form.
#include "calls.h"

namespace calls {

void Fill(const TensorView& x, double value) {
  if (x.dtype().code != kDLFloat || x.dtype().bits != 32) TVM_FFI_THROW(TypeError) << "fill wants float32";
  if (x.device().device_type != kDLCPU) TVM_FFI_THROW(ValueError) << "fill wants memory of the CPU";
  float* data = static_cast<float*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) data[i] = static_cast<float>(value);
}

double SumTensor(const TensorView& x) {
  if (x.dtype().code != kDLFloat || x.dtype().bits != 32) TVM_FFI_THROW(TypeError) << "sum_tensor wants float32";
  double sum = 0;
  const float* data = static_cast<const float*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) sum += data[i];
  return sum;
}

Array<Any> DescribeTensor(const TensorView& x) {
  Array<int64_t> shape, strides;
  for (int64_t i = 0; i < x.ndim(); ++i) {
    shape.push_back(x.size(i));
    strides.push_back(x.stride(i));
  }
  return {shape, strides, x.dtype(), x.device(), static_cast<int64_t>(x.byte_offset())};
}

bool Meet(int64_t n, int64_t ms) {
  static std::mutex mutex;
  static std::condition_variable arrived;
  static int64_t calls = 0;
  std::unique_lock<std::mutex> lock(mutex);
  const int64_t all = (calls++ / n + 1) * n;
  arrived.notify_all();
  return arrived.wait_for(lock, std::chrono::milliseconds(ms), [&] { return calls >= all; });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<BoxObj>("A field of every kind.")
      .def(refl::init<int64_t>(), "Makes a box whose i64 is given.")
      .def_rw("i64", &BoxObj::i64, "An int of 8 bytes.")
      .def_rw("i32", &BoxObj::i32)
      .def_rw("i16", &BoxObj::i16)
      .def_rw("i8", &BoxObj::i8)
      .def_rw("u64", &BoxObj::u64)
      .def_rw("u32", &BoxObj::u32)
      .def_rw("u16", &BoxObj::u16)
      .def_rw("u8", &BoxObj::u8)
      .def_rw("f64", &BoxObj::f64)
      .def_rw("f32", &BoxObj::f32)
      .def_rw("flag", &BoxObj::flag)
      .def_rw("text", &BoxObj::text)
      .def_rw("small", &BoxObj::small)
      .def_rw("bytes", &BoxObj::bytes)
      .def_rw("any", &BoxObj::any)
      .def_rw("child", &BoxObj::child)
      .def_rw("opt_int", &BoxObj::opt_int)
      .def_rw("opt_text", &BoxObj::opt_text)
      .def_rw("numbers", &BoxObj::numbers)
      .def_rw("table", &BoxObj::table)
      .def_rw("callback", &BoxObj::callback)
      .def_rw("tensor", &BoxObj::tensor)
      .def_rw("dtype", &BoxObj::dtype)
      .def_rw("device", &BoxObj::device)
      .def_rw("pointer", &BoxObj::pointer)
      .def_rw("variant", &BoxObj::variant)
      .def_ro("constant", &BoxObj::constant, "Nobody may write this.")
      .def("add", &BoxObj::Add, "The sum of i64 and n.")
      .def("bump", &BoxObj::Bump, "Adds one to i64.")
      .def_static("make", [](int64_t n) { return Box(n); }, "Makes a box.");
  refl::ObjectDef<SubBoxObj>().def(refl::init<int64_t>()).def_rw("extra", &SubBoxObj::extra);

  refl::GlobalDef()
      .def("calls.box", [](int64_t n) { return Box(n); })
      .def("calls.sub_box", [](int64_t n) { return Box(ObjectPtr<BoxObj>(make_object<SubBoxObj>(n))); },
           "A SubBox that is declared as a Box.")
      .def("calls.no_box", [] { return Box(); }, "None, declared as a Box.")
      .def("calls.live", [] { return live.load(); }, "How many boxes exist.")
      .def("calls.use_count", [](const Object* x) { return static_cast<int64_t>(x->use_count()); })

      .def("calls.fill", Fill)
      .def("calls.sum_tensor", SumTensor)
      .def("calls.describe_tensor", DescribeTensor, "Shape, strides, data type, device and byte offset.")
      .def("calls.stream",
           [](int64_t type, int64_t id) {
             return TVMFFIEnvGetStream(static_cast<int32_t>(type), static_cast<int32_t>(id));
           })
      .def("calls.meet", Meet, "Blocks until n calls of it are there at once, and reports whether they came in time.")
      .def("calls.thread",
           [] { return static_cast<int64_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) >> 1); },
           "A number that tells threads apart.");
}

}  // namespace calls

// Functions of the plain C form that do what no well-behaved function does.
extern "C" {
// Says that an error has been raised in the host language, and there is none.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_minus_two(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return -2; }
// Says that it raised an error and did not.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_minus_one(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  TVMFFIObjectHandle earlier = nullptr;
  TVMFFIErrorMoveFromRaised(&earlier);
  if (earlier != nullptr) TVMFFIObjectDecRef(earlier);
  return -1;
}
// Returns a code that nobody has defined.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_seven(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 7; }
// Succeeds and leaves an error behind, which belongs to no call.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_stale(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind");
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 1;
  return 0;
}
// Raises an error of the C form.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_fail(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "raised in C");
  return -1;
}
// Returns a borrowed C string, which no owned value may be.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_borrowed_string(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIRawStr;
  result->zero_padding = 0;
  result->v_c_str = "borrowed";
  return 0;
}
// Returns an index that no type has.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_unknown_index(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = 63;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
// Returns a value of the index given, with the object given or none.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_index(void*, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  result->type_index = static_cast<int32_t>(args[0].v_int64);
  result->zero_padding = 0;
  result->v_int64 = 0;
  if (n > 1) {
    result->v_obj = args[1].v_obj;
    return TVMFFIObjectIncRef(args[1].v_obj);
  }
  return 0;
}
// Calls a function with a value of the index given.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_call(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  TVMFFIAny value{};
  value.type_index = static_cast<int32_t>(args[1].v_int64);
  return TVMFFIFunctionCall(args[0].v_obj, &value, 1, result);
}
// Puts a value of the index given, which is not that of an object, into an Array of the box given and into its field.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_poison(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  auto* box = static_cast<calls::BoxObj*>(reinterpret_cast<tvm::ffi::Object*>(args[0].v_obj));
  auto poison = [&](tvm::ffi::Any* value) { reinterpret_cast<TVMFFIAny*>(value)->type_index = static_cast<int32_t>(args[1].v_int64); };
  box->any = nullptr;
  poison(&box->any);
  tvm::ffi::Array<tvm::ffi::Any> array{box->any, 1};
  *reinterpret_cast<tvm::ffi::Any*>(result) = array;
  TVM_FFI_SAFE_CALL_END();
}
// Returns an object type with no object.
TVM_FFI_DLL_EXPORT int __tvm_ffi_raw_null_object(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIObject;
  result->zero_padding = 0;
  result->v_obj = nullptr;
  return 0;
}
}
