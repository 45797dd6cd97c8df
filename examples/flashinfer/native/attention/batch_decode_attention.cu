// Attention of one query of each head, for each sequence of a batch, whose keys and values are in
// pages.
#include <flashinfer/attention/decode.cuh>

#include "batch_decode.cu"

Array<int64_t> batch_decode_plan(TensorView float_workspace, TensorView int_workspace,
                                 TensorView pinned_workspace, TensorView page_indptr,
                                 int64_t query_heads, int64_t heads, int64_t page_size,
                                 bool for_graph) {
  attention::check_plan(float_workspace, int_workspace, pinned_workspace, page_size);
  attention::check_starts(page_indptr, "page_indptr");
  attention::check_groups(query_heads, heads);
  return BatchDecodeWithPagedKVCachePlan(
      float_workspace, int_workspace, pinned_workspace, page_indptr, page_indptr.size(0) - 1,
      query_heads, heads, page_size, for_graph, attention::kNoWindow, /*logits_soft_cap=*/0,
      HEAD_DIM_QK, HEAD_DIM_VO, float_workspace, float_workspace);
}

void batch_decode(TensorView float_workspace, TensorView int_workspace, Array<int64_t> plan,
                  TensorView q, TensorView k_pages, TensorView v_pages, TensorView page_indptr,
                  TensorView page_indices, TensorView last_page_len, TensorView o,
                  Optional<TensorView> lse, double sm_scale) {
  attention::check_paged(q, k_pages, v_pages, page_indptr, page_indices, last_page_len, q.size(0));
  attention::check_output(o, lse, q);
  attention::check_workspaces(float_workspace, int_workspace);
  check_same_device(float_workspace, q, "float_workspace", "q");
  BatchDecodeWithPagedKVCacheRun(float_workspace, int_workspace, plan, q, k_pages, v_pages,
                                 page_indptr, page_indices, last_page_len, o, lse,
                                 attention::kTokensFirst, attention::kNoWindow,
                                 /*enable_pdl=*/false, sm_scale);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(batch_decode_plan, batch_decode_plan);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(batch_decode, batch_decode);
