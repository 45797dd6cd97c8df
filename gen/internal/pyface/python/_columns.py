"""Reads columns: arrays of NumPy, columns of pandas, polars and Arrow, and all else with a buffer, __array__ or DLPack.

No other module decides what a column is. C reads only the buffers of numbers by itself.
"""

from __future__ import annotations

import functools
import importlib
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone

from ._tvmffi import CONTAINERS, VISITS, _bounded, _masked, _place, is_wide, tvm_ffi

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# The nanoseconds of the units of NumPy. Those that are shorter than one are the second number to a nanosecond. Years and
# months have no fixed length.
_UNITS = {
    "W": (604800 * 10**9, 1), "D": (86400 * 10**9, 1), "h": (3600 * 10**9, 1), "m": (60 * 10**9, 1), "s": (10**9, 1),
    "ms": (10**6, 1), "us": (1000, 1), "ns": (1, 1), "ps": (1, 10**3), "fs": (1, 10**6), "as": (1, 10**9),
}  # fmt: skip

# made returns an Array of the numbers in a buffer. If times is not 0, they are ints, which are multiplied by it and divided
# by per; then made returns the place of the first number, in the order of the elements, that becomes no int of 64 bits.
# It returns None for other buffers. _face does it in C.
made = lambda array, times=0, per=1: None  # noqa: E731
read: frozenset[str] = frozenset()  # the formats of buffers that made takes, unless they lie


class Wired(list):
    """Is a column whose elements are as they cross, so that nobody converts them."""


def mapped(what, x):
    """Returns the dict of a mapping, which may have a key twice, as a MultiDict of package multidict has."""
    result = dict(x)
    if len(result) != len(x):
        raise ValueError(f"{_place(what)}: the {type(x).__name__} has a key twice, and one of the values would be lost: pass a dict, such as dict(x), which has one of them")
    return result


def elements(what, x, kinds="", depth=None):
    """Returns a list, a dict or an object of tvm_ffi that stands for x, or x if it is not a column.

    depth is how many containers are around each other in the type, if that is known. kinds has a letter for what the elements may be beside numbers, bools and texts: c for complex numbers, m for durations
    and M for times, as in NumPy; - says that code of Python looks at the elements, ? that they may be None, and l that Go keeps
    the value as a list.
    """
    given, columns = x, _columns_of(x)
    if columns is not None:
        absent = [_described(c)[2] for c in columns]
        for j, nulls in enumerate(absent):
            if nulls and "?" not in kinds:
                raise _null(((what, nulls.index(True)), j), columns[j])
        if any(absent):
            return [list(row) for row in zip(*(elements(what, c, kinds) for c in columns))]
    x, zone, nulls = _described(x)
    if nulls:
        if "?" not in kinds:
            raise _null((what, nulls.index(True)), given)
        return _with_nulls(what, x, nulls, zone, kinds)
    if _is_nested(x):
        return _bounded(what, list(map(_inner, x)), bool(kinds.strip("?l")))
    try:
        array = _array(x, zone if "M" in kinds else None, kinds)
    except Exception:  # of other packages
        array = None
    if array is None:
        if hasattr(x, "toarray"):  # of SciPy
            raise TypeError(f"{_place(what)}: expected a column, got a {type(x).__name__}: call .toarray()")
        result = list(x) if isinstance(x, Sequence) else mapped(what, x) if isinstance(x, Mapping) else x
        return _bounded(what, result, bool(kinds.strip("?l"))) if isinstance(result, CONTAINERS) else result
    dtype = getattr(array, "dtype", None)
    kind = "" if dtype is None else dtype.kind
    if kind:
        array = bare(what, x, array)
    if kind and (kind not in "biufOUT" + kinds or is_wide(dtype)):
        raise wrong(what, array, kinds)
    if kind and kind in "cmM" and depth is not None and array.ndim > depth:
        raise TypeError(f"{_place(what)}: expected a column of {depth} dimension{'s' * (depth > 1)}, got an array with the shape {array.shape}")
    rows = math.prod(array.shape[:-1]) if getattr(array, "ndim", 0) > 1 else 0
    if rows > VISITS or kind and array.size > VISITS and not (kind in "biuf" and dtype.isnative and dtype.itemsize != 2):
        raise _large(what)  # before it is copied
    if kind == "T" and hasattr(dtype, "na_object"):
        return _texts(what, array, kinds)
    if kind == "O":
        return _bounded(what, array.tolist(), bool(kinds.strip("?l")))
    if kind and kind in "mM" and array.ndim:
        return _durations(what, array, kinds) if kind == "m" else _times(what, array, zone, kinds)
    if kind and kind in "fc" and "c" in kinds and array.ndim and array.size:  # an int is rounded only once, by Go
        array = array.astype("c16", order="C", copy=False)
        return _complex(array if array.flags.writeable else array.copy(), kinds)
    result = None if kinds.strip("?l") or kind and kind not in "biuf" else made(_native(array, kind))
    if result is None:
        if kind and array.size > VISITS:
            raise _large(what)
        try:
            result = array.tolist() if kind or array.format not in read and sound(array) else x
        except NotImplementedError:  # of a memoryview
            result = x
    return result


