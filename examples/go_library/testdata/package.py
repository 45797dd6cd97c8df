"""Uses the package golib, which tvmffi-bind export --python made, as Python users do. Usage: package.py TEST,... FOLDER"""

import collections
import copy
import datetime
import functools
import gc
import importlib
import inspect
import os
import pickle
import pydoc
import shutil
import sys
import tempfile
import traceback
import types
import typing

tests, folder = sys.argv[1].split(","), sys.argv[2]


def failure(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except BaseException as e:  # KeyboardInterrupt too
        return e
    raise AssertionError("no error")


def recent():
    """Reports whether tvm_ffi is 0.1.13 or later."""
    import tvm_ffi

    return tuple(map(int, tvm_ffi.__version__.split(".")[:3])) >= (0, 1, 13)


def functions(g):
    assert g.add(40, 2) == g.add(a=40, b=2) == g.add(40, b=2) == 42
    assert g.greet(name="x") == "hello, x"
    assert g.join(1, "x", 2.5, True) == "1 x 2.5 true" and g.join() == ""
    mixed = {"k": [1, {"long enough": ["x"]}, None, ()], "b": b"yz"}
    want = {**mixed, "k": [*mixed["k"][:3], []]}
    got = g.echo(mixed)
    assert got == want and type(got) is dict and type(got["k"]) is list and type(got["k"][1]) is dict, got
    deep = g.echo({"deep": functools.reduce(lambda x, _: [x], range(900), "a long text")})["deep"]  # not by C
    for _ in range(900):
        assert type(deep) is list
        (deep,) = deep
    assert deep == "a long text" and type(deep) is type(g.echo("a long text")) is str
    assert g.reversed(b"abc", None) == b"cba" and g.reversed(bytearray(b"abc"), times=2) == b"abc"
    assert g.fail.__module__ == "golib" and g.fail.__qualname__ == g.fail.__name__ == "fail"
    assert sorted(g.__all__) == g.__all__ and all(hasattr(g, name) for name in g.__all__)
    assert dir(g) == g.__all__
    if sys.version_info >= (3, 10):  # without | for types before
        for name in g.__all__:
            typing.get_type_hints(getattr(g, name))
        assert typing.get_type_hints(g.add) == {"a": int, "b": int, "return": int}
    signature = inspect.signature(g.small)
    assert str(signature) == "(a: 'int', b: 'int', up: 'bool') -> 'int'", signature
    assert str(inspect.signature(g.join)) == "(*args: 'Any') -> 'str'"
    assert g.__doc__.startswith("Package golib is"), g.__doc__


def docs(g):
    text = pydoc.plain(pydoc.render_doc(g.greet))
    assert "greet(name: str) -> str" in text.replace("'", "") and "greet says hello to a name, which must not be empty." in text, text
    assert "Parameters" not in text and "Raises" not in text, text  # the signature says it
    text = pydoc.plain(pydoc.render_doc(g.Point))
    assert "mirrored makes another point" in text and "x\n |      to the right" in text, text
    assert "name: str = p" in text.replace("'", ""), text


def results(g):
    """Results are of Python's own types, but for arrays in values of any type."""
    import numpy

    assert g.word_count(["a b", "b"]) == {"a": 1, "b": 2} and type(g.word_count(())) is dict
    assert g.swap((1, "one")) == ("one", 1) and type(g.swap((1, "one"))) is tuple
    assert g.sorted({"a": [[3, 1.5, True]]}) == {"a": [[1.0, 1.5, 3.0]]}
    assert g.adder(5)(1) == 6
    numbers = __import__("tvm_ffi").List([1])
    assert g.append(numbers, 2).same_as(numbers) and list(numbers) == [1, 2]
    assert g.within(50, g.Limits(low=0.0, high=37.5)) == g.within(50, {"low": 0, "high": 37.5, "note": None}) == 37.5
    assert g.Limits.__annotations__.keys() == {"low", "high", "note"}
    x = numpy.ones(2)
    shared = g.echo({"k": [x]})["k"][0]
    x[0] = 7
    assert numpy.from_dlpack(shared).tolist() == [7, 1] and g.join(x, [x]) == "float64[2]@cpu:0 [float64[2]@cpu:0]"


def forms(g):
    """Several results, defaults, variadic parameters, lent memory."""
    r = g.div_mod(17, 5)
    assert r == (3, 2) and (r.quotient, r.rest) == (3, 2) and type(r) is g.DivModResult and repr(r) == "DivModResult(quotient=3, rest=2)", r
    quotient, rest = g.div_mod(b=5, a=17)
    assert (quotient, rest) == (3, 2) and pickle.loads(pickle.dumps(r)) == r
    e = failure(g.div_mod, 1, 0)
    assert type(e) is ValueError and str(e) == "b is zero", e
    assert g.total(2) == 0 and g.total(2, 1, 2, 3) == g.total(2.0, *[1, 2, 3]) == 12
    assert str(inspect.signature(g.total)) == "(scale: 'float', *numbers: 'int') -> 'float'"
    assert g.repeat("a") == "a, a" and g.repeat("a", limit=2) == "a," and g.repeat("a", 3, sep="") == "aaa"
    assert str(inspect.signature(g.repeat)) == "(text: 'str', times: 'int' = 2, sep: 'str' = ', ', limit: 'int | None' = None) -> 'str'"
    p = g.Point(1, 2)
    corners = p.corners()
    assert corners == (2, 3) and corners.x == 2 and type(corners) is g.PointCornersResult and p.corners(1, 2, 3) == (8, 9)
    import numpy as np

    x = np.ones(3, "float32")
    assert g.scale(x) == 6 and list(x) == [2, 2, 2] and g.scale(x, by=0.5) == 3
    e = failure(g.scale, np.ones(3))
    assert type(e) is TypeError and "scale(x=...)" in str(e), e
    x.flags.writeable = False
    assert g.scale(x) == 6 and list(x) == [1, 1, 1]  # a copy was scaled
    ramp, (squares, count) = g.ramp(3), g.squares(3)
    assert type(ramp) is type(squares) is np.ndarray and ramp.dtype == float and squares.dtype == np.int32 and g.ramp(0).shape == (0,)
    assert ramp.tolist() == [0, 1, 2] and squares.tolist() == [0, 1, 4] and count == 3 and ramp.flags.writeable
    assert g.squares(4).count == 4 and list(np.from_dlpack(g.squares(4).squares)) == [0, 1, 4, 9]


def plain(g):
    """Calls with values of Python's own types need no code of Python. What they return and raise is what that code would."""
    import collections
    import enum
    import functools
    import itertools
    import resource
    import threading
    import types
    import weakref

    def of_python(f):
        return next(x for x in gc.get_referents(f) if type(x) is types.FunctionType)

    class Whole(enum.IntEnum):
        TWO = 2

    class Text(str):
        pass

    class Half(float):
        pass

    def outcome(f, *args, **kwargs):
        try:
            result = f(*args, **kwargs)
            if isinstance(result, (str, bytes)):
                return result  # tvm_ffi has classes of its own for long ones
            return type(result), repr(result)
        except Exception as e:
            return type(e), str(e), type(e.__cause__), type(e.__context__)

    values = [
        0, -1, 2**63 - 1, -(2**63), 2**63, 2**200, True, 1.5, float("nan"), "", "a", "seven77", "eight888", "a\0b", "\u00e9" * 50, "\ud800", b"", b"a\0b",
        b"long bytes", bytearray(b"x"), None, Whole.TWO, Text("text"), Half(0.5), object(), [1], (1, "x"), {"k": 1}, [[]], print, int, ...,
        ["a b", "b", "long enough \u00e9"], [2**70], ["\ud800"], [object()], [None, b"x", True], {"a": [[3, 1.5, True]]}, {"a": [(1, 2, 3)] * 20}, {1: {"x": (2,)}}, [], (), {},
        {"low": 0, "high": 37.5, "note": None}, {"low": 0, "high": 37.5, "note": "n", "more": 1}, collections.OrderedDict(a=1), [Text("text")], (2**63 - 1, "x" * 99),
        [[[[[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]]]], ((1, "one"),), {"a": 1, 2: None},
    ]  # fmt: skip
    functions = {"add": 2, "greet": 1, "reversed": 2, "join": 2, "echo": 1, "fail": 2, "small": 3, "power": 2, "total": 2, "repeat": 3, "env": 1, "find": 1,
                 "word_count": 1, "sorted": 1, "swap": 1, "within": 2, "first": 2, "div_mod": 2, "volume": 1}  # fmt: skip
    for name, n in functions.items():
        f = getattr(g, name)
        assert type(f) is not types.FunctionType, name
        before = [sys.getrefcount(x) for x in values]
        for x in values:
            for args in [(x,) * n, (1,) * (n - 1) + (x,), ("x",) * (n - 1) + (x,), (x,) * (n + 1), (x,) * (n - 1)]:
                if (name, args[:1]) not in (("fail", ("exit",)), ("repeat", ("",))) and not (name in ("power", "repeat", "reversed") and args and args[-1] in values[2:6]):
                    got, want = outcome(f, *args), outcome(of_python(f), *args)
                    assert got == want or "0x" in str(want), (name, args, got, want)
        got = x = args = None
        # None, small numbers and such have references everywhere.
        after = [sys.getrefcount(x) for x in values]
        assert all(n == m for x, n, m in zip(values, before, after) if n < 9 and type(x) is not int), (name, before, after)
    point = g.Point(3, 4)
    for f in g.Point.norm, g.Point.move, g.Point.corners, g.Index.find, g.distance:
        for x in values + [point, g.Circle(1, 2), g.Index()]:
            for args in [(x,), (point, x), (x, point), (x, 1, 2)]:
                new = [[copy.copy(a) if isinstance(a, g.Point) else a for a in args] for _ in range(2)]
                assert outcome(f, *new[0]) == outcome(of_python(f), *new[1]) and repr(new[0]) == repr(new[1]), (f, args)
    assert type(g.Point.norm) is type(g.add) and point.norm() == point.norm.__self__.norm() == 5 and g.distance(point, g.Circle(3, 1)) == 4
    assert g.greet(**{"".join(["na", "me"]): "x"}) == "hello, x" and g.Point(3, 4).norm(*[]) == 5
    words = {g.greet: ("name",), g.add: ("a", "b"), g.repeat: ("text", "times", "sep", "limit"), g.total: ("scale", "numbers"), g.distance: ("a", "b"), g.find: ()}
    for f, names in words.items():
        for given in itertools.product((point, "x", 1, None), repeat=2):
            for chosen in itertools.permutations((*names, "y", "z"), 2):
                for args in (), ("x",), (1, 2), (point,):
                    kwargs = dict(zip(chosen, given))
                    assert outcome(f, *args, **kwargs) == outcome(of_python(f), *args, **kwargs), (f, args, kwargs)
    assert g.join(*range(40)) == " ".join(map(str, range(40))) and g.repeat("ab", 2) == "ab, ab"
    assert all(hash(r) == hash(tuple(r)) for r in (g.div_mod(17, 5), point.corners()))
    assert all(type(g.greet("x" * n)) is str for n in (1, 100))

    assert [type(x) for x in g.word_count(["long enough", "b"])] == [str] * 3 and g.sorted({}) == {} and g.sorted({"long key": [], "k": [[2, 1, 3]]}) == {"long key": [], "k": [[1, 2, 3]]}
    kept = [g.echo([i, "x" * i, {"k": [i]}]) for i in range(100)]
    gc.collect()
    assert all(x[0] == i and x[1] == "x" * i and x[2]["k"][0] == i for i, x in enumerate(kept))
    most, text = 0, "x" * 1000
    for i in range(4000):
        g.word_count([text] * 100), g.sorted({text: [[3, 2, 1]] * 20}), outcome(g.word_count, [text] * 100 + [object()])
        if i == 400:
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1.5 * most

    # A function is what it was.
    f = g.greet
    assert inspect.isfunction(f) and callable(f) and repr(f) == repr(of_python(f)) and f.__doc__.startswith("greet says") and f.__defaults__ is None
    assert pickle.loads(pickle.dumps(f)) is f and copy.copy(f) is f and copy.deepcopy([f]) == [f] and hash(f) == hash(f)
    assert weakref.ref(f)() is f and functools.partial(g.add, 40)(2) == 42 and functools.partial(g.add, b=2)(40) == 42
    assert list(map(g.add, (1, 2), (3, 4))) == [4, 6] and functools.wraps(f)(lambda: 0).__name__ == "greet"
    f.note = 1
    assert f.note == of_python(f).note == 1
    del f.note

    class Greeter(str):
        greet = f

    assert "has 0 parameters" not in Greeter.greet("x") and outcome(Greeter("me").greet) == outcome(of_python(f), Greeter("me"))

    # Errors have the frames of Go, the handled exception as context, and no memory.
    try:
        try:
            raise KeyError(1)
        except KeyError as e:
            context = e
            g.greet("")
    except ValueError as e:
        assert e.__context__ is context and "golib.go" in "".join(traceback.format_exception(type(e), e, e.__traceback__)), e
    context = e = None
    for _ in range(100):
        outcome(g.greet, "")
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        outcome(g.greet, "")
    gc.collect()
    assert abs(len(gc.get_objects()) - before) < 100

    # An error has the frames of Go, which keep nothing alive, and is the same error of Go again.
    def of_go(e):
        return [(f.filename.rpartition("/")[2], f.lineno, f.name) for f in traceback.extract_tb(e.__traceback__) if f.filename.endswith(".go")]

    for args in ("plain", "x"), ("KeyError", "x"), ("golib.Nothing", "\u00e9"), ("panic", "x"), ("ValueError", "a\0b"):
        es = [failure(g.fail, *args), failure(g.fail, *args), failure(of_python(g.fail), *args)]
        assert len({(type(e), e.args, str(of_go(e)), e.__tvm_ffi_error__.kind, e.__tvm_ffi_error__.message, e.__tvm_ffi_error__.backtrace) for e in es}) == 1 and of_go(es[0]), es
        assert not es[0].__tvm_ffi_error__.same_as(es[1].__tvm_ffi_error__) and es[0].__traceback__.tb_next is not es[1].__traceback__.tb_next
    inner = []
    assert g.apply(lambda x: inner.append(failure(g.fail, "plain", "x")) or 1, 1) == 1
    names = [name.rpartition(".")[2] for *_, name in of_go(inner[0])]
    assert "Apply" in names and names[-1] == "Fail", names
    last = es[0].__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    assert last.tb_frame.f_back is None and not last.tb_frame.f_locals
    frames = traceback.walk_tb(es[0].__traceback__)
    traceback.clear_frames(es[0].__traceback__)
    assert len(list(frames)) > 1 and of_go(failure(g.fail, "ValueError", "x"))

    # C uses the parts of a traceback again when nobody else has them, and only as it made them.
    want = of_go(failure(g.fail, "plain", "x"))
    for outer in False, True:
        last = failure(g.fail, "plain", "x").__traceback__
        other = failure(int, "x").__traceback__
        while last.tb_next is not None and not (outer and last.tb_frame.f_code.co_filename.endswith(".go")):
            last = last.tb_next
        last.tb_next = None if outer else other
        last = other = None
        e = failure(g.fail, "plain", "x")
        assert of_go(e) == want and traceback.extract_tb(e.__traceback__)[-1].filename.endswith(".go"), e
        e = None

    # Code of Python that C calls for an error may fail, be interrupted, or raise another error.
    face = sys.modules[g.__name__ + "._face"]
    frames = face._frames

    def elsewhere():
        assert g.apply(lambda x: len(of_go(failure(g.fail, "plain", "x"))), 1) > 1

    def fails(_):
        raise ValueError

    def interrupts(_):
        raise KeyboardInterrupt

    def fails_again(text):
        face._frames = frames
        elsewhere()
        gc.collect()
        return frames(text)

    for f, kind in (fails, RuntimeError), (interrupts, KeyboardInterrupt), (fails_again, RuntimeError):
        elsewhere()
        face._frames = f
        es = [failure(g.fail, "plain", "x") for _ in range(3)]
        face._frames = frames
        assert [type(e) for e in es] == [kind] * 3 and (kind is KeyboardInterrupt or [of_go(e)[-1] for e in es] == want[-1:] * 3), [want, *map(of_go, es)]

    def again(x):
        raise es[0]

    es[0] = failure(g.fail, "plain", "x")
    assert failure(g.apply, again, 1) is es[0]
    inner = es = last = frames = other = None

    def work():
        for i in range(2000):
            if g.add(i, 1) != i + 1 or g.greet("x" * 20) != "hello, " + "x" * 20 or outcome(g.greet, "")[0] is not ValueError:
                wrong.append(i)

    wrong = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, wrong


def arrays(g):
    """Arrays, and lists where Go borrows the memory of arrays."""
    import array
    import asyncio

    import numpy as np

    # An array is a list of its numbers, whatever its form.
    rows = np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]])
    fixed = rows.copy()
    fixed.flags.writeable = False

    class Column:
        def __init__(self, kind="i8"):
            self.kind = kind

        def __array__(self):
            return np.arange(-1, 3, dtype=self.kind)

    for x in rows, rows[::-1, ::2], rows.T, np.asfortranarray(rows), fixed, rows.astype("f4"), np.zeros((2, 0)), np.zeros((0, 2)), memoryview(rows):
        assert g.spread(x, ()) == g.spread(np.asarray(x).tolist(), ()), x
    for kind in "bhilqBHILQfd?":
        assert g.spread([np.arange(2).astype(kind).tolist()], ()) == g.spread(np.arange(2).astype(kind)[None], ()), kind
    for x in Column(), np.arange(-1, 3, dtype="i1"), array.array("h", [-1, 0, 1, 2]), bytearray(b"\2"), np.array([2, 255], "u1").view(bool):
        assert g.spread([[1]], x) == (3, 3), x
    for shape in (1 << 60,), (2, 1 << 60), (2, 1 << 50):  # more numbers than memory, all of them the same
        assert "the value has more than 134217728 elements" in str(failure(g.spread, np.broadcast_to(np.int8(1), shape), ())), shape

    class Stopped:
        def __array__(self):
            raise KeyboardInterrupt

    assert type(failure(g.spread, [[1]], Stopped())) is KeyboardInterrupt

    class Nested(AttributeError):
        def __del__(self):
            g.spread([[1]], Column())

    class Meta(type):
        def __getattr__(cls, name):
            raise Nested

    class Reentrant(Column, metaclass=Meta):
        pass

    before = sys.getrefcount(np.ndarray)
    for _ in range(20):
        assert g.spread([[1]], np.ones(1, "i1")) == g.spread([[1]], [1]) and g.spread([[1]], Reentrant()) == (3, 3)
    assert sys.getrefcount(np.ndarray) > before - 10
    big = np.ones((1, 1 << 20))
    before = sys.getrefcount(big)
    for _ in range(20):
        assert g.spread(big, np.zeros(3, "i1")) == (1, 1)
    assert sys.getrefcount(big) == before
    assert g.spread(np.arange(3, dtype=">i8")[None], np.array([1, 2], object)) == g.spread(np.arange(3, dtype="f2")[None], [1, 2])
    table = types.MappingProxyType({"a": collections.deque([np.ones(3), range(3)]), "b": np.zeros((1, 3), "f4")})
    assert g.sorted(table) == g.sorted({"a": [[1.0, 1.0, 1.0], [0, 1, 2]], "b": [[0.0, 0.0, 0.0]]})
    assert g.word_count(collections.deque(["a b", "c"])) == g.word_count(np.array(["a b", "c"], object)) == g.word_count(np.array(["a b", "c"])) == {"a": 1, "b": 1, "c": 1}

    class Nulls:
        def __dlpack__(self, **_):
            raise BufferError("it has nulls")

        def __dlpack_device__(self):
            return (1, 0)

    for name, f in {"sum(t=...)": g.sum, "the result of the callback": lambda x: g.apply(lambda _: x, 1)}.items():
        e = failure(f, Nulls())
        assert type(e) is TypeError and str(e) == name + ": it has nulls", e

    # Texts and bytes are not lists, also those of other classes.
    for cls in str, bytes, type("Text", (str,), {}), type("Data", (bytes,), {}):
        for f in g.scale, g.word_count, lambda x: g.spread([[1]], x), lambda x: g.extend(0, lambda i: x):
            assert type(failure(f, cls())) is TypeError, (f, cls)

    # A mask would be lost.
    for masked in np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1.0, 2.0]), np.ma.array([[1, 2]], mask=True)[:, ::-1]:
        for name, f in {"spread(rows=...)": lambda x: g.spread([x], ()), "spread(shift=...)": lambda x: g.spread([[1]], x), "echo(x=...)": lambda x: g.echo({1: x}), "scale(x=...)": g.scale,
                        "sum(t=...)": g.sum, "gather(rows=...)": lambda x: g.gather(x, None), "the result of the callback": lambda x: g.extend(0, lambda i: x)}.items():  # fmt: skip
            e, place = failure(f, masked), name.replace("spread(rows=", "spread(rows[0]=").replace("echo(x=", "echo(x[1]=")
            assert type(e) is TypeError and str(e) == f"{place}: expected an array without a mask, got a MaskedArray: call .filled(value) or .compressed()", e
        assert g.spread([masked.filled(1).ravel(), masked.compressed()], [])

    # So it is where code of Python runs: with a context, in a list, and where a callback returns it.

    async def both(*args):
        return await g.gather_async(*args), g.gather(*args)

    others = rows.tolist(), rows[::-1, ::2].tolist(), [array.array("d", [1, 2])]
    for x in rows, rows[::-1, ::2], fixed, list(rows), (rows[0], [1.0, 2.0]), [Column("f8")], *others:
        want = g.gather([np.asarray(row).tolist() for row in x], lambda i: [])
        assert g.extend(0, lambda i: x) == want and g.extend(1, lambda i: np.zeros((0, 3))) == 0, x
        assert asyncio.run(both(x, lambda i: x)) == (want + len(x) * want,) * 2, x
        assert g.spread(x, []) == g.spread([np.asarray(row).tolist() for row in x], []), x
    many = np.ones((1, 1 << 10))
    before = sys.getrefcount(many)
    for _ in range(20):
        assert g.extend(0, lambda i: many) == 1 << 10
    assert sys.getrefcount(many) == before and isinstance(failure(g.extend, 0, lambda i: np.array(["x"])), Exception)

    class Interrupting:
        def __array__(self):
            raise KeyboardInterrupt

    assert type(failure(g.extend, 0, lambda i: Interrupting())) is type(failure(g.gather, Interrupting(), lambda i: [])) is KeyboardInterrupt

    # What is lent is copied where Go cannot use its memory.
    for x in np.arange(4, dtype="f4")[::-1], np.arange(8, dtype="f4").reshape(4, 2)[:, 0], [0, 1.5, 2], (True,), array.array("f", [1, 2]):
        want = [float(v) for v in x]
        assert g.scale(x, 2) == 2 * sum(want) and [float(v) for v in x] == want, x
    assert g.scale(Column("f4")) == 4 and "got a Tensor of int64: convert it first" in str(failure(g.scale, Column()))
    x = np.arange(4, dtype="f4")
    x.flags.writeable = False
    assert g.scale(x) == 12 and x.sum() == 6
    x = x.copy()
    assert g.scale(x) == 12 and x.sum() == 12


