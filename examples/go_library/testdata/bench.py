"""Times calls into libraries in turn. Usage: bench.py CPP GO"""

import sys
import time

import numpy as np
import tvm_ffi

libraries = [tvm_ffi.load_module(p) for p in sys.argv[1:]]
tensor = tvm_ffi.from_dlpack(np.ones(4, "float32"))
callback = tvm_ffi.convert(lambda v: v)


def caught(f, *args):
    try:
        f(*args)
    except ValueError:
        pass


def once(f, args, n):
    start = time.perf_counter()
    for _ in range(n):
        f(*args)
    return (time.perf_counter() - start) / n * 1e9


print("ns per call: item, C++, Go, Go over C++")
for name, pick, args in (
    ("add", lambda m: m.add, (1, 2)),
    ("sum", lambda m: m.sum, (tensor,)),
    ("greet", lambda m: m.greet, ("a text of more than seven",)),
    ("apply", lambda m: m.apply, (callback, 1)),
    ("fail", lambda m: caught, None),
):
    calls = [(pick(m), args if args is not None else (m.fail, "ValueError", "text")) for m in libraries]
    best = [1e12] * len(calls)
    n = 2000 if name == "fail" else 5000
    for _ in range(60):
        for i, (f, a) in enumerate(calls):
            best[i] = min(best[i], once(f, a, n))
    print("%-6s %8.0f %8.0f %6.2f" % (name, best[0], best[1], best[1] / best[0]))
