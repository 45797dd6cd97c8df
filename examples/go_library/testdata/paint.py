"""Uses the package paint, which tvmffi-bind export --python made. Usage: paint.py FOLDER"""

import copy
import enum
import gc
import inspect
import json
import pickle
import re
import sys
import types

sys.path.insert(0, sys.argv[1])
import paint
import tvm_ffi
from paint import Coat, Color, Drop, Finish, Mode, Tin


def failure(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except BaseException as e:
        return e
    raise AssertionError("no error")


# Enums: results are members, arguments are members or plain values.
assert issubclass(Color, enum.IntEnum) and Color.RED == 1 and Color["BLUE"] is Color.BLUE and list(Color) == [Color.RED, Color.BLUE]
assert paint.mix(Color.RED) is Color.BLUE and paint.mix(2) is Color.RED
for e, kind, want in (
    (failure(paint.mix, 7), ValueError, "mix(c=...): 7 is not a value of Color: use RED, BLUE"),
    (failure(paint.mix, Finish.MATT), TypeError, "mix(c=...): expected Color, got Finish"),
    (failure(paint.mix, None), TypeError, "mix(c=...): expected Color, got None"),
    (failure(paint.mix, 1.0), TypeError, "mix(c=...): expected Color, got float"),
    (failure(paint.modes, "dip"), ValueError, "modes(m=...): 'dip' is not a value of Mode: use "),
    (failure(paint.modes, 3), TypeError, "modes(m=...): expected Mode, got int"),
    (failure(paint.strip, {"color": 1, "under": [{"color": 3}]}), ValueError, 'strip(c.under[0].color=...): 3 is not a value of Color: '),
    (failure(paint.sealed, 8), ValueError, "sealed(f=...): 8 is not a value of Finish: use MATT, GLOSS, CLEAR"),
    (failure(paint.sealed, Finish(8)), ValueError, "is not a value of Finish: "),
    (failure(Drop, 1, 3), ValueError, "Drop(color=...): 3 is not a value of Color: "),
    (failure(setattr, Drop(1), "color", 9), ValueError, "Drop.color: 9 is not a value of Color: use RED, BLUE"),
    (failure(paint.DryError, color=9), ValueError, "DryError(color=...): 9 is not a value of Color: use RED, BLUE"),
):
    assert type(e) is kind and want in str(e), repr(e)
assert issubclass(Finish, enum.IntFlag) and paint.sealed() == Finish.GLOSS | Finish.CLEAR and type(paint.sealed(0)) is Finish and paint.sealed(Finish.MATT | Finish.GLOSS) == 7
assert paint.sealed(~Finish.MATT) == paint.sealed(~Finish.MATT & ~Finish.CLEAR) == 6  # negative numbers before Python 3.11
# An IntFlag would make 6 of -2, which is ^Matt of a Go int.
to_finish = sys.modules["paint._tvmffi"].to_enum(Finish)
assert [to_finish(n) for n in (-2, -8, -(1 << 63), 5, 8)] == [-2, -8, -(1 << 63), 5, 8] and type(to_finish(-2)) is int and type(to_finish(5)) is Finish
assert paint.DryError(color=2).color is Color.BLUE and pickle.loads(pickle.dumps(paint.DryError(color=1))).color is Color.RED
assert Mode.BRUSH == "brush" and str(Mode.BRUSH) == "brush" and json.dumps([Mode.SPRAY, Color.RED]) == '["spray", 1]'
# A slice of a type over uint8 is a list of its values, and not bytes.
coats = paint.coated([paint.Finish.GLOSS, paint.Finish(0)])
assert coats == [paint.Finish.GLOSS, 0, paint.Finish.MATT] and type(coats[0]) is paint.Finish and type(failure(paint.coated, b"\x01")) is TypeError
modes, m, by_name = paint.modes()
assert modes == [Mode.BRUSH, Mode.SPRAY] and type(modes[0]) is Mode and m is None and by_name == {"sky": Color.BLUE}
modes, m, _ = paint.modes("spray")
assert modes[0] is m is Mode.SPRAY and paint.modes(Mode.SPRAY)[1] is Mode.SPRAY
assert pickle.loads(pickle.dumps(m)) is m and "like blood" in Color.__doc__

# As values of any type, too.
for x, want in (Color.BLUE, "paint.Color 2"), (Mode.BRUSH, "paint.Mode brush"), (Finish.GLOSS | Finish.CLEAR, "paint.Finish 6"), ([{"k": (Color.RED,)}], "[]interface {} [map[k:[1]]]"), (1, "int64 1"):
    kind, values = paint.kinds(x)
    assert kind == want and values == [[{"k": [1]}] if type(x) is list else x, 1, "spray", 6, ["brush"], {2: 9}], (kind, values)
    assert list(map(type, values)) == [type(x), Color, Mode, Finish, list, dict] and type(values[4][0]) is Mode and list(map(type, values[5])) == [Color], values
assert type(paint.kinds([{Color.RED}])[1][0][0].pop()) is Color and tuple(tvm_ffi.get_global_func("paint.kinds")(1)[1])[1:4] == (1, "spray", 6)

spray = paint.palette(Color.RED, lambda c: Mode.SPRAY if c == 1 else "brush")
assert spray(1, None) == [Color.RED, Color.BLUE] and spray(Color.BLUE, 2) == [2, 1, 2] and paint.palette(2, lambda c: "brush")(1, None) == [1]
for e, kind, want in (
    (failure(paint.palette, 1, lambda c: "dip"), ValueError, "the result of the callback: 'dip' is not a value of Mode: use "),
    (failure(paint.palette, 1, lambda c: None), TypeError, "the result of the callback: expected Mode, got None"),
    (failure(paint.palette, 1, None), TypeError, "palette(choose=...): "),
    (failure(spray, 7, None), ValueError, "argument 1: 7 is not a value of Color: use RED, BLUE"),
    (failure(spray, 1, 0), ValueError, "argument 2: 0 is not a value of Color: "),
    (failure(spray, 1), TypeError, "2"),
):
    assert type(e) is kind and want in str(e), repr(e)

# Records are dicts, also inside one another.
coats = paint.strip(Coat(color=Color.RED, under=[{"color": 2, "class": "matt"}], **{"class": "plain"}))
assert [dict(c) for c in coats] == coats and type(coats[0]) is dict
assert coats[0]["color"] is Color.RED and coats[1]["color"] is Color.BLUE and coats[1]["class"] == "matt" and coats[0]["class"] == "plain"

of_python = next(x for x in gc.get_referents(paint.layers) if type(x) is types.FunctionType)
for n, text in (0, "x"), (2, ""), (5, "a longer text \u00e9\0"), (9, "y" * 999):
    layers = paint.layers(n, text)
    assert type(layers) is list and len(layers) == n and str(layers) == str(of_python(n, text)), layers
top = paint.layers(3, "a longer text")[2]
assert list(top) == ["name", "size", "data", "note", "extra", "under"] and [type(x) for x in top.values()] == [str, tuple, bytes, str, list, list], top
assert top["under"][0] == {"name": "a longer text", "size": (0, None), "data": b"a longer text", "note": None, "extra": "a longer text"}, top
assert "under" not in top["under"][0] and type(top["under"][1]["under"][0]["data"]) is bytes

# Names that Python reserves.
assert paint.lambda_("a", class_="b", None_="c") == "a b c" and paint.lambda_(list="a") == "a c n"

# The fields of an error are those of Go, also with names that its class of Python has. Go would not see others.
def spilled(e):
    return e.filename, e.errno, e.from_


e = failure(paint.spill, lambda: None)
assert isinstance(e, OSError) and spilled(e) == spilled(pickle.loads(pickle.dumps(e))) == spilled(copy.copy(e)) == ("red", 7, "can")
e = paint.SpillError(filename="blue", from_="pot")
assert spilled(e) == ("blue", 5, "pot") and str(e) == "blue: 5 from a pot" and "filename" in vars(paint.SpillError) and not hasattr(e, "class_")


def raises():
    raise e


for field in paint.SpillError._fields:
    set_ = failure(setattr, e, field, 3)
    assert type(set_) is AttributeError and f"SpillError.{field}: the fields of an error stay as they are" in str(set_), set_
e.more = 1
assert failure(paint.spill, raises) is e and spilled(e) == ("blue", 5, "pot") and pickle.loads(pickle.dumps(e)).more == 1


class Text(str):
    """Is a str, and not plain."""


assert (paint.Brush("flat", 3).type, paint.Brush(type=Text("round")).size, paint.type("ab", 2), paint.type(Text("ab"), True)) == ("flat", 1, "abab", "ab")
assert paint.list("x") == paint.list(int="x") == ["x"] and "lambda_" in paint.__all__
assert paint.timedelta()(2).total_seconds() == 2 and paint.timedelta(0 * paint.timedelta()(1)) is None

# Values that are compared by Go.
a, b = Drop(1), Drop(2, Color.BLUE, from_="roof")
assert a == Drop(1, 2) and a != b and hash(a) == hash(Drop(1, 2)) and len({a, b, Drop(1)}) == 2
assert a < b and a <= b and b > a and b >= a and not b < a and sorted([b, a])[0] is a and a != 1 and not a == None  # noqa: E711
assert type(failure(lambda: a < 1)) is TypeError
assert b.color is Color.BLUE and b.from_ == "roof" and a.from_ == ""
b.color, b.from_ = Color.RED, "wall"
assert b.color is Color.RED and b.from_ == "wall"
next(f.setter for f in Drop.__tvm_ffi_type_info__.fields if f.name == "color")(b, 9)  # as another language may
assert b.color == 9 and type(b.color) is int and "what it looks like" in inspect.getdoc(Drop.color)
assert str(inspect.signature(Drop)) == "(weight: 'float', color: 'Color | int' = <Color.RED: 1>, from_: 'str' = '') -> 'None'"
assert "color\n    what it looks like" in inspect.getdoc(Drop)

# Keys that are one in Python are not lost without an error.
for shelf in paint.shelf, next(x for x in gc.get_referents(paint.shelf) if type(x) is types.FunctionType):
    for kind, text in {"map": "two keys of the map are one key in Python, as 1 and True are", "deep": "two keys", "set": "two elements of the set are one"}.items():
        e = failure(shelf, kind)
        assert type(e) is ValueError and text in str(e), e

# Special methods.
with Tin(["red", "blue"]) as t:
    assert t.open and len(t) == 2 and list(t) == ["red", "blue"] and str(t) == "red+blue" and not Tin([])
assert not t.open and t == Tin(["red", "blue"], open=False) and hash(t) == hash(copy.copy(t)) and t != Tin([])
assert copy.deepcopy(t) == pickle.loads(pickle.dumps(t)) == t

# A constructor whose goroutines call Python.
class Derived(paint.Mixer):
    def __init__(self, *args):
        super().__init__(*args, weigh=lambda drop: drop + len(args))


assert paint.Mixer(10, lambda drop: drop).weight() == paint.Mixer(weigh=abs, drops=10).weight() == 45 and Derived(10).weight() == 55
assert type(failure(lambda: paint.Mixer(3, lambda drop: 1 // (drop - 1)))) is ZeroDivisionError


# An opaque object shows its text, or else where it is.
class Named(paint.Pot):
    __str__ = paint.Pot.__repr__


pot, mixer, other = paint.Pot("a\npot"), paint.Mixer(1, abs), paint.Mixer(1, abs)
assert repr(pot) == f"{[pot]}"[1:-1] == "<paint.Pot 'a\\npot'>" and str(pot) == "a\npot" and str(Named("x")) == "<__main__.Named 'x'>"
assert re.fullmatch("<paint.Mixer at 0x[0-9a-f]+>", repr(mixer)) and str(mixer) == repr(mixer) == repr(tvm_ffi.Array([mixer])[0]) != repr(other)
assert repr(Derived(1)).startswith("<__main__.Derived at 0x") and len(repr(paint.Pot("x" * 9999))) < 300
assert repr(tvm_ffi.Object.__new__(paint.Pot)) == "<paint.Pot without an object of Go>"
pot.close()
assert repr(pot).startswith("<paint.Pot at 0x") and type(failure(str, pot)) is ValueError
