"""Uses the classes of a Go library. Usage: classes.py TEST,... LIBRARY"""

import copy
import gc
import pickle
import sys
import threading
import time

import tvm_ffi

m = tvm_ffi.load_module(sys.argv[2])


def register(key, base=tvm_ffi.Object):
    @tvm_ffi.register_object(key)
    class Class(base):
        def __init__(self, *args, **kwargs):
            self.__ffi_init__(*args, **kwargs)

    return Class


Account = register("classes.Account")
Savings = register("classes.Savings", Account)
Holder = register("classes.Holder")
Point = register("classes.Point")


def fails(kind, text, f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except kind as e:
        assert text in str(e), e
        return
    raise AssertionError("no error")


def construct():
    a = Account("ann")
    assert a.owner() == "ann/left" and a.level() == 1 and dict(a.entries()) == {}
    b = Account("bob", start=5, side="right", level=0)
    assert b.owner() == "bob/right" and b.level() == 0 and dict(b.entries()) == {"start": 5}
    assert dict(Account("c", 1, "left", None).entries()) == {}
    assert (Point(1).x, Point(1).y, Point(y=3, x=2).y) == (1, -2.5, 3)
    h = Holder(a)
    assert h.account.same_as(a) and list(h.levels) == [1] and dict(h.sides) == {"left": 1}, h
    fails(RuntimeError, "an account has an owner", Account, "")
    arguments = "Account() takes the arguments owner, level, side, start"
    fails(TypeError, "Account() takes 1 to 4 arguments (owner, level, side, start), got 0: owner is missing", Account)
    fails(TypeError, arguments + ": owner is missing", Account, level=3)
    fails(TypeError, arguments + ", got the keyword lvl", Account, "x", lvl=3)
    fails(TypeError, "Account() got two values for owner", Account, "x", owner="y")
    fails(TypeError, "Account() takes 1 to 4 arguments (owner, level, side, start), got 5", Account, 1, 2, 3, 4, 5)
    fails(TypeError, arguments + ", got 5 and keywords", Account, 1, 2, 3, 4, 5, side=3)
    fails(TypeError, "Account(owner=...): expected a string, got int", Account, 3)
    fails(TypeError, "Account(level=...): ", Account, "x", level=300)


def identity():
    a = Account("ann")
    assert a.put("x", 1).same_as(a) and a.put("x", 1).same_as(a)
    m.keep("a", a)
    assert m.kept("a").same_as(a) and m.kept("nobody") is None
    table = m.all([a, None, a], {"z": a})
    assert table["z"].same_as(a) and table["0"].same_as(a) and table["1"] is None and table["2"].same_as(a)
    seen = []
    back = m.visit([a, a], lambda x, level, side: seen.append((x, level, side)) or x)
    assert all(x.same_as(a) and level == 1 and side == "right" for x, level, side in seen) and len(seen) == 2
    assert back[1].same_as(a)
    # Go keeps the value when the object has ended.
    del table, back, seen, a
    gc.collect()
    assert dict(m.kept("a").entries()) == {"x": 2}
    m.drop("a")


class Mine(Account):
    """A Python subclass."""

    __slots__ = ("extra",)

    def __init__(self, name):
        super().__init__("my " + name)
        self.extra = 3

    def twice(self, name, n):
        return self.put(name, n).put(name, n)


def subclass():
    x = Mine("account")
    assert x.owner() == "my account/left" and x.extra == 3
    assert x.twice("a", 2).same_as(x) and dict(x.entries()) == {"a": 4}
    assert m.total(x) == 4
    s = Savings()
    assert s.rate() == 0.5 and s.owner() == "savings" and isinstance(s, Account)
    s.put("a", 3)
    assert m.total(s) == 3
    fails(TypeError, "Savings.rate(self=...): expected a Savings, got None", Savings.rate, None)
    fails(TypeError, "Savings.rate(self=...): expected a classes.Savings, got classes.Account", Savings.rate, x)
    if hasattr(tvm_ffi, "dataclasses") and hasattr(tvm_ffi.dataclasses, "py_class"):
        @tvm_ffi.dataclasses.py_class("classestest.Derived")
        class Derived(Account):
            n: int

        fails(TypeError, "only Go makes objects of classes.Account", m.total, Derived(3))


def refused():
    a = Account("ann")
    why = "an object of classes.Account cannot be copied, pickled or written as JSON: only Go sees its fields"
    for f in (copy.copy, copy.deepcopy, pickle.dumps):
        fails(TypeError, why, f, a)
    fails(TypeError, why, pickle.dumps, Holder(a))
    fails(TypeError, "total(a=...): expected a classes.Account, got int", m.total, 3)
    fails(TypeError, "total(a=...): expected a classes.Account, got None", m.total, None)
    fails(TypeError, "total(a=...): expected a classes.Account, got classes.Point", m.total, Point(1))


def closed():
    a = Account("ann")
    m.keep("closed", a)
    waiting = threading.Thread(target=a.wait)
    waiting.start()
    time.sleep(0.05)
    a.close()  # ends the call that is under way
    waiting.join()
    a.close()
    for name in ("put", "wait", "owner", "entries"):
        fails(ValueError, f"Account.{name}: the Account is closed", getattr(a, name))
    del a
    gc.collect()
    again = m.kept("closed")
    fails(ValueError, "Account.owner: the Account is closed", again.owner)
    again.close()
    s = Savings()
    s.close()
    fails(ValueError, "Savings.rate: the Savings is closed", s.rate)
    m.drop("closed")
    for _ in range(100):
        a = Account("many")
        threads = [threading.Thread(target=a.close) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]


def ended():
    for _ in range(3):
        for i in range(1000):
            Account(f"owner {i}", start=i).put("x", 1)
        gc.collect()
        for _ in range(100):
            if m.live() == 0:
                break
            time.sleep(0.01)
        assert m.live() == 0, m.live()
    a = Account("kept")
    h = [Holder(a), m.all([a], {})]
    m.live()
    assert m.live() == 1
    del a
    assert m.live() == 1 and h[0].account.owner() == "kept/left"


def threads():
    a = Account("ann")
    m.keep("shared", a)

    def work():
        for _ in range(500):
            assert m.kept("shared").put("n", 1).same_as(a)

    group = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in group]
    [t.join() for t in group]
    assert m.total(a) == 4000
    m.drop("shared")


def enums():
    assert dict(m.enums(1, "left", [0], {"right": 0}, lambda level: "right")) == {1: "left", 0: "right"}
    fails(TypeError, "200", m.enums, 200, "left", [], {}, lambda level: "right")
    fails(TypeError, "enums(side=...): expected a string, got int", m.enums, 1, 2, [], {}, lambda level: "right")
    fails(TypeError, "result: expected a string, got int", m.enums, 1, "left", [0], {}, lambda level: 3)
    h = Holder(None, 0)
    assert h.side == "" and h.level is None and list(h.levels) == [0] and dict(h.others) == {0: None}
    h.side, h.level = "right", 1
    assert h.side == "right" and h.level == 1


if __name__ == "__main__":
    for test in sys.argv[1].split(","):
        globals()[test]()
