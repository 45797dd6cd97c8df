"""Lends memory to a Go library. Usage: lend.py FOLDER, which has the Python package classes"""

import sys
import warnings

import numpy as np

sys.path.insert(0, sys.argv[1])

import classes as m
import tvm_ffi


def used():
    """Other arrays take memory that has ended, and write to it."""
    return [np.full(n, 7.0) for n in (4, 100_000) for _ in range(50)]


def fails(kind, text, f, *args):
    try:
        f(*args)
    except kind as e:
        assert text in str(e), e
        return e
    raise AssertionError("no error")


class Array:
    """Is an array of another package, immutable unless writeable is set. version is that of its struct."""

    def __init__(self, values, version=1, writeable=False):
        self.values, self.version, self.writeable = np.array(values, dtype=float), version, writeable

    def __dlpack_device__(self):
        return 1, 0

    def __array__(self, dtype=None, copy=None):
        view = self.values.copy() if copy else self.values.view()
        view.flags.writeable = bool(copy)
        return view

    def __dlpack__(self, **options):
        getattr(self, "before", list)()
        if options and self.version == 0:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        if not options:
            if self.version:
                warnings.warn("an unversioned capsule is deprecated", DeprecationWarning)
            return self.values.__dlpack__()
        return (self.values if self.writeable else self.__array__()).__dlpack__(**options)


def results():
    for n in 4, 100_000:
        # The argument is a temporary.
        y = m.scaled(np.arange(float(n)), 2)
        low, high = m.halves(np.arange(float(n)))
        both = m.joined(np.arange(float(n)), np.arange(2.0), False), m.joined(np.arange(1.0), np.arange(float(n)), False), m.joined(np.arange(1.0), np.arange(2.0), True)
        ended = used()
        assert y[:4].tolist() == [0, 2, 4, 6] and len(y) == n
        assert low[:2].tolist() == [0, 1] and high[0] == n // 2 and len(low) + len(high) == n
        assert both[0][:4].tolist() == both[1][:4].tolist() == [0, 1, 2, 3] and both[2].tolist() == [0, 0, 1]
        del ended
    # The argument is what comes back, so that a loop makes no chain.
    x = start = np.arange(4.0)
    for _ in range(3):
        x = m.scaled(x, 2)
    assert x is start and x.tolist() == [0, 8, 16, 24]
    low, high = m.halves(x)
    assert low.base is high.base is x and type(m.halves(x)) is m.HalvesResult
    assert m.joined(x[1:], x, False) is x
    y = x[1:3]
    assert m.joined(x[:2], y, False).tolist() == [0, 8] and m.joined(x[:1], y, False) is y
    # What is copied comes back as the copy.
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    for given in [0.0, 1.0, 2.0, 3.0], (0.0, 1.0, 2.0, 3.0), fixed, np.repeat(np.arange(4.0), 2)[::2], np.frombuffer(bytearray(33), "b")[1:].view(float), np.arange(4.0)[::-1]:
        want = [2 * v for v in given]
        y = m.scaled(given, 2)
        ended = used()
        assert y.tolist() == want and want == [2 * v for v in given], y
    # A Tensor keeps its memory by itself, and without the Python package.
    y = m._ffi.lib.scaled(np.arange(4.0), 2)
    ended = used()
    assert np.from_dlpack(y).tolist() == [0, 2, 4, 6]
    assert type(y) is tvm_ffi.Tensor and len(ended) == 100


def kept():
    cells, named = m.cells(np.arange(4.0))
    windows, reader = m.windows(np.arange(4.0), 3), m.reader(np.arange(4.0))
    first = next(windows)
    e = fails(m.RangeError, "2 numbers are wrong", m.positive, np.array([1.0, -2, 3]))
    ended = used()
    assert [np.from_dlpack(c)[0] for c in cells] == [0, 1, 2, 3] and np.from_dlpack(named["all"][0]).tolist() == [0, 2]
    assert first == [0, 1, 2] and list(windows) == [[1, 2, 3]]
    assert [reader(i) for i in range(4)] == [0, 1, 2, 3]
    assert (e.wrong, e.rows) == ([-2, 3], {"all": [1, -2, 3]})
    # A sequence that nobody reads to its end.
    for _ in range(100):
        next(m.windows(np.arange(1000.0), 3))
    assert len(ended) == 100


def read_only():
    warnings.simplefilter("error")
    for version in 0, 1:
        a = Array([1, 2, 3], version)
        assert m.scaled(a, 10).tolist() == [10, 20, 30] and a.values.tolist() == [1, 2, 3]
    a = Array([1, 2, 3], writeable=True)
    assert m.scaled(a, 10).tolist() == [10, 20, 30] and a.values.tolist() == [10, 20, 30]
    assert m.first(a) == 10 and m.kinds([a, {"k": (a, np.bool_(True))}]) == "[*tvmffi.Tensor map[k:[*tvmffi.Tensor bool]]]"
    a = Array([1, 2, 3])
    fails(BufferError, "first(t=...): the array is read-only, and Go could write to it: pass a copy, such as numpy.array(x), in place of this Array", m.first, a)
    fails(BufferError, 'kinds(x[1]["k"][0]=...): the array is read-only', m.kinds, [1, {"k": (a,)}])
    firsts, may = m.firsts(), np.arange(3.0)
    assert firsts(may, []) == firsts(may, [may]) == 0
    for args in (a, []), (may, [a]), (may, (may, a)):
        fails(BufferError, "the array is read-only, and Go could write to it", firsts, *args)
    # An array whose package changes the list, while C goes through it.
    many = [np.arange(2.0)] * 50
    a.before = many.clear
    many.append(a)
    fails(BufferError, "the array is read-only, and Go could write to it", firsts, may, many)
    assert many == []
    del a.before
    fails(BufferError, "the result of the callback: the array is read-only", m.made, lambda: a)
    old = Array([1, 2, 3], 0, True)
    fails(BufferError, "first(t=...): the array does not say whether it may be written, and Go could write to it: pass a copy", m.first, old)
    fails(BufferError, "first(t=...): the array is read-only, and Go could write to it: call .copy()", m.first, a.__array__())
    assert m.first(np.array(a)) == 1


for f in results, kept, read_only:
    f()
