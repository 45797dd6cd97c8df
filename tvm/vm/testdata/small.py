"""Exports a small model: small.py (same|extern) OUTPUT.so"""

import sys

import tvm
from tvm import relax, tirx


def model(kind):
    block = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"),), "float32"))
    with block.function("main", [x]):
        y = x
        if kind == "extern":  # a kernel that no library has
            y = block.emit(relax.call_dps_packed("test.vm.kernel", [x], out_ty=x.ty))
        block.emit_func_output(y)
    return block.get()


tvm.compile(model(sys.argv[1]), target="llvm").export_library(sys.argv[2])
