"""Compiles the kernels of TVM that tvm_test.go calls, for the CPU: tvm_kernels.py OUTPUT.so"""

import sys

import tvm
from tvm.script import tirx as T


@T.prim_func
def add(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (n, 4), "float32")
    C = T.match_buffer(c, (n, 4), "float32")
    for i in T.serial(n):
        for j in T.vectorized(4):
            C[i, j] = A[i, j] + B[i, j]


@T.prim_func
def long(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m, T.int64(2)), "int8")
    B = T.match_buffer(b, (m, n, n), "uint8")
    if n > T.int64(0) and m > T.int64(0):
        B[0, 0, 0] = T.cast(A[0, 0, 0], "uint8")


@T.prim_func
def numbers(i: T.int32, s: T.int8, u: T.uint8, l: T.int64, f: T.float32, d: T.float64, b: T.bool, h: T.handle, a: T.handle):
    A = T.match_buffer(a, (i, 2), "float64")
    if i > 0:
        A[0, 0] = T.cast(s, "float64") + T.cast(u, "float64") + T.cast(l, "float64")
        A[0, 1] = T.cast(f, "float64") + d + T.if_then_else(b, 1.0, 0.0) + T.if_then_else(T.isnullptr(h), 2.0, 0.0)


@T.prim_func
def strided(a: T.handle, b: T.handle):
    n = T.int64()
    s = T.int64()
    A = T.match_buffer(a, (n, n), "float32", strides=(s, T.int64(1)), align=16)
    B = T.match_buffer(b, (n, n, n), "float32", strides=(s, n, T.int64(4)), align=1)
    if n > T.int64(0):
        B[0, 0, 0] = A[0, 0]


@T.prim_func
def scalar(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (), "bool")
    B = T.match_buffer(b, (1, 3), "int32", align=8)
    B[0, 0] = T.cast(A[()], "int32")


@T.prim_func
def apart(a: T.handle, b: T.handle):
    n = T.int32()
    o = T.int32()
    A = T.match_buffer(a, (n,), "float32", elem_offset=o)
    B = T.match_buffer(b, (n,), "float32", elem_offset=4)
    for i in T.serial(n):
        B[i] = A[i]


@T.prim_func
def nothing():
    T.evaluate(0)


functions = {"add": add, "long": long, "numbers": numbers, "strided": strided, "scalar": scalar, "apart": apart, "nothing": nothing}
module = tvm.IRModule({name: f.with_attr("global_symbol", name) for name, f in functions.items()})
tvm.compile(module, target="llvm").export_library(sys.argv[1])
