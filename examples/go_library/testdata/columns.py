"""Gives columns of NumPy, and in frames those of pandas, polars and Arrow, to the package columns. Usage: columns.py TESTS FOLDER"""

import ctypes
import random
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

sys.path.insert(0, sys.argv[2])
import columns as c  # noqa: E402
import numpy as np  # noqa: E402

INT64 = 2**63


def failure(f, *args):
    try:
        result = f(*args)
    except Exception as e:
        return e
    raise AssertionError(f"no error for {args}: {result}")


def check(f, x, kind, want):
    e = failure(f, x)
    assert type(e) is kind and want in str(e), repr(e)


def durations():
    def m8(values, unit):
        return np.array(values, f"m8[{unit}]")

    units = {"W": 604800 * 10**9, "D": 86400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 1000, "ns": 1, "25s": 25 * 10**9}
    for unit, times in units.items():
        most = (INT64 - 1) // times
        for n in (0, 1, -1, most, -most):
            assert c.durations(m8([n], unit)) == c.durations([m8(n, unit)[()]]) == c.several(m8(n, unit)[()]) == [c.duration(m8(n, unit)[()])] == [n * times], (n, unit)
        for n in (INT64 - 1, 1 - INT64, most + 1, -most - 1) if times > 1 else ():
            for f, x, place in (
                (c.durations, m8([0, n], unit), "durations(x[1]=...)"),
                (c.durations, list(m8([0, n], unit)), "durations(x[1]=...)"),
                (c.durations, np.array([timedelta(1), m8(n, unit)[()]], object), "durations(x[1]=...)"),
                (lambda x: c.several(*x), m8([0, n], unit), "several(x[1]=...)"),
                (c.duration, m8(n, unit)[()], "duration(x=...)"),
                (c.rows, m8([[0, 0], [n, 0]], unit), "rows(x[1][0]=...)"),
                (c.rows, [[], m8([n], unit)], "rows(x[1][0]=...)"),
                (c.called, lambda: m8([n], unit), "the result of the callback[0]"),
                (lambda x: c.Kept(x, [], []), m8([n], unit), "Kept(d[0]=...)"),
            ):
                check(f, x, OverflowError, f"{place}: ")
    for unit, per in {"ps": 1000, "fs": 10**6, "as": 10**9}.items():
        assert c.durations(m8([3 * per, -per], unit)) == [3, -1] and c.duration(m8(5 * per, unit)[()]) == 5
        for n in (1, -1, per + 1, INT64 - 1):
            check(c.durations, m8([per, n], unit), ValueError, "durations(x[1]=...): ")
            check(c.duration, m8(n, unit)[()], ValueError, "is not a whole number of nanoseconds: call .astype('m8[ns]')")
    for x, want in (m8([1], "M"), "got 1 months, and that unit has no fixed length"), (m8([2], "Y"), "got 2 years"), (np.array([3], "m8"), "without a unit"), (m8([1, "NaT"], "s")[1:], "got NaT"):
        check(c.durations, x, TypeError, f"durations(x[0]=...): expected a timedelta, {want}" if "unit" not in want else want)
        check(c.duration, x[0], TypeError, want)
    grid = m8([[1, 2, 3], [4, 5, 6]], "ns")
    for x in (grid, grid[::-1, ::2], grid.T, grid.astype(">m8[ns]"), np.broadcast_to(grid[0], (2, 3)), list(grid), np.array(grid.tolist(), "m8[ns]")):
        assert c.rows(x) == np.asarray(x).astype("i8").tolist(), x
    assert c.durations(m8([], "s")) == c.durations(np.array([])) == c.durations(m8([], "M")) == [] and c.rows(np.zeros((2, 0), "m8[s]")) == [[], []]
    assert c.durations(np.array([timedelta(1), m8(1, "ns")[()]], object)) == [86400 * 10**9, 1]
    for x in (np.array([1]), np.array([1.5]), np.array(["1"]), range(2)):
        check(c.durations, x, TypeError, "durations(x[0]=...): expected a timedelta, got ")
    for f, x in (c.ints, m8([1], "s")), (c.floats, m8([1], "s")), (c.bools, m8([1], "s")), (c.complexes, m8([1], "s")), (c.times, m8([1], "s")), (c.durations, np.array([1], "M8[s]")):
        check(f, x, TypeError, "of a type that Go has, got an array of ")
    check(c.ints, m8([1], "s"), TypeError, "ints(x=...): expected numbers, bools or texts of a type that Go has, got an array of timedelta64[s]: divide it by numpy.timedelta64(1, 's')")
    check(c.durations, np.ma.array(m8([1, 2], "s"), mask=[0, 1]), TypeError, "without a mask")
    assert c.lasted(m8([1, "NaT"], "ns")) == "1ns <nil>"
    check(c.lasted, m8(["NaT", 2**62], "s"), OverflowError, "lasted(x[1]=...): ")
    for x in np.array(["2020"], "M8[s]"), np.array(["2020", "NaT"], "M8[D]"):
        check(c.times, x, ValueError, "times(x[0]=...): the times have no time zone")
        check(c.time, x[0], ValueError, "has no time zone")
    assert c.times(np.array([], "M8[s]")) == []


