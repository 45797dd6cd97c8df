"""Loads the library of this package and connects it with Python."""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import json
import os
import re
import sys
import threading
import types
from enum import Enum, IntEnum, IntFlag
from typing import NamedTuple

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:
    try:
        from typing_extensions import TypedDict  # which pydantic wants; tvm_ffi installs it
    except ImportError:
        from typing import TypedDict

inf, nan = float("inf"), float("nan")
property = property
PACKAGE = __name__.rpartition(".")[0]
REQUIREMENT = f"apache-tvm-ffi>={OLDEST},<{BELOW}"


def _failed(message):
    return ImportError(f"{PACKAGE}: {message}", name=PACKAGE)


try:
    import tvm_ffi
except ModuleNotFoundError as e:
    if e.name != "tvm_ffi":
        raise
    raise _failed(f"the Python package apache-tvm-ffi is not installed: pip install '{REQUIREMENT}'") from None

from tvm_ffi import Function, Object, core  # noqa: E402


def _numbers(version):
    """Returns the numbers at the beginning of a version: (0, 1, 15) of 0.1.15.post2."""
    numbers = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _check_version():
    found = getattr(tvm_ffi, "__version__", "0")
    if _numbers(found) < _numbers(OLDEST):
        raise _failed(f"apache-tvm-ffi {found} is too old: pip install '{REQUIREMENT}'")
    if _numbers(found) >= _numbers(BELOW):
        raise _failed(f"apache-tvm-ffi {found} is newer than this package knows: pip install '{REQUIREMENT}', or a newer {PACKAGE}")


def _library_file():
    if sys.platform == "win32":
        return f"{LIBRARY}.dll"
    return f"lib{LIBRARY}.dylib" if sys.platform == "darwin" else f"lib{LIBRARY}.so"


FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), _library_file())

_ELF = {3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 21: "ppc64le", 22: "s390x", 258: "loong64"}
_MACH = {0x01000007: "amd64", 0x0100000C: "arm64"}
_PE = {0x8664: "amd64", 0xAA64: "arm64", 0x014C: "386"}
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i686": "386"}


def _target(path):
    """Says for which system a library is built, in the words of Go. It is None for another file."""
    with open(path, "rb") as f:
        head = f.read(4096)
    number = lambda at, size: int.from_bytes(head[at : at + size], "little")  # noqa: E731
    if head[:4] == b"\x7fELF":
        return "linux/" + _ELF.get(number(18, 2), "another machine")
    if head[:4] == b"\xcf\xfa\xed\xfe":
        return "darwin/" + _MACH.get(number(4, 4), "another machine")
    if head[:2] == b"MZ":
        return "windows/" + _PE.get(number(number(60, 4) + 4, 2), "another machine")
    return None


