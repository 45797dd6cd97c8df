"""Compares calls through the package golib with calls of the bare functions. Usage: package_bench.py FOLDER"""

import sys
import timeit

sys.path.insert(0, sys.argv[1])
import golib
import tvm_ffi

bare = {name: tvm_ffi.get_global_func("golib." + name) for name in ("add", "swap", "word_count")}
point = golib.Point(3.0, 4.0)
norm = next(m.func for m in golib.Point.__tvm_ffi_type_info__.methods if m.name == "norm")
names = {"golib": golib, "point": point, "norm": norm, **{"bare_" + k: v for k, v in bare.items()}}


def fastest(*statements):
    """Times statements in turn, since the machine may do other things meanwhile."""
    timers = [timeit.Timer(statement, globals=names) for statement in statements]
    n, best = 5000, [float("inf")] * len(timers)
    for _ in range(60):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(n) / n * 1e9)
    return best


print("%-12s %8s %8s" % ("ns per call", "bare", "package"))
for name, before, after in [
    ("add", "bare_add(1, 2)", "golib.add(1, 2)"),
    ("keywords", "bare_add(1, 2)", "golib.add(a=1, b=2)"),
    ("method", "norm(point)", "point.norm()"),
    ("tuple", "bare_swap((1, 'x'))", "golib.swap((1, 'x'))"),
    ("dict", "bare_word_count(('a b',))", "golib.word_count(('a b',))"),
]:
    print("%-12s %8.1f %8.1f" % (name, *fastest(before, after)))