def numbers():
    z = np.array([[1 + 2j, 3], [complex("nan+infj"), -0.0]])
    fixed = z.copy()
    fixed.flags.writeable = False
    for x in (z, z[::-1], z.T, z.astype("c8"), z.astype(">c16"), fixed, z.astype(object)):
        assert repr(c.grid(x)) == repr([c.complexes(row) for row in x]) == repr(np.asarray(x).astype("c16").tolist()), x
    for kind in "?bhilqBHILQefdFD":
        x = np.array([0, 1], kind)
        assert c.complexes(x) == [0, 1], kind
        if kind not in "FD":
            assert c.floats(x) == [0, 1] and c.floats(x.astype(x.dtype.newbyteorder())) == [0, 1], kind
        if kind not in "efdFD":
            assert c.ints(x) == [0, 1], kind
        else:
            check(c.ints, x, TypeError, "ints(x")
    for x in np.ones(1, "G"), np.ones(1, "g"), np.zeros(1, [("a", "f8")]), np.zeros(1, "V8"):
        check(c.complexes, x, TypeError, f"complexes(x=...): expected complex numbers of a type that Go has, got an array of {x.dtype}: ")
    check(c.grid, np.array([[0, 1e300]], complex), TypeError, "grid(x[0][1]=...): (1e+300+0i) does not fit complex64")
    check(c.floats, np.array([Decimal(1)]), TypeError, "floats(x[0]=...): expected a float, got Decimal")
    for x in (2**53 + 1, 2**24 + 1):
        assert c.floats(np.array([x])) == c.floats([x]) == c.floats(np.array([x], object)) == [float(x)]
    assert c.colors(np.array([1, 2])) == [1, 2] and c.known(np.array([1, None])) == "1 <nil>"
    assert c.mixed((np.array([1]), np.ones(1)), (np.array([5]), [timedelta(1)])) == "{[1] [1]} {[5] [24h0m0s]}"
    check(lambda x: c.mixed((x, []), ([], [])), np.array([7]), ValueError, "mixed(a[0][0]=...): 7 is not a value of Color")
    check(lambda x: c.mixed(([], []), (x, [])), np.array([7], "m8[s]"), TypeError, "mixed(b[0]=...): expected numbers, bools or texts of a type that Go has, got an array of timedelta64[s]")
    check(c.colors, np.array([1, 7]), ValueError, "colors(x[1]=...): 7 is not a value of Color")

    class Lender:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **options):
            return self.x.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    assert c.floats(Lender(np.arange(3.0))) == [0, 1, 2] == c.ints(Lender(np.arange(3))) and c.complexes(Lender(z[0])) == [1 + 2j, 3]
    k = c.Kept(np.array([5], "m8[ns]"), [], z[0])
    assert k.c == [1 + 2j, 3] and k.show() == "[5ns] [] [(1+2i) (3+0i)]", k.show()
    k.c, k.d = z[0, 1:], np.array([7], "m8[us]")
    assert k.show() == "[7µs] [] [(3+0i)]", k.show()