def _here():
    import platform

    system = {"win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{system}/{_MACHINES.get(machine, machine)}"


def _why(text):
    """Says why the library cannot be loaded, for which the loader says text."""
    target = _target(FILE)
    if target is None:
        return f"{FILE} is not a shared library, or it is damaged: install the package again"
    if target != _here():
        return f"{FILE} is built for {target}, and this Python runs on {_here()}: install the package that is built for it"
    _, found, version = text.partition("GLIBC_")
    if found and "not found" in text:
        version = version.split("'")[0]
        try:
            has = os.confstr("CS_GNU_LIBC_VERSION") or "another C library"
        except (AttributeError, OSError, ValueError):
            has = "another C library"
        return f"{FILE} needs glibc {version}, and this system has {has}: use a newer system, or build the package on one as old as this"
    return f"{FILE} cannot be loaded: {text}"


def _load():
    folder = os.path.dirname(FILE)
    if not os.path.isfile(FILE):
        names = (f"lib{LIBRARY}.so", f"lib{LIBRARY}.dylib", f"{LIBRARY}.dll")
        others = [f"{f} for {_target(os.path.join(folder, f))}" for f in os.listdir(folder) if f in names]
        if others:
            raise _failed(f"the package has {others[0]}, and this Python runs on {_here()}: install the package that is built for it")
        raise _failed(f"the library {FILE} does not exist: install the package again, or run tvmffi-bind export")
    try:
        loaded = tvm_ffi.load_module(FILE)
    except Exception as e:
        raise _failed(_why(str(e))) from None
    if FIRST:
        # On Windows, this call also registers the library.
        try:
            loaded.get_function("_metadata_" + FIRST)()
        except Exception as e:
            raise _failed(_refused(e)) from None
    return loaded


def _refused(e):
    """Says why the library could not be registered."""
    if isinstance(e, AttributeError):
        return f"{FILE} has no function {FIRST}: it was built from other Go code than this package: run tvmffi-bind export again"
    text = str(e)
    if "already exists" in text:
        for name, module in list(sys.modules.items()):
            other = getattr(module, "FILE", None)
            if name.endswith("._tvmffi") and other != FILE and getattr(module, "PREFIX", None) == PREFIX:
                return f"this process has loaded {other}, another copy or version of the library, with the same names: import only one of them ({text})"
        return f"this process has loaded another copy or version of the library, with the same names: load only one of them ({text})"
    return text


def _keep_faults():
    """Keeps Go's handlers of faults in front of those of faulthandler, which others such as pytest enable later."""
    try:
        step = getattr(ctypes.CDLL(FILE), LIBRARY + "__faults")
    except (AttributeError, OSError):  # Linux only
        return
    if hasattr(faulthandler.enable, "__wrapped__"):  # by the library that was loaded first, whose handlers come last
        return
    lock = threading.RLock()

    def kept(f, then):
        @functools.wraps(f)
        def call(*args, **options):
            with lock:
                step(1)
                try:
                    return f(*args, **options)
                finally:
                    step(then)

        return call

    faulthandler.enable, faulthandler.disable = kept(faulthandler.enable, 2), kept(faulthandler.disable, 3)


_check_version()
BIG_INTS = _numbers(getattr(tvm_ffi, "__version__", "0")) >= (0, 1, 14)  # tvm_ffi has ints beyond int64
lib = _load()
_keep_faults()

# checked returns a function that passes its arguments on to f. It raises a TypeError for an object without a handle,
# also in a container, for which tvm_ffi would end the process. With "-" the first argument must be such an object.
# If f sets a field, other sets it to values that tvm_ffi may not know.
# A text or bytes that f returns are a str or bytes of Python, and an object is that of same. _face does it in C; without that nothing is checked.
def checked(f, params="", other=None):
    f = other or f
    return lambda *args, **options: own(f(*args, **options))


def own(x):
    """Returns the str or the bytes of Python for those of tvm_ffi."""
    return str(x) if isinstance(x, core.String) else bytes(x) if isinstance(x, core.Bytes) else x



# same returns the object of Python that stands for the value of Go behind x, which may be x, and each does so for the
# elements of a list. _face has them in C; without that, a value is a new object each time that Go gives it.
same = each = lambda x: x  # noqa: E731


def function(symbol, name, any=False):
    """Returns a function of the library, or of the registry if it has no symbol. Its results may have any type if any is set."""
    try:
        if any:
            return typed(symbol and lib.get_function(symbol), symbol or tvm_ffi.get_global_func(name))
        return checked(lib.get_function(symbol) if symbol else tvm_ffi.get_global_func(name))
    except (AttributeError, ValueError):
        raise _failed(f"{FILE} has no function {symbol or name}: it was built from other Go code than this package: run tvmffi-bind export again") from None


_typed = function("_typed", "")
TYPED = _typed()  # the key of the objects that hold a value of any type and the name of its type; None without such values
untyped = {}  # the functions behind those that typed returns, by their handles


def typed(f, name=None):
    """Returns f, a Function or the one with that name, with types in results where Go says any."""
    result = _typed(name or f)
    untyped[result.__chandle__()] = f
    return checked(result)


def _make_class(mcls, name, bases, namespace, **options):
    if namespace.get("__module__") != PACKAGE:
        mcls = Derived
        # tvm_ffi gives a class without slots no attributes of its own.
        if not any(b.__dictoffset__ for b in bases):
            namespace.setdefault("__slots__", ("__dict__",))
    return type(Object).__new__(mcls, name, bases, namespace, **options)


class _New:
    """Is __new__ of the metaclass, and what its classes have under that name.

    An object of CLASS.__new__(CLASS) would have no handle, and tvm_ffi ends the process where it
    needs one. Calls of the class, and tvm_ffi for results, do not look the name up.
    """

    def __get__(self, cls, _):
        if cls is None:
            return _make_class
        new = next(c.__dict__["__new__"] for c in cls.__mro__ if "__new__" in c.__dict__)
        if isinstance(new, staticmethod):  # of a class that derives
            return new.__func__
        if _numbers(getattr(tvm_ffi, "__version__", "0")) < (0, 1, 13):  # it looks the name up for results
            return new

        def refuse(*_, **__):
            raise TypeError(f"{cls.__name__}.__new__() makes no object: call {cls.__name__}()")

        refuse.__wrapped__ = cls.__init__  # older versions of inspect read the signature here
        return refuse

    def __set__(self, cls, _):
        raise AttributeError(f"{cls.__name__}.__new__ cannot be set: define it in the class")


class Meta(type(Object)):  # type: ignore[misc]  # mypy wants a name for the base
    """Is the class of the classes of this package, and makes those that derive from them."""

    __new__ = _New()


class Derived(Meta):
    """Is the class of the classes that users derive."""

    def __call__(cls, *args, **options):
        self = super().__call__(*args, **options)
        # tvm_ffi ends the process if an object without a handle is an argument.
        if isinstance(self, cls) and not self.__chandle__():
            raise TypeError(f"{cls.__name__}.__init__() did not call super().__init__(), which makes the object")
        return self


def _setter(what, fset, convert=None, *shape):
    def set_field(self, value):
        x = given(what, value, *shape) if convert is None else shaped(what, value, convert, *shape)
        try:
            fset(self, x)
        except UnicodeError:  # which is made of other arguments
            raise
        except (TypeError, ValueError, OverflowError) as e:
            e.args = (worded(what, str(e), value),)
            raise

    return set_field


def _optional(kind):
    return f"({kind}) | None" if " - " in kind else kind if kind.endswith("None") else kind + " | None"


_WORDS = {
    "Array": "list", "List": "list", "Map": "dict", "Dict": "dict", "String": "str", "Bytes": "bytes", "Function": "function"
}  # fmt: skip


def worded(what, text, x):
    """Returns the text of an error of a setter that was given x, with the name of the field and the types of Python."""
    found = re.fullmatch(r"Cannot convert from type `(.*?)` to `(.*)`", text)
    if found is None:
        return f"{what}: {text}"
    number = found[1] == "ffi.BigInt" and re.fullmatch(r"(Optional<)?(int|float|bool)>?", found[2])
    if number and number[2] == "float":
        return f"{what}: expected a float, got an int beyond int64: pass float(x)"
    if number:
        if number[2] == "bool":
            return f"{what}: expected a bool, got an int beyond int64: pass bool(x)"
        return f"{what}: expected an int from -2**63 to 2**63-1, got one outside this range"
    kind = re.sub(r"ffi\.(\w+)", lambda m: _WORDS.get(m[1], m[0]), found[2]).replace("->", "-").replace("Tuple<", "tuple<")
    for _ in range(kind.count("<")):
        kind = re.sub(r"([\w.]+)<([^<>]*)>", lambda m: _optional(m[2]) if m[1] == "Optional" else f"{m[1]}[{m[2]}]", kind)
    return f"{what}: expected {kind.replace(' - ', ' -> ')}, got {type(x).__name__}"


def register(key, /, **converters):
    """Makes a class the one of the objects with that key. converters are arguments of shaped for values of fields."""

    def registered(cls):
        connect(cls)
        for name, p in vars(cls).items():
            if isinstance(p, property) and not isinstance(p.fget, types.FunctionType):  # a field
                property.__init__(p, checked(p.fget), p.fset and checked(p.fset, "", _setter(f"{cls.__name__}.{name}", p.fset, *converters.get(name, ()))), None, p.__doc__)
        if "__ffi_init__" in vars(cls):
            cls.__ffi_init__ = checked(cls.__ffi_init__, "-")
        return cls

    if core._object_type_key_to_index(key) is None:
        raise _failed(f"{FILE} has no type {key}: it was built from other Go code than this package: run tvmffi-bind export again")
    connect = tvm_ffi.register_object(key)
    return registered


# to_typed makes a value of an object that holds one and the name of its type. _values has it.
to_typed = lambda x: x  # noqa: E731


class Typed(Object):
    """A value of any type with the name of its type."""

    __slots__ = ()

    def __init__(self, name, value):
        self.__ffi_init__(name, value)


if TYPED is not None:
    tvm_ffi.register_object(str(TYPED))(Typed)


def slots(key, base=Object):
    """Returns the slots of a class whose objects can have weak references, unless those of base can.

    tvm_ffi may have made a smaller class for the key, before the package was imported. It takes no larger one in its place.
    """
    info = getattr(core, "_type_index_to_type_info", lambda index: None)(core._object_type_key_to_index(key))
    made = info and info.type_cls
    return () if base.__weakrefoffset__ or made and not made.__weakrefoffset__ else ("__weakref__",)


def parent(key):
    """Returns the class of a type of another library."""
    try:
        return core._lookup_or_register_type_info_from_type_key(key).type_cls or Object
    except Exception:
        return Object


def members(cls, *names, any=()):
    """Returns the functions of the methods and properties of a class. Results of those in any may have any type."""
    info = cls.__tvm_ffi_type_info__
    found = {f.name: f.getter for f in info.fields}
    found.update((m.name, m.func) for m in info.methods)
    for name in names:
        if name not in found:
            raise _failed(f"{FILE} has no member {name} of {info.type_key}: it was built from other Go code than this package: run tvmffi-bind export again")
    return [(typed if name in any else checked)(found[name]) for name in names]


def fields(cls, *names):
    """Returns the getters and the setters of the fields of a class, in turn."""
    found = {f.name: f for f in cls.__tvm_ffi_type_info__.fields}
    return [checked(x) for name in names for x in (found[name].getter, found[name].setter)]


def alias(cls, name, other):
    """Gives a member of a class that has a reserved word as its name another name."""
    setattr(cls, other, getattr(cls, name))


class Default:
    """Stands for a default that only the library knows."""

    def __repr__(self):
        return "..."


DEFAULT = Default()


def construct(self, *args, **fields):
    """Makes the object of self."""
    self.__ffi_init__(*args, **{name: value for name, value in fields.items() if value is not DEFAULT})


def not_constructed(self):
    raise TypeError(f"{type(self).__name__} has no constructor: functions of {PACKAGE} make its objects")


def shown(self, string=None):
    """Returns the repr of an opaque object, without an error. string is the method String, or None."""
    cls, handle = type(self), self.__chandle__()
    name = f"{cls.__module__}.{cls.__qualname__}"
    try:
        return f"<{name} {string(self)[:200]!r}>"
    except Exception:  # there is no text, or the object is closed or not made
        return f"<{name} at {handle:#x}>" if handle else f"<{name} without an object of Go>"


def not_copied(self, *_):
    raise TypeError(f"{type(self).__name__} cannot be copied or pickled: only Go sees its fields")


# Arguments. tvm_ffi goes into containers on the C stack, once for each reference.

CONTAINERS = (list, tuple, dict)
PLAIN = frozenset((int, float, bool, str, bytes, type(None)))
_DEEPEST, VISITS = 1000, 1 << 27

# is_plain reports whether there is nothing to change in an argument, or to refuse. _face does it in C.
is_plain = lambda x: False  # noqa: E731


def given(what, x, depth=0, kinds="", typed=False):
    """Returns an argument as tvm_ffi takes it: in its type, depth containers are around each other.

    kinds are those of _columns.elements. typed is set if a function of
    _values goes through the elements of a container next, and gives those that it does not know itself. It raises a
    ValueError for a container that cannot be passed to Go, such as one that contains itself.
    """
    if is_plain(x) or depth < 1 and _kind(type(x)) == "ndarray":
        return x
    if _is_bool(what, type(x), typed):
        return bool(x)
    if isinstance(x, CONTAINERS):
        x = _bounded(what, x, typed)
    x = _listed(what, x, depth, kinds)
    return x if typed else tensors(what, x)


def shaped(what, x, convert, depth, kinds=""):
    """Returns an argument that convert, a function of _values, converts unless it is plain."""
    return x if is_plain(x) else convert(what, given(what, x, depth, kinds, True))


def number(what, x):
    """Is given for a number, which an array without a dimension is too."""
    if getattr(x, "ndim", None) == 0 and hasattr(x, "__dlpack__") and not isinstance(x, Object):
        _is_bool(what, type(x))
        if is_time(x):
            raise TypeError(f"{_place(what)}: expected a number, got an array of {x.dtype}: pass x.item(), or divide it by np.timedelta64(1, 's')")
        x = x.item()
    return given(what, x)


setattr(number, "plain", True)  # it leaves what is plain as it is


def is_time(x):
    """Reports whether x is a time or a duration of NumPy, or an array of them."""
    return getattr(getattr(x, "dtype", None), "kind", None) in ("m", "M")


def numbers(what, all):
    """Is given for a tuple of numbers."""
    return [x if type(x) in PLAIN else number((what, i), x) for i, x in enumerate(all)]


def _is_bool(what, cls, typed=False):
    """Reports whether cls is the class of NumPy's bools, which tvm_ffi does not know.

    It raises a TypeError for the class of masked arrays, whose elements alone would reach Go, for floats with more bits than
    Go has, and for durations, of which tvm_ffi would pass the number without its unit, unless typed is set.
    """
    kind = _kind(cls)
    if kind == "masked":
        raise _masked(what, cls, cls)
    if kind in _WIDE:
        to = "complex" if kind[0] == "c" else "float"
        raise TypeError(f"{_place(what)}: expected a number of a type that Go has, got a {cls.__name__}: call {to}(x), which rounds")
    if kind == "timedelta64" and not typed:
        raise TypeError(f"{_place(what)}: expected a timedelta or a number, got a timedelta64: call .astype('m8[us]').item(), or divide it by np.timedelta64(1, 's')")
    return kind == "bool"


_WIDE = frozenset(("longdouble", "clongdouble", "float128", "complex256", "float96", "complex192"))


def is_wide(dtype):
    """Reports whether a type of NumPy has floats with more bits than Go has."""
    kind = getattr(dtype, "kind", "")
    return kind == "f" and dtype.itemsize > 8 or kind == "c" and dtype.itemsize > 16


def _masked(what, cls, masked):
    """Returns the error for an object of cls whose array is one of the class masked."""
    if cls is masked:
        return TypeError(f"{_place(what)}: expected an array without a mask, got a {cls.__name__}: call .filled(value) or .compressed()")
    return TypeError(f"{_place(what)}: expected an array without a mask, got a {cls.__name__} whose __array__ returns a {masked.__name__}: pass x.__array__().filled(value)")


@functools.lru_cache(None)  # tvm_ffi keeps the classes of arguments, too
def _kind(cls):
    if hasattr(cls, "filled") and hasattr(cls, "compressed"):
        return "masked"
    if cls.__module__ == "numpy":
        return cls.__name__.rstrip("_")
    if hasattr(cls, "__dlpack__") and not issubclass(cls, core.CObject):
        # tvm_ffi refuses read-only arrays of NumPy, and tensors of PyTorch and CuPy may always be written.
        known = hasattr(cls, "__array_ufunc__") and hasattr(cls, "setflags") or hasattr(cls, "__torch_function__") or cls.__module__.split(".")[0] == "cupy"
        return "" if known else "dlpack"
    return ""


def tensors(what, x):
    """Returns x with a Tensor in place of each array of which only a struct of DLPack says whether it may be written."""
    if not isinstance(x, CONTAINERS):
        return _tensor(what, x) if _kind(type(x)) == "dlpack" else x
    level, seen = [x], set()
    while level:
        elements = [e for c in level for e in ((*c, *c.values()) if isinstance(c, dict) else c)]
        classes = set(map(type, elements)) - PLAIN
        if any(_kind(cls) == "dlpack" for cls in classes):
            return _with_tensors(what, x)
        level = [e for e in elements if isinstance(e, CONTAINERS) and id(e) not in seen] if classes else []
        seen.update(map(id, level))
    return x


def _with_tensors(what, x):
    return rebuilt(what, x, lambda what, x: _tensor(what, x) if _kind(type(x)) == "dlpack" else x)


def rebuilt(what, x, convert):
    """Returns x with convert(place, element) in place of all that is in it but containers, however deep it is. What is shared stays shared."""
    if not isinstance(x, CONTAINERS):
        return convert(what, x)
    done, todo = {}, [(what, x)]

    def of(what, x):
        return done[id(x)] if isinstance(x, CONTAINERS) else convert(what, x)

    while todo:
        what, c = todo[-1]
        pairs = [(k, k) for k in c] + list(c.items()) if isinstance(c, dict) else list(enumerate(c))
        inner = [((what, k), e) for k, e in pairs if isinstance(e, CONTAINERS) and id(e) not in done]
        todo += inner
        if inner:
            continue
        todo.pop()
        if id(c) in done:
            continue
        if isinstance(c, dict):
            done[id(c)] = {of(what, k): of((what, k), e) for k, e in c.items()}
        else:
            elements = [of((what, i), e) for i, e in enumerate(c)]
            done[id(c)] = getattr(type(c), "_make", tuple)(elements) if isinstance(c, tuple) else elements
    return done[id(x)]


def _tensor(what, x):
    """Returns a Tensor over the memory of x. It raises a BufferError if Go must not write to that, or if x does not say so."""
    def capsule(**options):
        try:
            return x.__dlpack__(**options)
        except Exception as e:  # of other packages
            dtype = getattr(x, "dtype", None)  # columns of Arrow have none
            raise _columns.wrong(what, x) if hasattr(dtype, "kind") else TypeError(f"{_place(what)}: {e}") from None

    try:
        struct = capsule(max_version=(1, 0))
    except TypeError:
        struct = capsule()  # x is older than the option, or this fails too
    copy = f"pass a copy, such as numpy.array(x), in place of this {type(x).__name__}"
    try:
        at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))(struct, b"dltensor_versioned")
    except (AttributeError, ValueError):  # of a capsule without a version, and without ctypes.pythonapi
        raise BufferError(f"{_place(what)}: the array does not say whether it may be written, and Go could write to it: {copy}") from None
    if ctypes.c_uint64.from_address(at + 24).value & 1:  # the flags of a DLManagedTensorVersioned
        raise BufferError(f"{_place(what)}: the array is read-only, and Go could write to it: {copy}")
    return tvm_ffi.from_dlpack(struct)


