"""Weights of 4 bits, and products of integers: the second form of the model that compile.py makes.

32 weights that follow each other along a row share two numbers in half precision, as in the file of the model: weight = scale * q + least,
with q of 0 to 15. A weight of 8 bits is the sum of two of 4 bits, so all kernels know one kind. The inputs of a product become whole
numbers of -127 to 127, with a scale for each 32, and 32 products of them are a sum of whole numbers.
"""

import numpy as np
from tvm.script import tirx as T

GROUP, BLOCK = 32, 16  # weights that share a scale; columns that are computed together
NIBBLES, SCALES = GROUP * BLOCK // 2, 2 * BLOCK
BYTES = NIBBLES + 2 * SCALES  # of a group in a block: its weights, its scales, its least numbers


def pack(tensors):
    """The weights of tensors that stand below each other, of the types Q4_1 and Q8_0 of GGUF."""
    q, scale, least = (np.concatenate(parts) for parts in zip(*map(split, tensors)))
    outer, groups, _ = q.shape
    q = q.reshape(outer // BLOCK, BLOCK, groups, 4, 2, 4).transpose(0, 2, 3, 1, 5, 4)  # block, group, eight, column, weight, half of a byte
    packed = (q[..., 0] | q[..., 1] << 4).reshape(outer // BLOCK, groups, NIBBLES)
    of = lambda s: np.ascontiguousarray(s.reshape(outer // BLOCK, BLOCK, groups).transpose(0, 2, 1)).view("uint8")
    return np.concatenate([packed, of(scale), of(least)], -1)


def split(t):
    """q, scale and least of a tensor: [row, group, weight], [row, group], [row, group]."""
    kind = t.tensor_type.name
    blocks = t.data.reshape(t.data.shape[0], -1, {"Q4_1": 20, "Q8_0": 34}[kind])
    scale = blocks[..., :2].copy().view("float16")[..., 0]
    if kind == "Q4_1":
        q = blocks[..., 4:]
        return np.concatenate([q & 15, q >> 4], -1), scale, blocks[..., 2:4].copy().view("float16")[..., 0]
    q = blocks[..., 2:] ^ 128  # 0 to 255
    two = lambda a, b: np.stack([a, b], 2).reshape(len(a), -1, *a.shape[2:])
    return two(q >> 4, q & 15), two(scale * np.float16(16), scale), two(scale * np.float16(-128), scale * np.float16(0))


def shape(inner, outer, head=False):
    return (outer // BLOCK, inner // GROUP * planes(head), BYTES), "uint8"


def planes(head):
    """How many weights of 4 bits are a weight: the words have 8 bits in the file."""
    return 2 if head else 1


def intrinsic(dtype, name, *args):
    return T.call_llvm_pure_intrin(dtype, "llvm.x86.avx2." + name, *args)


def dot(x, r, of, w, b, g, j):
    """The sums of 32 products for eight columns, in float32. A sum of eight pairs is at most 30480 and fits in 16 bits."""
    total = None
    for t in range(4):
        q = w[b, g, T.Ramp(t * 64 + j * 32, 1, 32)]
        for half, weights in enumerate((q & T.Broadcast(T.uint8(15), 32), T.shift_right(q, T.Broadcast(T.uint8(4), 32)))):
            four = T.reinterpret("int32", x[r, T.Ramp(of * GROUP + t * 8 + half * 4, 1, 4)])
            pairs = intrinsic("int16x16", "pmadd.ub.sw", weights, T.reinterpret("int8x32", T.Broadcast(four, 8)))
            total = pairs if total is None else total + pairs
    return T.Cast("float32x8", intrinsic("int32x8", "pmadd.wd", total, T.Broadcast(T.int16(1), 16)))


def numbers(w, b, g, j, at):
    return T.Cast("float32x8", T.reinterpret("float16x8", w[b, g, T.Ramp(NIBBLES + at * SCALES + j * 16, 1, 16)]))


def product(n, has, inner, outer, adds=False, head=False):
    """y = x W, or y += x W, as the product of compile.py."""
    rows, count, of = min(n, 4), int(head), planes(head)
    place = (lambda plan, r: plan[1 + plan[1 + r, 3], 2]) if head else (lambda plan, r: r)
    step = lambda s, x, scales, w, r, b, g, j: s + dot(x, r, g // of, w, b, g, j) * (numbers(w, b, g, j, 0) * T.Broadcast(scales[r, g // of, 0], 8))
    rest = lambda s, scales, w, r, b, g, j: s + numbers(w, b, g, j, 1) * T.Broadcast(scales[r, g // of, 1], 8)
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, inner), "int8"), scales: T.Buffer((n, inner // GROUP, 2), "float32"), w: T.Buffer((outer // BLOCK, inner // GROUP * of, BYTES), "uint8"),
          plan: T.Buffer((n + 1, 4), "int32"), out: T.handle):
        places = T.int64()
        y = T.match_buffer(out, (places, outer), "float32")
        for b in T.parallel(outer // BLOCK):
            for m in range((plan[0, count] + (rows - 1)) // rows):
                s0 = T.alloc_buffer((BLOCK,), "float32")
                s1 = T.alloc_buffer((BLOCK,), "float32")
                s2 = T.alloc_buffer((BLOCK,), "float32")
                s3 = T.alloc_buffer((BLOCK,), "float32")
                r: T.let[T.int32] = m * rows
                for j in T.vectorized(BLOCK):
                    s0[j] = y[r, b * BLOCK + j] if adds else T.float32(0)
                    if rows > 1:
                        s1[j] = y[r + 1, b * BLOCK + j] if adds else T.float32(0)
                        s2[j] = y[r + 2, b * BLOCK + j] if adds else T.float32(0)
                        s3[j] = y[r + 3, b * BLOCK + j] if adds else T.float32(0)
                for g in range(inner // GROUP * of):
                    for j in T.unroll(BLOCK // 8):
                        s0[T.Ramp(j * 8, 1, 8)] = step(s0[T.Ramp(j * 8, 1, 8)], x, scales, w, r, b, g, j)
                        s0[T.Ramp(j * 8, 1, 8)] = rest(s0[T.Ramp(j * 8, 1, 8)], scales, w, r, b, g, j)
                        if rows > 1:
                            s1[T.Ramp(j * 8, 1, 8)] = step(s1[T.Ramp(j * 8, 1, 8)], x, scales, w, r + 1, b, g, j)
                            s1[T.Ramp(j * 8, 1, 8)] = rest(s1[T.Ramp(j * 8, 1, 8)], scales, w, r + 1, b, g, j)
                            s2[T.Ramp(j * 8, 1, 8)] = step(s2[T.Ramp(j * 8, 1, 8)], x, scales, w, r + 2, b, g, j)
                            s2[T.Ramp(j * 8, 1, 8)] = rest(s2[T.Ramp(j * 8, 1, 8)], scales, w, r + 2, b, g, j)
                            s3[T.Ramp(j * 8, 1, 8)] = step(s3[T.Ramp(j * 8, 1, 8)], x, scales, w, r + 3, b, g, j)
                            s3[T.Ramp(j * 8, 1, 8)] = rest(s3[T.Ramp(j * 8, 1, 8)], scales, w, r + 3, b, g, j)
                for j in T.vectorized(BLOCK):
                    y[place(plan, r), b * BLOCK + j] = s0[j]
                    if rows > 1:
                        y[place(plan, r + 1), b * BLOCK + j] = s1[j]
                        y[place(plan, r + 2), b * BLOCK + j] = s2[j]
                        y[place(plan, r + 3), b * BLOCK + j] = s3[j]
    return f


def whole(n, inner, head=False):
    """The rows as whole numbers. Each 32 of them have a scale, and the sum of the numbers times the scale."""
    count = int(head)
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, inner), "float32"), plan: T.Buffer((n + 1, 4), "int32"), q: T.Buffer((n, inner), "int8"), scales: T.Buffer((n, inner // GROUP, 2), "float32")):
        for m, g in T.grid(plan[0, count], inner // GROUP):
            part = T.alloc_buffer((8,), "float32")
            most = T.alloc_buffer((3,), "float32")
            for j in T.vectorized(8):
                part[j] = T.float32(0)
            for i in T.unroll(GROUP // 8):
                for j in T.vectorized(8):
                    part[j] = T.max(part[j], T.abs(x[m, g * GROUP + i * 8 + j]))
            most[0] = T.float32(0)
            for j in T.unroll(8):
                most[0] = T.max(most[0], part[j])
            most[1] = T.float32(127) / T.max(most[0], T.float32(1e-30))
            for j in T.vectorized(8):
                part[j] = T.float32(0)
            for i in T.unroll(GROUP // 8):
                for j in T.vectorized(8):
                    q[m, g * GROUP + i * 8 + j] = T.Cast("int8", T.nearbyint(x[m, g * GROUP + i * 8 + j] * most[1]))
                    part[j] += T.nearbyint(x[m, g * GROUP + i * 8 + j] * most[1])
            most[2] = T.float32(0)
            for j in T.unroll(8):
                most[2] += part[j]
            scales[m, g, 0] = most[0] / T.float32(127)
            scales[m, g, 1] = most[0] / T.float32(127) * most[2]
    return f


def embed(n, width, words):
    byte = lambda w, t, g, k: w[t // BLOCK, g, k // 8 * 64 + t % BLOCK * 4 + k % 4]
    q = lambda w, t, g, k: T.Cast("float32", T.shift_right(byte(w, t, g, k), T.Cast("uint8", k % 8 // 4 * 4)) & T.uint8(15))
    number = lambda w, t, g, at: T.Cast("float32", T.reinterpret("float16", w[t // BLOCK, g, T.Ramp(NIBBLES + at * SCALES + t % BLOCK * 2, 1, 2)]))
    weight = lambda w, t, g, k: number(w, t, g, 0) * q(w, t, g, k) + number(w, t, g, 1)
    @T.prim_func(s_tir=True)
    def f(plan: T.Buffer((n + 1, 4), "int32"), w: T.Buffer((words // BLOCK, width // GROUP * 2, BYTES), "uint8"), y: T.Buffer((n, width), "float32")):
        for m, g, k in T.grid(plan[0, 0], width // GROUP, GROUP):
            t: T.let[T.int32] = plan[1 + m, 0]
            y[m, g * GROUP + k] = weight(w, t, g * 2, k) + weight(w, t, g * 2 + 1, k)
    return f
