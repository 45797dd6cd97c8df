"""Leaves work behind in a Go library, and ends. Usage: ending.py CASE LIBRARY"""

import atexit
import os
import resource
import sys
import threading
import time
import types
import warnings

early = []  # exit handlers that run after the handler of the library
atexit.register(lambda: [f() for f in early])

import numpy as np
import tvm_ffi

case, m = sys.argv[1], tvm_ffi.load_module(sys.argv[2])


def slow_end(seconds):
    """Makes the interpreter finalise for that long."""

    class Slow:
        def __del__(self, seconds=seconds, now=time.time):
            end = now() + seconds
            while now() < end:
                pass

    x = types.ModuleType("slow")
    x.slow = Slow()
    sys.modules["slow"] = x


def typed():
    for i in range(25000):
        m.typed(lambda x: x + i)


def raw():
    for i in range(25000):
        m.raw(lambda x: x + i)


def any_value():
    for i in range(25000):
        m.any(lambda x: x + i)


def each():
    words = ["a", "b"]
    for _ in range(12000):
        m.each(words, lambda x: x.upper())


def par():
    for i in range(20000):
        m.par(1, lambda x: x + i)


def kept():
    """Keeps funcs and tensors, which the collector releases while Python ends."""
    for i in range(5000):
        m.keep(lambda x: x + i)
        m.keep_tensor(np.zeros(10))
    m.collect()
    slow_end(0.1)


def later():
    """Calls begin while Python ends."""
    m.keep(lambda x: x)
    m.later(50, 4)
    slow_end(0.1)


def in_flight():
    """Calls that are on their way get the time to end."""

    begun = threading.Semaphore(0)

    def f(x):
        begun.release()
        time.sleep(0.2)
        os.write(1, b"done\n")

    m.keep(f)
    m.later(0, 2)
    begun.acquire(), begun.acquire()


def endless():
    """Calls that do not end do not keep the process."""

    def f(x):
        while True:
            pass

    m.keep(f)
    m.later(0, 2)
    time.sleep(0.05)
    slow_end(0.1)


def daemon():
    def run():
        while True:
            m.typed(lambda x: x)

    for _ in range(3):
        threading.Thread(target=run, daemon=True).start()
    time.sleep(0.05)
    slow_end(0.1)


def workers():
    m.keep(lambda x: x)
    m.start(3)
    slow_end(0.1)


def stopped():
    """An exit handler stops the goroutines."""
    m.keep(lambda x: x)
    m.start(3)
    atexit.register(m.stop)


def stopped_late():
    """The same behind the handler of the library: its goroutines get an error."""
    m.keep(lambda x: x)
    m.start(3)
    early.append(m.stop)


def late_call():
    """The thread that ends Python may call it through Go."""
    early.append(lambda: print(m.typed(lambda x: x + 1), flush=True))


def exits():
    """SystemExit in a callback is an error of the call."""
    try:
        m.typed(lambda x: sys.exit(3))
    except Exception as e:
        assert "SystemExit" in repr(e) or "3" in str(e), e
    m.keep(lambda x: x)
    m.later(20, 2)
    sys.exit(0)


def os_exit():
    m.keep(lambda x: x)
    m.start(3)
    os._exit(0)


def forked():
    """A fork, which has no goroutines, ends as well."""
    m.keep(lambda x: x)
    m.later(20, 2)
    children = []
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the process has threads
            pid = os.fork()
        if pid == 0:
            sys.exit(0)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0


def thread_loads():
    """Another thread loads the library while the main thread waits."""

    def run():
        m = tvm_ffi.load_module(sys.argv[2])
        m.keep(lambda x: x)
        m.later(50, 2)

    t = threading.Thread(target=run)
    t.start()
    t.join()
    slow_end(0.1)


def memory():
    """Funcs that nobody retained are released at the end of the call."""

    def closure(f):
        data = bytearray(4 << 20)
        return lambda x: f(x, len(data))

    def number():
        return closure(lambda x, n: x)

    for _ in range(500):
        assert m.typed(number()) == 1
    for _ in range(30):
        s = m.nested([number()], {"f": number()}, {"done": number()}, closure(lambda x, n: x))
        assert s == 3 + len("text"), s
    for _ in range(100):
        m.par(2, number())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)
    assert peak < 300, f"{peak} MB"


def lent():
    """A func that was not retained is an error after the call, never a crash."""
    m.forget(lambda x: x)
    try:
        m.kept()
        raise AssertionError("no error")
    except RuntimeError as e:
        assert "tvmffi.Retain" in str(e), e
    m.keep(lambda x: x + 41)
    import gc

    gc.collect()
    assert m.kept() == 42
    for i in range(50):
        m.beyond(3, lambda x: x + i)


globals()[case]()
