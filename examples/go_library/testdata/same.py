"""An object of Go comes back as the same object of Python. Usage: same.py FOLDER, which has the Python package classes."""

import asyncio
import copy
import gc
import sys
import threading
import weakref

import tvm_ffi

sys.path.insert(0, sys.argv[1])
import classes as m  # noqa: E402


class Mine(m.Account):
    """Has attributes of its own."""

    def __init__(self, name):
        super().__init__(name)
        self.extra = [name]


def refused(f):
    try:
        f()
    except m.Refused as e:
        return e.account
    raise AssertionError("no error")


def ways(a):
    """Returns what comes back of an account, by the way that it took."""
    m.keep("a", a)
    seen, told = [], []

    def fail(x, level, side):
        raise m.Refused("no", account=x)

    table = m.all([a, None, a], {"z": a})
    visited = m.visit([a] * 300, lambda x, level, side: seen.append(x) or x)
    anything = m.told(a, lambda list, any: told.append((list, any)) or [a, {"k": a}])
    entered, (first, all), holder = m.entered(a), m.twice(a), m.Holder(a)
    return {
        "a method": [a.put("x", 1), Mine.put(a, name="x", n=1)], "a property": [a.me], "a function": [m.kept("a"), m.kept(name="a")],
        "a dict": [table["z"], table["0"], table["2"]], "a callback": seen, "a list": visited,
        "callbacks with values of any type": [told[0][0][0], told[0][1]["a"][0], anything[0], anything[1]["k"]],
        "a record": [entered["account"], entered["more"][0]], "several results": [first, *all],
        "an iterator": [*m.each([a, a])], "a function that Go returned": [m.giver(a)()],
        "any": [m.anything(a), m.anything([{"q": (a,)}])[0]["q"][0], *m.anything([a] * 300)],
        "an error": [refused(lambda: m.refuse(a)), refused(lambda: m.visit([a], fail))],
        "async": [asyncio.run(m.later_async(a)), m.later(a)], "a field": [holder.account],
    }  # fmt: skip


def check():
    for a in m.Account("ann"), Mine("bob"):
        for way, back in ways(a).items():
            assert back and all(x is a for x in back), (way, back)
    assert m.kept("a") is a and type(a) is Mine and a.extra == ["bob"]

    # Go keeps the value, and Python makes a new object where nobody has the old one.
    ends = weakref.ref(a)
    before = id(a), m.kept("a").owner
    del a, back
    gc.collect()
    assert ends() is None
    a = m.kept("a")
    assert type(a) is m.Account and a.owner == before[1] and m.kept("a") is a and a.put("x", 1) is a

    # What tvm_ffi has made is the object, if it is the first.
    del a
    bare = tvm_ffi.get_global_func("classes.kept")
    a = bare("a")
    assert m.anything(a) is a and m.kept("a") is a
    other = bare("a")  # tvm_ffi alone makes another one each time
    assert other is not a and other.same_as(a) and m.anything(other) is a and m.Holder(a).others[1].same_as(a)

    # An object that was moved from has no value any more.
    b = Mine("moved")
    m.keep("b", b)
    tvm_ffi.convert(lambda x: None)(b._move())
    assert b.__chandle__() == 0 and m.kept("b") is not b and m.kept("b").owner == "moved/left"


def collected():
    """Cycles end, and what runs at that time gets an object that works."""
    got = []

    class Ring(Mine):
        def __del__(self):
            got.append(m.kept(self.extra[0]))

    for i in range(50):
        x = Ring(f"ring {i}")
        x.ring = [x]
        m.keep(f"ring {i}", x)
        weakref.finalize(x, lambda i=i: got.append(m.kept(f"ring {i}")))
    ends = weakref.ref(x)
    del x
    gc.collect()
    assert len(got) == 100 and all(x.owner.startswith("ring ") for x in got), len(got)
    got.clear()
    gc.collect()
    assert ends() is None or ends().extra
    for i in range(50):
        m.drop(f"ring {i}")
    for f in copy.copy, copy.deepcopy:
        try:
            f(Mine("x"))
        except TypeError as e:
            assert "cannot be copied" in str(e)


def threads():
    a = Mine("threads")
    m.keep("t", a)
    wrong = []

    def work():
        for i in range(200):
            x = Mine("x")
            m.keep(f"{threading.get_ident()}", x)
            wrong.extend(y for y in (m.kept("t"), *m.visit([a], lambda y, level, side: y)) if y is not a)
            wrong.extend(y for y in (m.kept(f"{threading.get_ident()}"), x.put("n", 1)) if y is not x)

    group = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in group]
    [t.join() for t in group]
    assert not wrong, wrong
    # Two threads, neither of which has the object, get one between them.
    del a
    both = [None, None]

    def get(i, barrier=threading.Barrier(2)):
        barrier.wait()
        both[i] = m.kept("t")

    group = [threading.Thread(target=get, args=(i,)) for i in range(2)]
    [t.start() for t in group]
    [t.join() for t in group]
    assert both[0] is both[1] is m.kept("t")


def memory():
    """Objects that come and go need no more memory."""
    def size():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    a = Mine("memory")
    m.keep("m", a)

    def use():
        for _ in range(20000):
            m.Account("x")
            m.keep("n", Mine("x"))
            m.kept("n")
            m.kept("m")
        gc.collect()
        m.live()

    if sys.platform == "linux":
        use()
        before = size()
        use()
        assert size() - before < 8 << 20, size() - before


for test in check, collected, threads, memory:
    test()