def large():
    """A column of many elements, and what would need more memory than there is."""
    n = 10**5
    assert c.total(np.arange(n).astype("m8[us]"), [], np.arange(n) * (1 + 1j)) == (1000 * n * (n - 1) // 2, 0, (1 + 1j) * (n * (n - 1) // 2))
    for n in 1 << 28, 1 << 40:
        check(c.rows, np.lib.stride_tricks.as_strided(np.zeros(1, "m8[s]"), (n, 0)), ValueError, "rows(x=...): the value has more than 134217728 elements")
        check(c.table, {"a": np.lib.stride_tricks.as_strided(np.zeros(1), (n, 0))}, ValueError, 'table(x["a"]=...): the value has more than ')
        for f, x in (c.durations, np.timedelta64(1, "s")), (c.complexes, 1j), (c.floats, np.float16(1)), (c.floats, np.array(1, ">f8")):
            check(f, np.broadcast_to(x, (n,)), ValueError, "the value has more than 134217728 elements")


def exact():
    """What another type would give no error for, but other values: masks, longer floats, and numbers that would be rounded twice."""

    class Lender:
        def __init__(self, x):
            self.x = x

        def __array__(self, *args, **options):
            return self.x

    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    text = "expected an array without a mask, got a Lender whose __array__ returns a MaskedArray: pass x.__array__().filled(value)"
    for f in c.floats, c.ints, c.complexes, c.known, c.texts, c.sum, c.durations:
        check(f, Lender(masked), TypeError, f"{f.__name__}(x=...): {text}")
        check(f, [masked[0], masked[1]], TypeError, f"{f.__name__}(x[1]=...): expected an array without a mask, got a MaskedConstant")
    check(c.grid, [Lender(masked)], TypeError, f"grid(x[0]=...): {text}")
    check(lambda x: c.echo("", x, 1, []), Lender(np.ma.array([1], "u1", mask=[1])), TypeError, f"echo(data=...): {text}")
    check(c.floats, Lender([1.0]), TypeError, "floats(x=...): expected a sequence of float64, got Lender")
    assert c.floats(Lender(np.arange(2.0))) == c.floats(Lender(np.arange(2.0, dtype=">f8"))) == [0, 1]

    # The rows of a matrix are matrices.
    assert c.grid(np.matrix([[1, 2j]])) == [[1, 2j]] and c.rows(np.array([[1, 2]], "m8[ns]").view(np.matrix)) == [[1, 2]]
    check(c.complexes, np.matrix([1j]), TypeError, "complexes(x=...): expected a column of 1 dimension, got an array with the shape (1, 1)")
    check(c.durations, np.ones((2, 2), "m8[s]"), TypeError, "durations(x=...): expected a column of 1 dimension, got an array with the shape (2, 2)")
    check(c.rows, [np.ones((2, 2), "m8[s]")], TypeError, "rows(x[0]=...): expected a column of 1 dimension")

    # Floats of more bits than Go has.
    wide = np.longdouble(1) / 3
    for f, x, place in (
        (c.floats, [0, wide], "floats(x[1]=...)"), (c.complexes, [np.clongdouble(wide)], "complexes(x[0]=...)"), (c.sum, [wide], "sum(x[0]=...)"), (c.floats, np.array([wide], object), "floats(x[0]=...)"),
        (c.table, {"a": [wide]}, 'table(x["a"][0]=...)'), (lambda x: c.singles([], x), wide, "singles(one=...)"), (lambda x: c.singles([], x), np.array(wide), "singles(one=...)"),
        (lambda x: c.echo("", b"", x, []), [wide], "echo(x[0]=...)"), (lambda x: c.Row([], [], [], [], x, True), wide, "Row(one=...)"), (lambda x: c.Row(x, [], [], [], 1, True), [wide], "Row(is_[0]=...)"),
        (lambda x: c.taker()([x], [], [], {}, True), wide, "argument 1[0]"),
    ):  # fmt: skip
        check(f, x, TypeError, f"{place}: expected a number of a type that Go has, got a ")
        check(f, x, TypeError, "(x), which rounds")
    check(c.complexes, np.array([np.clongdouble(wide)]), TypeError, "complexes(x=...): expected complex numbers of a type that Go has, got an array of complex256: call .astype('c16'), which rounds")
    check(c.complexes, [np.array(np.clongdouble(wide))], TypeError, "complexes(x[0]=...): expected complex numbers")

    # An int is rounded once, as NumPy does it.
    n, want = 2**60 + 2**36 + 1, 2**60 + 2**37
    for x in [n], (n,), np.array([n]), np.array([n], object), [np.int64(n)], memoryview(np.array([n])):
        assert c.singles(x, n) == c.singles(x, np.array(n)) == c.singles(x, np.int64(n)) == f"[{want}] {want}", x
        assert c.grid([x]) == [[want]], x
    assert c.grid(np.array([[n]])) == c.grid([[n]]) == [[want]]
    k = c.Kept([], [], [n])
    assert k.c == [complex(n)] and c.complexes([2**63 + 1]) == [2**63], k.c

    assert c.texts(np.char.array(["a ", "b"])) == list(np.char.array(["a ", "b"])) == ["a", "b"] and c.texts(np.array(["a "])) == ["a "]

    # Texts of NumPy that may be missing.
    for null in np.nan, None:
        x = np.array(["a", null], np.dtypes.StringDType(na_object=null))
        check(c.texts, x, TypeError, "texts(x[1]=...): expected a value, got a null: fill it or leave it out")
        assert c.texts(x[:1]) == ["a"]
    check(c.texts, np.array([b"a"]), TypeError, "texts(x=...): expected numbers, bools or texts of a type that Go has, got an array of |S1: call .astype('U') for texts, or .tolist() for bytes")
    check(c.floats, np.zeros(1, "i4,f4"), TypeError, "pass one field, such as x['f0']")


def formats():
    """Buffers give the values that a list of their elements would give."""
    import array

    raw = bytes(range(100, 116))
    assert c.ints(memoryview(b"\xff").cast("b")) == [-1] and c.ints(memoryview(b"\xff")) == [255]
    for kind in "bBhHiIlLqQnN?fd":
        x = memoryview(raw).cast(kind)
        if kind in "fd":
            assert c.floats(x) == c.floats(x[::-1])[::-1] == x.tolist() and c.complexes(x) == x.tolist(), kind
        else:
            assert c.ints(x) == x.tolist() == c.ints(x[::-1])[::-1] and c.floats(x) == list(map(float, x.tolist())), kind
            assert c.complexes(x) == [complex(n) for n in x.tolist()] and c.known(x) == " ".join(map(str, x.tolist())).replace("True", "1"), kind
    for kind in (ctypes.c_int16, ctypes.c_uint64, ctypes.c_int32.__ctype_be__, ctypes.c_uint16.__ctype_be__, ctypes.c_byte):
        x = (kind * 3)(1, 2, 3)
        assert c.ints(x) == c.ints(memoryview(x)) == [1, 2, 3] == c.floats(x), kind
    assert c.table({"a": (ctypes.c_double.__ctype_be__ * 1)(1.5)}) == {"a": [1.5]} == c.table({"a": memoryview(np.array([1.5], ">f4"))})
    assert c.floats(memoryview(np.array([1.5], "e"))) == [1.5] and c.grid(memoryview(np.array([[1j]], "F"))) == [[1j]] and c.grid((ctypes.c_int16 * 2 * 1)((3, 4))) == [[3, 4]]
    assert c.texts(array.array("u", "ab")) == ["a", "b"]
    for kind in ctypes.c_ubyte, ctypes.c_char, ctypes.c_uint8.__ctype_be__:
        assert c.echo("", memoryview((kind * 2)(*(b"ab" if kind is not ctypes.c_char else (b"a", b"b")))), 1, [])[1] == b"ab", kind
    for x in memoryview(b"ab").cast("c"), memoryview(np.zeros(1, "i4,f4")), (ctypes.c_longdouble * 1)(1), (ctypes.c_wchar_p * 1)("a"), memoryview(np.array(5)):
        check(c.ints, x, TypeError, "ints(x")


def fields():
    """Fields that are set, and functions that Go returns, take what exported functions take."""
    r = c.Row([], [], [], [], 0, False)
    setattr(r, "is", np.array([1.5], ">f4"))
    r.known, r.texts, r.grid, r.one, r.ok = np.array([1, None], object), np.array(["a"]), [np.array([1, 2]), range(2)], np.array(2.5), np.True_
    assert r.show() == "[1.5] 1 <nil> [a] [[1 2] [0 1]] 2.5 true", r.show()
    setattr(r, "is", range(2))
    assert list(getattr(r, "is")) == [0, 1] and r.one == 2.5 and r.ok is True
    e = failure(setattr, r, "grid", [np.ones(2, "m8[s]")])
    assert type(e) is TypeError and "Row.grid[0]: expected numbers, bools or texts" in str(e), e
    e = failure(setattr, r, "ok", 2**70)
    assert type(e) is TypeError and str(e) == "Row.ok: expected a bool, got an int beyond int64: pass bool(x)", e
    assert c.taker()(np.array([1.5]), np.array([1, None], object), np.array(["a"]), {"a": np.arange(2)}, np.array(True)) == "[1.5] 1 <nil> [a] map[a:[0 1]] true"
    assert c.taker()(range(2), range(1), ("a",), {"a": range(1)}, np.False_) == "[0 1] 0 [a] map[a:[0]] false" and c.waiter()(np.array([5], "m8[ns]")) == "[5ns]"
    assert c.taker()(*[[1], [1], ["a"], {"a": [1]}, True]) == "[1] 1 [a] map[a:[1]] true"


def texts():
    """Texts and bytes that Go returns are str and bytes of Python, whatever the arguments were."""

    def parts(x):
        yield x
        for part in (*x, *x.values()) if isinstance(x, dict) else x if isinstance(x, (list, tuple, set)) else ():
            yield from parts(part)

    class Text(str):
        pass

    for text in "short", "a text that is not short":
        for x in text, np.str_(text), Text(text):
            for d in [], np.array([1], "m8[s]"), range(0):
                for data in text.encode(), bytearray(text.encode()):
                    assert {type(part) for part in parts(c.echo(x, data, x, d))} == {str, bytes, list, dict, tuple}, (x, d)
        seen = []

        def f(text, all):
            seen.extend([text, *all])
            return Text(text)

        assert type(c.each([], f)) is str is type(c.each(np.array([1], "m8[s]"), f)) and set(map(type, seen)) == {str}
        assert type(c.taker()(np.ones(1), [], [text], {}, True)) is str


def deep():
    """Values of any type as deep as a list may be, and sets that Go has not."""

    def nested(n, x, wrap):
        for _ in range(n):
            x = wrap(x)
        return x

    for wrap in (lambda x: [x]), (lambda x: (x,)), lambda x: {"a": x}:
        for x in timedelta(1), np.True_, np.arange(2), 1:
            result = c.echo("", b"", nested(998, x, wrap), [])[3]
            for _ in range(998):
                (result,) = result.values() if isinstance(result, dict) else result
            assert type(result) is type(x) or type(x) in (np.bool_, np.ndarray), result
            check(lambda x: c.echo("", b"", x, []), nested(1200, x, wrap), ValueError, "echo(x=...): the value contains itself, or is nested deeper than 1000 levels")
    for x in {(1, 2)}, {b"a"}, {frozenset([1])}:
        check(lambda x: c.echo("", b"", x, []), x, TypeError, "echo(x=...): expected a set of values that Go compares by ==, such as texts or numbers, got one with a ")
    check(lambda x: c.echo("", b"", x, []), {b"a": 1}, TypeError, "echo(x=...): a key: expected a value that Go compares by ==, such as a text or a number, got bytes")
    for x in {(1, (2, "a")): 3}, {"a": {(1,): [timedelta(1)]}}:
        assert c.echo("", b"", x, [])[3] == x


class Buffer(ctypes.Structure):
    _fields_ = [
        ("at", ctypes.c_void_p), ("owner", ctypes.py_object), ("bytes", ctypes.c_ssize_t), ("item", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("dimensions", ctypes.c_int),
        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("inner", ctypes.c_void_p), ("more", ctypes.c_void_p),
    ]  # fmt: skip


def liars():
    """Buffers that say other sizes than they have: an error, and never another's memory."""
    room = (ctypes.c_double * 4)(1, 2, 3, 4)
    says = {}

    @ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)
    def lend(o, to, flags):
        b = to.contents
        for name, value in {"at": ctypes.addressof(room), "item": 8, "readonly": 1, "dimensions": 1, "format": b"d", "bytes": 32, "inner": None, "more": None, **says}.items():
            if name in ("shape", "strides"):
                value = value and ctypes.addressof(value)
            setattr(b, name, value)
        b.owner = o
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(o))
        return 0

    class Slot(ctypes.Structure):
        _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]

    class Spec(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint), ("slots", ctypes.POINTER(Slot))]

    slots = (Slot * 2)(Slot(1, ctypes.cast(lend, ctypes.c_void_p)), Slot(0, None))
    ctypes.pythonapi.PyType_FromSpec.restype = ctypes.py_object
    liar = ctypes.pythonapi.PyType_FromSpec(ctypes.byref(Spec(b"liars.Liar", object.__basicsize__, 0, 1 << 18, slots)))()

    def numbers(*all):
        return (ctypes.c_ssize_t * len(all))(*all)

    def given(**words):
        says.clear()
        says.update({"shape": numbers(4), "strides": numbers(8)}, **words)
        return c.floats(liar)

    assert given() == [1, 2, 3, 4]
    for words in (
        {"shape": numbers(-1)}, {"shape": numbers(-1), "bytes": -8}, {"shape": numbers(-(2**62))}, {"shape": numbers(5)}, {"shape": numbers(3)}, {"shape": numbers(2**60), "bytes": 32},
        {"shape": numbers(2**61), "bytes": 0}, {"shape": None}, {"strides": None}, {"dimensions": 65}, {"dimensions": -1}, {"item": 4, "shape": numbers(8)}, {"item": 0, "bytes": 0}, {"item": -8, "bytes": -32},
        {"format": b"q", "item": 4, "bytes": 16}, {"format": b"?", "item": 8}, {"format": b"i"}, {"format": b"f"}, {"format": b""}, {"format": b"dd"}, {"format": b"4d"}, {"at": None},
    ):  # fmt: skip
        try:
            assert given(**words) == [1, 2, 3, 4], words  # Python works a missing shape out
        except (TypeError, ValueError, BufferError):
            pass
    grows = bytearray(b"\1\2")
    assert c.ints(grows) == [1, 2] and c.ints(memoryview(grows)[::-1]) == [2, 1]
    grows.extend(b"\3")  # nobody kept its buffer
    assert c.ints(grows) == [1, 2, 3]


