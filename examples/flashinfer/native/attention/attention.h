// What this example compiles of FlashInfer's attention: heads of 128 values of type float16,
// tensors that begin with the tokens or pages, no window, no cap of the scores, no slopes and no
// rotation.
//
// FlashInfer's sources include a file of types and macros for each kind of attention, such as
// batch_decode_config.inc. FlashInfer's Python writes those files from templates. Here they are
// written by hand, and take the parameters of the kernels and the variant from its headers.
#pragma once
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/variants.cuh>
#include <flashinfer/layout.cuh>
#include <flashinfer/pos_enc.cuh>
#include <flashinfer/utils.cuh>

#include "tvm_ffi_utils.h"

// The names that FlashInfer's sources use.
using DTypeQ = half;
using DTypeKV = half;
using DTypeO = half;
using IdType = int32_t;
constexpr int HEAD_DIM_QK = 128;
constexpr int HEAD_DIM_VO = 128;
constexpr bool USE_FP16_QK_REDUCTION = false;
constexpr bool USE_LOGITS_SOFT_CAP = false;
constexpr bool USE_SLIDING_WINDOW = false;
constexpr auto POS_ENCODING_MODE = flashinfer::PosEncodingMode::kNone;
#define ADDITIONAL_FUNC_PARAMS , double sm_scale
#define ADDITIONAL_PARAMS_SETTER params.sm_scale = static_cast<float>(sm_scale);

