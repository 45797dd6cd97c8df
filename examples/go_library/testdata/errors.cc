// A C++ program that catches the errors of a Go library with their fields, and throws such
// errors in a callback.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace ffi = tvm::ffi;
using Fields = ffi::Map<ffi::String, ffi::Any>;

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

int main(int argc, char** argv) {
  ffi::Module golib = ffi::Module::LoadFromFile(argv[1]);
  auto function = [&](const char* name) { return golib->GetFunction(name).value(); };
  ffi::Function find = function("find"), caught = function("caught"), through = function("through");
  ffi::Function make = function("_error_new"), fields = function("_error_fields"), cause = function("_error_cause");

  ffi::Error e = failure([&] { find("x"); });
  CHECK(e.kind() == "golib.NotFoundError" && e.message() == "find: nothing is called x (tries: 1)");
  Fields of = fields(e).cast<Fields>();
  CHECK(of.size() == 2 && of["name"].cast<ffi::String>() == "x" && of["tries"].cast<int64_t>() == 1);
  CHECK(fields(failure([&] { find("number"); })).cast<Fields>()["value"].cast<int64_t>() == 7);
  CHECK(fields(failure([&] { find(1); })) == nullptr);

  auto caught_of = [&](ffi::Error thrown) {
    return std::string(caught(ffi::Function::FromTyped([=]() -> void { throw thrown; })).cast<ffi::String>());
  };
  auto is = [](std::string got, std::string want) {
    if (got == want) return true;
    std::printf("got  %s\nwant %s\n", got.c_str(), want.c_str());
    return false;
  };
  // The error of Go itself, thrown again.
  CHECK(is(caught_of(e), "NotFoundError x 1 [] key=true: golib.NotFoundError: find: nothing is called x (tries: 1)"));
  CHECK(function("is_missing")(ffi::Function::FromTyped([=]() -> void { find("missing"); })).cast<bool>());
  // Errors that C++ makes: by Go, with fields in the context, without fields, with wrong fields.
  ffi::Error made = make("golib.NotFoundError", Fields{{"name", "m"}, {"near", ffi::Array<ffi::String>{"n"}}}, nullptr).cast<ffi::Error>();
  CHECK(is(caught_of(made), "NotFoundError m 1 [\"n\"] key=true: golib.NotFoundError: nothing is called m (tries: 1)"));
  auto with = [](std::string kind, std::optional<ffi::ObjectRef> context) { return ffi::Error(kind, "of C++", "", std::nullopt, context); };
  CHECK(is(caught_of(with("golib.NotFoundError", Fields{{"name", "c"}, {"tries", 5}})), "NotFoundError c 5 [] key=true: golib.NotFoundError: of C++"));
  CHECK(is(caught_of(with("golib.Limit", Fields{{"value", 6}})), "LimitError 6 value=true: golib.Limit: of C++"));
  CHECK(is(caught_of(with("golib.Limit", std::nullopt)), "LimitError 0 value=true: golib.Limit: of C++"));
  CHECK(is(caught_of(with("golib.Limit", Fields{{"value", "six"}})), "os=false arithmetic=false: golib.Limit: of C++"));
  CHECK(is(caught_of(with("PermissionError", std::nullopt)), "os=true arithmetic=false: PermissionError: of C++"));

  // Fields and a cause: Go finds both.
  ffi::Error both("golib.Limit", "of C++", "", with("PermissionError", std::nullopt), Fields{{"value", 8}});
  CHECK(is(caught_of(both), "LimitError 8 value=true: golib.Limit: of C++"));
  CHECK(cause(both).cast<ffi::Error>().kind() == "PermissionError");

  // Go wraps an error of C++, which stays its cause.
  ffi::Error first = with("PermissionError", std::nullopt);
  ffi::Error wrapped = failure([&] { through(ffi::Function::FromTyped([=]() -> void { throw first; }), true); });
  CHECK(wrapped.kind() == "PermissionError" && wrapped.message() == "through Go: PermissionError: of C++");
  CHECK(cause(wrapped).cast<ffi::Error>().same_as(first) && cause(first) == nullptr);

  CHECK(is(failure([&] { make("golib.NotFoundError", Fields{}, nullptr); }).message(), "NotFoundError(): the field name is missing: write NotFoundError(name=...)"));
  CHECK(failure([&] { make("golib.None", Fields{}, nullptr); }).kind() == "ValueError");
  std::puts("all right");
}
