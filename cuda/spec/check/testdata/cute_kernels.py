"""Compiles the functions whose messages are recorded, without a GPU.

Usage: CUTE_DSL_ARCH=sm_90a python cute_kernels.py OUT

Writes OUT/<name>.o for each function.
"""
import os, sys
from dataclasses import dataclass
from typing import NamedTuple, Optional

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
import cutlass
import cutlass.cute as cute
import cuda.bindings.driver as cuda
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream, make_fake_tensor, make_ptr

F32 = cutlass.Float32


def compact(dtype, *shape, **kw):
    return make_fake_compact_tensor(dtype, shape, stride_order=tuple(reversed(range(len(shape)))), **kw)


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, k: cutlass.Int32, stream: cuda.CUstream):
    cute.printf("add\n")


@cute.jit
def env(a: cute.Tensor, k: cutlass.Int32, stream: cuda.CUstream):
    cute.printf("env\n")


@cute.jit
def mat(a: cute.Tensor, b: cute.Tensor, alpha: cutlass.Float32, flag: cutlass.Boolean):
    cute.printf("mat\n")


@cute.jit
def strided(a: cute.Tensor, b: cute.Tensor):
    cute.printf("strided\n")


@cute.jit
def ints(i8: cutlass.Int8, u8: cutlass.Uint8, i16: cutlass.Int16, u16: cutlass.Uint16, u32: cutlass.Uint32,
         i64: cutlass.Int64, u64: cutlass.Uint64, f64: cutlass.Float64, f16: cutlass.Float16, bf: cutlass.BFloat16):
    cute.printf("ints\n")


@cute.jit
def sizes(s: cute.Shape, a: cute.Tensor):
    cute.printf("sizes\n")


@cute.jit
def pointer(p: cute.Pointer, stream: cuda.CUstream):
    cute.printf("pointer\n")


class Pair(NamedTuple):
    x: cute.Tensor
    n: cutlass.Int32


@cute.jit
def tuples(p: Pair, a: cute.Tensor, t: tuple[cutlass.Int32, tuple[cutlass.Float32, cute.Tensor]]):
    cute.printf("tuples\n")


@cute.jit
def none(a: cute.Tensor, b: Optional[cute.Tensor]):
    cute.printf("none\n")


@dataclass
class Config:
    i: cutlass.Constexpr[int]
    b: cutlass.Constexpr[bool]
    f: cutlass.Constexpr[float]
    z: cutlass.Constexpr[Optional[int]]
    n: cutlass.Int32


@cute.jit
def consts(c: Config):
    cute.printf("consts\n")


@cute.jit
def bytes_(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    cute.printf("bytes\n")


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    cute.printf("host\n")


def functions():
    n = cute.sym_int()
    yield "add", add, (compact(F32, n), compact(F32, n), compact(F32, n), cutlass.Int32(1), make_fake_stream())
    n = cute.sym_int()
    yield "env", env, (compact(F32, n), cutlass.Int32(1), make_fake_stream(use_tvm_ffi_env_stream=True))
    yield "mat", mat, (compact(cutlass.Float16, cute.sym_int(), cute.sym_int(divisibility=8)), compact(F32, 4, 3, assumed_align=16), F32(1), cutlass.Boolean(True))
    m, n, s = cute.sym_int64(), cute.sym_int(), cute.sym_int64(divisibility=4)
    yield "strided", strided, (make_fake_tensor(cutlass.BFloat16, (m, n), stride=(s, 1)), make_fake_tensor(cutlass.BFloat16, (m, n, 2), stride=(s, cute.sym_int(), 1), assumed_align=128))
    yield "ints", ints, (cutlass.Int8(1), cutlass.Uint8(1), cutlass.Int16(1), cutlass.Uint16(1), cutlass.Uint32(1), cutlass.Int64(1), cutlass.Uint64(1), cutlass.Float64(1), cutlass.Float16(1), cutlass.BFloat16(1))
    n = cute.sym_int()
    yield "sizes", sizes, ((cutlass.Int32(2), 4, cutlass.Int64(3)), compact(F32, n))
    yield "pointer", pointer, (make_ptr(F32, 0, cute.AddressSpace.gmem), make_fake_stream())
    n = cute.sym_int()
    yield "tuples", tuples, (Pair(compact(F32, n), cutlass.Int32(1)), compact(F32, n), (cutlass.Int32(1), (F32(1), compact(F32, n, 2))))
    yield "none", none, (compact(F32, cute.sym_int()), None)
    yield "consts", consts, (Config(5, True, 1.5, None, cutlass.Int32(1)),)
    n = cute.sym_int()
    yield "bytes", bytes_, (compact(cutlass.Int8, n), compact(cutlass.Uint8, n), compact(cutlass.Float4E2M1FN, n, 32))
    yield "host", host, (compact(F32, n, memspace=cute.AddressSpace.generic), compact(F32, n))


def main(out):
    for name, f, args in functions():
        try:
            k = cute.compile(f, *args, options="--enable-tvm-ffi")
            k.export_to_c(os.path.join(out, name + ".o"), function_name=name)
            print("ok", name)
        except Exception as e:
            print("ERR", name, type(e), str(e)[:600])


main(sys.argv[1])