def _with_bools(_, x):
    return bool(x) if _kind(type(x)) == "bool" else x


def _placed(what, x, cls):
    """Returns the place of an element of a class in a container."""
    todo, seen = [(what, x)], set()
    while todo:
        what, c = todo.pop()
        for k, e in c.items() if isinstance(c, dict) else enumerate(c):
            if cls in (type(k), type(e)):
                return what, k
            if isinstance(e, CONTAINERS) and id(e) not in seen:
                seen.add(id(e))
                todo.append(((what, k), e))
    return what


def distinct(what, keys):
    """Raises an error if two keys of a dict are NaN. Other keys that are equal are one key of the dict already."""
    if sum(k != k for k in keys if isinstance(k, float)) > 1:
        raise ValueError(f"{_place(what)}: two keys of the dict are one key of a map, as NaN and NaN are: one of the entries would be lost")


def _bounded(what, x, typed=False):
    """Returns a container as tvm_ffi takes it."""
    level = {id(x): (x, 1)}
    depth = visits = bools = 0
    while level:
        depth += 1
        below = {}
        for container, times in level.values():
            visits += times * (len(container) + 1)
            if isinstance(container, dict):
                distinct(what, container)
            elements = (*container, *container.values()) if isinstance(container, dict) else container
            classes = set(map(type, elements)) - PLAIN
            for cls in classes:
                try:
                    bools += _is_bool(what, cls, typed)
                except TypeError:
                    _is_bool(_placed(what, x, cls), cls, typed)
                    raise
            for element in elements if classes else ():
                if isinstance(element, CONTAINERS):
                    below[id(element)] = (element, below.get(id(element), (None, 0))[1] + times)
        if depth > _DEEPEST:
            raise ValueError(f"{_place(what)}: the value contains itself, or is nested deeper than {_DEEPEST} levels")
        if visits > VISITS:
            raise ValueError(f"{_place(what)}: the value has more than {VISITS} elements, because it shares containers at {depth} levels")
        level = below
    return rebuilt(what, x, _with_bools) if bools else x


