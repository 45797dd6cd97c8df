"""Raises and catches the errors of a Go library. Usage: errors.py GOLIB PACKAGE, where PACKAGE is the folder of an exported package"""

import copy
import gc
import importlib
import pickle
import sys
import threading
import traceback
import types
import weakref

import tvm_ffi

# What a generated package has for exceptions, above a library without such a package.
sys.dont_write_bytecode = True
package, support = types.ModuleType("golib"), types.ModuleType("golib._tvmffi")
package.__path__ = [sys.argv[2]]
support.tvm_ffi, support.core, support.Function = tvm_ffi, tvm_ffi.core, tvm_ffi.Function
support.lib = tvm_ffi.load_module(sys.argv[1])
support.given, support.refused = lambda what, x, depth: x, None  # no callback here returns a container or an array
support.worded = support.shaped = None  # no constructor of fields and no record here
support.typed = lambda f, name: f  # no fields of any type here
support.own = lambda x: str(x) if isinstance(x, tvm_ffi.core.String) else x
support.each = lambda all: all  # no objects here
support.plain = lambda m: m and {k: list(v) if isinstance(v, tvm_ffi.Array) else v for k, v in m.items()}
sys.modules.update({"golib": package, "golib._tvmffi": support})
goerrors = importlib.import_module("golib._errors")


class NotFoundError(goerrors.GoError, KeyError):
    _kind = "golib.NotFoundError"
    _fields = ("name", "tries", "near")


class LimitError(goerrors.GoError, ValueError):
    _kind = "golib.Limit"
    _fields = ("value",)


for cls in (NotFoundError, LimitError):
    tvm_ffi.register_error(cls._kind, cls)


def function(name):
    f = goerrors.lib.get_function(name)

    def call(*args):
        args = [goerrors.guard(a) for a in args]
        try:
            return f(*args)
        except BaseException:
            goerrors.reraise()

    return call


find, is_missing, caught, through, apply, parallel, fail = map(function, "find is_missing caught through apply parallel fail".split())


def failure(f, *args, **named):
    try:
        f(*args, **named)
    except BaseException as e:
        return e
    raise AssertionError("no error")


def raising(e):
    def f(*args):
        raise e

    return f


def equal(got, want):
    assert got == want, f"\ngot  {got!r}\nwant {want!r}"


def text(e):
    return "".join(traceback.format_exception(type(e), e, e.__traceback__))


def from_go():
    e = failure(find, "x")
    assert type(e) is NotFoundError and isinstance(e, KeyError)
    equal((str(e), e.name, e.tries, e.near), ("find: nothing is called x (tries: 1)", "x", 1, None))
    assert "golib/errors.go" in text(e) and "golib.Find" in text(e), text(e)
    e = failure(find, "missing")
    equal((e.name, e.tries, list(e.near)), ("missing", 2, ["mist", "missive"]))
    assert is_missing(raising(e))
    assert is_missing(lambda: find("missing"))
    assert not is_missing(raising(NotFoundError(name="missing", tries=2)))
    e = failure(find, "number")
    equal((type(e), str(e), e.value), (LimitError, "find a number: more than 7", 7))
    assert not hasattr(e, "name")


class Mute(ZeroDivisionError):
    def __str__(self):
        raise KeyError(self)


def to_go():
    for e, want in (
        (NotFoundError(name="a", tries=3), 'NotFoundError a 3 [] key=true: golib.NotFoundError: nothing is called a (tries: 3)'),
        (NotFoundError(name="b", near=["c", "d"]), 'NotFoundError b 1 ["c" "d"] key=true: golib.NotFoundError: nothing is called b (tries: 1)'),
        (NotFoundError("own text", name="b"), "NotFoundError b 1 [] key=true: golib.NotFoundError: own text"),
        (NotFoundError("own text"), "NotFoundError  0 [] key=true: golib.NotFoundError: own text"),
        (LimitError(value=12), "LimitError 12 value=true: golib.Limit: more than 12"),
        (type("Sub", (LimitError,), {})(value=1), "LimitError 1 value=true: golib.Limit: more than 1"),
        (FileNotFoundError(2, "no file"), "os=true arithmetic=false: FileNotFoundError: [Errno 2] no file"),
        (ZeroDivisionError("zero"), "os=false arithmetic=true: ZeroDivisionError: zero"),
        (KeyError("key"), "os=false arithmetic=false: KeyError: key"),
        # Half of a surrogate pair, which os.fsdecode makes, has no form in UTF-8.
        (ZeroDivisionError("a\ud800\udcff"), "os=false arithmetic=true: ZeroDivisionError: a\\ud800\\udcff"),
        (KeyError("\ud800"), "os=false arithmetic=false: KeyError: \\ud800"),
        (type("Own", (Exception,), {})("own"), "os=false arithmetic=false: RuntimeError: own"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), "os=false arithmetic=false: UnicodeError: 'utf-8' codec can't decode byte 0x78 in position 0: why"),
        # Exceptions without a text keep their kind.
        (Mute("own"), "os=false arithmetic=true: ZeroDivisionError: <exception str() failed>"),
        (type("Wrong", (FileNotFoundError,), {"__str__": lambda self: 5})(), "os=true arithmetic=false: FileNotFoundError: <exception str() failed>"),
    ):
        equal(caught(raising(e)), want)
        assert failure(through, raising(e), False) is e
    # Without a guard, as a program that has no package of the library.
    bare = goerrors.lib.get_function("caught")
    equal(bare(raising(NotFoundError(name="a"))), "NotFoundError a 1 [] key=true: golib.NotFoundError: nothing is called a (tries: 1)")
    e = NotFoundError(name="a", tries=3)
    equal((str(e), e.name, e.tries, e.near), ("nothing is called a (tries: 3)", "a", 3, None))
    for named, want in (
        ({}, "NotFoundError(): the field name is missing: write NotFoundError(name=...)"),
        ({"name": 1}, "NotFoundError(name=...): expected a string, got int"),
        ({"name": "x", "nam": 2}, "NotFoundError(nam=...): there is no such field: the fields are name, tries, near"),
        ({"name": "x", "tries": 1.5}, "NotFoundError(tries=...): expected an int, got float"),
        ({"name": "x", "near": ["y", 1]}, "NotFoundError(near[1]=...): expected a string, got int"),
    ):
        e = failure(NotFoundError, **named)
        assert type(e) is TypeError and want in str(e), e


