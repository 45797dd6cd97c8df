// The library of the comparison with nanobind.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using Floats = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static std::vector<std::string> split(const std::string& text, const std::string& sep) {
  std::vector<std::string> parts;
  size_t from = 0, at;
  while ((at = text.find(sep, from)) != std::string::npos) {
    parts.push_back(text.substr(from, at - from));
    from = at + sep.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

static std::map<std::string, int64_t> count_words(const std::string& text) {
  std::map<std::string, int64_t> n;
  std::istringstream in(text);
  for (std::string w; in >> w;) n[w]++;
  return n;
}

static std::pair<int64_t, int64_t> div_mod(int64_t a, int64_t b) {
  if (b == 0) throw nb::value_error("division by zero");
  return {a / b, a % b};
}

static int64_t parse(const std::string& text) {
  try {
    size_t end;
    int64_t n = std::stoll(text, &end);
    if (end == text.size()) return n;
  } catch (const std::exception&) {
  }
  throw nb::value_error(("\"" + text + "\" is not an integer").c_str());
}

struct Point {
  double x, y;
  double norm() const { return std::hypot(x, y); }
};

class Counter {
 public:
  int64_t add(const std::string& word) {
    std::lock_guard<std::mutex> lock(mu_);
    return ++n_[word];
  }

 private:
  std::mutex mu_;
  std::map<std::string, int64_t> n_;
};

NB_MODULE(ledger, m) {
  m.doc() = "The library of the comparison with nanobind.";
  m.def("add", [](int64_t a, int64_t b) { return a + b; }, "a"_a, "b"_a, "Adds two integers.");
  m.def("mean", [](const std::vector<double>& xs) { return std::accumulate(xs.begin(), xs.end(), 0.0) / xs.size(); },
        "xs"_a, "Returns the mean of xs.");
  m.def("greet", [](const std::string& name) { return "hello, " + name; }, "name"_a, "Says hello to a name.");
  m.def("split", &split, "text"_a, "sep"_a, "Splits text at sep.");
  m.def("count_words", &count_words, "text"_a, "Counts the words of a text.");
  m.def("div_mod", &div_mod, "a"_a, "b"_a, "Returns quotient and remainder.");
  m.def("parse", &parse, "text"_a, "Reads an integer.");
  m.def("apply", [](const std::function<int64_t(int64_t)>& f, int64_t x) { return f(x); }, "f"_a, "x"_a, "Calls f.");
  m.def("scale", [](Floats xs, float factor) { for (size_t i = 0; i < xs.size(); i++) xs.data()[i] *= factor; },
        "xs"_a, "factor"_a, "Multiplies each element by factor.");
  m.def("sum", [](Floats xs) { return std::accumulate(xs.data(), xs.data() + xs.size(), 0.0); }, "xs"_a, "Adds the elements.");
  nb::class_<Point>(m, "Point", "A point of the plane.")
      .def(nb::init<double, double>(), "x"_a, "y"_a)
      .def_rw("x", &Point::x)
      .def_rw("y", &Point::y)
      .def("norm", &Point::norm, "The distance from the origin.");
  nb::class_<Counter>(m, "Counter", "Counts words.")
      .def(nb::init<>())
      .def("add", &Counter::add, "word"_a, "Counts a word and returns its count.");
}
