"""Uses of the package golib that type checkers refuse."""

import golib
import numpy as np

golib.add(1, "x")  # wrong
golib.add(1, c=2)  # wrong
golib.add()  # wrong
golib.Point("x")  # wrong
golib.Point(1.0, 2.0, "name")  # wrong
golib.sum(3)  # wrong
golib.sum([1.0])  # wrong
golib.apply(lambda v: "x", 3)  # wrong
golib.within(3.0, {"low": 1})  # wrong
golib.within(3.0, {"low": 1, "high": 1, "no": 2})  # wrong
golib.introduce({"age": 8})  # wrong
golib.swap((1, 2))  # wrong
golib.nothing()  # wrong
s: str = golib.add(1, 2)  # wrong
golib.word_count("a b".split).values()  # wrong
golib.around(golib.Circle(1, 2), None)  # wrong
golib.Point(1).nothing()  # wrong
golib.Point(1).move(1)  # wrong
golib.total(1, "x")  # wrong
golib.repeat("x", limit="y")  # wrong
golib.div_mod(7, 2).remainder  # wrong
a, b, c = golib.div_mod(7, 2)  # wrong
golib.spread(3, ())  # wrong
golib.spread([1], ())  # wrong
golib.spread([{1, 2}], ())  # wrong
golib.word_count(w for w in "ab")  # wrong
golib.scale(np.float32(1))  # wrong
golib.word_count(np.ones(3))  # wrong
golib.window("noon")  # wrong
golib.window(golib.window(golib.ticks), 5)  # wrong
golib.common(["a"], {"a"})  # wrong
golib.polynomial("1")  # wrong