def callbacks(g):
    """C calls functions of Python for Go. What they get, return and raise is what code of Python would."""
    import functools
    import json
    import threading
    import types
    import weakref

    import tvm_ffi

    def of_python(f):
        return next(x for x in gc.get_referents(f) if type(x) is types.FunctionType)

    def outcome(f, *args):
        try:
            return repr(f(*args))
        except BaseException as e:
            return type(e), str(e), repr(e.__cause__), repr(e.__context__), [f.name for f in traceback.extract_tb(e.__traceback__)][-1]

    class Whole(int):
        def __call__(self, x):
            return x + self

    class Mine(Exception):
        pass

    class Maker(g.Point):
        def __call__(self, x):
            return x

    def raising(e, cause=None):
        def f(x):
            raise e from cause

        return f

    point = g.Point(1, 2)
    values = [0, -(2**63), 2**70, True, 1.5, None, "", "short", "long enough \u00e9", "a\0b", "\ud800", b"", b"a\0b and more", [1], (1, "x"), {"k": [1]},
              [[[[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]]]], object(), point, print, Whole(3), tvm_ffi.Array([1]), Mine("a value")]  # fmt: skip
    functions = [lambda x, v=v: v for v in values] + [raising(e) for e in (Mine("m"), KeyError("k"), KeyError(1), g.NotFoundError(name="y"), KeyboardInterrupt(), SystemExit(3))]
    functions += [raising(Mine(), ValueError("cause")), lambda: 0, lambda x, y: 0, abs, int, Whole(2), functools.partial(max, 7), [1].index, g.Point(1, 2), g.adder(2), Maker(1, 2), 3, None, "f", [print]]
    for f in functions:
        assert outcome(g.apply, f, 1) == outcome(of_python(g.apply), f, 1), f
        assert outcome(g.pairs, 1, f) == outcome(of_python(g.pairs), 1, f), f
        if f is not None:
            seen = [(repr(c), outcome(lambda: c(h, f)(1))) for c in (g.compose, of_python(g.compose)) for h in [lambda x: x]]
            assert seen[0][1] == seen[1][1], (f, seen)
    assert type(g.apply) is type(g.add) and g.apply(f=Whole(2), x=1) == g.apply(f=Whole(2), x=True + 0) == 3

    # What a callback gets.
    got = []
    composed = g.compose(got.append, lambda x: x)
    for x in values:
        if x != "\ud800" and (type(x) is not int or x < 2**63):
            composed(x)
            expected = []
            of_python(g.compose)(expected.append, lambda x: x)(x)
            assert repr(got[-1]) == repr(expected[-1]) and isinstance(expected[-1], type(got[-1])), (x, got, expected)
    assert [type(x) for x in got if isinstance(x, (str, bytes))] == [str] * 4 + [bytes] * 2

    # Containers are those of Python, and so is all that is in them.
    def classes(x):
        if type(x) is dict:
            return {k: classes(v) for k, v in x.items()}
        return type(x), [classes(v) for v in x] if isinstance(x, (list, tuple)) else x

    for tell, tell_array, compose in (g.tell, g.tell_array, g.compose), map(of_python, (g.tell, g.tell_array, g.compose)):
        for x in [1, [2, {"k": ["text", ()]}]], {1: {}}, [], {}, "a long enough text", None, 1.5, point:
            said = []
            assert tell(lambda *args: said.append(args), x) is None
            limits = {"x": {"low": 1.0, "high": 2.5}, "y": {"low": 0.0, "high": 0.0, "note": "a note of some length"}}
            want = ["a", "a longer text"], limits, (1, "b"), g.echo(x)
            got = tuple(said[0])
            if tell is g.tell and x is not point:  # with an object, code of Python makes the call
                assert classes(got[:3]) == classes(want[:3]), got
            assert got == want and type(got[2]) is tuple and type(got[3]) in (type(want[3]), tvm_ffi.core.String), got
            if isinstance(x, (list, dict)):
                assert classes(got[3]) == classes(want[3]), got
                compose(lambda y: said.append(y), lambda y: y)(x)
                assert classes(said[1]) == classes(want[3]), said
        same = tvm_ffi.Array([1, 2])
        tell_array(lambda *args: said.append(args), same)
        assert said[-1][0].same_as(same) and classes(said[-1][1]) == classes([[1.0, 2.0], []]), said
        assert tell(lambda *args: json.dumps(args), [1]) == '[["a", "a longer text"], {"x": %s, "y": %s}, [1, "b"], [1]]' % tuple(json.dumps(limits[k]) for k in "xy")
        assert tell(lambda words, *_: words, 1) == ["a", "a longer text"]
        deep = functools.reduce(lambda x, _: [x], range(900), "x")
        assert tell(lambda *args: args[3] == deep, deep) is True

    # Functions that Go returns are copied as others, and not pickled.
    for f in g.adder(1), g.compose(abs, abs), g.add, g.Point.norm:
        assert copy.copy(f) is f is copy.deepcopy(f) is copy.deepcopy([f])[0]
    e = failure(pickle.dumps, g.adder(1))
    assert type(e) is TypeError and str(e).startswith("a function that Go returned cannot be pickled, because it lives in this process: "), e
    assert "function_that_Go_returned" in str(failure(pickle.dumps, g.rotation(1.0))) and pickle.loads(pickle.dumps([g.add, g.Point.norm])) == [g.add, g.Point.norm]

    # The same exception comes out. Nothing keeps it, nor the function.
    e = Mine("same")
    assert failure(g.apply, raising(e), 1) is e and "golib.go" in "".join(traceback.format_exception(type(e), e, e.__traceback__))
    assert [f.name for f in traceback.extract_tb(e.__traceback__)][-1] == "f"
    f = raising(Mine("freed"))
    gone = weakref.ref(f), weakref.ref(failure(g.apply, f, 1))
    assert str(failure(g.parallel, f, 3)).count("freed") >= 3
    f = e = None
    gc.collect()
    assert not any(r() for r in gone), gone
    composed = expected = got = None
    for f in (lambda x: x), (lambda x: object()), (lambda x: 1 // 0):
        for n in (100, 3000):
            gc.collect()
            before = len(gc.get_objects())
            for _ in range(n):
                outcome(g.apply, f, 1)
            gc.collect()
            assert len(gc.get_objects()) - before < 100, f

    # An exception stays that of its callback if code of Python that ends the callback makes other calls.
    guard = sys.modules[g.__name__ + "._errors"].Guard
    ordinary, e = guard.__call__, Mine("outer")

    def inner(self, *args):
        guard.__call__ = ordinary
        assert type(failure(g.apply, raising(KeyError("inner")), 1)) is KeyError
        return ordinary(self, *args)

    guard.__call__ = inner
    assert failure(g.apply, raising(e), 1) is e and guard.__call__ is ordinary

    # Threads that raise the same exception have an Error object each: Go reads one while tvm_ffi changes another.
    errors, e = sys.modules[g.__name__ + "._errors"], Mine("shared")
    guards = [errors.Guard(raising(e)) for _ in range(2)]
    first, second = failure(guards[0], 1), failure(guards[1], 1)
    assert first is e and not first.__tvm_ffi_error__.same_as(second.__tvm_ffi_error__) and second.__tvm_ffi_error__.message == "shared"
    assert errors.raised(second.__tvm_ffi_error__.py_error()) is e and errors.raised(first) is e
    guards = first = second = e = None

    # Goroutines call it on threads of their own.
    threads = set()
    assert g.parallel(lambda x: threads.add(threading.get_ident()) or x, 200) == sum(range(200)) and threads
    wrong = []

    def work(i):
        for k in range(300):
            if g.parallel(lambda x: x + i, 4) != 6 + 4 * i or outcome(g.apply, raising(Mine(i)), 1)[:2] != (Mine, str(i)):
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in workers]
    [t.join() for t in workers]
    assert not wrong, wrong


