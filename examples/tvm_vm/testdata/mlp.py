"""Exports a small network as a Relax executable: mlp.py OUTPUT.so"""

import sys

import tvm
from tvm import relax, tirx


def linear(x, weight, bias):
    return relax.op.add(relax.op.matmul(x, weight), bias)


def parameter(name, *shape):
    return relax.Var(name, relax.TensorType(shape, "float32"))


def model():
    """A network of three layers: main gives the scores, both also the hidden layer."""
    block = relax.BlockBuilder()
    rows = tirx.Var("n", "int64")
    layers = [("w1", 4, 16), ("w2", 16, 16), ("w3", 16, 3)]
    for name, outputs in [("main", 1), ("both", 2)]:
        x = parameter("x", rows, layers[0][1])
        weights = [(parameter(w, fan_in, fan_out), parameter("b" + w[1:], fan_out)) for w, fan_in, fan_out in layers]
        with block.function(name, [x] + [p for pair in weights for p in pair]):
            with block.dataflow():
                hidden = x
                for weight, bias in weights[:-1]:
                    hidden = block.emit(relax.op.nn.relu(linear(hidden, weight, bias)))
                scores = block.emit(linear(hidden, *weights[-1]))
                result = scores if outputs == 1 else relax.Tuple([scores, relax.Tuple([hidden])])
                result = block.emit_output(result)
            block.emit_func_output(result)
    return block.get()


if __name__ == "__main__":
    tvm.compile(model(), target="llvm").export_library(sys.argv[1])
