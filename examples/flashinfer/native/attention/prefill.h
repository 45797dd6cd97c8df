// What prefill of one sequence and of a batch have in common.
#pragma once
#include "attention.h"

// Of the sizes of a tile of queries, FlashInfer's plan chooses these for heads of 128 values.
#undef DISPATCH_CTA_TILE_Q
#define DISPATCH_CTA_TILE_Q(tile, Tile, ...)                                          \
  if (tile == 16) {                                                                   \
    constexpr uint32_t Tile = 16;                                                     \
    __VA_ARGS__                                                                       \
  } else if (tile == 64) {                                                            \
    constexpr uint32_t Tile = 64;                                                     \
    __VA_ARGS__                                                                       \
  } else if (tile == 128) {                                                           \
    constexpr uint32_t Tile = 128;                                                    \
    __VA_ARGS__                                                                       \
  } else {                                                                            \
    TVM_FFI_THROW(ValueError) << "the plan has tiles of " << tile << " queries, which " \
                              << "this library does not have";                        \
  }

// Of the masks, none and the causal one are compiled.
#define ATTENTION_MASKS(Mask, Attention, ...)               \
  {                                                         \
    using Attention = attention::Variant;                   \
    if (mask_mode == flashinfer::MaskMode::kCausal) {       \
      constexpr auto Mask = flashinfer::MaskMode::kCausal;  \
      __VA_ARGS__();                                        \
    } else {                                                \
      constexpr auto Mask = flashinfer::MaskMode::kNone;    \
      __VA_ARGS__();                                        \
    }                                                       \
  }
