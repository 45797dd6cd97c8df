"""Uses the Go libraries as Python users do. Usage: use.py TEST,... GOLIB [WORDS]"""

import ctypes
import gc
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

tests, paths = sys.argv[1].split(","), sys.argv[2:]


def later(seconds, action):
    threading.Timer(seconds, action).start()


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def failure(f, *args):
    try:
        f(*args)
    except BaseException as e:  # KeyboardInterrupt too
        return e
    raise AssertionError("no error")


def text(e):
    return "".join(traceback.format_exception(type(e), e, e.__traceback__))


def calls(m, w):
    assert m.add(40, 2) == 42
    assert m.greet("x") == "hello, x"
    assert m.greet("a much longer name than seven") == "hello, a much longer name than seven"
    assert dict(m.word_count(["a b", "b"]).items()) == {"a": 1, "b": 2}
    assert m.join(1, "x", 2.5, True) == "1 x 2.5 true"
    assert m.join() == ""
    assert m.reversed(b"abc", None) == b"cba" and m.reversed(b"abc", 2) == b"abc"
    assert m.echo(3) == 3 and m.echo(None) is None and m.echo("text") == "text"
    assert list(m.echo(tvm_ffi.convert([1, "two"]))) == [1, "two"]
    assert tvm_ffi.get_global_func("golib.add")(1, 2) == 3


def tensors(m, w):
    x = np.arange(10, dtype="float32")
    assert m.sum(tvm_ffi.from_dlpack(x)) == 45
    assert m.sum(np.ones((3, 4), "float32")) == 12
    d = np.from_dlpack(m.doubled(x.reshape(2, 5)))
    assert d.shape == (2, 5) and (d == 2 * x.reshape(2, 5)).all()
    e = failure(m.sum, np.ones(3, "int64"))
    assert isinstance(e, TypeError) and "int64" in str(e), e
    for i in range(200):
        assert m.sum(m.doubled(np.full(1000, i, "float32"))) == 2000 * i


def callbacks(m, w):
    assert m.apply(lambda v: v * 2, 21) == 42
    assert m.parallel(lambda i: i, 16) == 120
    f = m.adder(5)
    assert f(1) == 6 and m.apply(f, 2) == 7
    def bad(v):
        raise KeyError("from Python")
    e = failure(m.apply, bad, 1)
    assert isinstance(e, KeyError) and "from Python" in str(e), e
    trace = text(e)
    assert 'raise KeyError("from Python")' in trace, trace
    e = failure(m.apply, lambda v: "no number", 1)
    assert isinstance(e, TypeError) and str(e) == "the called function: result: expected an int, got string", e
    e = failure(m.apply, lambda v: 2**63, 1)
    assert str(e) == "the called function: result: expected an int from -2**63 to 2**63-1, got one outside this range", e


def errors(m, w):
    e = failure(m.greet, "")
    assert type(e) is ValueError and str(e) == "there is nobody to greet", e
    assert "golib.go" in text(e) and "func Greet(name string) (string, error) {" in text(e), text(e)
    for kind in ("KeyError", "TypeError", "IndexError"):
        assert type(e := failure(m.fail, kind, "text")).__name__ == kind, e
    assert type(failure(m.fail, "MyOwnError", "text")) is RuntimeError
    e = failure(m.fail, "plain", "a plain Go error")
    assert type(e) is RuntimeError and str(e) == "a plain Go error", e
    e = failure(m.add, 1, "x")
    assert type(e) is TypeError and str(e) == "add(b=...): expected an int, got string", e
    # The traceback of a Python error that passes through a Go func names that func.
    def raising(x):
        raise KeyError("of Python")

    e = failure(m.apply, raising, 1)
    assert type(e) is KeyError and "in raising" in text(e), text(e)
    assert "golib.go" in text(e) and "func Apply(" in text(e), text(e)
    e = failure(m.add, 1)
    assert type(e) is TypeError and str(e) == "add() takes 2 arguments (a, b), got 1: b is missing", e


def panics(m, w):
    for _ in range(3):
        e = failure(m.fail, "panic", "this is a panic")
        assert type(e) is RuntimeError and str(e) == "panic in golib.Fail: this is a panic" and "panic(text)" in text(e), text(e)
        e = failure(m.fail, "nil", "x")
        assert "nil pointer dereference" in str(e) and "*p = len(text)" in text(e), text(e)
    assert m.add(1, 2) == 3
    # Go forwards a fault that is not its own to the host.
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        ctypes.string_at(16)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) in (signal.SIGSEGV, signal.SIGABRT)


