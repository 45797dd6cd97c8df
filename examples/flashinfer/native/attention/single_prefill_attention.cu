// Attention of many queries, with the keys and values of one sequence.
#include <flashinfer/attention/prefill.cuh>

#include "single_prefill.cu"

void single_prefill(TensorView q, TensorView k, TensorView v, TensorView workspace, TensorView o,
                    Optional<TensorView> lse, bool causal, double sm_scale) {
  attention::check_heads(q, 3, "q");
  attention::check_single(q, k, v, workspace);
  attention::check_output(o, lse, q);
  auto mask = causal ? MaskMode::kCausal : MaskMode::kNone;
  single_prefill_with_kv_cache(q, k, v, workspace, o, lse, static_cast<int64_t>(mask),
                               attention::kTokensFirst, attention::kNoWindow, sm_scale);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(single_prefill, single_prefill);
