"""Exports one share of a network of two layers as a Relax executable: shard.py OUTPUT.so

The shares of all workers add up to the network: relu(x w1) w2, where each worker has some
columns of w1 and the rows of w2 that belong to them.
"""

import sys

import tvm
from tvm import relax, tirx


def parameter(name, *shape):
    return relax.Var(name, relax.TensorType(shape, "float32"))


rows, width = tirx.Var("n", "int64"), tirx.Var("m", "int64")
x, w1, w2 = parameter("x", rows, 4), parameter("w1", 4, width), parameter("w2", width, 3)
block = relax.BlockBuilder()
with block.function("main", [x, w1, w2]):
    with block.dataflow():
        hidden = block.emit(relax.op.nn.relu(relax.op.matmul(x, w1)))
        result = block.emit_output(relax.op.matmul(hidden, w2))
    block.emit_func_output(result)
tvm.compile(block.get(), target="llvm").export_library(sys.argv[1])