def _listed(what, x, depth, kinds):
    """Returns x with lists and dicts in place of arrays and of other sequences and mappings, as C does in most calls."""
    if depth < 1 or isinstance(x, (str, bytes, Object)):
        return x
    if not isinstance(x, CONTAINERS):
        x = _columns.elements(what, x, kinds, depth)
    if depth == 1 or not isinstance(x, CONTAINERS) or type(x) is _columns.Wired or PLAIN.issuperset(map(type, x.values() if isinstance(x, dict) else x)):
        return x
    if isinstance(x, dict):
        return {k: _listed((what, k), element, depth - 1, kinds) for k, element in x.items()}
    make = getattr(type(x), "_make", list)  # a named tuple may be a record
    return make([_listed((what, i), element, depth - 1, kinds) for i, element in enumerate(x)])


def _place(what):
    """Returns the text of what, which may be a pair of that and an index, with something behind it for the name of a field."""
    path = ""
    while isinstance(what, tuple):
        what, i, *field = what
        path = f".{i}{path}" if field else f'["{i}"]{path}' if isinstance(i, str) else f"[{i!r}]{path}"
    return what.replace("=...", path + "=...") if "=..." in what else what + path


def looked(x):
    """Looks at an argument of a function that Go has returned as _tensor does. It returns True if no value of the class needs that."""
    _is_bool("an argument", type(x))
    if _kind(type(x)) != "dlpack":
        return True
    _tensor("an argument", x)
    return False


