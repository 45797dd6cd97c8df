// Lends memory to a Go library. What ends is overwritten.
#include <classes.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

#define CHECK(condition)                                                       \
  if (!(condition)) {                                                          \
    std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                              \
  }

using Numbers = std::vector<double>;

struct Alloc {
  void AllocData(DLTensor* t) { t->data = new double[static_cast<size_t>(t->shape[0])]; }
  void FreeData(DLTensor* t) {
    auto* data = static_cast<double*>(t->data);
    for (int64_t i = 0; i < t->shape[0]; ++i) data[i] = 7;
    delete[] data;
  }
};

tvm::ffi::Tensor owned(const Numbers& x) {
  auto t = tvm::ffi::Tensor::FromNDAlloc(Alloc(), {static_cast<int64_t>(x.size())}, DLDataType{kDLFloat, 64, 1}, DLDevice{kDLCPU, 0});
  std::copy(x.begin(), x.end(), static_cast<double*>(t.data_ptr()));
  return t;
}

Numbers numbers(const tvm::ffi::Tensor& t) {
  auto* data = static_cast<const double*>(t.data_ptr());
  return Numbers(data, data + t.numel());
}

template <typename Make>
void lends(Make make) {
  auto y = classes::scaled(make(Numbers{1, 2, 3}), 2);
  auto halves = classes::halves(make(Numbers{1, 2, 3, 4}));
  auto cells = classes::cells(make(Numbers{1, 2, 3}));
  std::vector<Numbers> others(200, Numbers(3, 7.0));
  CHECK((numbers(y) == Numbers{2, 4, 6}));
  CHECK((numbers(halves.low) == Numbers{1, 2} && numbers(halves.high) == Numbers{3, 4}));
  CHECK(numbers(cells.cells[2])[0] == 3);
  try {
    classes::positive(make(Numbers{1, -2}));
    CHECK(false);
  } catch (const classes::RangeError& e) {
    CHECK((e.wrong() == Numbers{-2}));
  }
}

}  // namespace

int main() {
  lends([](Numbers x) { return x; });  // which ends with the statement
  lends(owned);
  // What reads the memory later needs a Tensor.
  auto read = classes::reader(owned({1, 2, 3}));
  Numbers all;
  for (Numbers w : classes::windows(owned({1, 2, 3}), 2)) all.push_back(w[1]);
  CHECK(read(2) == 3 && (all == Numbers{2, 3}));
  try {
    classes::reader(Numbers{1, 2, 3});
    CHECK(false);
  } catch (const tvm::ffi::Error& e) {
    CHECK(e.message().find("reader(x=...): a DLTensor is borrowed until the call returns") == 0);
  }
  std::puts("all right");
}