namespace attention {

using Variant = flashinfer::DefaultAttention</*custom mask*/ false, /*window*/ false, /*cap*/ false,
                                             /*slopes*/ false>;

constexpr int64_t kTokensFirst = static_cast<int64_t>(flashinfer::QKVLayout::kNHD);
constexpr int64_t kNoWindow = -1;
constexpr int64_t kSingleWorkspace = 32 << 20;  // bytes that FlashInfer's Python gives

// The checks that FlashInfer leaves to its Python. Its kernels read tensors as what they were
// compiled for.

inline void check_rank(const TensorView& x, int rank, const char* name) {
  TVM_FFI_CHECK(x.ndim() == rank, ValueError)
      << name << " must have " << rank << " dimensions, got " << x.ndim();
}

inline void check_heads(const TensorView& x, int rank, const char* name) {
  check_cuda_tensor(x, name);
  check_dtype(x, dl_float16, name);
  check_rank(x, rank, name);
  TVM_FFI_CHECK(x.size(rank - 1) == HEAD_DIM_QK, ValueError)
      << name << " must have heads of " << HEAD_DIM_QK << " values, got " << x.size(rank - 1);
  check_contiguous(x, name);
}

inline void check_like(const TensorView& x, const TensorView& like, const char* name,
                       const char* like_name) {
  check_same_device(x, like, name, like_name);
  check_rank(x, like.ndim(), name);
  for (int i = 0; i < x.ndim(); ++i) {
    TVM_FFI_CHECK(x.size(i) == like.size(i), ValueError)
        << name << " must have the shape of " << like_name << ": dimension " << i << " is "
        << x.size(i) << ", not " << like.size(i);
  }
}

inline void check_indices(const TensorView& x, const char* name) {
  check_dtype(x, dl_int32, name);
  check_rank(x, 1, name);
  check_contiguous(x, name);
}

inline void check_on_host(const TensorView& x, const char* name) {
  auto type = x.device().device_type;
  TVM_FFI_CHECK(type == kDLCPU || type == kDLCUDAHost, ValueError)
      << name << " must be in memory of the host, got device_type=" << static_cast<int>(type);
}

inline void check_groups(int64_t query_heads, int64_t heads) {
  TVM_FFI_CHECK(heads > 0 && query_heads > 0 && query_heads % heads == 0, ValueError)
      << "the heads of queries must be a multiple of those of keys and values, got " << query_heads
      << " and " << heads;
}

// The output, and the logarithms of the sums if they are wanted.
inline void check_output(const TensorView& o, const tvm::ffi::Optional<TensorView>& lse,
                         const TensorView& q) {
  check_heads(o, q.ndim(), "o");
  check_like(o, q, "o", "q");
  if (!lse.has_value()) return;
  check_dtype(lse.value(), dl_float32, "lse");
  check_rank(lse.value(), q.ndim() - 1, "lse");
  check_contiguous(lse.value(), "lse");
  check_same_device(lse.value(), q, "lse", "q");
  for (int i = 0; i < q.ndim() - 1; ++i) {
    TVM_FFI_CHECK(lse.value().size(i) == q.size(i), ValueError)
        << "lse must have the shape of q without the last dimension";
  }
}

// Keys and values of one sequence.
inline void check_single(const TensorView& q, const TensorView& k, const TensorView& v,
                         const TensorView& workspace) {
  check_heads(k, 3, "k");
  check_same_device(k, q, "k", "q");
  check_heads(v, 3, "v");
  check_like(v, k, "v", "k");
  check_groups(q.size(q.ndim() - 2), k.size(1));
  check_same_device(workspace, q, "workspace", "q");
  check_contiguous(workspace, "workspace");
  TVM_FFI_CHECK(workspace.numel() * get_element_size(workspace) >= kSingleWorkspace, ValueError)
      << "workspace must have " << kSingleWorkspace << " bytes or more";
}

// Keys and values of a batch, in pages.
inline void check_paged(const TensorView& q, const TensorView& k, const TensorView& v,
                        const TensorView& indptr, const TensorView& indices,
                        const TensorView& last, int64_t batch) {
  check_heads(q, 3, "q");
  check_heads(k, 4, "k_pages");
  check_same_device(k, q, "k_pages", "q");
  check_heads(v, 4, "v_pages");
  check_like(v, k, "v_pages", "k_pages");
  check_groups(q.size(1), k.size(2));
  check_indices(indptr, "page_indptr");
  check_same_device(indptr, q, "page_indptr", "q");
  check_indices(indices, "page_indices");
  check_same_device(indices, q, "page_indices", "q");
  check_indices(last, "last_page_len");
  check_same_device(last, q, "last_page_len", "q");
  TVM_FFI_CHECK(last.size(0) == batch && indptr.size(0) == batch + 1, ValueError)
      << "a batch of " << batch << " sequences needs " << batch + 1 << " elements in page_indptr and "
      << batch << " in last_page_len, got " << indptr.size(0) << " and " << last.size(0);
}

// The memory of a plan: scratch of the kernels, and indices that are written on the host
// and copied to the device.
inline void check_workspaces(const TensorView& floats, const TensorView& ints) {
  check_cuda_tensor(floats, "float_workspace");
  check_rank(floats, 1, "float_workspace");
  check_contiguous(floats, "float_workspace");
  check_same_device(ints, floats, "int_workspace", "float_workspace");
  check_rank(ints, 1, "int_workspace");
  check_contiguous(ints, "int_workspace");
}

inline void check_plan(const TensorView& floats, const TensorView& ints, const TensorView& pinned,
                       int64_t page_size) {
  check_workspaces(floats, ints);
  check_on_host(pinned, "pinned_workspace");
  check_contiguous(pinned, "pinned_workspace");
  TVM_FFI_CHECK(pinned.numel() * get_element_size(pinned) >= ints.numel() * get_element_size(ints),
                ValueError)
      << "pinned_workspace must have as many bytes as int_workspace";
  TVM_FFI_CHECK(page_size > 0, ValueError) << "page_size must be positive, got " << page_size;
}

// Starts of sequences, on the host: they begin with 0 and do not decrease.
inline void check_starts(const TensorView& x, const char* name) {
  check_on_host(x, name);
  check_indices(x, name);
  TVM_FFI_CHECK(x.size(0) > 1, ValueError) << name << " must have 2 elements or more";
  auto starts = static_cast<const int32_t*>(x.data_ptr());
  TVM_FFI_CHECK(starts[0] == 0, ValueError) << name << " must begin with 0, got " << starts[0];
  for (int64_t i = 1; i < x.size(0); ++i) {
    TVM_FFI_CHECK(starts[i] >= starts[i - 1], ValueError)
        << name << " must not decrease: element " << i << " is " << starts[i] << " after "
        << starts[i - 1];
  }
}

}  // namespace attention
