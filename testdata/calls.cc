// Functions for the tests and benchmarks of the call path. All names begin with "calls.".
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/stl.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace calls {

using namespace tvm::ffi;  // NOLINT: the whole file speaks of these types
namespace refl = tvm::ffi::reflection;

std::atomic<int64_t> live{0};

// One field of every kind, and a count of the instances.
class BoxObj : public Object {
 public:
  int64_t i64 = 64;
  int32_t i32 = -32;
  int16_t i16 = -16;
  int8_t i8 = -8;
  uint64_t u64 = 64;
  uint32_t u32 = 4000000000u;
  uint16_t u16 = 60000;
  uint8_t u8 = 200;
  double f64 = 0.5;
  float f32 = 0.25f;
  bool flag = true;
  String text = "a text that does not fit into seven bytes";
  String small = "small";
  Bytes bytes = Bytes(std::string("\x00\x01\xff", 3));
  Any any = 7;
  ObjectRef child;
  Optional<int64_t> opt_int;
  Optional<String> opt_text;
  Array<int64_t> numbers{1, 2, 3};
  Map<String, int64_t> table{{"one", 1}, {"two", 2}};
  Optional<Function> callback;
  Optional<Tensor> tensor;
  DLDataType dtype{kDLFloat, 32, 1};
  DLDevice device{kDLCPU, 0};
  void* pointer = nullptr;
  Variant<int64_t, String> variant{int64_t{1}};
  int64_t constant = 42;

  BoxObj() { ++live; }
  explicit BoxObj(int64_t n) : i64(n) { ++live; }
  BoxObj(const BoxObj&) = delete;
  BoxObj& operator=(const BoxObj&) = delete;
  ~BoxObj() { --live; }

  int64_t Add(int64_t n) const { return i64 + n; }
  int64_t Bump() { return ++i64; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("calls.Box", BoxObj, Object);
};

class Box : public ObjectRef {
 public:
  explicit Box(int64_t n) : ObjectRef(make_object<BoxObj>(n)) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Box, ObjectRef, BoxObj);
};

class SubBoxObj : public BoxObj {
 public:
  int64_t extra = 1;
  explicit SubBoxObj(int64_t n) : BoxObj(n) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("calls.SubBox", SubBoxObj, BoxObj);
};

// What outlives one call.
struct Kept {
  std::mutex lock;
  Function callback{nullptr};
  Any value;
};

Kept& kept() {
  static Kept* k = new Kept;  // not destroyed at exit: a callback may belong to a runtime that is gone by then
  return *k;
}

[[noreturn]] void Fail(const String& kind, const String& message) {
  throw Error(std::string(kind), std::string(message), "");
}

// A type that can be thrown and does not derive from std::exception.
struct Thrown {
  Box box;
};

[[noreturn]] void ThrowValue(const String& what, const Function& f) {
  Box local(1);  // destroyed on the way out
  f();
  if (what == "int") throw 42;
  if (what == "text") throw "a text";
  if (what == "class") throw Thrown{Box(2)};
  throw what;
}

[[noreturn]] void FailWithCause(const String& kind, const String& message, const String& cause, const Optional<ObjectRef>& extra) {
  std::optional<ObjectRef> context;
  if (extra.has_value()) context = extra.value();
  throw Error(std::string(kind), std::string(message), "", Error("ValueError", std::string(cause), ""), context);
}

// Runs f on a new thread, waits for it, and passes on what it returns or throws.
template <typename F>
void OnThread(F&& f) {
  std::exception_ptr raised;
  std::thread thread([&] {
    try {
      f();
    } catch (...) {
      raised = std::current_exception();
    }
  });
  thread.join();
  if (raised) std::rethrow_exception(raised);
}

int64_t Repeat(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += f(i);
  return sum;
}

int64_t RepeatOnThread(const TypedFunction<int64_t(int64_t)>& f, int64_t n) {
  int64_t sum = 0;
  OnThread([&] { sum = Repeat(f, n); });
  return sum;
}

// Calls f from several threads at once.
int64_t RepeatOnThreads(const TypedFunction<int64_t(int64_t)>& f, int64_t n, int64_t threads) {
  std::atomic<int64_t> sum{0};
  std::mutex lock;
  std::exception_ptr raised;
  std::vector<std::thread> all;
  for (int64_t t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      try {
        sum += Repeat(f, n);
      } catch (...) {
        std::lock_guard<std::mutex> hold(lock);
        raised = std::current_exception();
      }
    });
  }
  for (std::thread& t : all) t.join();
  if (raised) std::rethrow_exception(raised);
  return sum;
}

