// What decode of one sequence and of a batch have in common.
#pragma once
#include "attention.h"

#define DISPATCH_context(q, kv, o, id, qk, vo, position, window, cap, Attention, params, ...) \
  {                                                                                           \
    using Attention = attention::Variant;                                                     \
    __VA_ARGS__();                                                                            \
  }
