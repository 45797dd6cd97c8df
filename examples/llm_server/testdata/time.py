"""Measures a step of 1 to 16 chats on Python's virtual machine of TVM: time.py FOLDER STEPS"""

import json
import pathlib
import sys
import time

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
machine = relax.VirtualMachine(tvm.runtime.load_module(str(folder / "model.so")), tvm.cpu())
about = json.loads(str(machine["_metadata"]()))
tvm.get_global_func("vm.builtin.tensor_cache.load")(str(folder), 1, 0)
get = tvm.get_global_func("vm.builtin.tensor_cache.get")
weights = tvm_ffi.Array([get(p["name"]) for p in about["params"]])
rows = about["rows"]
cache = tvm.runtime.tensor(np.zeros([rows, *about["cache"]], np.float16))
logits = tvm.runtime.tensor(np.zeros((rows, about["words"]), np.float32))
for n in 1, 2, 4, 8, 16:
    f, plan = machine["one" if n == 1 else "several"], np.zeros(((1 if n == 1 else rows) + 1, 4), np.int32)
    each = []
    for step in range(steps):
        plan[0, :2] = n if n == 1 else -(-n // 4) * 4
        plan[0, 0] = n
        for r in range(n):
            plan[1 + r] = 100 + r, 43 + step % 64, r, r
        given = tvm.runtime.tensor(plan)
        before, wall = time.process_time(), time.perf_counter()
        f(given, cache, logits, weights)
        each.append((time.process_time() - before, time.perf_counter() - wall))
    cpu, wall = (sorted(x) for x in zip(*each))
    print(f"{n}: cpu best {cpu[0] * 1e3 / n:.2f} median {cpu[steps // 2] * 1e3 / n:.2f} ms/token; wall median {wall[steps // 2] * 1e3 / n:.2f} ms/token")
