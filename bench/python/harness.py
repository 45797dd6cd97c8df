"""What the Python peers share: they speak the protocol of ../ours/harness.go."""

import signal
import sys
import threading
import time

TARGET = 2e6
items = {}


def item(f):
    items[f.__name__] = f
    return f


def repeated(name, g):
    def f(n):
        for _ in range(n):
            g()

    items[name] = f


def timed(f, n):
    start = time.perf_counter_ns()
    f(n)
    return time.perf_counter_ns() - start


def calibrate(f):
    n = 1
    while True:
        took = min(timed(f, n) for _ in range(3))  # the first operation of all takes long
        if took > TARGET / 8:
            return max(1, int(n * TARGET / took))
        n *= 2


def between(f, n):
    f(100)
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    signal.raise_signal(signal.SIGUSR2)
    f(n)
    signal.raise_signal(signal.SIGUSR2)
    print("counted", flush=True)


def serve():
    print(" ".join(items), flush=True)
    counts = {}
    for line in iter(sys.stdin.readline, ""):
        name, *how = line.split()
        f = items[name]
        if how[:1] == ["count"]:
            between(f, int(how[1]))
            continue
        if name not in counts:
            counts[name] = calibrate(f)
            if "thread" in name:  # so that their start does not count
                counts[name] = max(counts[name], 20000)
        n = counts[name]
        if n > 10:
            f(n // 10)
        print("%.2f 0" % (timed(f, n) / n), flush=True)