def refused(what, x):
    """Raises the error for an array in x that tvm_ffi has not taken."""
    if isinstance(x, CONTAINERS):
        for i, element in x.items() if isinstance(x, dict) else enumerate(x):
            refused((what, i), element)
    elif hasattr(x, "__dlpack__") and not isinstance(x, Object):
        if getattr(getattr(x, "flags", None), "writeable", True) is False:
            raise BufferError(f"{_place(what)}: the array is read-only, and Go could write to it: call .copy()") from None
        try:
            x.__dlpack__()
        except Exception as e:
            dtype = getattr(x, "dtype", None)  # columns of Arrow have none
            raise _columns.wrong(what, x) if hasattr(dtype, "kind") else TypeError(f"{_place(what)}: {e}") from None


def lent(what, x):
    """Returns what stands for x in a call that lends it: x, a Tensor over its memory, or a copy that Go may write to."""
    kind = _kind(type(x))
    if kind == "ndarray":
        return x if x.flags.writeable else x.copy()
    if isinstance(x, (str, bytes, Object)):
        return x
    _columns.refuse_nulls(what, x)
    try:
        if hasattr(x, "__torch_function__"):
            return tvm_ffi.from_dlpack(x)  # a result can keep it
        if kind == "dlpack":
            try:
                return _tensor("", x)
            except BufferError:
                array = x.__array__().copy()
        elif hasattr(x, "__dlpack__"):
            return x.copy() if memoryview(x).readonly else x
        else:
            array = x.__array__().copy() if hasattr(x, "__array__") else None
    except Exception:  # of other packages
        return x
    if array is None:
        return _columns.elements(what, x, "", 1)
    return _columns.bare(what, x, array) if hasattr(array, "dtype") else x


