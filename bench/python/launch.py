"""The CuPy peer of the launches: RawKernels of the same image. It speaks the protocol of ../launch/main.go.

Usage: launch.py LIBTVM_FFI launch.ptx; the first is not used. The items and their numbers are those of
../native/launch.cc.
"""

import sys
import time

import cupy
import numpy as np

ELEMENTS, LAUNCHES, NODES, GRAPHS, BATCHES = 256, 200, 20, 40, 5

cupy.cuda.Device(0).use()
module = cupy.RawModule(path=sys.argv[-1])
empty_kernel, saxpy_kernel = module.get_function("empty"), module.get_function("saxpy")
x, y = (cupy.empty(ELEMENTS, dtype=cupy.float32) for _ in range(2))
for v in (x, y):
    v.set(np.zeros(ELEMENTS, dtype=np.float32))
cupy.cuda.Device().synchronize()  # the stream does not wait for the copies
stream = cupy.cuda.Stream(non_blocking=True)
stream.use()
n, a = np.int32(ELEMENTS), np.float32(2)


def empty(launches):
    for _ in range(launches):
        empty_kernel((1,), (32,), (x, y, n))


def saxpy(launches):
    for _ in range(launches):
        saxpy_kernel(((ELEMENTS + 255) // 256,), (256,), (n, a, x, y))


def graph(launches):
    for _ in range(launches):
        captured.launch(stream)


def measure(item, launches):
    took = 0
    for batch in range(BATCHES + 1):
        start = time.perf_counter_ns()
        item(launches)
        end = time.perf_counter_ns()
        stream.synchronize()
        if batch > 0:  # the first one does not count
            took += end - start
    return took / (BATCHES * launches)


stream.begin_capture()
empty(NODES)
captured = stream.end_capture()

items = {"empty": (empty, LAUNCHES), "saxpy": (saxpy, LAUNCHES), "graph": (graph, GRAPHS)}
print(" ".join(items), flush=True)
for line in sys.stdin:
    print("%.2f 0" % measure(*items[line.strip()]), flush=True)
