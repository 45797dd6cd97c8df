// Attention of one query of each head, with the keys and values of one sequence.
#include <flashinfer/attention/decode.cuh>

#include "single_decode.cu"

void single_decode(TensorView q, TensorView k, TensorView v, TensorView workspace, TensorView o,
                   Optional<TensorView> lse, double sm_scale) {
  attention::check_heads(q, 2, "q");
  attention::check_single(q, k, v, workspace);
  attention::check_output(o, lse, q);
  single_decode_with_kv_cache(q, k, v, workspace, o, lse, attention::kTokensFirst,
                              attention::kNoWindow, sm_scale);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(single_decode, single_decode);
