// The C++ peer of the engines: the C API, as a program calls it that has no headers of the library.
// Usage: engines DATA XGRAMMAR REMOTE LIBTVM_FFI TVM_RUNTIME; -engines writes DATA.
#include <dlfcn.h>

#include <cstring>
#include <fstream>

#include "harness.h"

static void check(int rc, const char* what) {
  if (rc == 0) return;
  std::fprintf(stderr, "engines: %s failed\n", what);
  std::exit(1);
}

static void load(const char* file) {
  if (dlopen(file, RTLD_NOW | RTLD_GLOBAL)) return;
  std::fprintf(stderr, "engines: %s\n", dlerror());
  std::exit(1);
}

static TVMFFIByteArray bytes(const std::string& s) { return TVMFFIByteArray{s.data(), s.size()}; }  // of s, which must stay

static TVMFFIAny object(const TVMFFIAny& owner) { return owner; }  // an argument is borrowed

static TVMFFIAny text(const std::string& s) {
  TVMFFIAny a = value(kTVMFFIRawStr, 0);
  a.v_c_str = s.c_str();
  return a;
}

static TVMFFIAny none() { return value(kTVMFFINone, 0); }
static TVMFFIAny boolean(bool b) { return value(kTVMFFIBool, b); }
static TVMFFIAny integer(int64_t i) { return value(kTVMFFIInt, i); }

static TVMFFIObjectHandle global(const std::string& name) {
  TVMFFIByteArray key = bytes(name);
  TVMFFIObjectHandle f = nullptr;
  check(TVMFFIFunctionGetGlobal(&key, &f) || !f, name.c_str());
  return f;
}

// method finds a method in the type's information; the registry owns it.
static TVMFFIObjectHandle method(const char* type, const char* name) {
  TVMFFIByteArray key{type, std::strlen(type)};
  int32_t index;
  check(TVMFFITypeKeyToIndex(&key, &index), type);
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  for (int i = 0; i < info->num_methods; ++i) {
    const TVMFFIByteArray& n = info->methods[i].name;
    if (n.size == std::strlen(name) && !std::memcmp(n.data, name, n.size)) return info->methods[i].method.v_obj;
  }
  check(1, name);
  return nullptr;
}

static std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  check(!in, file.c_str());
  return {std::istreambuf_iterator<char>(in), {}};
}

static std::string decoded(const std::string& hex) {
  std::string s;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) s.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return s;
}

#define XG "xgrammar.tvm_ffi_binding."

// xgrammarBatch has the item of a batch matcher, which handles a token of 16 texts in two calls.
static void xgrammarBatch(const TVMFFIAny& matcher, TVMFFIObjectHandle fork, const std::vector<int64_t>& document, int64_t words) {
  static const int texts = 16;
  static TVMFFIAny matchers[texts];
  for (TVMFFIAny& m : matchers) {
    TVMFFIAny args[] = {matcher};
    m = call(fork, args, 1);
  }
  TVMFFIAny threads = integer(1);
  static TVMFFIObjectHandle array = global("ffi.Array");
  static TVMFFIAny batch = call(method(XG "BatchGrammarMatcher", "__ffi_init__"), &threads, 1), all = call(array, matchers, texts);
  static TVMFFIObjectHandle fill = method(XG "BatchGrammarMatcher", "batch_fill_next_token_bitmask"),
                            accept = method(XG "BatchGrammarMatcher", "batch_accept_token"), reset = method(XG "GrammarMatcher", "reset");
  static int64_t shape[] = {texts, words}, strides[] = {words, 1};
  static std::vector<int32_t> rows(texts * words);
  static DLTensor mask{rows.data(), {kDLCPU, 0}, 2, {kDLInt, 32, 1}, shape, strides, 0};
  item("xg_batch", [&document](long n) {
    for (long i = 0; i < n; ++i) {
      for (int64_t id : document) {
        TVMFFIAny tensor = value(kTVMFFIDLTensorPtr, 0);
        tensor.v_ptr = &mask;
        TVMFFIAny fill_args[] = {batch, all, tensor, none(), boolean(false)};
        call(fill, fill_args, 5);
        TVMFFIAny ids[texts];
        for (TVMFFIAny& a : ids) a = integer(id);
        TVMFFIAny tokens = call(array, ids, texts);
        TVMFFIAny args[] = {all, tokens, boolean(false)};
        TVMFFIObjectDecRef(call(accept, args, 3).v_obj);
        TVMFFIObjectDecRef(tokens.v_obj);
      }
      for (TVMFFIAny& m : matchers) {
        TVMFFIAny args[] = {m};
        call(reset, args, 1);
      }
    }
  });
}

