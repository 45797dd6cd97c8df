"""The library of the comparison through ctypes."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int64, c_size_t, c_void_p
from pathlib import Path

_lib = ctypes.CDLL(str(Path(__file__).parent / "libledger.so"))
UNARY = ctypes.CFUNCTYPE(c_int64, c_int64)


def _declare(name, result, *params):
    f = getattr(_lib, name)
    f.restype, f.argtypes = result, params
    return f


add = _declare("Add", c_int64, c_int64, c_int64)
_mean = _declare("Mean", c_double, POINTER(c_double), c_size_t)
_greet = _declare("Greet", c_void_p, c_char_p)
_split = _declare("Split", c_void_p, c_char_p, c_char_p, POINTER(c_size_t))
_count = _declare("CountWords", c_void_p, c_char_p, POINTER(c_size_t), POINTER(c_void_p))
_divmod = _declare("DivMod", c_void_p, c_int64, c_int64, POINTER(c_int64), POINTER(c_int64))
_parse = _declare("Parse", c_void_p, c_char_p, POINTER(c_int64))
_apply = _declare("Apply", c_int64, UNARY, c_int64)
_scale = _declare("Scale", None, c_void_p, c_size_t, c_float)
_sum = _declare("Sum", c_double, c_void_p, c_size_t)
_norm = _declare("Norm", c_double, c_double, c_double)
_new = _declare("NewCounter", c_size_t)
_counter_add = _declare("CounterAdd", c_int64, c_size_t, c_char_p)
_counter_free = _declare("CounterFree", None, c_size_t)
_free = _declare("Free", None, c_void_p)


def _text(p):
    try:
        return ctypes.string_at(p).decode()
    finally:
        _free(p)


def _texts(p, n):
    try:
        return [_text(q) for q in (c_void_p * n).from_address(p)]
    finally:
        _free(p)


def _check(problem):
    if problem:
        raise ValueError(_text(problem))


def mean(xs):
    return _mean((c_double * len(xs))(*xs), len(xs))


def greet(name):
    return _text(_greet(name.encode()))


def split(text, sep):
    n = c_size_t()
    return _texts(_split(text.encode(), sep.encode(), byref(n)), n.value)


def count_words(text):
    n, counts = c_size_t(), c_void_p()
    words = _texts(_count(text.encode(), byref(n), byref(counts)), n.value)
    try:
        return dict(zip(words, (c_int64 * n.value).from_address(counts.value)))
    finally:
        _free(counts)


def div_mod(a, b):
    q, r = c_int64(), c_int64()
    _check(_divmod(a, b, byref(q), byref(r)))
    return q.value, r.value


def parse(text):
    out = c_int64()
    _check(_parse(text.encode(), byref(out)))
    return out.value


def apply(f, x):
    return _apply(UNARY(f), x)


def scale(xs, factor):
    _scale(xs.ctypes.data, xs.size, factor)


def sum(xs):
    return _sum(xs.ctypes.data, xs.size)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def norm(self):
        return _norm(self.x, self.y)


class Counter:
    def __init__(self):
        self._handle = _new()

    def add(self, word):
        return _counter_add(self._handle, word.encode())

    def __del__(self):
        _counter_free(self._handle)