def constructors(g):
    """C makes objects. What it makes and raises is what code of Python would."""
    import itertools
    import threading
    import types

    import tvm_ffi

    def python_of(cls):
        return next(x for x in gc.get_referents(cls.__init__) if type(x) is types.FunctionType)

    def of_python(cls):
        python = python_of(cls)

        def make(*args, **kwargs):
            made = tvm_ffi.Object.__new__(cls)
            python(made, *args, **kwargs)
            return made

        return make

    def outcome(f, *args, **kwargs):
        try:
            made = f(*args, **kwargs)
            return type(made), repr(made), made.__getstate__() if isinstance(made, g.Point) else len(made)
        except Exception as e:
            return type(e), str(e).replace("'self', ", ""), repr(e.__cause__), repr(e.__context__)

    values = [1, 2.5, True, 2**70, "text", "a longer text", "\ud800", b"x", None, [1], (1, 2), {"a": 1}, object(), print, g.Point(5), g.Index(), float("nan")]
    for cls, names in (g.Point, ("x", "y", "name", "z")), (g.Circle, ("x", "radius", "y")), (g.Index, ("fold", "x")):
        assert type(cls.__init__) is type(g.add) and cls.__init__.__qualname__ == cls.__name__ + ".__init__"
        python = of_python(cls)
        before = [sys.getrefcount(x) for x in values]
        for args in [(), *itertools.product(values, repeat=1), *itertools.product(values, repeat=2), (1, 2, 3), (1, 2, 3, 4)]:
            assert outcome(cls, *args) == outcome(python, *args), (cls, args)
            for name in names:
                for x in (3, "text", None):
                    assert outcome(cls, *args, **{name: x}) == outcome(python, *args, **{name: x}), (cls, args, name, x)
        args = x = None
        after = [sys.getrefcount(x) for x in values]
        assert all(n == m for x, n, m in zip(values, before, after) if n < 9 and type(x) is not int), (cls, before, after)
    p = g.Point(3, 4)
    assert (p.x, p.y, p.name, p.norm(), p.mirrored().norm()) == (3, 4, "p", 5, 5)
    for wrong in (lambda: g.Point.__init__(), lambda: g.Point.__init__(tvm_ffi.Object.__new__(g.Index), 1), lambda: g.Point.__init__(p, 1), lambda: p.__init__(x=1)):
        assert type(failure(wrong)) is TypeError, failure(wrong)
    again = tvm_ffi.Object.__new__(g.Point)
    again.__init__(1)
    assert again.x == 1 and type(failure(again.__init__, 2)) is TypeError and again.x == 1

    class Derived(g.Point):
        init = g.Point.__init__

        def __init__(self, x):
            self.init(x, y=2)
            self.more = x

    class Same(g.Circle):
        pass

    for x in values:
        Derived.init = g.Point.__init__
        got = outcome(Derived, x)
        Derived.init = python_of(g.Point)
        assert got == outcome(Derived, x), x
    Derived.init = g.Point.__init__

    x, d = None, Derived(1)
    assert (d.x, d.y, d.more, Same(1, 2).radius, type(Same(1, radius=2))) == (1, 2, 1, 2, Same)
    for cls, args in (g.Point, (1,)), (g.Point, ("x",)), (g.Index, ()), (Derived, (1,)):
        for n in (100, 3000):
            gc.collect()
            before = len(gc.get_objects())
            for _ in range(n):
                outcome(cls, *args)
            gc.collect()
            assert len(gc.get_objects()) - before < 100, cls

    # Of two threads that make the same object, one gets an error.
    made = []

    def make(x, o, gate):
        gate.wait()
        try:
            o.__init__(x)
            made.append((o, x))
        except TypeError:
            pass

    for _ in range(200):
        for cls in g.Point, g.Index:
            o, gate = tvm_ffi.Object.__new__(cls), threading.Barrier(2)
            both = [threading.Thread(target=make, args=(x, o, gate)) for x in (True, False)]
            [t.start() for t in both]
            [t.join() for t in both]
    assert len(made) == 400 and all(o.x == x for o, x in made if isinstance(o, g.Point))


def iterators(g):
    ended = g.stopped(0)
    assert list(g.countdown(3)) == [3, 2, 1] and list(g.countdown(0)) == []
    assert list(g.fields("a b")) == [(0, "a"), (1, "b")] and dict(g.fields("a b")) == {0: "a", 1: "b"}
    assert [x for x, _ in g.Point(3, 0).way()] == [3, 2, 1, 0]
    i = g.countdown(1000)
    assert iter(i) is i and next(i) == 1000
    i.close()
    assert failure(next, i).__class__ is StopIteration
    for n in g.countdown(1000):
        if n < 998:
            break
    del i, n
    gc.collect()
    assert g.stopped(ended + 4) == ended + 4
    i = g.countdown(14)
    assert next(i) == 14
    e = failure(next, i)
    assert type(e) is RuntimeError and "13 brings bad luck" in str(e), e


