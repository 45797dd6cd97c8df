"""time.py FOLDER N"""
import sys, time, pathlib, json, resource
import numpy as np, tvm
from tvm import relax
folder = pathlib.Path(sys.argv[1])
dev = tvm.cpu()
m = relax.VirtualMachine(tvm.runtime.load_module(str(folder/"model.so")), dev)
g = tvm.get_global_func
g("vm.builtin.tensor_cache.load")(str(folder), 1, 0)
about = json.loads(str(m["_metadata"]()))
get = g("vm.builtin.tensor_cache.get")
weights = [get(p["name"]) for p in about["params"]]
import tvm_ffi
W = tvm_ffi.Array(weights)
g("vm.builtin.tensor_cache.clear")()
cache = tvm.runtime.tensor(np.zeros(about["cache"], np.float16), dev)
logits = tvm.runtime.tensor(np.zeros((1, 49152), np.float32), dev)
text = [100 + i % 7 for i in range(43)]
for p in range(0, 43, 16):
    c = text[p:p+16]; last = len(c)-1; c = c + [0]*(16-len(c))
    m["prefill"](tvm.runtime.tensor(np.array(c, np.int32)), tvm.runtime.tensor(np.array([p, last], np.int32)), cache, logits, W)
decode = m["decode"]
per, wall, pos = [], [], 43
tok = int(logits.numpy().argmax())
for i in range(int(sys.argv[2])):
    if pos > 107: pos = 43
    a, w = time.process_time(), time.perf_counter()
    decode(tvm.runtime.tensor(np.array([tok], np.int32)), tvm.runtime.tensor(np.array([pos, 0], np.int32)), cache, logits, W)
    tok = int(logits.numpy().argmax())
    per.append(time.process_time()-a); wall.append(time.perf_counter()-w); pos += 1
per.sort(); wall.sort()
print(f"python: cpu best {per[0]*1e3:.2f} median {per[len(per)//2]*1e3:.2f} ms; wall best {wall[0]*1e3:.2f} median {wall[len(wall)//2]*1e3:.2f} ms")