def sound(view, size=None):
    """Reports whether the sizes of a memoryview agree. It reads other memory if they do not. size is that of its format."""
    import struct

    try:
        size = struct.calcsize(view.format) if size is None else size
    except struct.error:
        return False
    return view.ndim > 0 and min(view.shape) >= 0 and view.itemsize == size and view.nbytes == math.prod(view.shape) * view.itemsize


def bare(what, x, array):
    """Returns an array of NumPy that stands for x without a class of its own, such as that of matrices, whose rows are matrices.

    It raises a TypeError for a masked array, whose mask would be lost.
    """
    cls = type(array)
    if hasattr(cls, "filled"):
        raise _masked(what, type(x), cls)
    if _has(type(x), "rstrip"):  # the elements of a chararray have no spaces behind them
        array = x.rstrip()
    elif cls.__module__ == "numpy" and cls.__name__ == "ndarray":
        return array
    import numpy

    return array.view(numpy.ndarray)


def _texts(what, array, kinds):
    """Returns the texts of an array of NumPy whose type has nulls."""
    if array.ndim > 1:
        return [_texts((what, i), row, kinds) for i, row in enumerate(array)]
    texts = array.tolist()
    if array.ndim == 0:
        return texts
    nulls = [not isinstance(text, str) for text in texts]
    if True not in nulls:
        return texts
    if "?" not in kinds:
        raise _null((what, nulls.index(True)), array)
    return [None if null else text for null, text in zip(nulls, texts)]


def _large(what):
    return ValueError(f"{_place(what)}: the value has more than {VISITS} elements")


def wrong(what, array, kinds=None):
    """Returns the error for an array whose elements cannot cross. kinds are those of elements, or None if numbers are expected."""
    dtype, want = array.dtype, {"c": "complex numbers", "m": "durations", "M": "times", None: "numbers"}.get(kinds and kinds[0], "numbers, bools or texts")
    found, remedy = dtype.kind, "call .astype(...)"
    if getattr(array, "ndim", 1) == 0:
        remedy = "call .item()"
    elif kinds is None and found in "UTSmM":
        remedy = "call .astype(...), or .tolist() where Go takes any value"
    elif found == "S":
        remedy = "call .astype('U') for texts, or .tolist() for bytes"
    elif found == "m":
        remedy = "divide it by numpy.timedelta64(1, 's')"
    elif is_wide(dtype):
        remedy = f"call .astype('{'c16' if found == 'c' else 'f8'}'), which rounds"
    elif found == "c":
        remedy = "pass x.real"
    elif getattr(dtype, "names", None):
        remedy = f"pass one field, such as x[{dtype.names[0]!r}]"
    return TypeError(f"{_place(what)}: expected {want} of a type that Go has, got an array of {dtype}: {remedy}")


