// Functions for the tests and benchmarks of the call path, in three sources that are compiled side by side. All names
// begin with "calls.".
#pragma once

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
#include <condition_variable>
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

using namespace tvm::ffi;  // NOLINT: the sources speak of these types only
namespace refl = tvm::ffi::reflection;

inline std::atomic<int64_t> live{0};

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

}  // namespace calls
