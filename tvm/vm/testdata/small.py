"""Exports a small model: small.py (same|extern|threads|back|tuple|place) OUTPUT.so"""

import json
import sys

import tvm
from tvm import relax, tirx
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def threads(x: T.Buffer((4,), "int32"), y: T.Buffer((4,), "int32")):
    """Writes the number of the thread that runs each part of the loop."""
    for i in T.parallel(4):
        y[i] = T.call_extern("int32", "gettid") + x[i] * 0


@T.prim_func(s_tir=True)
def double(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
    for i in range(4):
        y[i] = x[i] * T.float32(2)


def model(kind):
    block = relax.BlockBuilder()
    if kind == "threads":
        x = relax.Var("x", relax.TensorType((4,), "int32"))
        f = block.add_func(threads.with_attr("global_symbol", "threads"), "threads")
        with block.function("main", [x]):
            block.emit_func_output(block.emit(relax.call_tir(f, [x], relax.TensorType((4,), "int32"))))
        return block.get()
    if kind == "place":  # writes to its second argument, and returns a number
        x, y = [relax.Var(name, relax.TensorType((4,), "float32")) for name in "xy"]
        f = block.add_func(double.with_attr("global_symbol", "double"), "double")
        with block.function("main", [x, y], attrs={"relax.force_pure": True}):
            block.emit(relax.op.call_tir_inplace(f, [x, y], [1], y.ty))
            block.emit_func_output(relax.prim_value(0))
        return block.get()
    if kind == "tuple":  # returns the first of the weights, and lists all of them
        types = [relax.TensorType((2, 3), "float32"), relax.TensorType((4,), "float16")]
        w = relax.Var("w", relax.TupleType(types))
        with block.function("main", [w]):
            block.emit_func_output(block.emit(relax.TupleGetItem(w, 0)))
        about = [{"name": f"param_{i}", "shape": [int(n) for n in t.shape], "dtype": str(t.dtype)} for i, t in enumerate(types)]
        with block.function("_metadata", []):
            block.emit_func_output(tvm.ir.StringImm(json.dumps({"params": about})))
        return block.get()
    x = relax.Var("x", relax.TensorType((tirx.Var("n", "int64"),), "float32"))
    with block.function("main", [x]):
        y = x
        if kind == "extern":  # a kernel that no library has
            y = block.emit(relax.call_dps_packed("test.vm.kernel", [x], out_ty=x.ty))
        if kind == "back":  # calls Go, which writes y
            y = block.emit(relax.call_dps_packed("test.vm.back", [x], out_ty=x.ty))
        block.emit_func_output(y)
    return block.get()


tvm.compile(model(sys.argv[1]), target="llvm").export_library(sys.argv[2])