static void xgrammar(const std::string& data) {
  std::vector<TVMFFIAny> vocabulary;
  std::ifstream lines(data + "/vocabulary.hex");
  for (std::string line; std::getline(lines, line);) {
    std::string token = decoded(line);
    TVMFFIByteArray b = bytes(token);
    vocabulary.emplace_back();
    check(TVMFFIBytesFromByteArray(&b, &vocabulary.back()), "a token");
  }
  static std::vector<int64_t> document;
  std::ifstream ids(data + "/document.txt");
  for (int64_t id; ids >> id;) document.push_back(id);
  static const std::string schema = content(data + "/schema.json");

  TVMFFIAny all = call(global("ffi.Array"), vocabulary.data(), vocabulary.size());
  TVMFFIAny stop = integer(0), stops = call(global("ffi.Array"), &stop, 1);
  TVMFFIAny tokenizer_args[] = {object(all), integer(0), none(), object(stops), boolean(false)};
  TVMFFIAny tokenizer = call(method(XG "TokenizerInfo", "__ffi_init__"), tokenizer_args, 5);
  TVMFFIAny compiler_args[] = {object(tokenizer), integer(1), boolean(false), integer(-1), boolean(false)};  // one thread, no cache
  static TVMFFIAny compiler = call(method(XG "GrammarCompiler", "__ffi_init__"), compiler_args, 5);
  static TVMFFIObjectHandle compile = method(XG "GrammarCompiler", "compile_json_schema");
  auto compiled = [] {
    TVMFFIAny args[] = {compiler, text(schema), boolean(true), none(), none(), boolean(true), none(), boolean(false)};
    return call(compile, args, 8);
  };
  item("xg_compile", [=](long n) {
    for (long i = 0; i < n; ++i) TVMFFIObjectDecRef(compiled().v_obj);
  });

  TVMFFIAny matcher_args[] = {compiled(), none(), boolean(false), integer(-1), none()};
  static TVMFFIAny matcher = call(method(XG "GrammarMatcher", "__ffi_init__"), matcher_args, 5);
  static TVMFFIObjectHandle accept = method(XG "GrammarMatcher", "accept_token"), fill = method(XG "GrammarMatcher", "fill_next_token_bitmask"),
                            reset = method(XG "GrammarMatcher", "reset"), fork = method(XG "GrammarMatcher", "fork");
  static int64_t shape[] = {1, static_cast<int64_t>((vocabulary.size() + 31) / 32)}, strides[] = {shape[1], 1};
  static std::vector<int32_t> words(shape[1]);
  static DLTensor mask{words.data(), {kDLCPU, 0}, 2, {kDLInt, 32, 1}, shape, strides, 0};
  static auto accepted = [](int64_t id) {
    TVMFFIAny args[] = {matcher, integer(id), boolean(false)};
    if (!call(accept, args, 3).v_int64) abort();
  };
  static auto filled = [](const TVMFFIAny& m) {
    TVMFFIAny tensor = value(kTVMFFIDLTensorPtr, 0);
    tensor.v_ptr = &mask;
    TVMFFIAny args[] = {m, tensor, integer(0), boolean(false)};
    call(fill, args, 4);
  };
  static auto again = [] {
    TVMFFIAny args[] = {matcher};
    call(reset, args, 1);
  };
  item("xg_accept", [](long n) {
    for (long i = 0; i < n; ++i) {
      for (int64_t id : document) accepted(id);
      again();
    }
  });
  static std::vector<TVMFFIAny> positions;
  for (int64_t id : document) {
    TVMFFIAny args[] = {matcher};
    positions.push_back(call(fork, args, 1));
    accepted(id);
  }
  again();
  item("xg_mask", [](long n) {
    for (long i = 0; i < n; ++i) {
      for (const TVMFFIAny& m : positions) filled(m);
    }
  });
  item("xg_step", [](long n) {
    for (long i = 0; i < n; ++i) {
      for (int64_t id : document) {
        filled(matcher);
        accepted(id);
      }
      again();
    }
  });
  xgrammarBatch(matcher, fork, document, shape[1]);
}

static TVMFFIAny moduleFunction(const TVMFFIAny& module, const std::string& name) {
  TVMFFIAny args[] = {module, text(name), boolean(false)};
  static TVMFFIObjectHandle get = global("ffi.ModuleGetFunction");
  TVMFFIAny f = call(get, args, 3);
  check(f.type_index != kTVMFFIFunction, name.c_str());
  return f;
}

static void vm(const std::string& data) {
  std::string file = data + "/vm.so";
  TVMFFIAny path[] = {text(file)};
  TVMFFIAny executable = call(global("ffi.ModuleLoadFromFile"), path, 1);
  TVMFFIAny machine = call(moduleFunction(executable, "vm_load_executable").v_obj, nullptr, 0);
  TVMFFIAny device[] = {integer(kDLCPU), integer(0), integer(2)};
  call(moduleFunction(machine, "vm_initialization").v_obj, device, 3);
  static TVMFFIAny same = moduleFunction(machine, "same");
  item("vm_int", [](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny args[] = {integer(i)};
      call(same.v_obj, args, 1);
    }
  });
  static float elements[8];
  static int64_t shape[] = {8}, strides[] = {1};
  static DLManagedTensor memory{{elements, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0}, nullptr, nullptr};
  static TVMFFIAny x = value(kTVMFFITensor, 0), checked = moduleFunction(machine, "checked");
  TVMFFIObjectHandle tensor;
  check(TVMFFITensorFromDLPack(&memory, 0, 0, &tensor), "the tensor");
  x.v_obj = static_cast<TVMFFIObject*>(tensor);
  item("vm_tensor", [](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny args[] = {x};
      TVMFFIObjectDecRef(call(checked.v_obj, args, 1).v_obj);
    }
  });
}

int main(int, char** argv) {
  load(argv[2]);
  xgrammar(argv[1]);
  load(argv[5]);
  vm(argv[1]);
  serve();
}