def _described(x):
    """Returns a column, its zone or None, and which elements are null if there are any.

    What __array__ returns does not say it: there, nulls are NaN, and times have no zone.
    """
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = getattr(x, "type", None)  # of Arrow
    if dtype is None:
        return x, None, None
    plain, nullable, _ = _traits(dtype)
    if plain and not nullable:
        if not _has(type(x), "null_count"):
            return x, None, None
        count = x.null_count
        return x, None, _list(x.is_null()) if (count() if callable(count) else count) else None
    if hasattr(dtype, "pyarrow_dtype"):  # pandas
        x = getattr(x, "array", x).__arrow_array__()
        dtype = x.type
    if hasattr(dtype, "run_end_type"):  # of Arrow
        x = importlib.import_module("pyarrow.compute").run_end_decode(x)
        dtype = x.type
    if hasattr(dtype, "index_type") and hasattr(dtype, "value_type"):  # a dictionary of Arrow
        dtype = dtype.value_type
        x = x.cast(dtype)
    zone = getattr(dtype, "tz", None) or getattr(dtype, "time_zone", None)
    if zone is not None:
        zone = zone, getattr(dtype, "unit", None) or dtype.time_unit
    nulls = None
    if hasattr(x, "null_count"):
        count = x.null_count
        if count() if callable(count) else count:
            nulls = x.is_null()
    elif _traits(dtype)[1]:
        nulls = x.isna()
        nulls = nulls if nulls.any() else None
    return x, zone, nulls if nulls is None else _list(nulls)


_known = {}  # what _traits returns for classes


def _traits(dtype):
    """Reports whether the type of a column has neither zones nor other types in it, whether it has nulls of pandas, and whether its elements
    may be columns or structures.

    Types of one class have the same attributes. What is sparse mostly has numbers of NumPy, and so has an array of NumPy in its
    clothes.
    """
    cls = dtype if isinstance(dtype, type) else type(dtype)
    key = cls, cls is dtype  # some are classes
    if key not in _known:
        of_numpy = cls.__module__.partition(".")[0] == "numpy"
        plain = of_numpy or not any(hasattr(dtype, name) for name in ("pyarrow_dtype", "run_end_type", "index_type", "value_type", "tz", "time_zone", "storage_type", "fields", "subtype"))
        if hasattr(dtype, "subtype"):  # its instances differ
            return False, hasattr(dtype, "na_value") and getattr(dtype.subtype, "kind", "") == "O", True
        nested = not of_numpy and (hasattr(dtype, "storage_type") or cls.__name__ == "StructType" or _nests(dtype))
        _known[key] = plain, not of_numpy and hasattr(dtype, "na_value") and cls.__name__ != "NumpyEADtype", nested
    return _known[key]


_has = functools.lru_cache(None)(hasattr)  # for a class


def refuse_nulls(what, x):
    """Raises the error for a column with nulls."""
    nulls = _described(x)[2]
    if nulls:
        raise _null((what, nulls.index(True)), x)


def _columns_of(x):
    """Returns the columns of a frame of pandas or polars, or of a table of Arrow. It is None for all others."""
    cls = type(x)
    if _has(cls, "get_columns"):
        return x.get_columns()
    if _has(cls, "iloc") and getattr(x, "ndim", 0) == 2:
        return [x.iloc[:, j] for j in range(x.shape[1])]
    return x.columns if _has(cls, "column_names") and _has(cls, "columns") else None