def arguments(g):
    """Wrong arguments are errors that name the parameter."""
    import numpy

    tensor = numpy.zeros(2)
    cases = [
        (failure(g.add), "missing 2 required positional arguments: 'a' and 'b'"),
        (failure(g.add, 1), "missing 1 required positional argument: 'b'"),
        (failure(g.add, 1, 2, 3), "takes 2 positional arguments but 3 were given"),
        (failure(g.add, 1, c=2), "unexpected keyword argument 'c'"),
        (failure(g.add, 1, 2, b=3), "multiple values for argument 'b'"),
        (failure(g.add, None, 1), "add(a=...): expected an int, got None"),
        (failure(g.add, 1, "x"), "add(b=...): expected an int"),
        (failure(g.add, object(), 1), "add(a=...): expected an int"),
        (failure(g.small, 200, 1, True), "small(a=...): "),
        (failure(g.sum, None), "nil"),
        (failure(g.sum, 3), "sum(t=...): expected a Tensor, got int"),
        (failure(g.volume, (1, 2)), "volume(s=...): expected a Shape"),
        (failure(g.apply, 3, 1), "apply(f=...): expected a Function, got int"),
        (failure(g.within, 1, {"low": 1.0}), "within(l=...): "),
        (failure(g.word_count, 3), "word_count(texts=...): "),
        (failure(g.word_count, {"a"}), "word_count(texts=...): expected a sequence of string, got set: pass a list or a tuple, such as list(x)"),
        (failure(g.sorted, {"k": (x for x in ())}), 'sorted(rows["k"]=...): expected a sequence of [3]float64, got generator: pass a list'),
        (failure(g.sorted, [("k", [])]), "got Array: pass a dict, such as dict(x) in Python for a DataFrame or a list of pairs"),
        (failure(g.total, 1, 2, object()), "total(numbers[1]=...): expected an int, got object"),
        (failure(g.word_count, tensor), "word_count(texts[0]=...): expected a string, got float"),
        (failure(g.spread, [[1]], numpy.array([200])), "spread(shift[0]=...): "),
        (failure(g.spread, tensor, ()), "spread(rows[0]=...): "),
        (failure(g.around, "x", 1), "around(p=...): expected a golib.Point"),
        (failure(g.Point), "missing 1 required positional argument: 'x'"),
        (failure(g.Point, 1, z=2), "unexpected keyword argument 'z'"),
        (failure(g.Point, 1, 2, "p"), "positional argument"),
        (failure(g.Point(1).move, 1), "missing 1 required positional argument: 'dy'"),
        (failure(g.Point(1).move, 1, "x"), "Point.move(dy=...): expected a float"),
        (failure(g.Point.norm, 3), "Point.norm("),
        (failure(g.Point.norm, None), "Point.norm("),
    ]
    if recent():
        cases.append((failure(g.Point, None), "Point(x=...): expected float, got NoneType"))
        cases.append((failure(g.Point, 1, y=2**70), "Point(y=...): expected a float, got an int beyond int64: pass float(x)"))
        cases.append((failure(g.add, 2**70, 1), f"add(a=...): expected an int from {-(2**63)} to {2**63 - 1}, got {2**70}"))
        cases.append((failure(g.spread, (), numpy.array([2**63], "uint64")), "spread(shift[0]=...): expected an int from -128 to 127, got 9223372036854775808"))
    # What cannot be numbers says what it is.
    wrong = [numpy.array([1, "x"], object), numpy.ones(2, ">f8"), numpy.ones(2, complex), numpy.array(["2020"], "M8[D]"), numpy.ones(2, "g")]
    cases += [(failure(g.spread, [[1]], x), f"spread(shift=...): expected numbers, bools or texts of a type that Go has, got an array of {x.dtype}: ") for x in wrong[2:]]
    calls = {"echo(x=...)": g.echo, "sum(t=...)": g.sum, "scale(x=...)": g.scale, "total(numbers[1]=...)": lambda x: g.total(1, 2, x), "add(b=...)": lambda x: g.add(1, x),
             'first(args[0]["k"][1]=...)': lambda x: g.first({"k": [1, x]}), "Point(x=...)": g.Point, "Point.move(dy=...)": lambda x: g.Point(1).move(1, x),
             "the result of the callback": lambda x: g.apply(lambda _: x, 1)}  # fmt: skip
    cases += [(failure(f, x), f"{name}: expected numbers of a type that Go has, got an array of {x.dtype}: call .astype(...)") for name, f in calls.items() for x in wrong[:2]]
    cases.append((failure(g.spread, wrong[0][None], ()), "spread(rows[0][1]=...): expected a float, got string"))
    for e, want in cases:
        assert type(e) is TypeError and want in str(e), (e, want)


def buffers(g):
    """Bytes are what has a buffer of bytes."""
    import array
    import ctypes
    import mmap

    import numpy

    class Column:  # such as those of polars
        def __init__(self, values):
            self.values = values

        def __array__(self, *_, **__):
            return self.values

        def __len__(self):
            return len(self.values)

    mapped = mmap.mmap(-1, 3)
    mapped[:] = b"abc"
    text = numpy.frombuffer(b"abc", "u1")
    table = numpy.frombuffer(b"acb", "u1").repeat(2).reshape(3, 2)[:, 0][[0, 2, 1]]
    good = [bytearray(b"abc"), memoryview(b"abc"), memoryview(b"cba")[::-1], memoryview(array.array("i", [0])).cast("B"), array.array("B", b"abc"), mapped, text, text[::-1],
            table, numpy.frombuffer(b"abcd", "u1").reshape(2, 2).T, (ctypes.c_ubyte * 3)(*b"abc"), Column(text), numpy.bytes_(b"abc")]  # fmt: skip
    for x in good:
        want = bytes(x.values if type(x) is Column else x) if not isinstance(x, numpy.ndarray) else x.tobytes()
        assert g.reversed(x, None) == want[::-1] and g.reversed(data=x, times=1) == want[::-1], x
        assert g.packets([x, b"y"], {"k": x}, lambda b: x, x) == [want, b"y", want, want, want], x
        assert g.packets(packets=(), more={}, change=lambda b: b) == [b"changed"]
    for x, want in [(numpy.zeros(2, "i1"), "items of the format 'b': pass bytes(x) for its memory, or x.astype('u1') for its numbers"), (array.array("d", [1]), "items of the format 'd': pass bytes(x) for its memory"),
                    (numpy.array(5, "u1"), "no dimension: pass bytes(x)"), (numpy.zeros(2, bool), "items of the format '?'"), (Column(numpy.zeros(2)), "items of the format 'd': pass x.__array__().astype('u1')")]:  # fmt: skip
        want = f"expected bytes, got {type(x).__name__} with {want}"
        for f, name in [(lambda x: g.reversed(x, 1), "reversed(data=...)"), (lambda x: g.packets([b"", x], {}, len), "packets(packets[1]=...)"), (lambda x: g.packets([], {"k": x}, len), 'packets(more["k"]=...)'),
                        (lambda x: g.packets([], {}, lambda b: x), "the result of the callback"), (lambda x: g.packets([], {}, len, b"", x), "packets(rest[1]=...)")]:  # fmt: skip
            e = failure(f, x)
            assert type(e) is TypeError and str(e).startswith(f"{name}: {want}"), (e, want)
    for x, want in [(numpy.ma.array([1], "u1"), "expected an array without a mask"), ("x", "expected bytes, got string"), ([1], "expected bytes, got Array: pass bytes(x)")]:
        assert want in str(failure(g.reversed, x, 1)) and type(failure(g.reversed, x, 1)) is TypeError, x


def scalars(g):
    """Scalars of NumPy are those of Python, wherever they stand."""
    import asyncio

    import numpy as np

    yes, no, big = np.True_, np.False_, 2**64 - 1 if recent() else 2**63 - 1
    p, text, data = g.Point(yes, y=no), np.str_("text"), np.bytes_(b"data")
    p.x, p.name = yes, text
    assert (p.x, p.y, p.name) == (1, 0, "text") and g.small(1, 2, yes) == 3 and g.small(1, 2, up=no) == -1 and g.total(yes, yes, 2) == 3
    assert str(g.Index(no)) == str(g.Index()) and g.join(yes, [no, yes]) == "true [false true]" and p.norm() == 1
    for x, want in (yes, True), (no, False), (np.int8(3), 3), (np.uint64(big), big), (np.float16(0.5), 0.5), (np.float32(0.5), 0.5), (np.float64(0.5), 0.5), (text, "text"), (data, b"data"):
        for make in lambda x: x, lambda x: [x, None], lambda x: (x, [x]), lambda x: {"k": {"k": x}}:
            got = g.echo(make(x))
            assert repr(got) == repr(g.echo(make(want))), (got, want)
        if type(want) is not bytes:
            assert repr(g.echo({x: 1})) == repr({want: 1}), x
    assert g.spread(collections.deque([[yes, 3]]), range(1)) == (1, 3) and g.sorted({"k": np.array([[yes, 2, 0]], object)}) == g.sorted({"k": [(yes, 2, no)]}) == {"k": [[0, 1, 2]]}
    assert g.swap((np.int8(1), text)) == ("text", 1) and g.word_count([text]) == {"text": 1} and g.reversed(data, np.int64(1)) == b"atad"
    assert g.pairs(1, lambda i: (text, yes)) == {"text": 1} and g.extend(0, lambda i: [[yes, 2], (no,)]) == 3 and g.compose(lambda x: x, lambda x: [yes])(1) == [True]
    assert g.within(no, {"low": yes, "high": 2.0}) == 1 and g.NotFoundError(name=text, near=[text], tries=np.int8(2)).tries == 2
    assert g.apply(lambda x: yes, 1) == g.apply(lambda x: True, 1) == g.apply(lambda x: np.int8(1), 1) == g.add(True, 0) == 1 and asyncio.run(g.sleep_async(np.int64(0))) is None
    # An array without a dimension is a number where a number is wanted.
    zero = np.array
    for x, want in (zero(5), 5), (zero(2.5), 2.5), (zero(True), True), (zero(5, "u1"), 5), (zero(5, ">i4"), 5), (zero(1, object), 1):
        assert g.total(x) == 0 and g.total(1, 2) == 2 and g.join(1) == "1"
        if want != 2.5:
            assert g.add(x, 1) == g.add(1, b=x) == want + 1 and g.total(1, x, x) == 2 * want and g.apply(lambda _: x, 1) == want and g.reversed(b"ab", x) == (b"ba" if want % 2 else b"ab")
            assert g.small(1, 2, x) == 3
        assert g.Point(x, y=x).y == want and g.div_mod(7, zero(2)) == (3, 1) and (g.Point(1).move(x, 1) or True)
    assert g.rotation(zero(1.5)) and "got Tensor" in str(failure(g.add, zero([1]), 1)) and "got float" in str(failure(g.add, zero(1.5), 1)) and "got float" in str(failure(g.apply, lambda _: zero(1.5), 1))
    assert "without a mask" in str(failure(g.add, np.ma.array(1), 1)) and type(g.echo(np.zeros(()))).__name__ == "Tensor"
    for x in np.arange(3), [1, 2], (1,):
        assert "total(numbers[1]=...): expected an int, got " in str(failure(g.total, 1, 2, x)) and str(failure(g.total, 1, 2, x)).endswith(": pass its elements one by one, such as *x in Python"), x
    second, cannot = np.timedelta64(10**9, "ns"), "expected a timedelta or a number, got a timedelta64: call .astype("
    for name, f in {"add(a=...)": lambda x: g.add(x, 1), "the result of the callback": lambda x: g.apply(lambda _: x, 1), "Point.x": lambda x: setattr(p, "x", x)}.items():
        assert str(failure(f, second)).startswith(f"{name}: {cannot}"), name
    assert "within(l.low=...): expected a float, got complex128" in str(failure(g.within, 1, {"low": np.complex128(1)}))
    # In a value of any type they are what those of Python are.
    assert g.echo([{"k": second}, np.complex64(1j)]) == [{"k": datetime.timedelta(seconds=1)}, 1j]
    nans = {float("nan"): 1, float("nan"): 2}
    for x in nans, {"k": [nans]}, {"k": [nans, np.array([1.5])]}, [nans, np.float32(1)], {np.float64("nan"): 1, float("nan"): np.arange(2)}:
        e = failure(g.echo, x)
        assert type(e) is ValueError and "two keys of the dict are one key of a map, as NaN and NaN are" in str(e), (x, e)
    one = {float("nan"): 1, float("inf"): 2, 0.5: 3}
    assert sorted(g.echo(one).values()) == [1, 2, 3] and len(g.echo({**one, 4: np.arange(2)})) == 4
    assert "has no time zone" in str(failure(g.echo, {"k": np.datetime64("2020")})) and "got NaT" in str(failure(g.echo, [np.timedelta64("NaT")]))


