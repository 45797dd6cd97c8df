"""Compares the kernels of the form with 4 bits with numpy, on weights of the model: the products of one row and of several, the whole
numbers they read, and the rows of the words. Prints the greatest difference of each, in parts of what it computes.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import tvm

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "model"))
import fourbits
from compile import HIDDEN, WIDTH, WORDS, read

raw, _ = read()
target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.get_global_func("target.llvm_get_system_cpu")()})
given, difference = np.random.default_rng(0), {}
empty = lambda *shape, dtype="float32": tvm.runtime.tensor(np.zeros(shape, dtype))
apart = lambda a, b: float(np.abs(a - b).max() / np.abs(b).max())


def check(name, names, inner, adds=False, head=False):
    tensors = [raw[n] for n in names]
    w = np.concatenate([gguf.quants.dequantize(t.data, t.tensor_type) for t in tensors]).astype("float64")
    packed, outer = tvm.runtime.tensor(fourbits.pack(tensors)), len(w)
    for n in 1, 16:
        made = {"whole": fourbits.whole(n, inner, head), "product": fourbits.product(n, (), inner, outer, adds, head), "embed": fourbits.embed(n, WIDTH, WORDS)}
        kernels = tvm.compile(tvm.IRModule({k: f.with_attr("global_symbol", k) for k, f in made.items()}), target=target)
        x = given.standard_normal((n, inner)).astype("float32") * np.exp(given.standard_normal((n, inner))).astype("float32")
        x[0, :32] = 0
        plan = np.zeros((n + 1, 4), "int32")
        plan[0, :2] = n
        plan[1:, 0], plan[1:, 2], plan[1:, 3] = given.integers(0, WORDS, n), np.arange(n), np.arange(n)
        before = given.standard_normal((n, outer)).astype("float32")
        plan, q, scales, y = tvm.runtime.tensor(plan), empty(n, inner, dtype="int8"), empty(n, inner // 32, 2), tvm.runtime.tensor(before)
        kernels["whole"](tvm.runtime.tensor(x), plan, q, scales)
        kernels["product"](q, scales, packed, plan, y)
        rounded = (q.numpy().reshape(n, -1, 32) * scales.numpy()[..., :1].astype("float64")).reshape(n, inner)
        difference[f"whole numbers, {name}, {n}"] = float((np.abs(rounded - x).reshape(n, -1, 32).max(-1) - 0.501 * scales.numpy()[..., 0]).max())
        difference[f"product, {name}, {n}"] = apart(y.numpy(), rounded @ w.T + adds * before)
        if head:
            row = empty(n, WIDTH)
            kernels["embed"](plan, packed, row)
            difference[f"rows, {n}"] = apart(row.numpy(), w[plan.numpy()[1:, 0]])


check("up", ["blk.0.ffn_gate", "blk.0.ffn_up"], WIDTH)
check("down", ["blk.0.ffn_down"], HIDDEN, adds=True)
check("head", ["token_embd"], WIDTH, head=True)
json.dump(difference, sys.stdout)