def kinds():
    """Each kind that Go can name is the class of Python, and has the same ancestors."""
    for cls, kind in goerrors._BUILTIN.items():
        e = failure(fail, kind, "text")
        want = "'text'" if cls is KeyError else "text"
        equal((type(e), str(e)), (cls, want))
        assert caught(raising(e)).endswith(f": {kind}: text"), caught(raising(e))
        is_os, is_arithmetic = issubclass(cls, OSError), issubclass(cls, ArithmeticError)
        equal(caught(raising(cls("new"))), f"os={is_os} arithmetic={is_arithmetic}: {kind}: new".replace("True", "true").replace("False", "false"))
    assert type(failure(fail, "no.Kind", "text")) is RuntimeError


def copies():
    e = failure(find, "missing")
    e.note = "kept"
    for c in (pickle.loads(pickle.dumps(e)), copy.copy(e), copy.deepcopy(e)):
        equal((type(c), str(c), c.name, list(c.near), c.note), (type(e), str(e), e.name, list(e.near), "kept"))
        assert caught(raising(c)).startswith("NotFoundError missing 2"), caught(raising(c))


def originals():
    class Own(Exception):
        pass

    own = Own("own", 1)

    def inner(x):
        try:
            raise LookupError("context")
        except LookupError:
            raise own from ValueError("why")

    for e in (own, KeyboardInterrupt("key"), SystemExit(3), StopIteration(4), OSError(5, "five")):
        f = inner if e is own else raising(e)
        assert failure(apply, f, 1) is e and failure(through, lambda: f(1), False) is e
        wrapped = failure(through, lambda: f(1), True)
        assert (wrapped.__cause__ if isinstance(e, Exception) else wrapped) is e, wrapped
        assert not hasattr(e, "__tvm_ffi_error__")
    equal((repr(own.__cause__), repr(own.__context__)), ("ValueError('why')", "LookupError('context')"))
    shown = text(own)
    assert "golib.go" in shown and "in inner" in shown and "<unknown>" not in shown and "asm_amd64.s" not in shown, shown
    # An error of Go around it.
    e = failure(through, raising(own), True)
    assert type(e) is RuntimeError and str(e) == "through Go: RuntimeError: ('own', 1)" and e.__cause__ is own, repr(e)
    missing = NotFoundError(name="deep")
    e = failure(through, raising(missing), True)
    assert type(e) is NotFoundError and e is not missing and e.name == "deep" and e.__cause__ is missing, repr(e)
    # Through Go twice.
    assert failure(through, lambda: through(raising(own), False), False) is own
    # Several goroutines: errors.Join of Go keeps all, and the first is the cause.
    e = failure(parallel, raising(own), 8)
    assert isinstance(e.__cause__, (Own, RuntimeError)), repr(e.__cause__)


def changed():
    """Go gets the text that an exception has now, also of one that came from Go with another."""
    found, value, here, wrapped = failure(find, "missing"), failure(fail, "ValueError", "text"), NotFoundError(name="a", tries=3), failure(through, raising(KeyError("k")), True)
    passed = ZeroDivisionError("text")
    assert failure(through, raising(passed), False) is passed
    for e, want in (
        (found, 'NotFoundError missing 2 ["mist" "missive"] key=true: golib.NotFoundError: now'),
        (value, "os=false arithmetic=false: ValueError: now"),
        (here, "NotFoundError a 3 [] key=true: golib.NotFoundError: now"),
        (wrapped, "os=false arithmetic=false: KeyError: now"),
        (passed, "os=false arithmetic=true: ZeroDivisionError: now"),
    ):
        e.args = ("now",)
        for _ in range(2):
            equal(caught(raising(e)), want)
            assert failure(through, raising(e), False) is e
    equal((str(found), found.name, found.tries), ("now", "missing", 2))


def memory():
    """Neither exceptions nor what their frames hold wait for a collection."""

    class Large:
        pass

    def fails(x):
        large = Large()
        alive.append(weakref.ref(large))
        raise ValueError(x)

    alive = []
    gc.collect()
    gc.disable()
    for _ in range(200):
        failure(apply, fails, 1)
    gc.enable()
    left = sum(r() is not None for r in alive)
    assert left <= 1, f"{left} of {len(alive)} live on"
    alive.clear()

    def swallow():
        large = Large()
        alive.append(weakref.ref(large))
        raise ValueError

    for _ in range(200):
        is_missing(swallow)
    gc.collect()
    left = sum(r() is not None for r in alive)
    assert left == 0, f"{left} of {len(alive)} live on after Go has swallowed the errors"


def threads():
    def work(i):
        for n in range(200):
            e = NotFoundError(name=f"{i}.{n}") if n % 2 else ValueError(i, n)
            if failure(through, raising(e), False) is not e:
                wrong.append(e)

    wrong = []
    all_threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    assert not wrong, wrong


from_go()
to_go()
kinds()
copies()
originals()
changed()
memory()
threads()
print("all right")