def unsigned(g):
    """Numbers of 64 bits without a sign cross whole, wherever they stand, and ints beyond int64 become floats."""
    import numpy as np

    def of_python(f):
        return next(x for x in gc.get_referents(f) if type(x) is types.FunctionType)

    basis, high, most = 14695981039346656037, 2**63, 2**64 - 1
    words = {0xE71FA2190541574B: ["abc"], 0xAF63DC4C8601EC8C: ["a"], basis: ["", ""]}
    if not recent():  # it has no larger ints
        assert g.hash("a", 1) == 0x64 * 1099511628211 and g.mix([1, 2], lambda s, h: s + h) == {"hash": 3, "first": 1}
        for e in failure(g.hashes, "a"), failure(g.hash, "", high):
            assert "0.1.14 is the first" in str(e) or "Python int too large" in str(e), e
        return
    for call in lambda f: f, of_python:
        hash, hashes, mix = map(call, (g.hash, g.hashes, g.mix))
        assert hash("a", basis) == 0xAF63DC4C8601EC8C == hash("a") and hash("", most) == most == hash("", np.uint64(most)) and hash("", high - 1) == high - 1
        assert hashes("abc", "", "a", "") == words
        seen = []
        keep = lambda s, h: seen.append((s, h)) or h  # noqa: E731
        for given in [high, most], (high, most), np.array([high, most], "u8"), np.array([[0, high], [0, most]], ">u8")[:, 1].astype("u8"), [np.uint64(high), most]:
            assert mix(given, keep, most) == {"hash": most, "first": high} and seen == [(most, high), (high, most)], given
            seen.clear()
        assert mix(hashes=[1], next=lambda s, h: most) == {"hash": most, "first": 1} and mix([], keep, None) == {"hash": 0, "first": None} == mix([], keep)
        limits = "expected an int from 0 to 18446744073709551615, got "
        for e, want in [
            (failure(hash, "", 2**64), f"hash(before=...): {limits}18446744073709551616"),
            (failure(hash, "", -1), f"hash(before=...): {limits}-1"),
            (failure(hash, "", 2**200), f"hash(before=...): {limits}one outside this range"),
            (failure(mix, [0, -high - 1], keep), f"mix(hashes[1]=...): {limits}-9223372036854775809"),
            (failure(mix, np.array([-1]), keep), f"mix(hashes[0]=...): {limits}-1"),
            (failure(mix, [], keep, 2**64), f"mix(sum=...): {limits}18446744073709551616"),
            (failure(mix, [1], lambda s, h: -1), f"the called function: result: {limits}-1"),
            (failure(g.small, 2**64, 1, True), "small(a=...): expected an int from -128 to 127, got 18446744073709551616"),
            (failure(g.add, np.uint64(high), 1), f"add(a=...): expected an int from {-(2**63)} to {2**63 - 1}, got {high}"),
        ]:
            assert type(e) is TypeError and str(e) == want, (e, want)
        spread, started = map(call, (g.spread, g.started))
        assert started() is g.Basis.FNV == basis and started(g.Basis.FNV) is started(basis) is g.Basis.FNV and started(0) is g.Basis.SUM
        assert spread([[2**64], np.array([high], "u8")], ()) == (float(high), 2.0**64) == spread([(2**64 + 1, 2**63 - 1)], ())
        e = failure(spread, [[1, 10**400]], ())
        assert type(e) is TypeError and str(e) == "spread(rows[0][1]=...): expected a float, got an int that is too large for one", e
    b = g.Bucket()
    assert (b.hash, b.limit) == (basis, None) and b.holds(basis) and not b.holds(most) and str(basis) in repr(b)
    b.hash, b.limit, b.all = np.uint64(most), high, [1, most]
    for other in b, copy.copy(b), copy.deepcopy(b), pickle.loads(pickle.dumps(b)), g.Bucket(most, limit=high, all=(1, most)):
        assert (other.hash, other.limit, list(other.all)) == (most, high, [1, most]) and other.holds(high) and other.holds(most) and not other.holds(high + 1)
    for name, f in {"Bucket.hash": lambda x: setattr(b, "hash", x), "Bucket(hash=...)": g.Bucket}.items():
        for x in -1, 2**64, -(2**63) - 1:
            e = failure(f, x)
            assert type(e) is TypeError and str(e) == f"{name}: expected an int from 0 to 18446744073709551615, got one outside this range", e
    e = failure(setattr, g.Point(1), "x", 2**64)
    assert type(e) is TypeError and str(e) == "Point.x: expected a float, got an int beyond int64: pass float(x)", e
    for x in high, most, 2**64, -high - 1:
        assert g.echo(x) == x and g.echo([x, {x: [x]}]) == [x, {x: [x]}] and g.echo(np.uint64(most)) == most


