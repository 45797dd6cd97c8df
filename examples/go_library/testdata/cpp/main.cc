// A C++ program that uses two Go libraries by their headers: it links with golib and loads
// words at run time.
#define WORDS_LOAD_AT_RUN_TIME
#include <golib.hpp>
#include <words.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace ffi = tvm::ffi;

#define CHECK(condition)                                                \
  if (!(condition)) {                                                   \
    std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                       \
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

static void functions() {
  CHECK(golib::add(40, 2) == 42);
  CHECK(golib::greet("a name of more than seven") == "hello, a name of more than seven");
  CHECK(golib::greet(std::string("a\0b", 3)) == std::string("hello, a\0b", 10));
  CHECK(golib::greet(std::string_view("Gopher", 2)) == "hello, Go");
  CHECK(golib::small(-1, 2, true) == 1);
  CHECK(golib::within(99, {1.5f, 20.5f}) == 20.5f);
  CHECK(golib::introduce({"ann"}) == "ann 7");
  const auto introduce = ffi::Function::GetGlobalRequired("golib.introduce");
  CHECK(introduce(ffi::Map<ffi::String, ffi::Any>{{"name", "ann"}}).cast<std::string>() == "ann 7");
  const auto wrong = failure([&] { introduce(ffi::Map<ffi::String, ffi::Any>{{"name", "ann"}, {"aeg", 8}}); });
  CHECK(has(wrong.message(), "introduce(p=...): there is no field \"aeg\"; did you mean age?"));
  CHECK(golib::describe(ffi::StringToDLDataType("float32"), DLDevice{kDLCPU, 0}) == "float32 on cpu:0");
  CHECK(golib::volume({2, 3, 7}) == 42);
  CHECK(golib::swap({1, "one"}) == std::tuple(std::string("one"), int64_t{1}));
  CHECK((golib::reversed("abc", std::nullopt) == std::vector<unsigned char>{'c', 'b', 'a'}));
  CHECK(golib::reversed(std::vector<unsigned char>{1, 2}, 2).size() == 2);
  CHECK(golib::join(1, "two", 3.5, true) == "1 two 3.5 true");
  CHECK(golib::join() == "");
  CHECK(golib::first(7, "x").cast<int64_t>() == 7);
  CHECK(golib::echo(nullptr) == nullptr);
  const std::vector<std::string> texts = {"a b", "b"};
  CHECK(golib::word_count(texts)["b"] == 2);
  CHECK(golib::word_count({"a b", "c c c"})["c"] == 3);
  CHECK(golib::sorted({{"row", {{3, 1, 2}}}})["row"][0][0] == 1);
  ffi::List<int64_t> list = {1, 2};
  CHECK(golib::append(list, 3).size() == 3 && list.size() == 3);
  CHECK(golib::type_key(list) == "ffi.List");
  CHECK(golib::explain(ffi::Error("ValueError", "so it is", "")) == "so it is");
  CHECK(ffi::Any(golib::power(golib::detail::BigInt(int64_t{2}), 10)).cast<int64_t>() == 1024);
}

static void callbacks() {
  auto triple = [](int64_t x) { return 3 * x; };
  CHECK(golib::apply(triple, 14) == 42);
  CHECK(golib::parallel(triple, 4) == 18);
  CHECK(golib::adder(5)(1) == 6);
  CHECK(golib::apply(words::tripler(), 5) == 15);
  auto plus = ffi::Function::FromTyped([](int64_t x) { return x + 1; });
  CHECK(golib::compose(plus, plus)(40).cast<int64_t>() == 42);
  ffi::Error thrown = failure([] { golib::apply([](int64_t) -> int64_t { TVM_FFI_THROW(KeyError) << "from C++"; return 0; }, 1); });
  CHECK(thrown.kind() == "KeyError" && thrown.message() == "from C++");
}

static void tensors() {
  std::vector<float> numbers = {1, 2, 3};
  int64_t shape = 3, stride = 1;
  DLTensor memory{numbers.data(), DLDevice{kDLCPU, 0}, 1, DLDataType{kDLFloat, 32, 1}, &shape, &stride, 0};
  ffi::TensorView view(&memory);
  CHECK(golib::sum(view) == 6);
  ffi::Tensor doubled = golib::doubled(view);
  CHECK(golib::sum(doubled) == 12 && static_cast<float*>(doubled.data_ptr())[2] == 6);
}

static void classes() {
  golib::Point p(3, 4);
  CHECK(p.x() == 3 && p.norm() == 5 && p.name() == "p");
  p.move(1, 0);
  p.set_y(0);
  p.set_name("a longer name than seven");
  CHECK(p.norm() == 4 && p.name() == "a longer name than seven");
  golib::Point same = p;
  same.set_x(-1);
  CHECK(p.x() == -1 && p.mirrored().x() == 1);
  std::ostringstream os;
  os << golib::origin();
  CHECK(os.str() == "origin(0, 0)");

  // Fields with structs and behind pointers are values. A method of a class has a struct as its default.
  golib::Gauge gauge(golib::Limits{0, 30}, "the last");
  golib::Gauge first(golib::Limits{0, 20}, std::nullopt, gauge, std::vector<double>{1}, golib::Limits{0, 1});
  first.warm(2);
  CHECK(first.limits().high == 22 && first.usual().value().high == 3 && *first.marks() == (std::vector<double>{1, 2}));
  CHECK(first.next().value().limits().high == 32 && first.next().value().title().value() == "the last");
  first.set_next(std::nullopt);
  first.set_usual(golib::Limits{0, 7});
  first.set_marks(std::nullopt);
  CHECK(first.usual().value().high == 7 && !first.marks() && first.highest() == 22 && first.highest(golib::Limits{0, 40}) == 40);

  golib::Circle c(1, 2);
  CHECK(c.radius() == 2 && c.norm() == 1 && std::fabs(c.area() - 12.566) < 0.001);
  golib::Point base = c;
  CHECK(ffi::Any(base).cast<golib::Circle>().radius() == 2);
  CHECK(!ffi::Any(p).try_cast<golib::Circle>().has_value());
  CHECK(golib::around(p, 3).radius() == 3 && golib::distance(c, golib::origin()) == 1);
  ffi::Array<golib::Point> points = {p, c};
  CHECK(points[1].x() == 1);

  golib::Point null = nullptr;
  CHECK(null == nullptr && p != nullptr);
  CHECK(has(failure([&] { null.x(); }).message(), "the object is null: it has no field x"));
  CHECK(has(failure([&] { null.norm(); }).message(), "the object is null: it has no method norm"));
  CHECK(failure([&] { golib::distance(null, p); }).kind() == "TypeError");
}

static void errors() {
  CHECK(failure([] { golib::greet(""); }).kind() == "ValueError");
  CHECK(failure([] { golib::around(golib::origin(), -1); }).message() == "a negative radius");
  ffi::Error panic = failure([] { golib::fail("nil", ""); });
  CHECK(has(panic.message(), "nil pointer dereference") && has(panic.backtrace(), "golib.go"));
}

static void threads() {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; i++) {
    all.emplace_back([] {
      for (int64_t n = 0; n < 2000; n++) CHECK(golib::add(n, 1) == n + 1 && golib::Point(double(n), 0).norm() == double(n));
    });
  }
  for (std::thread& t : all) t.join();
}

int main(int, char** argv) {
  ffi::Error early = failure([] { words::upper("x"); });
  CHECK(has(early.message(), "the library words is not loaded: call words::load"));
  failure([] { words::load("/no/such/library.so"); });
  ffi::Error other = failure([&] { words::load(argv[1]); });
  CHECK(has(other.message(), "has no function letters: it is not the library words"));
  words::load(argv[2]);
  CHECK(words::upper("abc") == "ABC" && words::letters("a1b") == 2);
  CHECK(failure([] { words::letters(std::nullopt); }).kind() == "RuntimeError");
  functions();
  callbacks();
  tensors();
  classes();
  errors();
  threads();
  std::puts("all right");
}
