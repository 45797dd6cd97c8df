// y = a * x + y, and an error if the tensors do not fit.
void Saxpy(double a, tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  if (x.ndim() != 1 || y.ndim() != 1 || x.size(0) != y.size(0)) {
    TVM_FFI_THROW(ValueError) << "saxpy of tensors with " << x.numel() << " and " << y.numel() << " elements";
  }
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) to[i] += static_cast<float>(a) * from[i];
}

// What a kernel does that has a mistake.
void Crash() { *reinterpret_cast<volatile int*>(8) = 1; }