def native(g):
    """Times, durations, complex numbers and sets are those of Python, wherever they stand."""
    import contextlib
    import math
    from datetime import datetime, timedelta, timezone, tzinfo

    import numpy as np

    west = timezone(-timedelta(hours=5, minutes=30))
    noon, hour = datetime(2026, 11, 28, 12, 0, 0, 123456, west), timedelta(hours=1)
    end = g.window(noon)
    assert end == noon + 1.5 * hour and type(end) is datetime and end.utcoffset() == west.utcoffset(None) and g.window(start=noon, length=-hour) == noon - hour == g.window(noon, np.timedelta64(-1, "h"))
    first, last = datetime.min.replace(tzinfo=timezone.utc), datetime.max.replace(tzinfo=timezone.utc)
    assert g.window(first, hour) == first + hour and g.window(last, -hour) == last - hour and g.window(last, timedelta(0)) == last

    class Odd(tzinfo):
        utcoffset = lambda self, _: timedelta(seconds=-1)  # noqa: E731

    class Day(timedelta):  # as in pendulum, where the days of a negative duration are those of its absolute value
        days = property(lambda self: -int(abs(self.total_seconds()) // 86400))

    odd = datetime(2026, 11, 28, tzinfo=Odd())
    assert g.window(odd, hour) == odd + hour and g.window(odd, hour).utcoffset() == timedelta(seconds=-1) and g.window(noon, Day(hours=-30)) == noon - 30 * hour
    assert g.schedule(noon, lambda t: t + hour, 3) == [noon, noon + hour, noon + 2 * hour]
    with contextlib.closing(g.ticks(noon, hour)) as ticks:
        assert [next(ticks), next(ticks)] == [noon, noon + hour]
    assert g.common({"a", "b"}, frozenset("bc")) == {"b"} == g.common({"a": 1, "b": 2}.keys(), ["b"]) and g.common(set(), {"a"}) == set()
    assert g.roots(1, 0, 4) == [-2j, 2j] and g.polynomial(2j, 1, 1j, np.complex64(1)) == -5 and g.polynomial(3, *np.array([1, 2j], "complex64")) == 1 + 6j
    assert abs(g.rotation(math.pi / 2)(1j) + 1) < 1e-9 and g.polynomial(True) == 0
    slot = g.Slot(**{"from": noon, "length": hour, "tags": {"x", "y"}})
    assert g.overlap(slot, {"from": noon + hour / 2, "length": hour, "tags": {"y"}}) == {"from": noon + hour / 2, "length": hour / 2, "tags": {"y"}}
    assert g.overlap(slot, {**slot, "from": noon + hour}) is None
    e = g.Event(noon, hour, {"x"})
    assert (e.when, e.length, e.tags) == (noon, hour, {"x"}) and g.Event(noon).length == 1.5 * hour and g.Event(noon).tags is None
    assert e.until(noon - hour) == hour and e.until(noon + 2 * hour) is None and e.until(from_=noon) == timedelta(0)
    e.when, e.length, e.tags = noon + hour, 2 * hour, {"z"}
    assert repr(e) == f"golib.Event(when={noon + hour!r}, length={2 * hour!r}, tags={{'z'}})" and "without an object" in repr(tvm_ffi.Object.__new__(g.Event)), repr(e)
    once = g.Event(noon, hour, ["x", "y", "x"])  # a list has what its set has
    assert once.tags == {"x", "y"} == g.common(["x", "y", "x"], once.tags) and "tags={" in repr(once)
    once.tags = ("z", "z")
    assert once.tags == {"z"}
    for other in copy.copy(e), pickle.loads(pickle.dumps(e)):
        assert (other.when, other.length, other.tags) == (noon + hour, 2 * hour, {"z"})
    late = failure(g.attend, e, noon + 4 * hour)
    for x in late, pickle.loads(pickle.dumps(late)), g.LateError(due=noon + 3 * hour, by=hour, tags={"z"}):
        assert type(x) is g.LateError and (x.due, x.by, x.tags) == (noon + 3 * hour, hour, {"z"}) and "1h0m0s after 2026-11-28 20:30:00" in str(x), x
    assert tuple(tvm_ffi.get_global_func("golib.window")((0, 5, 3600), 7)) == (0, 12, 3600)  # nanoseconds
    for error, kind, want in (
        (failure(g.window, noon.replace(tzinfo=None)), ValueError, "window(start=...): datetime.datetime(2026, 11, 28, 12, 0, 0, 123456) has no time zone: use datetime.now(timezone.utc), or x.astimezone()"),
        (failure(g.window, noon.replace(tzinfo=timezone(timedelta(seconds=1, microseconds=1)))), ValueError, "window(start=...): the offset 0:00:01.000001 of the time zone is not in whole seconds"),
        (failure(g.window, noon.date()), TypeError, "window(start=...): expected a datetime, got date"),
        (failure(g.window, noon, 5), TypeError, "window(length=...): expected a timedelta, got int"),
        (failure(g.window, noon, timedelta.max), OverflowError, "is longer than 292 years"),
        (failure(g.window, last, hour), OverflowError, "window(): a time 253402304399 seconds after 1970 is outside the years 1 to 9999 that datetime has"),
        (failure(g.schedule, noon, lambda t: 3, 2), TypeError, "the result of the callback: expected a datetime, got int"),
        (failure(g.schedule, noon, lambda t: 1 // 0, 2), ZeroDivisionError, ""),
        (failure(g.window, noon, np.timedelta64("NaT")), TypeError, "window(length=...): expected a timedelta, got NaT"),
        (failure(g.common, "ab", {"a"}), TypeError, "common(a=...): expected a set, got str"),
        (failure(g.common, np.array(["a"]), {"a"}), TypeError, "common(a=...): expected a set, got ndarray: pass set(x)"),
        (failure(g.common, {np.timedelta64(1, "s")}, {"a"}), TypeError, "common(a[0]=...): expected a timedelta or a number, got a timedelta64: "),
        (failure(g.common, {1}, {"a"}), TypeError, "common(a[0]=...): expected a string, got int"),
        (failure(g.polynomial, "1"), TypeError, "polynomial(x=...): expected a complex number, got str"),
        (failure(g.polynomial, 10**400), TypeError, "polynomial(x=...): int too large to convert to float"),
        (failure(g.polynomial, 1, 2, None), TypeError, "polynomial(coefficients[1]=...): expected a complex number, got None"),
        (failure(g.polynomial, 1, 1e300), TypeError, "(1e+300+0i) does not fit complex64"),
        (failure(g.rotation(1), "x"), TypeError, "argument 1: expected a complex number, got str"),
        (failure(g.rotation(1)), TypeError, "it takes 1 argument, but got 0"),
        (failure(g.overlap, slot, {**slot, "length": 3}), TypeError, 'overlap(b.length=...): expected a timedelta, got int'),
        (failure(g.Event, noon, "x"), TypeError, "Event(length=...): expected a timedelta, got str"),
        (failure(setattr, e, "tags", 3), TypeError, "Event.tags: expected a set, got int"),
        (failure(g.LateError, by=3), TypeError, "LateError(by=...): expected a timedelta, got int"),
    ):
        assert type(error) is kind and want in str(error), repr(error)


def untyped(g):
    """Values of any type keep their types, both ways and one inside another."""
    import asyncio
    from datetime import datetime, timedelta, timezone

    import numpy as np

    noon, hour = datetime(2026, 11, 28, 12, 0, 0, 123456, timezone(timedelta(hours=-5))), timedelta(hours=1)
    every = [noon, hour, 2j, {"x"}, {1, 2}, {noon, 1}, set(), [noon, ({"k": [hour]},)], {noon: hour}, None, "x"]
    lists = [*every[:7], [noon, [{"k": [hour]}]], *every[8:]]  # as results: tuples are lists

    def same(x, y):
        return type(x) is type(y) and x == y and (not isinstance(x, list) or all(map(same, x, y)))

    slot = {"from": noon, "length": timedelta(0), "tags": set()}
    assert same(g.assorted(noon), {"when": noon, "parts": [timedelta(seconds=1), 2j, {"x"}, 7], "times": [noon], "slot": slot}), g.assorted(noon)
    for x, want in zip(every, ["time.Time", "time.Duration", "complex128", "map[string]struct {}", "map[int64]struct {}", "map[interface {}]struct {}"]):
        for text in g.described(x), g.described(g.echo(x)), g.described(x, g.Point(1)):
            assert text.startswith(want), text
    assert g.described([noon, (hour, {"a": {"b": 1j}})], hour) == "[]interface {} [2026-11-28 12:00:00.123456 -0500 -0500 [1h0m0s map[a:map[b:(0+1i)]]]] [1h0m0s]"
    assert g.described(np.complex128(1j)).startswith("complex128") and g.described(x=frozenset("a")) == "map[string]struct {} map[a:{}] []"
    assert same(g.echo(every), lists) and all(map(same, map(g.echo, every), lists)), g.echo(every)

    # Callbacks, functions and sequences of Go.
    got = []
    for x, want in zip(every, lists):
        assert same(g.carried(lambda *args: got.append(args) or args, x), [[want, [want], {"x": want}], want]), x
        assert type(x) in (list, tuple, dict) or same(got[-1][0], want), got[-1]
        pair = g.after(x)
        assert same(pair(x), [want, want]) and same(pair(1), [want, 1]) and same(list(g.wrapped(x)), [want, [want]]), x
        assert same(g.carried(lambda *_: x, 1), [want, 1]) and same(g.patient(x), want) and same(asyncio.run(g.patient_async(x)), want), x

        # Fields.
        for note in g.noted(x), g.Note(x, {"also": x}), g.Note(value=None):
            if note.value is None:
                note.value, note.more = x, {"also": x}
            kind, value = note.held()
            assert same(note.value, want) and same(note.more, {"also": want}) and same(value, want) and g.described(x).startswith(kind), (x, note)
            assert repr(note) == f"golib.Note(value={want!r}, more={{'also': {want!r}}})", repr(note)
            for other in copy.copy(note), copy.deepcopy(note), pickle.loads(pickle.dumps(note)):
                assert same(other.value, want) and same(other.more, {"also": want}), other

        # Errors.
        e = failure(g.refuse, x)
        for other in e, pickle.loads(pickle.dumps(e)), g.NotedError(value=x), failure(g.carried, lambda *_: (_ for _ in ()).throw(e), 1):
            assert type(other) is g.NotedError and same(other.value, want), other
    naive = noon.replace(tzinfo=None)
    for error, want in (
        (failure(g.echo, naive), "echo(x=...): "), (failure(g.echo, [1, {"k": naive}]), 'echo(x[1]["k"]=...): '),
        (failure(setattr, g.Note(1), "value", naive), "Note.value: "), (failure(g.after(1), naive), "argument 1: "),
        (failure(g.carried, lambda *_: naive, 1), "the result of the callback: "), (failure(g.NotedError, value=naive), "NotedError(value=...): "),
    ):  # fmt: skip
        assert type(error) is ValueError and str(error).startswith(want + "datetime.datetime(") and "has no time zone" in str(error), repr(error)

    # Others see what they see of the types elsewhere.
    bare = tvm_ffi.get_global_func("golib.echo")
    typed = g.Note(hour).value, tvm_ffi.get_global_func("golib.assorted")((0, 5, 3600))
    assert typed[0] == hour and tuple(typed[1]["when"]) == (0, 5, 3600) and list(typed[1]["parts"])[0] == 10**9 and bare(hour) == hour, typed


def containers(g):
    """Containers that tvm_ffi would follow without end, or into the end of the stack."""

    def deep(make, levels=100_000):
        x = 1
        for _ in range(levels):
            x = make(x)
        return x

    cycle, table, late = [], {}, [1]
    cycle.append(cycle)
    table["k"] = table
    late.append(late)
    deepest = "=...): the value contains itself, or is nested deeper than 1000 levels"
    values = [cycle, table, deep(lambda x: [x]), deep(lambda x: (x,)), deep(lambda x: {"k": x})]
    for value in values:
        for name, f in {"args": g.first, "x": g.echo, "rows": g.sorted, "texts": g.word_count, "l": g.append}.items():
            e = failure(f, value, 1) if name == "l" else failure(f, value)
            assert type(e) is ValueError and str(e).endswith(name + deepest), (name, e)
        for f in g.adder(1), g.compose(lambda x: x, lambda x: x), g.rotation(1):  # functions that Go returns
            e = failure(f, value)
            assert type(e) is ValueError and str(e).endswith("the value contains itself, or is nested deeper than 1000 levels"), e
        e = failure(g.pairs, 1, lambda i: value)
        assert type(e) is ValueError and str(e).startswith("the result of the callback: the value contains itself"), e
    for name, f in {"rows": g.sorted, "texts": g.word_count}.items():
        for value in collections.deque([cycle]), types.MappingProxyType(table):
            assert str(failure(f, value)).endswith(name + deepest), (name, value)
    sequences = failure(g.word_count, collections.deque([late])), failure(g.extend, 0, lambda i: [collections.deque([late])])
    for x in failure(setattr, g.Point(1), "x", late), failure(g.gather, [[1.0], late], lambda i: []), failure(g.extend, 0, lambda i: [[1.0], late]), failure(g.NotFoundError, name="x", near=late), *sequences:
        assert type(x) is ValueError and "the value contains itself" in str(x), x
    assert str(failure(g.NotFoundError, name="x", near=late)) == "NotFoundError(near" + deepest
    e = failure(g.first, 1, [late])
    assert str(e) == "first(args" + deepest, e
    p = g.Point(1, 2)
    flat = {
        "greet(name": g.greet,
        "sum(t": g.sum,
        "total(scale": g.total,
        "total(numbers": lambda v: g.total(1, v),
        "around(p": lambda v: g.around(v, 1),
        "pairs(next": lambda v: g.pairs(1, v),
        "Point.move(dx": lambda v: p.move(v, 1),
        "Point(x": lambda v: g.Point(v, 1),
    }
    for name, f in flat.items():
        for value in values:
            e = failure(f, value)
            assert type(e) is ValueError and str(e).startswith(name) and str(e).endswith(deepest), (name, e)
    for f in g.echo, lambda x: setattr(p, "x", x):
        e = failure(f, deep(lambda x: [x, x], 60))
        assert type(e) is ValueError and "the value has more than 134217728 elements" in str(e), e
    plain = g._ffi.is_plain
    assert all(map(plain, (None, 1, [1.5, ("a", [b""])], {1: {"k": True}}, deep(lambda x: (x,), 16))))
    for x in range(1), collections.Counter(), p, cycle, table, deep(lambda x: (x,), 17), deep(lambda x: [x, x], 16) * 512:
        assert not any(map(plain, (x, [1, x], (x, 1), {1: x}))), x
    assert not plain({(p,): 1})
    assert g.echo(deep(lambda x: [x], 900)) is not None and g.echo(deep(lambda x: [x, x], 10)) is not None


def nested(g):
    """Python calls Go, which calls Python, and so on. Each level reads the frames of the levels below it."""

    def call(n):
        if n < 0:
            raise KeyError("inside")
        return 0.0 if n == 0 else g.pairs(1, lambda i: ("k", call(n - 2)))["k"]

    assert call(200) == 0
    limit = sys.getrecursionlimit()
    for levels, new, kind in ((100_000, limit, RecursionError), (401, 5000, KeyError), (10**6, 10**7, RecursionError)):
        sys.setrecursionlimit(new)
        e = failure(call, levels)
        sys.setrecursionlimit(limit)
        assert type(e) is kind, (levels, e)
        frames = len(traceback.extract_tb(e.__traceback__))
        assert frames < 200, (levels, frames)
    assert call(200) == 0


def records(g):
    """Structs with tags are dicts, whose keys with defaults may be missing."""
    assert g.introduce({"name": "ann"}) == "ann 7"
    assert g.introduce({"name": "ann", "age": 8, "friend": {"name": "bob", "friend": None}}) == "ann 8 and bob 7"
    assert g.introduce_all({"a": [{"name": "ann"}]}, {"name": "bob"}) == "a: ann 7; bob 7"
    assert g.interview(["ann"], lambda name: {"name": name}) == "ann 7"
    assert g.host("hi")({"name": "ann"}) == "hi, ann 7"
    assert g.Club({"name": "ann"}, [{"name": "bob"}]).roll() == "head: ann 7; bob 7"
    assert str(g.StrangerError(who={"name": "ann"})) == "nobody knows ann 7"
    assert g.summary({"name": "x"}) == (datetime.timedelta(seconds=1.5), 0, "")
    # A key that no field has is an error, wherever Go reads a record.
    wrong, near = {"name": "ann", "scroes": [1]}, 'there is no field "scroes"; did you mean scores?'
    for f, args, place in (
        (g.introduce, [wrong], "introduce(p=...)"),
        (g.introduce, [{"name": "bob", "friend": wrong}], "introduce(p.friend=...)"),
        (g.introduce_all, [{"a": [{"name": "bob"}, wrong]}], 'introduce_all(groups["a"][1]=...)'),
        (g.introduce_all, [{}, wrong], "introduce_all(others[0]=...)"),
        (g.interview, [["ann"], lambda name: wrong], "the called function: result"),
        (g.host("hi"), [wrong], "argument 0"),
        (g.summary, [{"name": "x", "owner": wrong}], "summary(t.owner=...)"),
        (g.Club(wrong, []).roll, [], "field head"),
        (lambda who: g.StrangerError(who=who), [wrong], "StrangerError(who=...)"),
    ):
        e = failure(f, *args)
        assert type(e) is TypeError and f"{place}: {near}" in str(e), repr(e)
    e = failure(g.introduce, {"naem": "ann"})
    assert str(e) == 'introduce(p=...): there is no field "naem"; did you mean name?', e
    e = failure(g.introduce, {"age": 1})
    assert str(e) == "introduce(p=...): the field name is missing: Person has name, age, scores, friend, note", e
    e = failure(g.introduce, ["ann"])
    assert str(e) == "introduce(p=...): expected a map (golib.Person in Go), got Array", e
    e = failure(g.introduce, {"name": "ann", "age": None})
    assert str(e) == "introduce(p.age=...): expected an int, got None", e
    assert sys.version_info >= (3, 12) or type(g.Person).__module__ == "typing_extensions"  # which pydantic wants
    assert g.Person.__required_keys__ == {"name"} and g.Person.__optional_keys__ == {"age", "scores", "friend", "note"}


def shapes(g):
    """Objects whose class names their fields are records, and arrays are lists in them."""
    import dataclasses

    import numpy

    @dataclasses.dataclass
    class Data:
        name: object
        age: int = 9
        scores: object = None
        friend: object = None
        made: dataclasses.InitVar[int] = 0

    class Named(typing.NamedTuple):
        name: object
        scores: object = None
        friend: object = None

    class Attrs:  # as attrs makes it
        __attrs_attrs__ = (types.SimpleNamespace(name="name"), types.SimpleNamespace(name="age"))

        def __init__(self, name):
            self.name, self.age = name, 3

    class Model:  # as pydantic makes it
        model_fields = {"name": None}
        model_extra = None

        def __init__(self, name, **extra):
            self.name, self.model_extra = name, extra

        def model_dump(self):
            raise AssertionError("models inside would be dicts, too, but not in lists")

    forms = {
        Data: "x 9", Named: "x 7", Attrs: "x 3", Model: "x 7", lambda name: {"name": name}: "x 7",
        lambda name: types.MappingProxyType({"name": name}): "x 7", lambda name: collections.UserDict(name=name): "x 7",
    }  # fmt: skip
    for make, want in forms.items():
        x, bob = make("x"), Data("bob", 1, numpy.ones(2), make("x"))
        assert g.introduce(x) == g.introduce(p=x) == want
        assert g.introduce(bob) == g.introduce(vars(bob)) == "bob 1 [1 1] and " + want
        assert g.introduce_all({"a": [x, bob]}, x, bob) == f"a: {want}; a: bob 1 [1 1] and {want}; {want}; bob 1 [1 1] and {want}"
        assert g.introduce_all({"a": (x,)}, Named("z", numpy.arange(2))) == f"a: {want}; z 7 [0 1]"
        assert g.interview(["a", "b"], lambda name: x if name == "a" else bob) == f"{want}; bob 1 [1 1] and {want}"
        assert g.host("hi")(x) == "hi, " + want
        assert g.Club(x, [bob]).roll() == f"head: {want}; bob 1 [1 1] and {want}"
        club = g.Club({"name": "a"}, [])
        club.head, club.members = x, (x, bob)
        assert club.roll() == f"head: {want}; {want}; bob 1 [1 1] and {want}"
        e = g.StrangerError(who=bob)
        assert e.args == (f"nobody knows bob 1 [1 1] and {want}",) and e.who["scores"] == [1, 1], e.args
        assert g.summary({"name": "t", "owner": x, "costs": numpy.arange(3)}) == (datetime.timedelta(seconds=1.5), 3, want)
    assert g.introduce({"name": "x", "age": numpy.int64(4), "scores": [numpy.float32(1), numpy.True_]}) == "x 4 [1 1]"
    # A mapping may have a key twice, as a MultiDict of multidict, whose first value a dict would keep.
    class Twice(collections.abc.Mapping):
        def __init__(self, *keys):
            self.keys_ = keys

        def __len__(self):
            return len(self.keys_)

        def __iter__(self):
            return iter(self.keys_)

        def __getitem__(self, key):
            return {"name": "x", "age": 3}[key]

    assert g.introduce(Twice("name", "age")) == "x 3" and g.echo(Twice("name", "name")).keys_ == ("name", "name")
    for f in g.introduce, lambda x: g.introduce_all({"a": [x]}), lambda x: g.interview(["a"], lambda _: x), g.sorted, g.introduce_all:
        e = failure(f, Twice("name", "age", "name"))
        assert type(e) is ValueError and "the Twice has a key twice, and one of the values would be lost: pass a dict" in str(e), e
    assert g.introduce(Named("x", [numpy.True_])) == g.introduce(Data("x", 7, (1,))) == "x 7 [1]"
    assert g.within(numpy.float64(3), {"low": numpy.float32(4), "high": 5, "note": None}) == 4
    # Durations of NumPy, of any unit, alone and in containers.
    second, waits = numpy.timedelta64(1, "s"), numpy.array([1, 2], "m8[s]")
    for many in (waits, list(waits), tuple(waits), collections.deque(waits), waits.astype(object)):
        assert g.longest(many, {}) == g.longest([], {"a": many[0], "b": many[1]}) == datetime.timedelta(seconds=2), many
        for make in dict, lambda **x: collections.namedtuple("Task", x)(**x):
            assert g.summary(make(name="x", wait=second, waits=many)) == (datetime.timedelta(seconds=4), 0, "")
    assert str(g.LateError(due=datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc), by=second, tags=())) == "1s after 2000-01-01 00:00:00"
    assert g.waiter()(second, [second], {"x": second}) == datetime.timedelta(seconds=3)
    slot = {"from": datetime.datetime.now(datetime.timezone.utc), "length": second, "tags": ()}
    assert g.overlap(slot, dict(slot, length=datetime.timedelta(days=1)))["length"] == datetime.timedelta(seconds=1)

    class Other:
        __slots__ = ("name",)

    places = (
        (g.introduce, lambda x: [x], "introduce(p=...)"),
        (g.introduce, lambda x: [{"name": "x", "friend": x}], "introduce(p.friend=...)"),
        (g.introduce_all, lambda x: [{"a": [{"name": "b"}, Data("c", 1, None, x)]}], 'introduce_all(groups["a"][1].friend=...)'),
        (g.introduce_all, lambda x: [{}, {"name": "b"}, x], "introduce_all(others[1]=...)"),
        (g.interview, lambda x: [["a"], lambda _: x], "the result of the callback"),
        (g.host("hi"), lambda x: [x], "argument 1"),
        (g.Club, lambda x: [{"name": "a"}, [x]], "Club(members[0]=...)"),
        (functools.partial(setattr, g.Club({"name": "a"}, []), "head"), lambda x: [x], "Club.head"),
        (lambda who: g.StrangerError(who=who), lambda x: [x], "StrangerError(who=...)"),
        (g.summary, lambda x: [{"name": "t", "owner": x}], "summary(t.owner=...)"),
    )
    for f, args, place in places:
        for x, want in (
            (types.SimpleNamespace(name="x"), "expected a dict for Person, got SimpleNamespace: pass vars(x)"),
            (Other(), "expected a dict for Person, got Other"), (Data, "expected a dict for Person, got type"),
        ):  # fmt: skip
            e = failure(f, *args(x))
            assert type(e) is TypeError and str(e) == f"{place}: {want}", repr(e)
    # A field of any type takes what an argument takes.
    plain, fixed = numpy.ones(2), numpy.ones(2)
    fixed.flags.writeable = False

    class Note(typing.NamedTuple):
        name: str
        note: object

    for make in Note, lambda name, note: {"name": name, "note": note}:
        assert g.introduce(make("x", plain)) == "x 7 (*tvmffi.Tensor)" and g.introduce(make("x", [numpy.True_])) == "x 7 ([]interface {})"
        e = failure(g.introduce, make("x", fixed))
        assert type(e) is BufferError and "introduce(p" in str(e) and "the array is read-only, and Go could write to it" in str(e), repr(e)
        assert g.introduce(make("x", [second])) == "x 7 ([]interface {})"
    for x, want in (
        (Model("x", aeg=3), 'introduce(p=...): there is no field "aeg"; did you mean age?'),
        (Data("x", 1, numpy.ones((2, 2))), "introduce(p.scores[0]=...): expected a float, got Array"),
        (Data("x", 1, numpy.ma.masked_array([1.0], [True])), "introduce(p.scores=...): expected an array without a mask"),
        (Data("x", second), "introduce(p.age=...): expected a timedelta or a number, got a timedelta64"),
        (Data("x", 1, [second]), "introduce(p.scores[0]=...): expected a timedelta or a number, got a timedelta64"),
        (Data("x", "y"), "introduce(p.age=...): expected an int, got string"),
    ):
        e = failure(g.introduce, x)
        assert type(e) is TypeError and want in str(e), e
    for args in ([1.5, [second], {}], [1.5, [], {second: second}], [[second], [], {}]):
        assert type(failure(g.waiter(), *args)) is TypeError
    for x in {"name": "x", "costs": [second]}, {"name": second, "waits": [second]}:
        e = failure(g.summary, x)
        assert type(e) is TypeError and "got a timedelta64" in str(e), e
    loop = Data("x")
    loop.friend = loop
    assert type(failure(g.introduce, loop)) in (ValueError, RecursionError)


def tensors(g):
    import numpy as np

    x = np.arange(10, dtype="float32")
    assert g.sum(x) == g.sum(t=x) == g.sum(x.reshape(2, 5)) == 45
    d = g.doubled(x)
    assert (np.from_dlpack(d) == 2 * x).all() and g.sum(d) == 90
    x.flags.writeable = False
    e = failure(g.sum, x)
    assert type(e) is BufferError and str(e) == "sum(t=...): the array is read-only, and Go could write to it: call .copy()", e
    assert g.sum(x.copy()) == 45


def classes(g):
    p = g.Point(3, y=4, name="q")
    assert (p.x, p.y, p.name, p.norm()) == (3, 4, "q", 5) and str(p) == repr(p) == "q(3, 4)"
    assert str(inspect.signature(g.Circle)) == "(x: 'float', radius: 'float', y: 'float' = 0.0, *, name: 'str' = 'p') -> 'None'"
    p.x = 1
    p.move(dx=1, dy=-4)
    assert (p.x, p.y) == (2, 0)
    assert type(p.mirrored()) is g.Point and type(g.origin()) is g.Point
    c = g.around(p, radius=2)
    assert type(c) is g.Circle and isinstance(c, g.Point) and c.norm() == 2 and abs(c.area() - 12.566) < 0.001
    assert g.Circle(1, 2).radius == 2
    assert p == p and p != g.Point(2, 0, name="q") and len({p, p}) == 1
    q = copy.copy(p)
    q.x = 7
    assert p.x == 2 and type(q) is g.Point and copy.deepcopy(c).radius == 2
    assert pickle.loads(pickle.dumps(c)).radius == 2 and type(pickle.loads(pickle.dumps(c))) is g.Circle
    make, args, state = c.__reduce__()
    newer = {"handle": state["handle"].replace('"radius":', '"weight":1,"radius":')}
    e = failure(make(*args).__setstate__, newer)
    assert str(e) == "golib.Circle has no field weight, which the pickle has: another version of golib made it, so install that one", e
    assert g.Point.norm.__qualname__ == "Point.norm" and g.Point.__module__ == "golib"
    e = failure(setattr, p, "x", "no number")
    assert type(e) is TypeError and str(e) == "Point.x: expected float, got str", e
    for _ in range(1000):
        g.Point(1).mirrored()

    class Named(g.Point):
        def __init__(self):
            super().__init__(3, 4)

        def double(self):
            return 2 * self.norm()

    assert Named().double() == 10 and isinstance(Named(), g.Point) and g.distance(Named(), g.Point(3)) == 4


def gauges(g):
    assert list(inspect.signature(g.Gauge).parameters) == ["limits", "title", "next", "marks", "usual"]  # those with defaults last
    last = g.Gauge({"low": 0, "high": 30}, "the last")
    assert (last.title, dict(last.limits), last.next, last.marks, last.usual) == ("the last", {"low": 0, "high": 30}, None, None, None)
    first = g.Gauge(g.Limits(low=1.5, high=20, note="x"), next=last, marks=[1, 2.5], usual={"low": 0, "high": 1})
    assert first.title is None and first.next.same_as(last) and first.highest() == 30 and first.highest({"low": 0, "high": 31}) == 31
    first.warm(2)
    assert dict(first.limits) == {"low": 1.5, "high": 22, "note": "x"} and list(first.marks) == [1, 2.5, 2] and first.usual["high"] == 3
    assert first.next.limits["high"] == first.highest() == 32 and last.limits["high"] == 30  # Go changed a copy
    before = first.next
    first.next, first.marks, first.usual, first.limits = last, None, None, {"low": 0, "high": 5}
    first.warm(0)  # changes nothing
    assert first.next.same_as(last) and not first.next.same_as(before) and first.marks is None and first.limits["high"] == 5
    assert copy.deepcopy(first).next.title == "the last"
    for field, value, want in [
        ("limits", None, "dict[str, Any], got NoneType"),
        ("limits", [1], "dict[str, Any], got list"),
        ("usual", 3, "dict[str, Any] | None, got int"),
        ("next", g.Point(1), "golib.Gauge | None, got Point"),
        ("marks", "x", "list[float] | None, got str"),
        ("title", b"x", "str | None, got bytes"),
    ]:
        e = failure(setattr, first, field, value)
        assert type(e) is TypeError and str(e) == f"Gauge.{field}: expected {want}", (field, e)
        if recent():
            e = failure(g.Gauge, **{"limits": last.limits, field: value})
            assert type(e) is TypeError and str(e) == f"Gauge({field}=...): expected {want}" and e.__cause__ is None, (field, e)
    assert first.limits["high"] == 5 and first.next.same_as(last) and first.marks is None  # nothing was set
    worded = importlib.import_module("golib._tvmffi").worded
    for kind, want in [
        ("Optional<(int) -> Optional<str>>", "((int) -> str | None) | None"),
        ("ffi.Array<Tuple<ffi.Bytes, ffi.Function>>", "list[tuple[bytes, function]]"),
        ("Optional<ffi.Map<str, golib.Point>>", "dict[str, golib.Point] | None"),
    ]:
        assert worded("x", f"Cannot convert from type `ffi.BigInt` to `{kind}`", 2**70) == f"x: expected {want}, got int"
    try:
        {}["k"]
    except KeyError as context:
        assert not (e := failure(g.Gauge, 3)).__suppress_context__ and e.__context__ is context
    e = failure(setattr, first, "title", "\ud800")
    assert type(e) is UnicodeEncodeError and pickle.loads(pickle.dumps(e)).reason == e.reason
    first.limits = {"low": "cold", "high": 1}
    e = failure(first.highest)
    assert type(e) is TypeError and str(e) == "Gauge.highest(self=...): golib.Gauge: field limits: field low: expected float, got ffi.SmallStr", e
    first.limits, last.next = last.limits, first  # each contains the other
    for call in [first.highest, functools.partial(last.warm, 1)]:
        e = failure(call)
        assert type(e) is ValueError and str(e).endswith("the value contains itself, or is nested deeper than 1000 levels"), str(e)[-200:]
    last.next = None
    for _ in range(990):
        last = g.Gauge(last.limits, next=last)
    assert last.highest() == 30


def errors(g):
    e = failure(g.greet, "")
    assert type(e) is ValueError and str(e) == "there is nobody to greet", e
    assert "golib.go" in "".join(traceback.format_exception(type(e), e, e.__traceback__))

    class Mine(Exception):
        pass

    def bad(v):
        raise Mine("mine") from KeyError("cause")

    e = failure(g.apply, bad, 1)
    assert type(e) is Mine and type(e.__cause__) is KeyError and e.__context__ is None, (e, e.__cause__, e.__context__)
    trace = "".join(traceback.format_exception(type(e), e, e.__traceback__))
    assert 'raise Mine("mine")' in trace and "golib.go" in trace, trace

    def interrupt(v):
        raise KeyboardInterrupt

    assert type(failure(g.apply, interrupt, 1)) is KeyboardInterrupt
    e = failure(g.fail, "nil", "")
    assert type(e) is RuntimeError and "nil pointer" in str(e)


def declared(g):
    """Error types of Go are exception classes with fields, in both directions."""
    e = failure(g.find, "x")
    assert type(e) is g.NotFoundError and isinstance(e, KeyError) and (e.name, e.tries) == ("x", 1), e
    assert "nothing is called x" in str(e) and g.NotFoundError.__module__ == "golib"
    e = failure(g.find, "number")
    assert type(e) is g.LimitError and isinstance(e, ValueError) and e.value == 7, e
    e = failure(g.find, "missing")
    assert e.near == ["mist", "missive"] and type(e.near) is list and pickle.loads(pickle.dumps(e)).near == e.near, e
    e = g.NotFoundError(name="y")
    assert str(e) == "nothing is called y (tries: 1)" and pickle.loads(pickle.dumps(e)).name == "y"

    def bad():
        raise e

    assert g.caught(bad).startswith("NotFoundError y 1"), g.caught(bad)
    assert g.is_missing(lambda: g.find("missing")) and failure(g.through, bad, False) is e
    wrapped = failure(g.through, bad, True)
    assert isinstance(wrapped, KeyError) and "through Go" in str(wrapped) and wrapped.__cause__ is e, (wrapped, wrapped.__cause__)
    assert type(failure(g.NotFoundError, nothing=1)) is TypeError


def derived(g):
    class Named(g.Point):
        def __init__(self, label):
            super().__init__(1, 2)
            self.label = label

    class Twice(Named):
        def __init__(self):
            super().__init__("twice")
            self.more = 3

    class Slots(g.Point):
        __slots__ = ("one",)

    class Empty(g.Point):
        def __init__(self):
            pass

    assert Named("n").label == "n" and vars(Twice()) == {"label": "twice", "more": 3}
    assert not hasattr(Slots(1, 2), "__dict__") and not hasattr(g.Point(1, 2), "__dict__")
    assert isinstance(failure(setattr, g.Point(1, 2), "other", 1), AttributeError)
    # Without its check, the first use of such an object ends the process.
    e = failure(Empty)
    assert isinstance(e, TypeError) and str(e) == "Empty.__init__() did not call super().__init__(), which makes the object"
    # Older releases of tvm_ffi call __new__ for results.
    for cls in (g.Point, g.Index, Named) if recent() else ():
        e = failure(cls.__new__, cls)
        assert type(e) is TypeError and str(e) == f"{cls.__name__}.__new__() makes no object: call {cls.__name__}()", e

    class New(g.Point):
        def __new__(cls, label):
            self = super().__new__(cls)
            self.label = label
            return self

        def __init__(self, label):
            super().__init__(1, 2)

    assert New("n").label == "n" and New("n").x == 1


def weak(g):
    """Weak references end with the object of Python."""
    import weakref

    import tvm_ffi

    class Mixin:
        pass

    class Named(g.Index):
        pass

    class Both(Mixin, g.Circle):
        pass

    class Slots(g.Point):
        __slots__ = ("one",)

    p, named = g.Point(1, 2), Named()
    named.itself = named
    made = [p, g.Circle(1, 2), g.Index(), named, Both(1, 2), Slots(1), g.origin(), g.around(p, 2), g.merged([]), tvm_ffi.Object.__new__(g.Point)]
    made += [copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))]
    keys, values, ended = weakref.WeakKeyDictionary(), weakref.WeakValueDictionary(), []
    for i, x in enumerate(made):
        keys[x], values[i] = i, x
        weakref.finalize(x, ended.append, i)
        assert weakref.ref(x)() is x is values[i] and keys[x] == i and hash(weakref.ref(x)) == hash(x)
    assert Both(3, 2).area() > 12 and Both(3, 2).x == 3 and len(keys) == len(values) == len(made)
    kept, refs = tvm_ffi.Array([p]), [weakref.ref(x) for x in made]
    x = p = named = None
    made.clear()
    gc.collect()
    assert not len(keys) and not len(values) and sorted(ended) == list(range(len(refs))) and not any(r() for r in refs)
    assert kept[0].y == 2  # another object of Python


def early():
    """The library was used before the package is imported: tvm_ffi has made classes for its objects."""
    m = tvm_ffi.load_module(os.path.join(folder, "golib", "libgolib.so"))
    kept = [m.origin(), m.merged([])]
    import golib

    assert golib.Point(3, 4).norm() == 5 and str(golib.origin()) == str(kept[0]) and len(golib.Index()) == 0


def opaque(g):
    """Objects of which only Go sees the fields."""
    with g.Index(fold=True) as x:
        assert x.add("A text") == 0 and len(x) == 1 and x.find("text") == ["A text"]
    assert str(inspect.signature(g.Index)) == "(fold: 'bool' = True) -> 'None'"

    class Early(g.Index):
        def __init__(self, use):
            use(self)  # before there is an object: tvm_ffi would end the process

    for f in (lambda x: x.add("x"), lambda x: x.add(text="x"), lambda x: x.words, len, g.Index.close, lambda x: g.Index.find(x, "x"), lambda x: g.distance(g.Point(1, 2), b=x)):
        e = failure(Early, f)
        assert type(e) is TypeError and str(e).endswith("Early'> has no object of Go yet: call super().__init__() first"), e
    for f in copy.copy, copy.deepcopy, pickle.dumps:
        e = failure(f, g.Index())
        assert type(e) is TypeError and str(e) == "Index cannot be copied or pickled: only Go sees its fields", e


def unmade(g):
    """An object that was not made is a TypeError wherever it goes. tvm_ffi would end the process."""
    import asyncio
    import ctypes

    import tvm_ffi

    class Early(g.Point):
        def __init__(self, use):
            use(self)

    p = g.Point(1, 2)
    for f in (
        lambda x: x.x, lambda x: setattr(x, "x", 1), lambda x: setattr(p, "x", x), copy.copy, copy.deepcopy,
        lambda x: g.echo([{"a": (x,)}]), lambda x: g.echo({x: 1}), lambda x: g.merged([x]), lambda x: g.Point(1, y=[x]),
        lambda x: g.apply(lambda _: x, 1), lambda x: asyncio.run(g.sleep_async([x])),
        lambda x: g.NotFoundError(name=x), lambda x: setattr(p, "x", [x] + [None] * (1 << 24)),
    ):
        for e in failure(Early, f), failure(f, tvm_ffi.Object.__new__(g.Point)):
            assert type(e) is TypeError and str(e).endswith("has no object of Go yet: call super().__init__() first"), e
    for made, *args in (p, 1, 2), (g.Index(),):
        e = failure(made.__init__, *args)
        assert type(e) is TypeError and str(e).endswith(".__init__() was called before: the object is made"), e
    assert p.x == 1 and copy.copy(p).y == 2

    # What the collector has cleared.
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype, slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    add = g.add
    ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(slot(type(add), 51))(add)  # tp_clear
    for f in add, repr, vars(type(add))["__doc__"].__get__, lambda f: f.__name__, lambda f: f.__reduce_ex__(2), lambda f: f.__get__(p), lambda f: setattr(f, "x", 1):
        assert type(failure(f, add)) is SystemError


def asynchronous(g):
    import asyncio

    assert inspect.iscoroutinefunction(g.sleep_async)

    async def run():
        await asyncio.gather(*[g.sleep_async(1) for _ in range(20)])
        task = asyncio.ensure_future(g.sleep_async(milliseconds=100000))
        await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
            raise AssertionError("it was not cancelled")
        except asyncio.CancelledError:
            pass
        try:
            await g.sleep_async("x")
            raise AssertionError("no error")
        except TypeError as e:
            assert "sleep(milliseconds=...): expected an int" in str(e), e

    asyncio.run(run())


def again(g):
    """The package can be reloaded, and imported anew."""
    e = failure(g._ffi.register, "golib.Other")
    assert type(e) is ImportError and "has no type golib.Other: it was built from other Go code" in str(e), e
    p = g.Point(1)
    importlib.reload(g)
    assert g.add(1, 2) == 3 and g.distance(p, g.Point(1)) == 0
    for name in [n for n in sys.modules if n.startswith("golib")]:
        del sys.modules[name]
    import golib

    assert golib is not g and golib.add(1, 2) == 3


def quick(g):
    """The package imports nothing that tvm_ffi has not imported."""
    new = sorted(set(sys.modules) - before)
    new = [m for m in new if m != "faulthandler"]  # it is built into Python
    assert new == ["golib", "golib._columns", "golib._errors", "golib._face", "golib._tvmffi", "golib._values"], new


def broken(change, want):
    """Imports a copy of the package after a change."""
    parent = tempfile.mkdtemp()
    package = os.path.join(parent, "golib")
    shutil.copytree(os.path.join(folder, "golib"), package)
    library = [os.path.join(package, f) for f in os.listdir(package) if f.endswith((".so", ".dylib"))][0]
    change(package, library)
    sys.path.insert(0, parent)
    for name in [n for n in sys.modules if n.startswith("golib")]:
        del sys.modules[name]
    e = failure(importlib.import_module, "golib")
    sys.path.remove(parent)
    shutil.rmtree(parent)
    assert type(e) is ImportError and e.name == "golib" and e.msg.startswith("golib: ") and want in e.msg, (e, want)
    assert "golib" not in sys.modules
    return e.msg


def rewrite(name, old, new):
    def change(package, library):
        path = os.path.join(package, name)
        text = open(path, encoding="utf-8").read()
        assert old in text
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))

    return change


