"""Converts values of types that Python has and TVM-FFI has not: enums, times, complex numbers and sets.

A function for arguments has the name from_... . It takes the place of the argument for messages, and a value.
One for results has the name to_... . None stands for a value that stays as it is.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Set
from datetime import datetime, timedelta, timezone
from enum import Enum, IntFlag
from threading import get_ident

from . import _columns, _face, _tvmffi
from ._columns import _EPOCH, Wired
from ._tvmffi import CONTAINERS, PLAIN, Function, Object, Typed, _place, distinct, elements, given, plain, shaped, to_enum, to_list

_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_LISTS = (list, tuple)


def _wrong(what, want, x):
    return TypeError(f"{_place(what)}: expected {want}, got {'None' if x is None else type(x).__name__}")


def from_bytes(what, x):
    """Returns the bytes of a buffer, or of an array of NumPy, a column of pandas and the like."""
    if isinstance(x, (bytes, bytearray, str, Object)):
        return x
    given(_place(what), x, 0, "", True)  # it refuses masked arrays
    _columns.refuse_nulls(what, x)
    signed = "b"  # the format of buffers of pyarrow, whatever they have
    memory = "bytes(x) for its memory, or x.astype('u1') for its numbers" if hasattr(x, "astype") else "bytes(x) for its memory"
    try:
        view = memoryview(x)
    except Exception:  # of other packages
        try:
            array = x.__array__()
            view, memory, signed = memoryview(array), "x.__array__().astype('u1')", None
        except Exception:
            return x
        _columns.bare(what, x, array)  # it refuses masked arrays
    if view.ndim == 0 or view.format.lstrip("@=<>!") not in ("B", "c") and not (view.format == signed and type(x).__module__.startswith("pyarrow")):
        found = f"items of the format {view.format!r}" if view.ndim else "no dimension"
        raise TypeError(f"{_place(what)}: expected bytes, got {type(x).__name__} with {found}: pass {memory}")
    if not _columns.sound(view):
        raise TypeError(f"{_place(what)}: expected bytes, got {type(x).__name__}, whose buffer has sizes that disagree: pass bytes(x)")
    return view.tobytes()


def from_complex(what, x):
    if type(x) is complex:
        return x.real, x.imag
    x = given(what, x, typed=True)  # it refuses numbers with more bits
    if _tvmffi.is_wide(getattr(x, "dtype", None)):
        raise _columns.wrong(what, x, "c")
    try:
        n = operator.index(x)
        if -(2**63) <= n < (2**64 if _tvmffi.BIG_INTS else 2**63):
            return n, 0.0  # Go rounds it once
    except TypeError:
        pass
    try:
        # complex takes decimals, and times and durations of NumPy.
        z = None if isinstance(x, str) or hasattr(x, "quantize") or _tvmffi.is_time(x) else complex(x)
    except TypeError:
        z = None
    except OverflowError as e:  # of an int
        raise TypeError(f"{_place(what)}: {e}") from None
    if z is None:
        raise _wrong(what, "a complex number", x)
    return z.real, z.imag


def to_complex(a):
    return complex(*elements(a))


def from_duration(what, x):
    if type(x) is not timedelta:
        if hasattr(x, "to_timedelta64") and x == x:  # that of pandas has nanoseconds, and more days
            x = x.to_timedelta64()
        if type(x).__name__ == "timedelta64":
            return _columns.nanoseconds(what, x)
        if not isinstance(x, timedelta):
            raise _wrong(what, "a timedelta", x)
        x = timedelta.__pos__(x)  # that of pendulum has other days
    n = ((x.days * 86400 + x.seconds) * 10**6 + x.microseconds) * 1000
    if not -(2**63) <= n < 2**63:
        raise OverflowError(f"{_place(what)}: {x} is longer than 292 years")
    return n


def to_duration(n):
    return timedelta(microseconds=n // 1000)


def from_time(what, x):
    naive = type(x).__name__ == "datetime64"
    if not isinstance(x, datetime) and not naive or x != x:  # such as NaT of pandas
        raise _wrong(what, "a datetime", x)
    east = None if naive else x.utcoffset()
    if east is None:
        raise ValueError(f"{_place(what)}: {x!r} has no time zone: use datetime.now(timezone.utc), or x.astimezone() for local time")
    since = x - _EPOCH if type(x) is datetime else datetime.__sub__(x, _EPOCH)
    return since.days * 86400 + since.seconds, since.microseconds * 1000 + getattr(x, "nanosecond", 0), _columns.offset(what, east)


def to_time(a):
    seconds, n, east = elements(a)
    try:
        if not east:
            return _EPOCH + timedelta(0, seconds, n // 1000)
        # The time there may be in the years of datetime where that of UTC is not.
        return (_NAIVE_EPOCH + timedelta(0, seconds + east, n // 1000)).replace(tzinfo=_fixed(east))
    except OverflowError:
        raise OverflowError(f"a time {seconds} seconds after 1970 is outside the years 1 to 9999 that datetime has") from None


@functools.lru_cache(256)
def _fixed(east):
    return timezone(timedelta(seconds=east))


def from_enum(cls):
    kind = int if issubclass(cls, int) else str
    known = cls._value2member_map_
    bits = sum(m for m in known if m & (m - 1) == 0) if issubclass(cls, IntFlag) else None
    named = ", ".join(cls.__members__)

    def convert(what, x):
        if kind is int and not isinstance(x, int) and hasattr(x, "__index__"):  # such as those of NumPy
            x = operator.index(x)
        if not isinstance(x, cls) and (not isinstance(x, kind) or isinstance(x, Enum)):
            raise _wrong(what, cls.__name__, x)
        if bits is not None and isinstance(x, cls) and x < 0:  # as ~READ is before Python 3.11
            x = x & bits
        if x & ~bits if bits is not None else x not in known:
            raise ValueError(f"{_place(what)}: {x!r} is not a value of {cls.__name__}: use {named}")
        return kind(x)

    return convert


def from_set(convert):
    def to(what, x):
        if type(x) is set or isinstance(x, Set):
            x = list(x)
        if not isinstance(x, _LISTS):
            hint = ": pass set(x)" if hasattr(x, "__iter__") and not isinstance(x, (str, bytes)) else ""
            raise TypeError(f"{_wrong(what, 'a set', x)}{hint}")
        if convert:
            x = [convert(what, element) for element in x]
        else:
            x = given(_place(what), x)
        return _once(x) if isinstance(x, _LISTS) else x

    return to


def _once(x):
    """Returns a list without equal elements, of which a field would have all."""
    try:
        return x if len(set(x)) == len(x) else list({(type(element), element): element for element in x}.values())
    except TypeError:  # elements without a hash: Go says what is wrong
        return x


def to_set(convert):
    to = to_list(convert)
    return lambda a: _set(to(a))


def _set(elements):
    result = set(elements)
    if len(result) != len(elements):
        raise ValueError("two elements of the set are one in Python, as 1 and True are")
    return result


# Values of any type.

_results = {}  # the functions for results, by the names of types
_names = {}  # of enums


def enum(name, cls):
    """Gives an enum the name of its type in Go."""
    _results[name], _names[cls] = to_enum(cls), name


def _any_set(a):
    a = plain(a) if isinstance(a, _tvmffi.Object) else a
    try:
        return _set(a)
    except TypeError:  # it holds a list
        return a


_results.update(time=to_time, duration=to_duration, complex=to_complex, set=_any_set, any=plain)


def to_typed(x, name=None):
    """Returns the value of a type with that name, or that of an object which holds both."""
    if name is None:
        name, x = x.type, _tvmffi.own(x.value)
    convert = _results.get(name)
    return x if convert is None else convert(x)


if _face._class is not None and _tvmffi.TYPED is not None:
    _face._class.typed(to_typed, getattr(Typed, "__tvm_ffi_type_info__").type_index)


@functools.lru_cache(None)
def _has_type(cls):
    return issubclass(cls, (datetime, timedelta, complex, Set)) or cls in _names or _is_numpy(cls)


def _is_numpy(cls):
    """Reports whether cls is a type of times, durations or complex numbers of NumPy that Python has not."""
    return cls.__module__ == "numpy" and (cls.__name__ in ("datetime64", "timedelta64") or cls.__name__.startswith(("complex", "clongdouble")))


def from_any(what, x):
    """Returns a value of any type with objects for what Go has a type for, however deep that is."""
    x = _tvmffi.tensors(what, given(what, x, 0, "", True))
    level, done = [x], {}
    while level:
        below = []
        for element in level:
            if isinstance(element, CONTAINERS) and id(element) not in done:
                done[id(element)] = None
                below += (*element, *element.values()) if isinstance(element, dict) else element
            elif _has_type(type(element)):
                return _from_any(what, x)
        level = [element for element in below if type(element) not in PLAIN]
    return x


_tvmffi.to_typed = to_typed


def _from_any(what, x):
    return _tvmffi.rebuilt(what, x, _typed_element)


def _typed_element(what, x):
    cls = type(x)
    if cls in PLAIN:
        return x
    if cls in _names:
        return Typed(_names[cls], x.value)
    if isinstance(x, datetime) or cls.__name__ == "datetime64":
        return Typed("time", from_time(what, x)) if x == x or _is_numpy(cls) else x
    if isinstance(x, timedelta) or cls.__name__ == "timedelta64":
        return Typed("duration", from_duration(what, x)) if x == x or _is_numpy(cls) else x
    if isinstance(x, complex) or _is_numpy(cls):
        return Typed("complex", from_complex(what, x))
    if isinstance(x, Set):
        try:
            x = sorted(x)  # equal sets are equal objects
        except TypeError:
            pass
        for element in x:
            if isinstance(element, (tuple, bytes, Set)):
                raise TypeError(f"{_place(what)}: expected a set of values that Go compares by ==, such as texts or numbers, got one with a {type(element).__name__}: pass a list, or make texts of them")
        return Typed("set", [_typed_element(what, element) for element in x])
    return x


def from_optional(convert):
    return lambda what, x: None if x is None else convert(what, x)


def from_list(convert):
    def to(what, x):
        if not isinstance(x, _LISTS) or type(x) is Wired:
            return x
        return [convert((what, i), element) for i, element in enumerate(x)]

    return to


# An element without a function of its own, in a container whose elements are converted, is given if it is not plain.


def from_tuple(*converts):
    def to(what, x):
        if not isinstance(x, _LISTS) or len(x) != len(converts):
            return x
        return [(c or given)((what, i), element) for i, (c, element) in enumerate(zip(converts, x))]

    return to


def from_dict(key, value):
    def to(what, x):
        if not isinstance(x, dict):
            return x
        keys = [key(what, k) for k in x] if key else [k if type(k) in PLAIN else given(what, k) for k in x]
        distinct(what, keys)
        result = dict(zip(keys, [(value or given)((what, k), element) for k, element in x.items()]))
        if len(result) != len(x):
            raise ValueError(f"{_place(what)}: two keys of the dict are the same for Go: one of the entries would be lost")
        return result

    return to


def from_given(depth, kinds, convert):
    """Returns a function for an element with depth containers in its type. kinds are those of given."""
    if convert is None:
        return lambda what, x: given(what, x, depth, kinds)
    return lambda what, x: convert(what, given(what, x, depth, kinds, True))


def from_shaped(convert, depth, kinds=""):
    """Returns a function for an element that convert, if there is one, leaves as it is if it is plain."""
    to = lambda what, x: given(what, x, depth, kinds) if convert is None else shaped(what, x, convert, depth, kinds)  # noqa: E731
    to.plain = True
    return to


def from_record(name, converts):
    """Returns a function for dicts, and for objects with the fields of one. converts returns the conversions by name."""
    by_name = None

    def to(what, x):
        nonlocal by_name
        if by_name is None:
            by_name = converts()
        if not isinstance(x, dict):
            if isinstance(x, Object):
                return x
            x = _fields(what, name, x)
        return {
            k: by_name[k]((what, k, _FIELD), element) if k in by_name else element if type(element) in PLAIN else given((what, k, _FIELD), element)
            for k, element in x.items()
        }

    return to


_FIELD = "field"  # in a place


def _fields(what, name, x):
    """Returns the fields of an object whose class names them. No class is imported for that."""
    cls = type(x)
    if isinstance(x, Mapping):
        return _columns.mapped(what, x)
    if isinstance(x, tuple):
        names = getattr(cls, "_fields", None)
    elif isinstance(getattr(cls, "__dataclass_fields__", None), dict):
        import dataclasses

        names = [f.name for f in dataclasses.fields(cls)]
    elif isinstance(getattr(cls, "__attrs_attrs__", None), tuple):
        names = [a.name for a in cls.__attrs_attrs__]
    elif hasattr(cls, "model_dump") and isinstance(getattr(cls, "model_fields", None), dict):  # of pydantic
        return {**{n: getattr(x, n) for n in cls.model_fields}, **(getattr(x, "model_extra", None) or {})}
    else:
        names = None
    if names is None:
        hint = ": pass vars(x)" if getattr(x, "__dict__", None) and not isinstance(x, type) else ""
        raise TypeError(f"{_wrong(what, 'a dict for ' + name, x)}{hint}")
    return {n: getattr(x, n) for n in names}


def from_function(depth, kinds, result, *params):
    """Returns a function for callbacks. depth and kinds are those of given, for the result."""

    def convert(what, f):
        if not callable(f) or isinstance(f, Function):
            return given(_place(what), f)

        def call(*args):
            x = f(*[to(a) if to else a for to, a in zip(params, args)])
            return result(_RESULT, given(_RESULT, x, depth, kinds, True)) if result else x

        return call

    return convert


_RESULT = "the result of the callback"


def to_function(result, *params):
    """Returns a function for those that Go returns."""
    plain = all(c is None or hasattr(c, "plain") for c in params)  # they leave what is plain as it is

    def convert(f):
        if f is None:
            return None
        checked = _tvmffi.checked(f)

        def call(*args):
            if not plain or not _tvmffi.is_plain(args):
                converts = params + (None,) * len(args)  # the library says what is wrong with their number
                args = [c(f"argument {i + 1}", given(f"argument {i + 1}", a, typed=True)) if c else a for i, (c, a) in enumerate(zip(converts, args))]
            x = checked(*args)
            return result(x) if result else x

        call.__name__ = call.__qualname__ = "function_that_Go_returned"  # for repr, and for pickle, which refuses it
        return _face.go_function(call, f, "v" * len(params), result) if plain else call

    return convert


_showing = set()


def shown(self, *names):
    """Returns the repr of an object with fields: their values are those of Python."""
    at = get_ident(), self.__chandle__()
    if not at[1]:
        return _tvmffi.shown(self)
    if at in _showing:  # it contains itself
        return "..."
    _showing.add(at)
    try:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__tvm_ffi_type_info__.type_key}({fields})"
    finally:
        _showing.discard(at)