def frames():
    from zoneinfo import ZoneInfo

    import dateutil.tz
    import ml_dtypes
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute

    m8 = np.array([0, 1, -5], "m8[ns]")
    rng = random.Random(7)

    # Durations: each unit, exactly.
    for unit in ("s", "ms", "us", "ns"):
        times = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
        want = [0, times, -5 * times]
        x = m8.view("i8").view(f"m8[{unit}]")
        arrow = pa.array(x.view("i8"), pa.duration(unit))
        series = pd.Series(x)
        all = [series, pd.Index(series), series.array, series.astype("category"), series.astype(object), arrow, pa.chunked_array([arrow[:1], arrow[:0], arrow[1:]]), arrow.dictionary_encode(),
               pd.Series(pd.arrays.ArrowExtensionArray(arrow)), list(series)]  # fmt: skip
        if unit != "s":
            all.append(pl.Series(x.view("i8")).cast(pl.Duration(unit)))
        for column in all:
            assert c.durations(column) == want and c.lasted(column) != "", (unit, type(column))
        nulls = [pa.array([1, None], pa.duration(unit)), pd.Series(np.array([1, "NaT"], f"m8[{unit}]")), pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1, None], pa.duration(unit))))]
        if unit != "s":
            nulls.append(pl.Series([1, None], dtype=pl.Int64).cast(pl.Duration(unit)))
        for column in nulls:
            check(c.durations, column, TypeError, "durations(x[1]=...): expected a ")
            assert c.lasted(column) == f"1{unit.replace('us', 'µs')} <nil>", (unit, type(column))
        if unit != "ns":
            big = [pd.Series(np.array([0, 2**62], f"m8[{unit}]")), pa.array([0, 2**62], pa.duration(unit))]
            for column in big:
                check(c.durations, column, OverflowError, "durations(x[1]=...): ")
            check(c.duration, big[0][1], OverflowError, "duration(x=...): ")
    # A null below the outer level, which __array__ hides.
    lists = [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2), pa.list_view(pa.int64())]
    tensor = pa.fixed_shape_tensor(pa.int64(), [2])
    for first in 3, None:
        rows = [[1, 2], [first, 4]]
        nested = [pl.Series(rows), pl.Series(rows, dtype=pl.Array(pl.Int64, 2)), pd.Series(rows, dtype=pd.ArrowDtype(lists[0]))]
        for kind in lists:
            x = pa.array([[0, 0], *rows], kind)
            nested += [x[1:], pa.chunked_array([x[1:2], x[2:]])]
        nested.append(pa.ExtensionArray.from_storage(tensor, pa.array(rows, lists[2])))
        data = {"a": [1, first], "b": [2, 4]}
        frames = [pl.DataFrame(data), pa.table(data), pa.record_batch(data), pd.DataFrame({"a": pd.Categorical(data["a"]), "b": data["b"]})]
        for x in nested + frames:
            if first:
                assert c.grid(x) == rows, type(x)
            else:
                check(c.grid, x, TypeError, "grid(x[1][0]=...): expected a value, got a null: call .")
    assert c.rows(pa.array([[1], []], pa.list_(pa.duration("ns")))) == [[1], []] == c.rows(pl.Series([[1], []], dtype=pl.List(pl.Duration("ns"))))
    runs = [pa.compute.run_end_encode(pa.array([1, 1, x], pa.float64())) for x in (2, None)]
    assert c.floats(runs[0]) == [1, 1, 2]
    for f in c.floats, c.complexes:
        check(f, runs[1], TypeError, "[2]=...): expected a value, got a null")
    assert c.floats(pd.Series([1, np.nan]).array)[0] == 1
    # Times, durations and decimals do not stand for numbers.
    for x in np.timedelta64(5, "ns"), np.datetime64("2020", "ns"), Decimal("0.1"):
        check(c.complexes, [x], TypeError, "complexes(x[0]=...): expected a complex number, got ")
    check(c.duration, np.array(5, "M8[ns]"), TypeError, "duration(x=...): ")
    assert c.duration(pd.Timedelta(7)) == 7
    check(c.duration, pd.NaT, TypeError, "expected a timedelta, got NaTType")

    # Times: the offset of each one is that of its zone.
    zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Monrovia", "+05:30", "-03:30"]
    seconds = [rng.randrange(-3 * 10**9, 4 * 10**9) for _ in range(300)]

    def text(second, ns, zone):
        t = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=second)
        east = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[4:])) if ":" in zone else t.astimezone(ZoneInfo(zone)).utcoffset()
        minutes = int(east.total_seconds() / 60)
        local = (t + east).replace(tzinfo=None).isoformat()
        return local + (f".{ns:09}".rstrip("0") if ns else "") + ("Z" if not east else f"{'-' if east.days < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}")

    for zone in zones:
        for unit, per in {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}.items():
            ints = [s * per + (s % per) for s in seconds]
            want = [text(n // per, n % per * (10**9 // per), zone) for n in ints]
            arrow = pa.array(ints, pa.timestamp(unit, zone))
            all = [arrow, pa.chunked_array([arrow[:7], arrow[7:]]), arrow.dictionary_encode(), pd.Series(pd.arrays.ArrowExtensionArray(arrow))]
            series = pd.Series(np.array(ints, f"M8[{unit}]")).dt.tz_localize("UTC").dt.tz_convert(zone)
            all += [series, pd.DatetimeIndex(series), series.array]
            if unit == "ns":
                all += [series.astype(object), series.tolist(), series.astype("category")]
            if unit != "s" and ":" not in zone:
                all.append(pl.Series(ints, dtype=pl.Int64).cast(pl.Datetime(unit, zone)))
            for column in all:
                got = c.times(column)
                assert got == want, (zone, unit, type(column), [p for p in zip(got, want) if p[0] != p[1]][:3])
            few = c.times(arrow[:3])  # too few for a table of days
            assert few == want[:3], (few, want[:3])
    # Where each of many times of some years is in its own day, days are looked up in a table.
    begin = 1_600_000_000
    hours = [begin + 1800 * i for i in range(40_000)]
    assert c.times(pa.array(hours, pa.timestamp("s", "Europe/Berlin"))) == [text(s, 0, "Europe/Berlin") for s in hours]
    uneven = pd.Series(np.array(hours, "M8[s]")).dt.tz_localize("UTC").dt.tz_convert(dateutil.tz.gettz("Europe/Berlin"))  # without a hash
    assert c.times(uneven) == c.times(uneven[:9]) + c.times(uneven[9:].tolist()) == [text(s, 0, "Europe/Berlin") for s in hours]
    for column in (pa.array([0, None], pa.timestamp("us", "UTC")), pl.Series([0, None], dtype=pl.Int64).cast(pl.Datetime("ns", "UTC")), pd.Series(pd.to_datetime(["1970-01-01", None])).dt.tz_localize("UTC")):
        check(c.times, column, TypeError, "times(x[1]=...): expected a value, got a null: call .")
        assert c.seen(column) == "1970-01-01 00:00:00 +0000 UTC <nil>", type(column)
    for column in (pa.array([0], pa.timestamp("s")), pl.Series([0], dtype=pl.Int64).cast(pl.Datetime("us")), pd.Series(pd.to_datetime(["2020-01-01"])), pa.array([1], pa.date32())):
        check(c.times, column, ValueError, "times(x[0]=...): the times have no time zone: give them one, such as by pandas.to_datetime(x, utc=True)")
    assert c.times(pd.to_datetime(pd.Series(pd.to_datetime(["2020-01-01"])), utc=True)) == ["2020-01-01T00:00:00Z"]
    check(c.times, pa.array([0], pa.timestamp("s", "Nowhere/Land")), ValueError, "times(x=...): the zone Nowhere/Land is not known here")
    check(c.times, pa.array([2**41], pa.timestamp("s", "Europe/Berlin")), OverflowError, "outside the years 1 to 9999")

    # Nulls are never numbers.
    for f, values, kind in (c.ints, [2**60 + 1, None], "Int64"), (c.floats, [1.5, None], "Float64"), (c.floats, [1, None], "Int64"), (c.bools, [True, None], "boolean"), (c.texts, ["a", None], "string"), (c.complexes, [1, None], "Int64"):
        arrow = pa.array(values)
        for column in (arrow, pa.chunked_array([arrow[:1], arrow[1:]]), arrow.dictionary_encode() if kind != "boolean" else arrow, pl.Series(values), pd.Series(values, dtype=kind), pd.Index(values, dtype=kind), pd.array(values, dtype=kind), pd.Series(pd.arrays.ArrowExtensionArray(arrow))):
            check(f, column, TypeError, f"{f.__name__}(x[1]=...): expected a value, got a null: call .")
            assert f(column[:1]) == values[:1], (f.__name__, type(column), getattr(column, "dtype", None))
            if f is c.ints:
                assert c.known(column) == f"{2**60 + 1} <nil>", type(column)
    arrow = pa.array([1.5, None])
    for column in arrow, pa.chunked_array([arrow]), pl.Series([1.5, None]), pd.Series([1.5, None], dtype="Float64"), pd.Series(pd.arrays.ArrowExtensionArray(arrow)):
        assert c.sum(column[:1]) == 1.5, type(column)
        check(c.sum, column, TypeError, "sum(x[1]=...): expected a value, got a null")
    for column in pd.Series([1.5, None]), pl.Series([1.5, float("nan")]), pa.array([1.5, float("nan")]):  # NaN is a number
        assert repr(c.floats(column)) == "[1.5, nan]", column
    check(c.table, {"a": pl.Series([1.0, None])}, TypeError, 'table(x["a"][1]=...): expected a value, got a null')
    check(c.ints, pd.Series([3, None], dtype="category"), TypeError, "ints(x[1]=...): expected a value, got a null: call .fillna(value) or .dropna()")

    # A buffer of pyarrow says that its bytes are signed.
    raw = pa.py_buffer(bytes([1, 200]))
    assert c.ints(raw) == c.floats(raw) == c.complexes(raw) == [1, 200] and c.known(raw) == "1 200" and c.sum(raw) == 201 and c.echo("", raw, 1, [])[1] == raw.to_pybytes()
    assert c.grid([raw]) == [[1, 200]] and c.ints(np.array([-1], "i1")) == [-1]
    # What is sparse may have objects, among which are nulls.
    sparse = pd.arrays.SparseArray([1.5, None], dtype=pd.SparseDtype(object))
    check(c.floats, sparse, TypeError, "floats(x[1]=...): expected a value, got a null: call .fillna(value)")
    assert c.floats(sparse[:1]) == [1.5]
    row = c.Row(pd.Series([1.5]), pl.Series([1, None]), pa.array(["a"]), pd.DataFrame({"a": [1]}), 1, True)
    assert row.show() == "[1.5] 1 <nil> [a] [[1]] 1 true", row.show()
    row.texts, row.known, row.grid = pl.Series(["b"]), pa.array([None, 2]), pa.array([[3], [4]])
    assert row.show() == "[1.5] <nil> 2 [b] [[3] [4]] 1 true", row.show()
    assert c.taker()(pd.Series([1.5]), pl.Series([1, None]), pa.array(["a"]), {"a": pa.array([1.5])}, True) == "[1.5] 1 <nil> [a] map[a:[1.5]] true"
    e = failure(setattr, row, "texts", pd.Series(["b", None]))
    assert type(e) is TypeError and "Row.texts[1]: expected a value, got a null" in str(e), e

    # Other types.
    assert c.ints(pd.Series([3, 3]).astype("category")) == c.ints(pa.array([3, 3]).dictionary_encode()) == c.ints(pd.Series(pd.arrays.SparseArray([3, 3]))) == [3, 3]
    assert c.floats(pa.array(np.array([1.5], "f2"))) == c.floats(pd.Series(pd.arrays.SparseArray([1.5]))) == [1.5]
    assert c.texts(pd.Series(["a"]).astype("category")) == c.texts(pl.Series(["a"], dtype=pl.Categorical)) == c.texts(pa.array(["a"]).dictionary_encode()) == ["a"]
    for column in pa.array([Decimal("1.5")]), pl.Series([Decimal("1.5")]):
        check(c.floats, column, TypeError, "floats(x[0]=...): expected a float, got Decimal")
    for kind in ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn:
        check(c.floats, np.ones(1, kind), TypeError, f"got an array of {np.dtype(kind)}: call .astype(...)")
    check(c.times, pd.period_range("2020", periods=2, freq="M"), TypeError, "times(x[0]=...): expected a datetime, got Period")
    check(c.table, pl.DataFrame({"a": [1.0]}), TypeError, "pass a dict")
    k = c.Kept(pl.Series([5]).cast(pl.Duration("ns")), pa.array([0], pa.timestamp("s", "+01:00")), pd.Series([1.5]))
    assert k.show() == "[5ns] [1970-01-01 01:00:00 +0100 +0100] [(1.5+0i)]", k.show()


for name in sys.argv[1].split(","):
    globals()[name]()
