// Functions that return their argument, and that make and change containers.
#include "calls.h"

namespace calls {

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
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
           });
}

}  // namespace calls
