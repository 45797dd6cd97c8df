// A product of matrices by CUTLASS: out = alpha * x * weight^T, for float16 with sums in float32.
#include <cutlass/gemm/device/gemm.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

namespace {

using tvm::ffi::TensorView;
using Element = cutlass::half_t;

// Rows of x times rows of weight: weight is a matrix of CUTLASS that lies by columns. The tile of a block is 128 by 128,
// that of a warp 64 by 64, and one instruction of the tensor cores does 16 by 8 by 16.
using Gemm = cutlass::gemm::device::Gemm<
    Element, cutlass::layout::RowMajor, Element, cutlass::layout::ColumnMajor, Element,
    cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 32>, cutlass::gemm::GemmShape<64, 64, 32>,
    cutlass::gemm::GemmShape<16, 8, 16>>;

constexpr int64_t kVector = 8;  // elements that a thread loads at once: 16 bytes

void check_matrix(const TensorView& t, const char* name) {
  DLDataType d = t.dtype();
  TVM_FFI_CHECK(t.device().device_type == kDLCUDA, ValueError) << name << " must be on a GPU";
  TVM_FFI_CHECK(d.code == kDLFloat && d.bits == 16 && d.lanes == 1, TypeError)
      << name << " must have the type float16";
  TVM_FFI_CHECK(t.ndim() == 2, ValueError)
      << name << " must have 2 dimensions, got " << t.ndim();
  TVM_FFI_CHECK(t.IsContiguous(), ValueError) << name << " must be contiguous";
  TVM_FFI_CHECK(t.size(1) % kVector == 0, ValueError)
      << name << " must have rows of a multiple of " << kVector << " elements, got " << t.size(1);
  TVM_FFI_CHECK(reinterpret_cast<uintptr_t>(t.data_ptr()) % 16 == 0, ValueError)
      << name << " must be aligned to 16 bytes";
  for (int i = 0; i < 2; ++i) {
    TVM_FFI_CHECK(t.size(i) > 0 && t.size(i) <= INT32_MAX, ValueError)
        << name << " must have 1 to " << INT32_MAX << " rows and columns, got " << t.size(i);
  }
}

void check_equal(int64_t got, int64_t want, const char* what) {
  TVM_FFI_CHECK(got == want, ValueError) << what << " must be " << want << ", got " << got;
}

void gemm(TensorView out, TensorView x, TensorView weight, double alpha) {
  check_matrix(x, "x");
  check_matrix(weight, "weight");
  check_matrix(out, "out");
  check_equal(weight.size(1), x.size(1), "the columns of weight");
  check_equal(out.size(0), x.size(0), "the rows of out");
  check_equal(out.size(1), weight.size(0), "the columns of out");
  check_equal(weight.device().device_id, x.device().device_id, "the device of weight");
  check_equal(out.device().device_id, x.device().device_id, "the device of out");
  const int m = static_cast<int>(x.size(0)), n = static_cast<int>(weight.size(0)),
            k = static_cast<int>(x.size(1));
  auto to = static_cast<Element*>(out.data_ptr());

  tvm::ffi::CUDADeviceGuard guard(x.device().device_id);
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(kDLCUDA, x.device().device_id));
  Gemm kernel;
  cutlass::Status status = kernel({{m, n, k},
                                   {static_cast<Element*>(x.data_ptr()), k},
                                   {static_cast<Element*>(weight.data_ptr()), k},
                                   {to, n},
                                   {to, n},
                                   {static_cast<float>(alpha), 0.0f}},
                                  nullptr, stream);
  if (status != cutlass::Status::kSuccess) {
    cudaError_t error = cudaGetLastError();
    TVM_FFI_THROW(RuntimeError) << "the kernel was not launched: "
                                << cutlass::cutlassGetStatusString(status) << ", "
                                << cudaGetErrorName(error);
  }
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(gemm, gemm);
