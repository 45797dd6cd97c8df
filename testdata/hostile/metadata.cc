// A library whose metadata is not what a reader expects. It is registered through the C API,
// because the C++ one writes correct JSON only. All names begin with "metadata.".
#include <tvm/ffi/c_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

TVMFFIByteArray bytes(const std::string& s) { return TVMFFIByteArray{s.data(), s.size()}; }

void check(int code, const std::string& name) {
  if (code == 0) return;
  std::fprintf(stderr, "hostile: cannot register %s\n", name.c_str());
  std::abort();
}

int one(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 1;
  return 0;
}

TVMFFIAny function() {
  TVMFFIObjectHandle handle = nullptr;
  check(TVMFFIFunctionCreate(nullptr, one, nullptr, &handle), "a function");
  TVMFFIAny any;
  std::memset(&any, 0, sizeof(any));
  any.type_index = kTVMFFIFunction;
  any.v_obj = static_cast<TVMFFIObject*>(handle);
  return any;
}

void add(const char* name, const std::string& metadata) {
  std::string full = std::string("metadata.") + name;
  TVMFFIMethodInfo info;
  std::memset(&info, 0, sizeof(info));
  info.name = bytes(full);
  info.metadata = bytes(metadata);
  info.method = function();
  check(TVMFFIFunctionSetGlobalFromMethodInfo(&info, 0), full);
  TVMFFIObjectDecRef(info.method.v_obj);
}

// The schema as the text inside the metadata, like in real libraries.
std::string schema(const std::string& s) {
  std::string out = "{\"type_schema\":\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"}";
}

std::string nested(int depth) {
  std::string open, close;
  for (int i = 0; i < depth; ++i) {
    open += R"({"type":"Optional","args":[)";
    close += "]}";
  }
  return R"({"type":"ffi.Function","args":[)" + open + R"({"type":"int"})" + close + "]}";
}