def patch(at, data):
    def change(package, library):
        with open(library, "r+b") as f:
            f.seek(at)
            f.write(data)

    return change


def loading():
    """Each reason why the package cannot be imported is an ImportError with a remedy."""
    support = "_tvmffi.py"
    versions = 'OLDEST, BELOW = "0.1.12", "0.2"'
    assert "pip install 'apache-tvm-ffi>=0.9,<0.10'" in broken(rewrite(support, versions, 'OLDEST, BELOW = "0.9", "0.10"'), "is too old")
    broken(rewrite(support, versions, 'OLDEST, BELOW = "0.1", "0.1.2"'), "is newer than this package knows")
    tvm_ffi = [sys.modules.pop(n) for n in list(sys.modules) if n == "tvm_ffi"]
    sys.modules["tvm_ffi"] = None
    assert "pip install 'apache-tvm-ffi>=" in broken(lambda p, l: None, "the Python package apache-tvm-ffi is not installed")
    del sys.modules["tvm_ffi"]
    sys.modules.update({"tvm_ffi": m for m in tvm_ffi})
    broken(lambda p, l: os.unlink(l), "does not exist: install the package again")
    broken(lambda p, l: os.rename(l, os.path.join(p, "golib.dll")), "the package has golib.dll for ")
    broken(patch(0, b"version https://git-lfs"), "is not a shared library, or it is damaged")
    if sys.platform == "linux":
        machine = 62 if os.uname().machine == "aarch64" else 183
        broken(patch(18, machine.to_bytes(2, "little")), "is built for linux/" + ("amd64" if machine == 62 else "arm64"))
        broken(glibc, "needs glibc 9.99, and this system has ")
    broken(rewrite("__init__.py", 'function("add"', 'function("added"'), "has no function added: it was built from other Go code")