def interrupts(m, w):
    before = signal.getsignal(signal.SIGINT)
    for f in (m.sleep, m.poll):
        later(0.3, interrupt)
        start = time.perf_counter()
        e = failure(f, 20000)
        assert type(e) is KeyboardInterrupt and time.perf_counter() - start < 10, e
        f(1)
    assert signal.getsignal(signal.SIGINT) is before
    def forever():
        while True:
            pass
    later(0.3, interrupt)
    assert type(failure(forever)) is KeyboardInterrupt
    r, p = os.pipe()
    os.close(r)
    assert type(failure(os.write, p, b"x")) is BrokenPipeError


def types(m, w):
    assert m.within(50, {"low": 0.0, "high": 37.5}) == 37.5
    assert m.small(-1, 3, True) == 2
    e = failure(m.small, 200, 3, True)
    assert type(e) is TypeError and str(e) == "small(a=...): expected an int from -128 to 127, got 200", e
    assert m.describe("float16", tvm_ffi.device("cpu", 0)) == "float16 on cpu:0"
    assert m.describe("float16", "cpu") == "float16 on cpu:0"
    e = failure(m.describe, "nonsense", "cpu")
    assert type(e) is ValueError and "nonsense" in str(e), e
    assert m.power(3, 100) == 3**100
    assert list(m.swap((1, "one"))) == ["one", 1]
    assert m.volume(tvm_ffi.Shape((2, 3, 4))) == 24
    numbers = tvm_ffi.List([1])
    assert m.append(numbers, 2).same_as(numbers) and list(numbers) == [1, 2]
    rows = m.sorted({"a": [[3.0, 1.0, 2.0]]})
    assert list(rows["a"][0]) == [1.0, 2.0, 3.0]
    rows = m.sorted({"a": [[3, 1.5, True]]})
    assert [repr(x) for x in rows["a"][0]] == ["1.0", "1.5", "3.0"]
    e = failure(m.sorted, {"a": [[3, 1, "x"]]})
    assert type(e) is TypeError and str(e) == 'sorted(rows["a"][0][2]=...): expected a float, got string', e
    e = failure(m.sorted, {"a": [[3.0, 1.0]]})
    assert type(e) is TypeError and str(e) == 'sorted(rows["a"][0]=...): expected a sequence of 3 elements of float64, got an array of 2 elements', e
    assert m.compose(lambda x: x + "!", lambda x: str(x))(3) == "3!"
    assert m.type_key(numbers) == "ffi.List"
    assert m.explain(None) == "no error"
    assert m.first("a", 2) == "a" and "no values" in str(failure(m.first))


def functions(m, w):
    """Several results, variadic parameters and defaults; what each refuses."""
    assert list(m.div_mod(17, 5)) == [3, 2]
    assert type(failure(m.div_mod, 1, 0)) is ValueError
    assert dict(m.pairs(2, lambda i: (str(i), i / 2)).items()) == {"0": 0, "1": 0.5}
    e = failure(m.pairs, 1, lambda i: 3)
    assert type(e) is TypeError and "result: expected a tuple (string, float), got int" in str(e), e
    assert m.total(2.0, 1, 2, 3) == 12 and m.total(1) == 0
    assert m.repeat("a") == "a, a" and m.repeat("a", 3, "-") == "a-a-a" and m.repeat("a", 3, "-", 2) == "a-"
    for message, f, *args in [
        ("total(numbers[2]=...): expected an int from -128 to 127, got 300", m.total, 1.0, 1, 2, 300),
        ("total(numbers[1]=...): expected an int, got string", m.total, 1.0, 1, "x"),
        ("total() takes at least 1 argument (scale, numbers...), got 0: scale is missing", m.total),
        ("repeat() takes 1 to 4 arguments (text, times, sep, limit), got 0: text is missing", m.repeat),
        ("repeat() takes 1 to 4 arguments (text, times, sep, limit), got 5", m.repeat, "a", 1, "", None, 3),
        ("repeat(times=...): expected an int, got string", m.repeat, "a", "x"),
        ("repeat(limit=...): expected an int, got float", m.repeat, "a", 1, "", 1.5),
        ("origin() takes no arguments, got 1", m.origin, 1),
        ("add() takes 2 arguments (a, b), got 0: a, b are missing", m.add),
        ("describe(t=...): expected a DataType, got int", m.describe, 1, "cpu"),
        ("sum(t=...): expected a Tensor, got string", m.sum, "x"),
        ("reversed(data=...): expected bytes, got string", m.reversed, "x", None),
        ("apply(f=...): expected a Function, got int", m.apply, 1, 1),
        ("apply(f=...): expected a Function, got None", m.apply, None, 1),
        ("swap(pair=...): expected a tuple (int, string), got an array of 1 elements", m.swap, (1,)),
        ("swap(pair[1]=...): expected a string, got int", m.swap, (1, 2)),
        ("word_count(texts[0]=...): expected a string, got int", m.word_count, [1]),
        ("sorted(rows=...): a key: expected a string, got int", m.sorted, {1: []}),
        ("within(l.low=...): expected a float, got string", m.within, 1, {"low": "x"}),
        ("power(base=...): expected an int, got string", m.power, "x", 1),
        ("around(p=...): expected a golib.Point, got int", m.around, 1, 1.0),
    ]:
        e = failure(f, *args)
        assert type(e) is TypeError and str(e) == message, (e, message)
    e = failure(m.adder(1), "x")
    assert type(e) is TypeError and str(e).startswith("the Go func ") and "argument 0: expected int" in str(e), e
    assert m.describe("int8", "cpu").startswith("int8"), "the library is in order"


