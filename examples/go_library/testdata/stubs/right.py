"""Uses of the package golib that type checkers accept."""

from __future__ import annotations

import array
import collections
import types
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import golib
import numpy as np
import tvm_ffi

n: int = golib.add(1, b=2)
p = golib.Point(1.0, name="q")
c: golib.Circle = golib.around(p, radius=2)
p.x = c.radius + p.norm()
w: dict[str, int] = golib.word_count(["a"])
s: tuple[str, int] = golib.swap((1, "x"))
x: float = golib.sum(np.ones(3, "float32"))
d: tvm_ffi.Tensor = golib.doubled(np.ones(3, "float32"))
y: float = golib.sum(d)
f: Callable[[int], int] = golib.adder(3)
golib.apply(lambda v: v + 1, 3)
golib.within(3.0, {"low": 1, "high": 2})
golib.within(3.0, golib.Limits(low=1, high=2, note=None))
golib.introduce({"name": "ann"})
golib.introduce(golib.Person(name="ann", friend={"name": "bob", "age": 8}))
golib.join(1, "x", None)
golib.describe("float32", tvm_ffi.device("cpu", 0))
golib.reversed(bytearray(b"x"), None)
q: int = golib.div_mod(7, 2).quotient
quotient, rest = golib.div_mod(7, 2)
quotient += rest
golib.total(1, 2, 3)
golib.repeat("x", sep="y", limit=None)
for i, word in golib.fields("a b"):
    n = i + len(word)
down = golib.countdown(3)
n = next(down)
down.close()
golib.scale(np.ones(3, "float32"), by=2)
golib.scale([1, 2.5])
golib.spread(np.ones((2, 3)), np.arange(3))
golib.sorted({"a": np.ones((2, 3)), "b": [np.ones(3), range(3)]})
golib.spread([np.ones(3), [1, 2]], (1, 2))
golib.gather(np.ones((2, 3)), lambda i: np.ones((1, i)))


class Column:
    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.ones(3, "float32")

    def __len__(self) -> int:
        return 3


golib.spread([Column()], ())
golib.scale(Column())

# Any sequence is a list, and any mapping a dict.
golib.word_count(collections.deque(["a"]))
golib.spread([range(3), collections.deque([1.5]), np.ones(3)], range(3))
golib.spread(collections.UserList([range(3)]), array.array("b", [1]))
golib.scale(range(3))
golib.extend(0, lambda i: collections.deque([np.ones(i), (1.5, 2.5)]))
golib.gather([range(3)], lambda i: [collections.deque([1.5])])
golib.sorted(types.MappingProxyType({"k": collections.deque([range(3, 0, -1)])}))
golib.NotFoundError(name="x", near=collections.deque(["y"]))
golib.total(1, *range(3))


class Sub(golib.Point):
    def __init__(self) -> None:
        super().__init__(1, 2)


async def sleep() -> None:
    await golib.sleep_async(3)


golib.ramp(3).sum()
np.add(golib.ramp(3), golib.squares(3).squares)

# Times, durations, complex numbers and sets.
end: datetime = golib.window(datetime.now(timezone.utc), timedelta(hours=1))
times: list[datetime] = golib.schedule(end, lambda t: t + timedelta(1), 3)
both: set[str] = golib.common({"a"}, frozenset("b"))
golib.common({"a": 1}.keys(), both)
zero: complex = golib.polynomial(1j, 2, 1.5)
left: "timedelta | None" = golib.Event(end, tags={"x"}).until(end)
event = golib.Event(end)
event.length = timedelta(1)