__attribute__((constructor)) void init() {
  add("empty", "");
  add("not_json", "this is not JSON");
  add("half", R"({"type_schema":"{\"type\":\"ffi.Fun)");
  add("array", "[1,2,3]");
  add("null", "null");
  add("number", "42");
  add("no_schema", R"({"other":true})");
  add("schema_not_text", R"({"type_schema":{"type":"ffi.Function","args":[{"type":"int"}]}})");
  add("schema_number", R"({"type_schema":5})");
  add("schema_empty", schema(""));
  add("schema_not_json", schema("nonsense"));
  add("schema_null", schema("null"));
  add("schema_no_type", schema(R"({"args":[]})"));
  add("schema_type_number", schema(R"({"type":5})"));
  add("schema_not_function", schema(R"({"type":"int"})"));
  add("args_not_array", schema(R"({"type":"ffi.Function","args":{"0":{"type":"int"}}})"));
  add("args_empty", schema(R"({"type":"ffi.Function","args":[]})"));
  add("args_of_text", schema(R"({"type":"ffi.Function","args":["int","int"]})"));
  add("named_not_object", schema(R"({"type":"ffi.Function","named_args":[1]})"));
  add("named_no_return", schema(R"({"type":"ffi.Function","named_args":{"params":[{"type":"int"}]}})"));
  add("named_two_returns", schema(R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"},{"type":"int"}],"params":[]}})"));
  add("named_unknown_key", schema(R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[],"future":[1]}})"));
  add("both_formats", schema(R"({"type":"ffi.Function","args":[{"type":"int"}],"named_args":{"return":[{"type":"float"}],"params":[]}})"));
  add("unknown_format", schema(R"({"type":"ffi.Function","signature":"int -> int"})"));
  add("unknown_type", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"future.Type"}]})"));
  add("unknown_generic", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"Future","args":[{"type":"int"}]}]})"));
  add("optional_of_none", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"Optional"}]})"));
  add("optional_of_two", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"Optional","args":[{"type":"int"},{"type":"int"}]}]})"));
  add("map_of_one", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.Map","args":[{"type":"int"}]}]})"));
  add("variant_of_none", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"Variant","args":[]}]})"));
  add("type_empty", schema(R"({"type":"ffi.Function","args":[{"type":""}]})"));
  add("type_code", schema(R"({"type":"ffi.Function","args":[{"type":"int) { panic(1) } //"}]})"));
  add("type_newline", schema("{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"a\\nfunc init() { panic(1) }\"}]}"));
  add("deep", schema(nested(40)));
  add("very_deep", schema(nested(20000)));
  add("wide", schema([] {
        std::string s = R"({"type":"ffi.Function","args":[{"type":"int"})";
        for (int i = 0; i < 5000; ++i) s += R"(,{"type":"int"})";
        return s + "]}";
      }()));
  add("not_utf8", schema("{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"\xFF\xFE\"}]}"));
  add("nul", std::string("{\"type_schema\":\0\"x\"}", 20));
  add("duplicate_keys", R"({"type_schema":"{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"int\"}]}","type_schema":"nonsense"})");
  add("trailing", schema(R"({"type":"ffi.Function","args":[{"type":"int"}]})") + "trailing");
  add("big", R"({"type_schema":"{\"type\":\"ffi.Function\",\"args\":[{\"type\":\"int\"}]}","note":")" + std::string(1 << 20, 'x') + "\"}");
  // A correct one in each format, so that a reader that gives up on the whole library is found out.
  add("good_args", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"int"}]})"));
  add("good_named", schema(R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"}],"params":[{"type":"int"}]}})"));
  add("good_packed", schema(R"({"type":"ffi.Function"})"));

  // A type with fields and methods whose metadata, sizes and offsets are wrong.
  std::string key = "metadata.Broken";
  TVMFFIByteArray k = bytes(key);
  int32_t parent_depth = 1;
  int32_t index = TVMFFITypeGetOrAllocIndex(&k, -1, parent_depth, 0, 1, kTVMFFIObject);
  auto field = [&](const std::string& name, const std::string& metadata, int64_t size, int64_t offset, int64_t flags) {
    TVMFFIFieldInfo f;
    std::memset(&f, 0, sizeof(f));
    f.name = bytes(name);
    f.metadata = bytes(metadata);
    f.size = size;
    f.alignment = 8;
    f.offset = offset;
    f.flags = flags;
    f.getter = [](void*, TVMFFIAny* result) { return one(nullptr, nullptr, 0, result); };
    f.field_static_type_index = kTVMFFIInt;
    check(TVMFFITypeRegisterField(index, &f), key + "." + name);
  };
  const std::string integer = R"({"type_schema":"{\"type\":\"int\"}"})";
  field("no_metadata", "", 8, 24, 0);
  field("not_json", "nonsense", 8, 24, 0);
  field("odd_size", integer, 3, 24, 0);
  field("huge_size", integer, int64_t{1} << 40, 24, 0);
  field("negative_offset", integer, 8, -8, 0);
  field("far_offset", integer, 8, int64_t{1} << 40, 0);
  field("all_flags", integer, 8, 24, 0x3ff & ~0x22);
  field("writable_no_setter", integer, 8, 24, 1);
  field("shared_name", integer, 8, 24, 0);
  auto method = [&](const std::string& name, const std::string& metadata, int64_t flags) {
    TVMFFIMethodInfo m;
    std::memset(&m, 0, sizeof(m));
    m.name = bytes(name);
    m.metadata = bytes(metadata);
    m.flags = flags;
    m.method = function();
    check(TVMFFITypeRegisterMethod(index, &m), key + "." + name);
    TVMFFIObjectDecRef(m.method.v_obj);
  };
  method("no_metadata", "", 0);
  method("no_self", schema(R"({"type":"ffi.Function","args":[{"type":"int"}]})"), 0);
  method("other_self", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"ffi.String"}]})"), 0);
  method("packed", schema(R"({"type":"ffi.Function"})"), 0);
  method("shared_name", schema(R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"metadata.Broken"}]})"), 0);
}

}  // namespace