def lent(m, w):
    x = np.arange(4, dtype="float32")
    assert m.scale(x) == 12 and list(x) == [0, 2, 4, 6]
    assert m.scale(tvm_ffi.from_dlpack(x), 0.5) == 6 and list(x) == [0, 1, 2, 3]
    assert m.scale(np.zeros(0, "float32")) == m.scale([]) == 0
    x = np.arange(8, dtype="float32")
    assert m.scale(x[::2]) == m.scale([0, 2, 4, 6]) == m.scale(tvm_ffi.List([0.0, 2, 4, 6])) == 24 and x.sum() == 28  # copies
    squares, n = m.squares(1000)
    ramps = [m.ramp(1000) for _ in range(200)]  # Go collects its garbage while they live
    assert n == 1000 and type(squares) is tvm_ffi.Tensor
    squares = np.from_dlpack(squares)
    assert squares.dtype == np.int32 and (squares == np.arange(1000) ** 2).all()
    for r in ramps:
        r = np.from_dlpack(r)
        assert (r == np.arange(1000)).all()
        r[0] = 7  # the memory is the caller's now
    assert m.ramp(0).shape == (0,)
    assert "scale(x[1]=...): expected a float, got string" in str(failure(m.scale, [1, "x"]))
    for message, kind, x in [
        ("got a Tensor of float64: convert it first", TypeError, np.ones(3)),
        ("got float32[2, 2]@cpu:0: reshape it first", ValueError, np.ones((2, 2), "float32")),
        ("got None", TypeError, None),
        ("got string", TypeError, "x"),
    ]:
        e = failure(m.scale, x)
        assert type(e) is kind and str(e) == "scale(x=...): expected a Tensor of float32 with one dimension, " + message, e


def sequences(m, w):
    def values(f):
        while (v := f()) is not None:
            yield v[0]

    before = m.stopped(0)
    assert list(values(m.countdown(3))) == [3, 2, 1] and list(values(m.countdown(0))) == []
    f = m.countdown(1)
    assert list(values(f)) == [1] and f() is None and f() is None
    assert [tuple(v) for v in values(m.fields("a b"))] == [(0, "a"), (1, "b")]
    assert str(failure(f, 1)) == "next() takes no arguments, got 1"
    # A panic in the sequence is an error of next, and then the sequence has ended.
    f = m.countdown(14)
    assert f()[0] == 14
    e = failure(f)
    assert type(e) is RuntimeError and str(e) == "panic in golib.Countdown: 13 brings bad luck" and "functions.go" in text(e), text(e)
    assert f() is None
    assert m.stopped(before + 4) == before + 4
    # The sequence ends when the last reference to the function does, on any thread.
    f = m.countdown(1000)
    assert f()[0] == 1000 and f()[0] == 999
    del f
    holder = [m.countdown(1000)]
    holder[0]()
    t = threading.Thread(target=holder.clear)
    t.start()
    t.join()
    assert m.stopped(before + 6) == before + 6
    m.countdown(5)  # nobody asks for its values, so it does not begin
    assert m.stopped(0) == before + 6
    # Calls may come from several threads.
    f, got = m.countdown(12), []
    group = [threading.Thread(target=lambda: got.extend(values(f))) for _ in range(4)]
    [t.start() for t in group]
    [t.join() for t in group]
    assert sorted(got) == list(range(1, 13)), got