def _is_nested(x):
    """Reports whether the elements of a column of polars or Arrow are columns or structures. __array__ hides nulls in them."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        dtype = getattr(x, "type", None)
    if dtype is None or not _traits(dtype)[2]:
        return False
    return _nests(getattr(dtype, "storage_type", dtype))  # of an extension of Arrow


def _nests(dtype):
    nested = getattr(dtype, "is_nested", None)
    return nested() if callable(nested) else getattr(dtype, "num_fields", 0) > 0


def _inner(x):
    """Returns what an element of such a column is: a column again, if it can be."""
    if not hasattr(x, "as_py"):  # of polars
        return x
    values = getattr(x, "values", None)
    if values is None and hasattr(getattr(x, "value", None), "as_py"):
        return _inner(x.value)
    return x.as_py() if values is None or callable(values) else values


def _null(what, x):
    remedies = [name for name in ("fillna(value)", "dropna()", "fill_null(value)", "drop_nulls()", "drop_null()") if hasattr(x, name.partition("(")[0])]
    remedy = f"call .{' or .'.join(remedies[:2])}" if remedies else "fill it or leave it out"
    return TypeError(f"{_place(what)}: expected a value, got a null: {remedy}")


def _list(x):
    return x.to_list() if hasattr(x, "to_list") else x.tolist() if hasattr(x, "tolist") else x.to_pylist()


def _with_nulls(what, x, nulls, zone, kinds):
    if zone is not None or "m" in kinds:  # lists of other packages have microseconds
        array = _array(x, zone)
        if array.dtype.kind in "mM":
            return _durations(what, array, kinds) if array.dtype.kind == "m" else _times(what, array, zone, kinds)
    return [None if null else value for null, value in zip(nulls, _list(x))]


def _array(x, zone, kinds=""):
    """Returns the array of NumPy of a column, or a memoryview of what has only a buffer that C knows, or that NumPy does not know."""
    if zone is not None:
        return x.__array__(f"M8[{zone[1]}]")  # pandas makes objects unless the type is given
    if hasattr(x, "__array__"):
        array = x.__array__()
        return array if hasattr(array, "dtype") else None
    try:
        view = memoryview(x)
    except TypeError:
        if not hasattr(x, "__dlpack__"):
            return None
        import numpy

        return numpy.from_dlpack(x)
    if view.format == "b" and type(x).__module__.startswith("pyarrow"):  # its buffers say that they are signed
        view = view.cast("B")
    if view.format in read and ("c" not in kinds or made(view) is None):  # it lies
        return view
    try:
        import numpy

        array = numpy.asarray(view) if sound(view, view.itemsize) else view
        return array if array.shape == view.shape and array.itemsize == view.itemsize else view
    except Exception:  # without NumPy, or for a format that it does not know
        return view


def _native(array, kind):
    """Returns an array of numbers that C knows."""
    if not kind:
        return array
    if kind == "f" and array.dtype.itemsize == 2:
        return array.astype("f4")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _numbers(array):
    """Returns the ints of an array of times or durations."""
    return _native(array.view(array.dtype.str[0] + "i8"), "i")


def _complex(array, kinds):
    """Returns a Tensor whose rows are the tuples as which the elements of an array cross, or a list of them for each dimension more."""
    if array.ndim > 1:
        return Wired(_complex(row, kinds) for row in array)
    return _rows(array.view("f8").reshape(-1, 2), kinds)


def _rows(table, kinds):
    """Returns a column whose elements cross as the tuples in the rows of an array."""
    return Wired(table.tolist()) if "l" in kinds else tvm_ffi.from_dlpack(table)


@functools.lru_cache(None)
def _unit(dtype):
    """Returns by what numbers of a type are multiplied, and then divided, for nanoseconds. It is None for units without a length."""
    count, unit = re.fullmatch(r"[<>=|]?[mM]8(?:\[(\d*)(\w+)\])?", dtype.str).groups()
    if unit not in _UNITS:
        return None
    times, per = _UNITS[unit]
    times *= int(count or 1)
    common = math.gcd(times, per)
    return times // common, per // common


def nanoseconds(what, x):
    """Returns the number of nanoseconds in a duration of NumPy."""
    unit = _unit(x.dtype)
    if x != x:
        raise TypeError(f"{_place(what)}: expected a timedelta, got NaT: fill it or leave it out, such as by x[~np.isnat(x)]")
    if unit is None:
        if "[" not in x.dtype.str:
            raise TypeError(f"{_place(what)}: expected a timedelta, got a timedelta64 without a unit: say which it is, such as by .astype('m8[s]')")
        raise TypeError(f"{_place(what)}: expected a timedelta, got {x!s}, and that unit has no fixed length: pass days, or the difference of two dates")
    n = int(x.view("i8")) * unit[0]
    if n % unit[1]:
        raise ValueError(f"{_place(what)}: {x!s} is not a whole number of nanoseconds: call .astype('m8[ns]') to cut it")
    n //= unit[1]
    if not -(2**63) <= n < 2**63:
        raise OverflowError(f"{_place(what)}: {x!s} is longer than 292 years")
    return n


def _durations(what, array, kinds):
    if not array.size:
        return array.tolist()
    unit = _unit(array.dtype)
    if "?" not in kinds and unit is not None and unit[0] < 2**63:
        found = made(_numbers(array), *unit)
        if type(found) is int:
            from numpy import unravel_index

            at = unravel_index(found, array.shape)
            nanoseconds(functools.reduce(lambda what, i: (what, int(i)), at, what), array[at])  # raises the error
        elif found is not None:
            return found
    if array.ndim > 1:
        return Wired(_durations((what, i), row, kinds) for i, row in enumerate(array))
    return Wired(None if "?" in kinds and x != x else nanoseconds((what, i), x) for i, x in enumerate(array))


def _times(what, array, zone, kinds):
    if not array.size:
        return array.tolist()
    if zone is None:
        raise ValueError(f"{_place((what, 0))}: the times have no time zone: give them one, such as by pandas.to_datetime(x, utc=True)")
    import numpy

    numbers = _numbers(array)
    null = None
    if numbers.min() == -(2**63):  # NaT
        null = numbers == -(2**63)
        if "?" not in kinds:
            raise TypeError(f"{_place((what, int(null.argmax())))}: expected a datetime, got NaT: fill it or leave it out")
        numbers = numpy.where(null, 0, numbers)
    times, _ = _unit(array.dtype)
    per = 10**9 // times
    table = numpy.empty((len(array), 3), "i8")
    seconds, rest = table[:, 0], table[:, 1]
    numpy.floor_divide(numbers, per, out=seconds)
    numpy.subtract(numbers, seconds * per, out=rest)
    rest *= times
    table[:, 2] = _offsets(what, seconds, zone[0])
    if null is not None:
        return Wired(None if absent else row for absent, row in zip(null, table.tolist()))
    return _rows(table, kinds)


@functools.lru_cache(None)
def _zone(name):
    """Returns the zone of a name of Arrow."""
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if found:
        east = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-east if found[1] == "-" else east)
    from zoneinfo import ZoneInfo

    return timezone.utc if name in ("UTC", "Etc/UTC") else ZoneInfo(name)


def offset(what, east):
    """Returns an offset from UTC in seconds. Go has zones of whole seconds only."""
    if east.microseconds:
        raise ValueError(f"{_place(what)}: the offset {east} of the time zone is not in whole seconds, as a time.Time needs it: convert the time to UTC, such as by x.astimezone(timezone.utc)")
    return east.days * 86400 + east.seconds


def _east(what, zone):
    """Returns a function that returns the seconds by which a zone is east of UTC at a time."""

    @functools.lru_cache(1 << 16)
    def at(seconds):
        return offset(what, (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset())

    return at


_easts = functools.lru_cache(64)(functools.partial(_east, "a zone"))


def _change(east, day):
    """Returns the second of a day from which on the offset of a zone is that of the end of the day."""
    low, high = day * 86400, (day + 1) * 86400
    last = east(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if east(middle) == last else (middle, high)
    return high


def _offsets(what, seconds, zone):
    """Returns the seconds by which a zone is east of UTC at many times."""
    import numpy

    try:
        zone = _zone(zone) if isinstance(zone, str) else zone
    except Exception as e:  # of zoneinfo
        raise ValueError(f"{_place(what)}: the zone {zone} is not known here: pip install tzdata, or convert the times to UTC ({e})") from None
    fixed = zone.utcoffset(None)
    if fixed is not None:
        return offset(what, fixed)
    try:
        east = _easts(zone)
    except TypeError:  # those of dateutil have no hash
        east = _east(what, zone)
    try:
        days = seconds // 86400
        first, n = int(days.min()), int(days.max() - days.min()) + 2
        if n > len(seconds):
            return list(map(east, seconds.tolist()))
        days -= first
        # Where the offset is the same at both ends of a day, it is that of the whole day.
        ends = numpy.array([east((first + i) * 86400) for i in range(n)])
        changing = ends[:-1] != ends[1:]
        changes = numpy.zeros(n - 1, "i8")
        for i in numpy.flatnonzero(changing).tolist():
            changes[i] = _change(east, first + i)
        result = ends[days]
        at = numpy.flatnonzero(changing[days])
        result[at] += (seconds[at] >= changes[days[at]]) * (ends[days[at] + 1] - result[at])
        return result
    except OverflowError:
        raise OverflowError(f"{_place(what)}: a time is outside the years 1 to 9999 of the zone {zone}: convert the times to UTC") from None