def shared(result, *arguments):
    """Returns result with arguments, or parts of them, in place of the arrays over their memory.

    Python then has one array for it: x = scale(x) in a loop would make a chain of arrays, each of which keeps the one before.
    """
    if isinstance(result, tuple):
        return getattr(type(result), "_make", tuple)(shared(r, *arguments) for r in result)
    cls = type(result)
    if not hasattr(cls, "setflags"):  # without NumPy
        return result
    for x in arguments:
        if isinstance(x, cls) and x.dtype == result.dtype and x.ndim == 1 and x.flags.c_contiguous and sys.modules["numpy"].may_share_memory(x, result):
            if x.size == result.size and len(arguments) == 1:  # arguments may overlap
                return x
            i = (result.__array_interface__["data"][0] - x.__array_interface__["data"][0]) // x.itemsize
            if 0 <= i <= x.size - result.size:
                return x if x.size == result.size else x[i : i + result.size]
    return result


# Conversions of results. None stands for a value that stays as it is. C makes lists, tuples and dicts before the
# conversion where it can; elsewhere they are an Array or a Map of tvm_ffi.

unchecked_item = tvm_ffi.get_global_func("ffi.ArrayGetItem")
_item = checked(unchecked_item)  # _face has a quicker one
_size = tvm_ffi.get_global_func("ffi.ArraySize")
_map_size = tvm_ffi.get_global_func("ffi.MapSize")
_map_iterator = tvm_ffi.get_global_func("ffi.MapForwardIterFunctor")