def methods(m, w):
    @tvm_ffi.register_object("golib.Point")
    class Point(tvm_ffi.Object):
        def __init__(self, *args, **kwargs):
            self.__ffi_init__(*args, **kwargs)

    p = Point(1.0, 2.0)
    assert list(p.corners()) == [2, 3] and list(p.corners(2)) == [4, 5] and list(p.corners(2, 1, 1)) == [8, 9]
    assert (p.x, p.y) == (8, 9)
    next = p.way(2)
    assert [tuple(next()[0]) for _ in range(3)] == [(8, 9), (4, 4.5), (0, 0)] and next() is None
    for message, f, *args in [
        ("Point.corners(by=...): expected a float, got string", p.corners, "x"),
        ("Point.corners(more[1]=...): expected a float, got string", p.corners, 1, 2, "y"),
        ("Point.move() takes 2 arguments (dx, dy), got 1: dy is missing", p.move, 1),
        ("Point.move(dy=...): expected a float, got string", p.move, 1, "x"),
        ("Point.norm() takes no arguments, got 1", p.norm, 1),
    ]:
        e = failure(f, *args)
        assert type(e) is TypeError and str(e) == message, (e, message)
    assert (p.x, p.y) == (8, 9), "a call that fails changes nothing"


def objects(m, w):
    @tvm_ffi.register_object("golib.Point")
    class Point(tvm_ffi.Object):
        def __init__(self, *args, **kwargs):
            self.__ffi_init__(*args, **kwargs)

    @tvm_ffi.register_object("golib.Circle")
    class Circle(Point):
        pass

    p = Point(3.0, 4.0)
    assert (p.x, p.y, p.name) == (3, 4, "p") and p.norm() == 5
    p.x = 1
    p.move(1.0, -4.0)
    assert (p.x, p.y) == (2, 0) and str(p) == "p(2, 0)", str(p)
    q = p.mirrored()
    assert type(q) is Point and q.x == -2
    assert m.distance(p, q) == 4
    assert str(m.origin()) == "origin(0, 0)"
    c = m.around(p, 2.0)
    assert type(c) is Circle and isinstance(c, Point) and c.x == 2 and c.norm() == 2
    assert abs(c.area() - 12.566) < 0.001 and m.distance(c, q) == 4
    c = Circle(x=1, y=2, radius=3, name="round")
    assert (c.x, c.name, c.radius) == (1, "round", 3), (c.x, c.name, c.radius)
    c = m.around(Point(1.0, 2.0, name="round"), 3)
    assert c.name == "round" and c.radius == 3
    e = failure(m.around, p, -1.0)
    assert type(e) is ValueError, e
    e = failure(m.around, tvm_ffi.List([1]), 1.0)
    assert type(e) is TypeError and "golib.Point" in str(e), e
    e = failure(setattr, p, "x", "no number")
    assert type(e) is TypeError, e


def index(m, w):
    @tvm_ffi.register_object("golib.Index")
    class Index(tvm_ffi.Object):
        def __init__(self, *args, **kwargs):
            self.__ffi_init__(*args, **kwargs)

    x, y = Index(), Index(fold=False)
    assert x.add("Hello world") == 0 and x.add("hello there") == 1
    assert list(x.find("HELLO")) == ["Hello world", "hello there"] and x.len() == 2 and x.words() == 3
    assert y.add("A b") == 0 and list(y.find("a")) == []
    assert repr(m.merged([x, y])) == "Index(3 texts, 5 words)"
    assert isinstance(failure(x.add, ""), RuntimeError)
    group = [threading.Thread(target=lambda: [x.add("more and more") for _ in range(500)]) for _ in range(4)]
    [t.start() for t in group]
    [t.join() for t in group]
    assert len(x.find("more")) == 2000
    x.close()
    x.close()
    e = failure(x.add, "text")
    assert isinstance(e, ValueError) and "Index.add: the Index is closed" in str(e), e


