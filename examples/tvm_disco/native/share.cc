// The share of one worker in a network of two layers: y = relu(x w1) w2, where w1 has some of the
// columns, and w2 the rows that belong to them. The shares of all workers add up to the network.
#include <algorithm>

static const float* In(const tvm::ffi::TensorView& t, int64_t rows, int64_t columns, const char* name) {
  if (t.ndim() != 2 || t.size(0) != rows || t.size(1) != columns) {
    TVM_FFI_THROW(ValueError) << name << " has the shape " << t.shape() << ", expected [" << rows << ", " << columns << "]";
  }
  return static_cast<const float*>(t.data_ptr());
}

void share(tvm::ffi::TensorView x, tvm::ffi::TensorView w1, tvm::ffi::TensorView w2, tvm::ffi::TensorView y) {
  int64_t rows = x.size(0), inputs = x.size(1), width = w1.size(1), outputs = w2.size(1);
  const float* a = In(x, rows, inputs, "x");
  const float* b = In(w1, inputs, width, "w1");
  const float* c = In(w2, width, outputs, "w2");
  float* out = const_cast<float*>(In(y, rows, outputs, "y"));
  std::fill(out, out + rows * outputs, 0.0f);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < width; ++k) {
      float hidden = 0;
      for (int64_t j = 0; j < inputs; ++j) hidden += a[i * inputs + j] * b[j * width + k];
      for (int64_t o = 0; o < outputs; ++o) out[i * outputs + o] += std::max(hidden, 0.0f) * c[k * outputs + o];
    }
  }
}
