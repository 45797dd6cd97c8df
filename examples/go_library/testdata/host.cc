// A C++ program that uses the Go libraries: exported functions with their types,
// global functions, callbacks, errors.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace ffi = tvm::ffi;

#define CHECK(condition)                                                   \
  if (!(condition)) {                                                      \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
    std::exit(1);                                                          \
  }

template <typename F>
ffi::Error failure(F f) {
  try {
    f();
  } catch (const ffi::Error& e) {
    return e;
  }
  std::puts("no error");
  std::exit(1);
}

static bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int main(int argc, char** argv) {
  ffi::Module golib = ffi::Module::LoadFromFile(argv[1]);
  ffi::Module words = ffi::Module::LoadFromFile(argv[2]);
  auto function = [](ffi::Module m, const char* name) { return m->GetFunction(name).value(); };

  ffi::TypedFunction<int64_t(int64_t, int64_t)> add(function(golib, "add"));
  CHECK(add(40, 2) == 42);
  CHECK(ffi::Function::GetGlobalRequired("golib.add")(1, 2).cast<int64_t>() == 3);
  ffi::TypedFunction<ffi::String(ffi::String)> greet(function(golib, "greet"));
  CHECK(greet("a name of more than seven") == "hello, a name of more than seven");
  auto counts = function(golib, "word_count")(ffi::Array<ffi::String>{"a b", "b"}).cast<ffi::Map<ffi::String, int64_t>>();
  CHECK(counts.size() == 2 && counts["b"] == 2);
  CHECK(has(golib->GetFunctionMetadata("add").value(), "ffi.Function"));
  CHECK(has(golib->GetFunctionDoc("add").value(), "Add adds two integers."));

  ffi::Function triple = ffi::Function::FromTyped([](int64_t x) { return 3 * x; });
  ffi::Function apply = function(golib, "apply");
  CHECK(apply(triple, 14).cast<int64_t>() == 42);
  ffi::Function adder = function(golib, "adder")(5).cast<ffi::Function>();
  CHECK(adder(1).cast<int64_t>() == 6);
  CHECK(apply(function(words, "tripler")().cast<ffi::Function>(), 5).cast<int64_t>() == 15);

  CHECK(failure([&] { greet(""); }).kind() == "ValueError");
  CHECK(has(failure([&] { function(golib, "add")(1); }).message(), "add() takes 2 arguments (a, b), got 1: b is missing"));
  ffi::Error panic = failure([&] { function(golib, "fail")("nil", ""); });
  CHECK(has(panic.message(), "nil pointer dereference") && has(panic.backtrace(), "golib.go"));
  ffi::Function thrower = ffi::Function::FromTyped([](int64_t) -> int64_t { TVM_FFI_THROW(KeyError) << "from C++"; return 0; });
  ffi::Error thrown = failure([&] { apply(thrower, 1); });
  CHECK(thrown.kind() == "KeyError" && thrown.message() == "from C++");

  // A class of which only Go sees the fields.
  auto method = [](const char* name) { return ffi::reflection::GetMethod("golib.Index", name); };
  auto index = method("__ffi_init__")(false).cast<ffi::ObjectRef>();
  CHECK(method("add")(index, "A b").cast<int64_t>() == 0 && method("words")(index).cast<int64_t>() == 2);
  auto merged = function(golib, "merged")(ffi::Array<ffi::ObjectRef>{index, index}).cast<ffi::ObjectRef>();
  CHECK(method("find")(merged, "a").cast<ffi::Array<ffi::String>>().size() == 2 && !merged.same_as(index));
  method("close")(index);
  method("close")(index);
  ffi::Error late = failure([&] { method("add")(index, "c"); });
  CHECK(late.kind() == "ValueError" && late.message() == "Index.add: the Index is closed");

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      for (int64_t n = 0; n < 2000; n++) CHECK(add(n, 1) == n + 1 && apply(triple, n).cast<int64_t>() == 3 * n);
    });
  }
  for (std::thread& t : threads) t.join();
  std::puts("all right");
}