def to_enum(cls):
    """Returns a function that makes a member of a value. Unknown values stay as they are, unless they are flags.

    An IntFlag would make another number of one below zero, from Python 3.11 on.
    """
    if issubclass(cls, IntFlag):
        return lambda value: cls(value) if value >= 0 else value
    get = {m.value: m for m in cls.__members__.values()}.get
    return lambda value: get(value, value)


def elements(a):
    """Returns the elements of an Array, or of what C has made of one."""
    return a if type(a) in (list, tuple) else [_item(a, i) for i in range(_size(a))]


def _flat(convert, *inner, make=None):
    """Says whether a conversion is flat, because it leaves a list, tuple or dict of Python as it is. Then C makes the value alone.

    make is the class of the tuple that C makes.
    """
    convert.flat = all(c is None or getattr(c, "flat", False) for c in inner)
    convert.make = make
    return convert


def to_optional(convert):
    return _flat(lambda value: None if value is None else convert(value), convert)


def to_list(convert):
    return _flat(lambda a: list(elements(a)) if convert is None else [convert(x) for x in elements(a)], convert)


def _entries(m):
    at = checked(_map_iterator(m))
    for _ in range(_map_size(m)):
        yield at(0), at(1)
        at(2)


def to_dict(key, value):
    def to(m):
        entries = m.items() if type(m) is dict else _entries(m)
        result = {k if key is None else key(k): v if value is None else value(v) for k, v in entries}
        if len(result) != (len(m) if type(m) is dict else _map_size(m)):
            raise ValueError("two keys of the map are one key in Python, as 1 and True are")
        return result

    return _flat(to, key, value)


def _plain_key(k):
    if isinstance(k, tvm_ffi.Array):  # of a tuple
        return tuple(map(_plain_key, elements(k)))
    return to_typed(k) if type(k) is Typed else k


_plain_items = to_dict(_plain_key, None)


def to_any():
    return _flat(plain)




def plain(value):
    """Makes lists, dicts, texts and values of types of Go of a result of any type, however deep it is. What is shared stays shared."""
    value = own(value)
    if type(value) in PLAIN:
        return value
    result, done = [same(value)], {}
    todo = [result]
    while todo:
        parts = todo.pop()
        for k, v in parts.items() if type(parts) is dict else enumerate(parts):
            if isinstance(v, (tvm_ffi.Array, tvm_ffi.Map)):
                handle = v.__chandle__()
                if handle not in done:
                    done[handle] = _plain_items(v) if isinstance(v, tvm_ffi.Map) else elements(v)
                    todo.append(done[handle])
                parts[k] = done[handle]
            elif type(v) is Typed:
                parts[k] = to_typed(v)
    return result[0]


def to_record(converts, flat):
    """Returns a function that makes a dict of a map. converts returns the conversions by name, which are all flat or not."""
    by_name = None
    to_plain = to_dict(None, None)

    def to(m):
        nonlocal by_name
        if by_name is None:
            by_name = converts()
        result = to_plain(m)
        for name, convert in by_name.items():
            if name in result:
                result[name] = convert(result[name])
        return result

    to.flat = flat
    return to


