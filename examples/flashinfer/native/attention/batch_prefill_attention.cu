// Attention of many queries, for each sequence of a batch, whose keys and values are in pages.
#include <flashinfer/attention/prefill.cuh>

#include "batch_prefill_paged.cu"

Array<int64_t> batch_prefill_plan(TensorView float_workspace, TensorView int_workspace,
                                  TensorView pinned_workspace, TensorView q_indptr,
                                  TensorView page_indptr, int64_t query_heads, int64_t heads,
                                  int64_t page_size, bool for_graph) {
  attention::check_plan(float_workspace, int_workspace, pinned_workspace, page_size);
  attention::check_starts(q_indptr, "q_indptr");
  attention::check_starts(page_indptr, "page_indptr");
  attention::check_like(page_indptr, q_indptr, "page_indptr", "q_indptr");
  attention::check_groups(query_heads, heads);
  auto starts = static_cast<IdType*>(q_indptr.data_ptr());
  auto batch = static_cast<uint32_t>(q_indptr.size(0) - 1);
  ffi::CUDADeviceGuard guard(float_workspace.device().device_id);
  PrefillPlanInfo info;
  cudaError_t status = PrefillPlan<IdType>(
      float_workspace.data_ptr(), float_workspace.numel() * get_element_size(float_workspace),
      int_workspace.data_ptr(), pinned_workspace.data_ptr(),
      int_workspace.numel() * get_element_size(int_workspace), info, starts,
      static_cast<IdType*>(page_indptr.data_ptr()), starts[batch], batch, query_heads, heads,
      HEAD_DIM_QK, HEAD_DIM_VO, page_size, for_graph, sizeof(DTypeO), attention::kNoWindow,
      /*fixed_split_size=*/-1, /*disable_split_kv=*/false, /*num_colocated_ctas=*/0,
      /*uniform_q_len=*/0, get_stream(float_workspace.device()), sizeof(DTypeKV));
  TVM_FFI_CHECK(status == cudaSuccess, RuntimeError)
      << "batch_prefill_plan: " << cudaGetErrorString(status);
  return Array<int64_t>(info.ToVector());
}

void batch_prefill(TensorView float_workspace, TensorView int_workspace, Array<int64_t> plan,
                   TensorView q, TensorView k_pages, TensorView v_pages, TensorView q_indptr,
                   TensorView page_indptr, TensorView page_indices, TensorView last_page_len,
                   TensorView o, Optional<TensorView> lse, bool causal, double sm_scale) {
  attention::check_paged(q, k_pages, v_pages, page_indptr, page_indices, last_page_len,
                         last_page_len.size(0));
  attention::check_indices(q_indptr, "q_indptr");
  attention::check_like(q_indptr, page_indptr, "q_indptr", "page_indptr");
  attention::check_output(o, lse, q);
  attention::check_workspaces(float_workspace, int_workspace);
  check_same_device(float_workspace, q, "float_workspace", "q");
  auto mask = causal ? MaskMode::kCausal : MaskMode::kNone;
  BatchPrefillWithPagedKVCacheRun(float_workspace, int_workspace, plan, q, k_pages, v_pages,
                                  q_indptr, page_indptr, page_indices, last_page_len, o, lse,
                                  static_cast<int64_t>(mask), attention::kTokensFirst,
                                  attention::kNoWindow, /*enable_pdl=*/false, sm_scale);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(batch_prefill_plan, batch_prefill_plan);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(batch_prefill, batch_prefill);
