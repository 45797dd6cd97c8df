"""Weights in half precision: the first form of the model that compile.py makes."""

import gguf
import numpy as np
from tvm.script import tirx as T

BLOCK = 64  # columns that follow each other in memory for each input


def pack(tensors):
    """The weights of tensors that stand below each other."""
    w = np.concatenate([gguf.quants.dequantize(t.data, t.tensor_type) for t in tensors])
    return np.ascontiguousarray(w.reshape(-1, BLOCK, w.shape[1]).transpose(0, 2, 1)).astype("float16")


def shape(inner, outer, head=False):
    return (outer // BLOCK, inner, BLOCK), "float16"


def product(n, has, inner, outer, adds=False, head=False):
    """y = x W, or y += x W, for W as blocks of 64 columns; a core computes some of the blocks. The head has the rows with logits, and
    y a place for each chat. The sums of a row are a buffer of their own: TVM keeps one of 256 bytes in registers, not one of 512."""
    rows, count = min(n, 4), int(head)
    wide = BLOCK if n == 1 or "avx512f" in has else 16  # the sums of four rows fit in the registers
    place = (lambda plan, r: plan[1 + plan[1 + r, 3], 2]) if head else (lambda plan, r: r)
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, inner), "float32"), w: T.Buffer((outer // BLOCK, inner, BLOCK), "float16"), plan: T.Buffer((n + 1, 4), "int32"), out: T.handle):
        places = T.int64()
        y = T.match_buffer(out, (places, outer), "float32")
        for b in T.parallel(outer // BLOCK):
            for m, c in T.grid((plan[0, count] + (rows - 1)) // rows, BLOCK // wide):
                s0 = T.alloc_buffer((wide,), "float32")
                s1 = T.alloc_buffer((wide,), "float32")
                s2 = T.alloc_buffer((wide,), "float32")
                s3 = T.alloc_buffer((wide,), "float32")
                r: T.let[T.int32] = m * rows
                at: T.let[T.int32] = b * BLOCK + c * wide
                for j in T.vectorized(wide):
                    s0[j] = y[r, at + j] if adds else T.float32(0)
                    if rows > 1:
                        s1[j] = y[r + 1, at + j] if adds else T.float32(0)
                        s2[j] = y[r + 2, at + j] if adds else T.float32(0)
                        s3[j] = y[r + 3, at + j] if adds else T.float32(0)
                for k in range(inner):
                    for j in T.vectorized(wide):
                        s0[j] += x[r, k] * T.Cast("float32", w[b, k, c * wide + j])
                        if rows > 1:
                            s1[j] += x[r + 1, k] * T.Cast("float32", w[b, k, c * wide + j])
                            s2[j] += x[r + 2, k] * T.Cast("float32", w[b, k, c * wide + j])
                            s3[j] += x[r + 3, k] * T.Cast("float32", w[b, k, c * wide + j])
                for j in T.vectorized(wide):
                    y[place(plan, r), at + j] = s0[j]
                    if rows > 1:
                        y[place(plan, r + 1), at + j] = s1[j]
                        y[place(plan, r + 2), at + j] = s2[j]
                        y[place(plan, r + 3), at + j] = s3[j]
    return f


def embed(n, width, words):
    @T.prim_func(s_tir=True)
    def f(plan: T.Buffer((n + 1, 4), "int32"), w: T.Buffer((words // BLOCK, width, BLOCK), "float16"), y: T.Buffer((n, width), "float32")):
        for m in range(plan[0, 0]):
            for k in range(width):
                y[m, k] = T.Cast("float32", w[plan[1 + m, 0] // BLOCK, k, plan[1 + m, 0] % BLOCK])
    return f
