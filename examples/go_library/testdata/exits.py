"""Calls funcs of Go that end their goroutine. Usage: exits.py FOLDER"""

import asyncio
import re
import sys
import threading
import time

import numpy as np

sys.path.insert(0, sys.argv[1])
import exits
import tvm_ffi


def failure(f, *args):
    try:
        f(*args)
    except BaseException as e:
        return e
    raise AssertionError("no error")


def ends(name, f, *args):
    e = failure(f, *args)
    assert type(e) is RuntimeError, (name, type(e), e)
    if name.startswith("*"):  # the compiler names a closure after all funcs that it is in
        assert re.fullmatch(f"the Go function exits\\.(.*\\.)?{name[1:]}\\.[^ ]* ended by runtime\\.Goexit", str(e)), (name, e)
    else:
        assert str(e) == f"the Go function exits.{name} ended by runtime.Goexit", (name, e)


# Functions: the backtrace has the place of runtime.Goexit.
ends("Exit", exits.exit, True)
assert exits.exit(False) == "it goes on"
ends("Exit", tvm_ffi.get_global_func("exits.exit"), True)
ends("Check", exits.check, "fail")
assert "panic in exits.Check: a panic" in str(failure(exits.check, "panic"))
assert exits.check("") is None
ends("Assert", exits.assert_, -1)
assert exits.assert_(3) == 3 and exits.plain(4) == 4 and exits.background() is True

# Sequences, and the asynchronous form.
values = iter(exits.all())
assert next(values) == 1
ends("All", next, values)
ends("Wait", exits.wait)
ends("Wait", asyncio.run, exits.wait_async())

# Funcs that Go gives to Python.
later = exits.later()
assert later(False) == "later"
ends("*Later", later, True)
ends("*Handlers", exits.handlers()["quit"])

# Funcs of Python, which run on the goroutine, and errors of them.
thread = threading.get_ident()
seen = []


def callback(x):
    seen.append(threading.get_ident() == thread)
    if x == 0:
        raise KeyError("zero")
    return x


assert exits.apply(callback, 5) == 5
ends("Apply", exits.apply, callback, -5)
assert type(failure(exits.apply, callback, 0)) is KeyError
assert seen == [False] * 3
nested = lambda x: exits.apply(nested, x - 1) if x > 0 else x
assert exits.apply(nested, 20) == 0
given = []
exits.give(lambda quit: given.append((failure(quit, True), quit(False))))
assert str(given[0][0]) == "the Go function exits.quit ended by runtime.Goexit" and given[0][1] is None

# Memory that Python lends: Go has written to it before it ended.
x = np.zeros(4, np.float32)
ends("Fill", exits.fill, x, 2.0, True)
assert (x == 2).all()
y = exits.fill(x, 3.0, False)
assert (x == 3).all() and (np.from_dlpack(y) == 3).all()

# Objects.
ends("NewDoor", exits.Door, False)
door = exits.Door(True)
ends("(*Door).Slam", door.slam)
ends("(*Door).Open", lambda: door.open)
ends("(*Door).Close", door.close)
assert "closed" in str(failure(door.slam))
step = exits.made(1)
assert step.move(4) == 5 and step.n == 5
ends("(*Step).Move", step.move, 0)
assert step.n == 5
assert repr(step) == "a step"
step.move(-10)
ends("*init", tvm_ffi.get_global_func("ffi.ReprPrint"), step)  # of a hook

# Many at a time.
threads = [threading.Thread(target=lambda: [ends("Exit", exits.exit, True) for _ in range(200)]) for _ in range(16)]
for t in threads:
    t.start()
for t in threads:
    t.join()

# What a call costs.
for name, f in (("plain", exits.plain), ("contained", exits.assert_)):
    best = 1e9
    for _ in range(20):
        begin = time.perf_counter_ns()
        for _ in range(1000):
            f(1)
        best = min(best, (time.perf_counter_ns() - begin) / 1000)
    print(f"{name:10} {best:8.0f} ns")
print("all right")
