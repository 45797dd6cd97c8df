"""Kernels of the CuTe DSL, compiled to object files. That needs no GPU.

Usage: python kernels.py FOLDER

Writes FOLDER/<name>.o for each kernel, and copies the library that they are linked
with, libcute_dsl_runtime.so, to the folder. CUTE_DSL_ARCH names the GPU to compile for,
such as sm_80 or sm_100a; the default is sm_90a.
"""
import os
import shutil
import sys

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")
import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import find_runtime_libraries, make_fake_compact_tensor, make_fake_stream

THREADS = 256


@cute.kernel
def axpy_kernel(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x.shape):
        y[i] = alpha * x[i] + y[i]


@cute.jit
def axpy(alpha: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, stream: cuda.CUstream):
    blocks = (cute.size(x.shape) + THREADS - 1) // THREADS
    axpy_kernel(alpha, x, y).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1], stream=stream)


@cute.kernel
def scale_rows_kernel(x: cute.Tensor, by: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    j = column * THREADS + thread
    if j < x.shape[1]:
        out[row, j] = x[row, j] * by[row]


@cute.jit
def scale_rows(x: cute.Tensor, by: cute.Tensor, out: cute.Tensor, stream: cuda.CUstream):
    columns = (x.shape[1] + THREADS - 1) // THREADS
    scale_rows_kernel(x, by, out).launch(grid=[columns, x.shape[0], 1], block=[THREADS, 1, 1], stream=stream)


def rows(dtype, *shape):
    """A row-major tensor without memory, of which some sizes are symbols."""
    return make_fake_compact_tensor(dtype, shape, stride_order=tuple(reversed(range(len(shape)))))


def kernels():
    n = cute.sym_int()
    f32 = cutlass.Float32
    # A parameter for the stream.
    yield axpy, (f32(1), rows(f32, n), rows(f32, n), make_fake_stream())
    # The environment stream: no parameter. The number of columns is a multiple of 8.
    m, n = cute.sym_int(), cute.sym_int(divisibility=8)
    yield scale_rows, (rows(f32, m, n), rows(f32, m), rows(f32, m, n), make_fake_stream(use_tvm_ffi_env_stream=True))


def main(folder):
    for function, arguments in kernels():
        name = function.__name__
        compiled = cute.compile(function, *arguments, options="--enable-tvm-ffi")
        compiled.export_to_c(os.path.join(folder, name + ".o"), function_name=name)
    for library in find_runtime_libraries(enable_tvm_ffi=True):
        if "cute" in os.path.basename(library):
            shutil.copy(library, folder)


main(sys.argv[1])