def glibc(package, library):
    """Makes the library need a version of glibc that does not exist: a name in its string table, and its hash."""
    data = open(library, "rb").read()
    names = [n for n in (b"GLIBC_2.3.4", b"GLIBC_2.3.2", b"GLIBC_2.2.5", b"GLIBC_2.17", b"GLIBC_2.34") if b"\0" + n + b"\0" in data]
    old = names[0]
    new = b"GLIBC_9.99" + b"\0" * (len(old) - len(b"GLIBC_9.99"))

    def hash_of(name):
        h = 0
        for c in name:
            h = (h << 4) + c
            g = h & 0xF0000000
            h = (h ^ (g >> 24)) & ~g & 0xFFFFFFFF
        return h.to_bytes(4, "little")

    data = data.replace(b"\0" + old + b"\0", b"\0" + new + b"\0").replace(hash_of(old), hash_of(b"GLIBC_9.99"))
    with open(library, "wb") as f:
        f.write(data)


def clash(g):
    """Another copy of the package in the same process."""
    message = broken(lambda p, l: None, "another copy or version of the library, with the same names")
    assert "the global function golib." in message, message
    assert g.add(1, 2) == 3


if tests == ["loading"]:
    import tvm_ffi

    loading()
elif tests == ["early"]:
    import tvm_ffi

    sys.path.insert(0, folder)
    early()
else:
    sys.path.insert(0, folder)
    import tvm_ffi

    if tests[0] == "portable":  # another Python, for which the library has no code in C
        tests.pop(0)
        sys.implementation = types.SimpleNamespace(**{**vars(sys.implementation), "name": "another"})
    before = set(sys.modules)
    import golib

    for test in tests:
        globals()[test](golib)
        gc.collect()