// Calls the function from a thread that nobody waits for.
void Later(Function f, int64_t milliseconds) {
  std::thread([f = std::move(f), milliseconds]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    try {
      f();
    } catch (const std::exception&) {
      // There is no caller left to tell.
    }
    f = Function(nullptr);
  }).detach();
}

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
      .def("calls.nop", [] {})
      .def_packed("calls.nop_packed", [](PackedArgs, Any*) {})
      .def("calls.add_one", [](int64_t x) { return x + 1; })
      .def("calls.add", [](int64_t a, int64_t b) { return a + b; })
      .def("calls.scale", [](double x, double by) { return x * by; })
      .def("calls.negate", [](bool x) { return !x; })
      .def("calls.nop3", [](const Any&, const Any&, const Any&) {})
      .def("calls.nop3_tensors", [](const TensorView&, const TensorView&, const TensorView&) {})
      .def("calls.nop3_objects", [](const Box&, const Box&, const Box&) {})
      .def("calls.nop8", [](int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) {})
      .def("calls.sum32",
           [](int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h,
              int64_t i, int64_t j, int64_t k, int64_t l, int64_t m, int64_t n, int64_t o, int64_t p,
              int64_t q, int64_t r, int64_t s, int64_t t, int64_t u, int64_t v, int64_t w, int64_t x,
              int64_t y, int64_t z, int64_t a2, int64_t b2, int64_t c2, int64_t d2, int64_t e2, int64_t f2) {
             return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w +
                    x + y + z + a2 + b2 + c2 + d2 + e2 + f2;
           })
      .def_packed("calls.sum",
                  [](PackedArgs args, Any* result) {
                    int64_t sum = 0;
                    for (int i = 0; i < args.size(); ++i) sum += args[i].cast<int64_t>();
                    *result = sum;
                  })
      .def_packed("calls.count", [](PackedArgs args, Any* result) { *result = static_cast<int64_t>(args.size()); })
      .def_packed("calls.type_indices",
                  [](PackedArgs args, Any* result) {
                    Array<int64_t> indices;
                    for (int i = 0; i < args.size(); ++i) indices.push_back(args[i].type_index());
                    *result = indices;
                  })
      .def("calls.concat", [](const String& a, const String& b) { return String(std::string(a) + std::string(b)); })
      .def("calls.length", [](const String& s) { return static_cast<int64_t>(s.size()); })
      .def("calls.text", [](int64_t n) { return String(std::string(static_cast<size_t>(n), 'x')); })

      .def_packed("calls.echo", [](PackedArgs args, Any* result) { *result = args[0]; })
      .def("calls.echo_any", [](Any x) { return x; })
      .def("calls.echo_int", [](int64_t x) { return x; })
      .def("calls.echo_int32", [](int32_t x) { return x; })
      .def("calls.echo_float", [](double x) { return x; })
      .def("calls.echo_bool", [](bool x) { return x; })
      .def("calls.echo_string", [](String x) { return x; })
      .def("calls.echo_std_string", [](std::string x) { return x; })
      .def("calls.echo_bytes", [](Bytes x) { return x; })
      .def("calls.echo_dtype", [](DLDataType x) { return x; })
      .def("calls.echo_device", [](DLDevice x) { return x; })
      .def("calls.echo_pointer", [](void* x) { return x; })
      .def("calls.echo_object", [](ObjectRef x) { return x; })
      .def("calls.echo_box", [](Box x) { return x; })
      .def("calls.echo_tensor", [](Tensor x) { return x; })
      .def("calls.echo_shape", [](Shape x) { return x; })
      .def("calls.echo_function", [](Function x) { return x; })
      .def("calls.echo_typed", [](TypedFunction<int64_t(int64_t)> x) { return x; })
      .def("calls.echo_opt_int", [](Optional<int64_t> x) { return x; })
      .def("calls.echo_opt_float", [](Optional<double> x) { return x; })
      .def("calls.echo_opt_bool", [](Optional<bool> x) { return x; })
      .def("calls.echo_opt_string", [](Optional<String> x) { return x; })
      .def("calls.echo_opt_bytes", [](Optional<Bytes> x) { return x; })
      .def("calls.echo_opt_box", [](Optional<Box> x) { return x; })
      .def("calls.echo_opt_array", [](Optional<Array<int64_t>> x) { return x; })
      .def("calls.echo_ints", [](Array<int64_t> x) { return x; })
      .def("calls.echo_strings", [](Array<String> x) { return x; })
      .def("calls.echo_boxes", [](Array<Box> x) { return x; })
      .def("calls.echo_nested", [](Array<Array<String>> x) { return x; })
      .def("calls.echo_list", [](List<int64_t> x) { return x; })
      .def("calls.echo_dict", [](Dict<String, int64_t> x) { return x; })
      .def("calls.echo_map", [](Map<String, int64_t> x) { return x; })
      .def("calls.echo_int_map", [](Map<int64_t, String> x) { return x; })
      .def("calls.echo_tuple", [](Tuple<int64_t, String> x) { return x; })
      .def("calls.echo_variant", [](Variant<int64_t, String> x) { return x; })
      .def("calls.echo_variant_box", [](Variant<Box, Array<int64_t>, String> x) { return x; })

      .def("calls.stl_vector", [](std::vector<int64_t> x) { return x; })
      .def("calls.stl_array", [](std::array<int64_t, 2> x) { return x; })
      .def("calls.stl_optional", [](std::optional<int64_t> x) { return x; })
      .def("calls.stl_tuple", [](std::tuple<int64_t, String> x) { return x; })
      .def("calls.stl_variant", [](std::variant<int64_t, String> x) { return x; })
      .def("calls.stl_map", [](std::map<String, int64_t> x) { return x; })
      .def("calls.stl_unordered_map", [](std::unordered_map<String, int64_t> x) { return x; })
      .def("calls.stl_function", [](std::function<int64_t(int64_t)> f, int64_t x) { return f(x); })

      .def("calls.append", [](List<int64_t> x, int64_t n) { x.push_back(n); })
      .def("calls.put", [](Dict<String, int64_t> x, const String& k, int64_t v) { x.Set(k, v); })
      .def("calls.ints",
           [](int64_t n) {
             Array<int64_t> out;
             out.reserve(n);
             for (int64_t i = 0; i < n; ++i) out.push_back(i);
             return out;
           })
      .def("calls.strings",
           [](int64_t n) {
             Array<String> out;
             out.reserve(n);
             for (int64_t i = 0; i < n; ++i) out.push_back("the string with the number " + std::to_string(i));
             return out;
           })
      .def("calls.boxes",
           [](int64_t n) {
             Array<Box> out;
             out.reserve(n);
             for (int64_t i = 0; i < n; ++i) out.push_back(Box(i));
             return out;
           })
      .def("calls.table",
           [](int64_t n) {
             Map<String, int64_t> out;
             for (int64_t i = 0; i < n; ++i) out.Set("key " + std::to_string(i), i);
             return out;
           })

      .def("calls.fail", Fail, "Throws an error of the kind with the message.")
      .def("calls.fail_with_cause", FailWithCause)
      .def("calls.throw_std", [](const String& what) { throw std::runtime_error(std::string(what)); })
      .def("calls.throw_value", ThrowValue, "Calls f, and throws a value that does not derive from std::exception.")

      .def("calls.apply", [](const Function& f, const Any& x) -> Any { return f(x); })
      .def_packed("calls.apply_packed",
                  [](PackedArgs args, Any* result) { args[0].cast<Function>().CallPacked(args.Slice(1), result); })
      .def("calls.repeat", Repeat, "The sum of f(0) to f(n-1).")
      .def("calls.repeat_on_thread", RepeatOnThread)
      .def("calls.repeat_on_threads", RepeatOnThreads)
      .def("calls.on_thread",
           [](const Function& f, const Any& x) {
             Any result;
             OnThread([&] { result = f(x); });
             return result;
           })
      .def("calls.swallow",
           [](const Function& f) {
             try {
               f();
             } catch (const Error& e) {
               return String(e.kind() + ": " + e.message());
             }
             return String("");
           })
      .def("calls.later", Later)
      .def("calls.borrow", [](const Function& f, const Box& x) -> Any { return f(x, AnyView("text"), Array<int64_t>{1}); })
      .def("calls.store",
           [](Function f) {
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().callback, f);
           })
      .def("calls.call_stored",
           [](const Any& x) -> Any {
             Function f(nullptr);
             {
               std::lock_guard<std::mutex> hold(kept().lock);
               f = kept().callback;
             }
             if (f == nullptr) TVM_FFI_THROW(ValueError) << "no callback is stored";
             return f(x);
           })
      .def("calls.keep",
           [](Any x) {
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().value, x);
           })
      .def("calls.kept",
           [] {
             std::lock_guard<std::mutex> hold(kept().lock);
             return kept().value;
           })
      .def("calls.drop",
           [] {
             Function f(nullptr);
             Any value;
             std::lock_guard<std::mutex> hold(kept().lock);
             std::swap(kept().callback, f);
             std::swap(kept().value, value);
           })
      .def("calls.adder", [](int64_t n) { return TypedFunction<int64_t(int64_t)>([n](int64_t x) { return x + n; }); })

      .def("calls.box", [](int64_t n) { return Box(n); })
      .def("calls.sub_box", [](int64_t n) { return Box(ObjectPtr<BoxObj>(make_object<SubBoxObj>(n))); },
           "A SubBox that is declared as a Box.")
      .def("calls.no_box", [] { return Box(); }, "None, declared as a Box.")
      .def("calls.live", [] { return live.load(); }, "How many boxes exist.")
      .def("calls.use_count", [](const Object* x) { return static_cast<int64_t>(x->use_count()); })
      .def("calls.release_on_thread",
           [](const Array<Box>& boxes) {
             // The last reference to what the array alone holds ends on another thread.
             Array<Box> mine = boxes;
             OnThread([&] { mine = Array<Box>(); });
           })

      .def("calls.fill", Fill)
      .def("calls.sum_tensor", SumTensor)
      .def("calls.describe_tensor", DescribeTensor, "Shape, strides, data type, device and byte offset.")
      .def("calls.stream",
           [](int64_t type, int64_t id) {
             return TVMFFIEnvGetStream(static_cast<int32_t>(type), static_cast<int32_t>(id));
           })
      .def("calls.sleep", [](int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); })
      .def("calls.thread",
           [] { return static_cast<int64_t>(std::hash<std::thread::id>()(std::this_thread::get_id()) >> 1); },
           "A number that tells threads apart.");
}

int64_t Triple(int64_t x) { return 3 * x; }

}  // namespace calls

TVM_FFI_DLL_EXPORT_TYPED_FUNC(triple, calls::Triple);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(triple, "Three times x.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, calls::Fail);

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
