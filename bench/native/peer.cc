// The C++ peer: typed Function, and with the suffix .c the C API. It speaks the protocol of ours/harness.go.
#include <dlfcn.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/tvm_ffi.h>

#include <thread>

#include "harness.h"

namespace ffi = tvm::ffi;

static ffi::Function global(const char* name) { return ffi::Function::GetGlobalRequired(name); }
static TVMFFIObjectHandle handle(const ffi::Function& f) { return const_cast<ffi::FunctionObj*>(f.get()); }

int main(int, char** argv) {
  if (!dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL)) {
    std::puts(dlerror());
    return 1;
  }
  auto add = global("perf.add_one");
  auto addh = handle(add);
  item("int", [=](long n) {
    for (long i = 0; i < n; ++i) use(add(int64_t(i)).cast<int64_t>());
  });
  item("int.c", [=](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny a = value(kTVMFFIInt, i);
      use(call(addh, &a, 1));
    }
  });

  auto makeLeaf = global("perf.make_leaf"), makeNode = global("perf.make_node");
  static ffi::ObjectRef leaf = makeLeaf(1).cast<ffi::ObjectRef>();
  auto nopObjects = global("perf.nop3_objects"), nopTensors = global("perf.nop3_tensors");
  item("objects3", [=](long n) {
    for (long i = 0; i < n; ++i) nopObjects(leaf, leaf, leaf);
  });
  item("objects3.c", [=, h = handle(nopObjects)](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny a[3];
      for (auto& x : a) x = ffi::AnyView(leaf).CopyToTVMFFIAny();
      use(call(h, a, 3));
    }
  });
  static int64_t shape[2] = {4, 4};
  auto makeTensor = [] { return ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ffi::ShapeView(shape, 2), DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0}); };
  static ffi::Tensor t1 = makeTensor(), t2 = makeTensor(), t3 = makeTensor();
  item("tensors3", [=](long n) {
    for (long i = 0; i < n; ++i) nopTensors(t1, t2, t3);
  });
  item("tensors3.c", [=, h = handle(nopTensors)](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny a[3] = {ffi::AnyView(t1).CopyToTVMFFIAny(), ffi::AnyView(t2).CopyToTVMFFIAny(), ffi::AnyView(t3).CopyToTVMFFIAny()};
      use(call(h, a, 3));
    }
  });

  auto echo = global("perf.echo");
  auto text = [=](const std::string& name, const std::string& s) {
    item(name, [=](long n) {
      for (long i = 0; i < n; ++i) use(echo(s).cast<std::string>());
    });
    item(name + ".c", [=, h = handle(echo)](long n) {
      for (long i = 0; i < n; ++i) {
        TVMFFIAny a = value(kTVMFFIRawStr, 0);
        a.v_c_str = s.c_str();
        TVMFFIAny r = call(h, &a, 1);
        if (r.type_index == kTVMFFISmallStr) {
          use(std::string(r.v_bytes, r.small_str_len));
          continue;
        }
        auto* cell = TVMFFIBytesGetByteArrayPtr(r.v_obj);
        use(std::string(cell->data, cell->size));
        TVMFFIObjectDecRef(r.v_obj);
      }
    });
  };
  std::string s32(32, 'x');
  text("string32", s32);
  text("string5", "hello");

  // A C++ user includes the header of the type and reads the member, which is a load; the C API has the getter.
  static ffi::ObjectRef node = makeNode(7).cast<ffi::ObjectRef>();
  TVMFFIByteArray key{"perf.Node", 9};
  int32_t index;
  if (TVMFFITypeKeyToIndex(&key, &index)) return 1;
  const TVMFFIFieldInfo* fields = TVMFFIGetTypeInfo(index)->fields;  // value, weight, name, leaf, delta
  auto at = [=](int i) { return reinterpret_cast<char*>(const_cast<ffi::Object*>(node.get())) + fields[i].offset; };
  auto getter = [=](int i) {
    TVMFFIAny r = value(kTVMFFINone, 0);
    if (fields[i].getter(at(i), &r)) abort();
    return r;
  };
  item("field_int", [p = reinterpret_cast<volatile int64_t*>(at(0))](long n) {
    for (long i = 0; i < n; ++i) use(int64_t(*p));
  });
  item("field_int.c", [=](long n) {
    for (long i = 0; i < n; ++i) use(getter(0).v_int64);
  });
  item("field_getter", [p = reinterpret_cast<volatile int32_t*>(at(4))](long n) {
    for (long i = 0; i < n; ++i) use(int64_t(*p));
  });
  item("field_getter.c", [=](long n) {
    for (long i = 0; i < n; ++i) use(getter(4).v_int64);
  });
  item("field_float", [p = reinterpret_cast<volatile double*>(at(1))](long n) {
    for (long i = 0; i < n; ++i) use(double(*p));
  });
  item("field_float.c", [=](long n) {
    for (long i = 0; i < n; ++i) use(getter(1).v_float64);
  });
  item("field_string", [p = reinterpret_cast<ffi::String*>(at(2))](long n) {
    for (long i = 0; i < n; ++i) use(std::string(p->data(), p->size()));
  });
  item("field_string.c", [=](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny r = getter(2);
      auto* cell = TVMFFIBytesGetByteArrayPtr(r.v_obj);
      use(std::string(cell->data, cell->size));
      TVMFFIObjectDecRef(r.v_obj);
    }
  });
  item("field_object", [p = reinterpret_cast<ffi::ObjectRef*>(at(3))](long n) {
    for (long i = 0; i < n; ++i) use(ffi::ObjectRef(*p));
  });
  item("field_object.c", [=](long n) {
    for (long i = 0; i < n; ++i) TVMFFIObjectDecRef(getter(3).v_obj);
  });
  item("create", [=](long n) {
    for (long i = 0; i < n; ++i) use(makeLeaf(int64_t(i)).cast<ffi::ObjectRef>());
  });
  item("create.c", [=, h = handle(makeLeaf)](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny a = value(kTVMFFIInt, i);
      TVMFFIObjectDecRef(call(h, &a, 1).v_obj);
    }
  });

  auto useObjects = global("perf.use_objects");
  for (std::string what : {"make", "set_int", "set_object", "copy"}) {
    item("define_" + what, [=](long n) { useObjects("perf.Point", what, int64_t(n)); });
  }

  auto fail = global("perf.fail");
  item("error", [=](long n) {
    for (long i = 0; i < n; ++i) try {
        fail(s32);
      } catch (const ffi::Error& e) {
        use(std::string(e.message()));
      }
  });
  item("error.c", [=, h = handle(fail)](long n) {
    for (long i = 0; i < n; ++i) {
      TVMFFIAny a = value(kTVMFFIRawStr, 0), r = value(kTVMFFINone, 0);
      a.v_c_str = s32.c_str();
      if (!TVMFFIFunctionCall(h, &a, 1, &r)) abort();
      TVMFFIObjectHandle e;
      TVMFFIErrorMoveFromRaised(&e);
      use(std::string(TVMFFIErrorGetCellPtr(e)->message.data, TVMFFIErrorGetCellPtr(e)->message.size));
      TVMFFIObjectDecRef(e);
    }
  });

  auto repeat = global("perf.repeat"), repeatOnThread = global("perf.repeat_on_thread");
  auto callback = ffi::Function::FromTyped([](int64_t x) { return x + 1; });
  item("callback", [=](long n) { repeat(callback, int64_t(n)); });
  item("callback_thread", [=](long n) { repeatOnThread(callback, int64_t(n)); });
  item("callback_make", [=](long n) {
    for (long i = 0; i < n; ++i) use(ffi::Function::FromTyped([i](int64_t x) { return x + i; }));
  });

  static std::vector<int64_t> ints(1000000), out(1000000);
  for (size_t i = 0; i < ints.size(); ++i) ints[i] = i;
  static ffi::Array<int64_t> array(ints.begin(), ints.end());
  item("ints_build", [](long n) {
    for (long i = 0; i < n; ++i) use(ffi::Array<int64_t>(ints.begin(), ints.end()));
  });
  for (const char* name : {"ints_read", "ints_range"}) {
    item(name, [](long n) {
      for (long i = 0; i < n; ++i) {
        size_t k = 0;
        for (int64_t x : array) out[k++] = x;
        use(out);
      }
    });
  }
  item("ints_slice", [](long n) {
    for (long i = 0; i < n; ++i) use(std::vector<int64_t>(array.begin(), array.end()));
  });
  static std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back("string number " + std::to_string(i));
  auto makeStrings = [] {
    ffi::Array<ffi::String> a;
    a.reserve(1000);
    for (auto const& s : texts) a.push_back(s);
    return a;
  };
  static ffi::Array<ffi::String> strings = makeStrings();
  item("strings_build", [=](long n) {
    for (long i = 0; i < n; ++i) use(makeStrings());
  });
  item("strings_read", [](long n) {
    for (long i = 0; i < n; ++i) {
      std::vector<std::string> o;
      o.reserve(1000);
      for (ffi::String x : strings) o.emplace_back(x.data(), x.size());
      use(o);
    }
  });
  auto makeMap = [] {
    ffi::Map<ffi::String, int64_t> m;
    for (int i = 0; i < 1000; ++i) m.Set(texts[i], i);
    return m;
  };
  static ffi::Map<ffi::String, int64_t> table = makeMap();
  item("map_build", [=](long n) {
    for (long i = 0; i < n; ++i) use(makeMap());
  });
  item("map_lookup", [](long n) {
    for (long i = 0; i < n; ++i) use(int64_t(table.at(ffi::String(texts[i % 1000]))));
  });
  item("map_iterate", [](long n) {
    for (long i = 0; i < n; ++i) {
      std::vector<std::pair<std::string, int64_t>> o;
      o.reserve(1000);
      for (auto kv : table) o.emplace_back(std::string(kv.first), kv.second);
      use(o);
    }
  });

  static std::vector<float> host(1024);
  item("env_tensor", [](long n) {
    int64_t sizes[] = {1024};
    for (long i = 0; i < n; ++i) {
      use(ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ffi::ShapeView(sizes, 1), {kDLFloat, 32, 1}, {kDLCPU, 0}));
    }
  });
  item("wrap", [](long n) {
    for (long i = 0; i < n; ++i) {
      auto* d = new DLManagedTensorVersioned();
      d->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
      auto* sizes = new int64_t[2]{1024, 1};
      d->dl_tensor = DLTensor{host.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, sizes, sizes + 1, 0};
      d->deleter = [](DLManagedTensorVersioned* self) {
        delete[] self->dl_tensor.shape;
        delete self;
      };
      use(ffi::Tensor::FromDLPackVersioned(d));
    }
  });
  item("threads2", [=](long n) {  // per call, over both threads
    auto work = [=] {
      for (long i = 0; i < n / 2; ++i) use(add(int64_t(i)).cast<int64_t>());
    };
    std::thread a(work), b(work);
    a.join();
    b.join();
  });
  serve();
}