def threads(m, w):
    def work(n):
        for i in range(n):
            assert m.add(i, 1) == i + 1
            assert m.apply(lambda v: v + 1, i) == i + 1
    def count():
        return int([l for l in open("/proc/self/status") if l.startswith("Threads:")][0].split()[1])
    group = [threading.Thread(target=work, args=(2000,)) for _ in range(8)]
    [t.start() for t in group]
    [t.join() for t in group]
    if os.path.exists("/proc/self/status"):
        before = count()
        for _ in range(100):
            t = threading.Thread(target=work, args=(2,))
            t.start()
            t.join()
        assert count() <= before + 8, (before, count())


def environment(m, w):
    assert m.env("SET_BEFORE_LOAD") == "yes"
    os.environ["SET_AFTER_LOAD"] = "yes"
    assert m.env("SET_AFTER_LOAD") == ""


def metadata(m, w):
    import json
    schema = json.loads(m.get_function_metadata("add")["type_schema"])
    assert schema == {"type": "ffi.Function", "named_args": {"return": [{"type": "int"}], "params": [{"type": "int"}, {"type": "int"}]}}, schema
    assert m.get_function_doc("add").startswith("Add adds two integers."), m.get_function_doc("add")
    # tvmffi.Register puts the same metadata into the registry; docs cannot be read there.
    assert json.loads(tvm_ffi.get_global_func_metadata("golib.add")["type_schema"]) == schema
    assert json.loads(tvm_ffi.get_global_func_metadata("golib.join")["type_schema"]) == {"type": "ffi.Function"}
    schema = json.loads(m.get_function_metadata("join")["type_schema"])
    assert schema == {"type": "ffi.Function"}, schema
    schema = json.loads(m.get_function_metadata("sleep")["type_schema"])
    assert schema["named_args"]["params"] == [{"type": "int"}] and schema["named_args"]["return"] == [{"type": "None"}], schema


def spawn(m, w):
    # A forked child has one thread of the Go runtime: Go code may wait there
    # forever. So processes are spawned, and each loads the library for itself.
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(spawned, (paths[0],)) == 42


def spawned(path):
    import tvm_ffi
    m = tvm_ffi.load_module(path)
    m.sleep(1)
    return m.add(40, 2)


def twice(m, w):
    """The same library under another name is an error without other effects."""
    copy = os.path.join(tempfile.mkdtemp(), "copy.so")
    shutil.copy(paths[0], copy)
    other = tvm_ffi.load_module(copy)
    os.unlink(copy)
    e = failure(other.add, 1, 2)
    assert "golib.add already" in str(e) and "another name" in str(e) and "--prefix" in str(e), e
    assert m.add(1, 2) == 3 and tvm_ffi.get_global_func("golib.add")(1, 2) == 3


def several(m, w):
    assert w.upper("text") == "TEXT"
    assert m.apply(w.tripler(), 5) == 15 and w.shout(m.adder(1), 5) == 6
    def bad(v):
        return m.fail("ValueError", "across both")
    e = failure(w.shout, bad, 1)
    assert type(e) is ValueError and "across both" in str(e), e
    for _ in range(2):
        assert "nil pointer" in str(failure(m.fail, "nil", ""))
        assert "nil pointer" in str(failure(w.letters, None))
    group = [threading.Thread(target=lambda: [m.apply(w.tripler(), i) for i in range(1000)]) for _ in range(4)]
    group += [threading.Thread(target=lambda: [w.shout(m.adder(i), i) for i in range(1000)]) for _ in range(4)]
    [t.start() for t in group]
    [t.join() for t in group]
    gc.collect()
    assert m.apply(w.tripler(), 1) == 3


def first(m, w):
    """The Go library was loaded before libtvm_ffi; see below."""
    assert m.add(40, 2) == 42
    for _ in range(2):
        e = failure(m.fail, "nil", "x")
        assert "nil pointer dereference" in str(e), e
    assert tvm_ffi.get_global_func("golib.add")(1, 2) == 3


if __name__ == "__main__":
    if tests == ["alone"]:
        # Without libtvm_ffi, the symbol reports that, and the process continues.
        f = getattr(ctypes.CDLL(paths[0]), "__tvm_ffi_add")
        assert f(None, None, 0, None) == -1
        sys.exit()
    if tests == ["first"]:
        ctypes.CDLL(paths[0])
    os.environ["SET_BEFORE_LOAD"] = "yes"
    import numpy as np
    import tvm_ffi
    libraries = [tvm_ffi.load_module(p) for p in paths]
    for test in tests:
        globals()[test](libraries[0], libraries[-1])