def to_tuple(*converts):
    return _flat(lambda a: tuple([x if c is None else c(x) for c, x in zip(converts, elements(a))]), *converts)


def to_named(cls, *converts):
    plain, new = to_tuple(*converts), tuple.__new__
    return _flat(lambda a: new(cls, plain(a)), plain, make=cls)


@functools.lru_cache(None)
def _from_dlpack():
    try:
        from numpy import from_dlpack
    except ImportError:
        return None
    return from_dlpack


def to_array(tensor):
    """Returns the memory of a tensor that Go lends as an array of NumPy, or the tensor where NumPy is not installed."""
    make = _from_dlpack()
    return tensor if make is None else make(tensor)


def to_iterator(convert):
    def iterate(following):
        while (value := following()) is not None:
            value = _item(value, 0)
            yield value if convert is None else convert(value)

    return iterate


# Special methods of classes. ffi.Recursive* calls the methods of Go.


def unmade(cls):
    """Returns an object for __setstate__."""
    return Object.__new__(cls)


def reduce(self):
    return unmade, (type(self),), self.__getstate__()


@functools.lru_cache(None)
def _saved(key):
    """Returns the names of the fields of a type of this package, or None."""
    try:
        info = core._lookup_or_register_type_info_from_type_key(key)
    except Exception:  # tvm_ffi says so
        return None
    names = set()
    known = getattr(info.type_cls, "__module__", None) == PACKAGE
    while known and info is not None:
        names.update(f.name for f in info.fields or ())
        info = info.parent_type_info
    return names if known else None


_decode = json.JSONDecoder().raw_decode
_object_in_json = re.compile(r'"type":"([^"]+)","data":(?={)')


def restore(self, state):
    """Is __setstate__. tvm_ffi would drop the fields that only a newer version of the library has."""
    text = state["handle"] or ""
    for found in _object_in_json.finditer(text):  # not in a text, which has a backslash before each quote
        names = _saved(found[1])
        fields = None if names is None else _decode(text, found.end())[0].keys()
        if fields and not fields <= names:
            raise TypeError(f"{found[1]} has no field {min(fields - names)}, which the pickle has: another version of {PACKAGE} made it, so install that one")
    Object.__setstate__(self, state)


def _same_family(a, b):
    return isinstance(b, type(a)) or isinstance(a, type(b))


@functools.lru_cache(None)
def _registered(name):
    return checked(tvm_ffi.get_global_func("ffi." + name))


def _recursive(name):
    def method(self, other):
        return _registered("Recursive" + name)(self, other) if _same_family(self, other) else NotImplemented

    return method


equal, less, less_equal, greater, greater_equal = map(_recursive, ("Eq", "Lt", "Le", "Gt", "Ge"))


def hash_value(self):
    return _registered("RecursiveHash")(self)


def structural_equal(self, other):
    return tvm_ffi.structural_equal(self, other) if _same_family(self, other) else NotImplemented


def not_equal(self, other):
    result = self.__eq__(other)
    return result if result is NotImplemented else not result


def structural_hash(self):
    return tvm_ffi.structural_hash(self)


@functools.lru_cache(None)
def _shallow(index):
    shallow = core._lookup_type_attr(index, "__ffi_shallow_copy__")
    return not_copied if shallow is None else checked(shallow)


def copy(self):
    return _shallow(type(self).__tvm_ffi_type_info__.type_index)(self)


def deepcopy(self, memo=None):
    return _registered("DeepCopy")(self)


# Asynchronous forms of functions with a context.

_starts: dict[str, Function] = {}


@functools.lru_cache(None)
def _async():
    return function("_async", "", True)


async def wait(name, *args):
    """Calls a function of Go and waits without blocking the loop."""
    import asyncio

    if name not in _starts:
        _starts[name] = checked(_async()(name))
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()
    ended = False

    def settle(result, error):  # in the loop
        nonlocal ended
        ended = True
        if not waiting.done():
            waiting.set_result((result, error))

    def done(result, error):  # on a thread of Go
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            pass  # the loop is closed, so nobody waits

    cancel = _starts[name](done, *args)
    try:
        result, error = await waiting
    except asyncio.CancelledError:
        # The context of Go ends. The task ends when the function has returned, so that nothing
        # of it runs on. A second cancellation does not wait.
        cancel()
        if not ended:
            waiting = loop.create_future()
            await waiting
        raise
    except BaseException:  # the coroutine is closed
        cancel()
        raise
    if error is not None:
        raise error.py_error()
    return same(own(result))


def owned(x):
    """Returns a tensor that a call may keep after it has returned."""
    return tvm_ffi.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, tvm_ffi.Tensor) else x


from . import _columns  # noqa: E402  # it needs the names above
