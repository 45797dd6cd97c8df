"""Functions that call the library with values of Python's own types, without code of Python."""

from __future__ import annotations

import ctypes
import functools
import re
import sys
import types

from . import _columns, _errors, _tvmffi
from ._errors import reraise
from ._tvmffi import FILE, LIBRARY, core, lib, tvm_ffi


def _failed(parts=None):
    """Raises the exception for the error that Go returned, or returns new tracebacks for a backtrace or like others."""
    if isinstance(parts, bytes):
        return _tracebacks(_frames(parts.decode("utf-8", "replace")))
    if parts is not None:
        return _tracebacks([(tb.tb_frame, tb.tb_lasti, tb.tb_lineno) for tb in parts])
    try:
        raise _taken().py_error()
    except:  # noqa: E722
        reraise()


def _tracebacks(frames):
    """Returns the tracebacks of frames, each of which leads to the one before it."""
    all = []
    for frame in frames:
        all.append(types.TracebackType(all[-1] if all else None, *frame))
    return tuple(all)


def _ended(kind, returned=None):
    """Returns the Function that ends the calls of a callback where C cannot: it returns or raises what C has left.

    kind is n if the result is a container, which may have arrays, b for bytes, i for a number, and o for others. returned
    has the depth of the type of containers, and what converts it.
    """
    if kind == "b":
        from ._values import from_bytes  # most packages do not need the module

        result = 0, from_bytes
    elif kind == "i":
        result = 0, _tvmffi.number
    else:
        result = returned if returned and (kind == "n") == (returned[0] > 0) else (16 if kind == "n" else 0,)
    return tvm_ffi.convert(_errors.Guard(_class.left, *result))


def _frames(backtrace):
    """Returns a frame, the index of its instruction, and a line for each function of a backtrace.

    The frames are those of generators that did not begin, because they keep no callers alive.
    """
    blank = lambda: (yield)  # noqa: E731  # of one line: tracebacks have the line of the instruction
    frames = []
    for file, line, name in re.findall(r'^\s*File "(.+?)", line (\d+), in (.+)$', backtrace, re.MULTILINE):
        code = blank.__code__.replace(co_filename=file, co_firstlineno=int(line), co_name=name)
        frame = types.FunctionType(code, {})().gi_frame
        frames.append((frame, frame.f_lasti, int(line)))
    return frames


def _find():
    """Returns the symbols of the library and its class of functions, or None where Python or tvm_ffi is another one.

    Values of other Pythons, such as those without the global interpreter lock, have another form.
    """
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return None, None, None
    try:
        e = core.Error("RuntimeError", "", "")
        if ctypes.c_void_p.from_address(id(e) + 16).value != e.__chandle__():
            return None, None, None
        symbols = ctypes.PyDLL(FILE)
        make = getattr(symbols, LIBRARY + "__python")
        make.argtypes = [ctypes.c_void_p] * 3 + [ctypes.py_object, ctypes.c_int]
        make.restype = ctypes.py_object
        taken = lib.get_function("_python")
        find = ctypes.cast(ctypes.pythonapi.dlsym, ctypes.c_void_p)
        return symbols, taken, make(find, ctypes.pythonapi._handle, tvm_ffi.LIB._handle, core.CObject, taken.release_gil)
    except (AttributeError, OSError, ValueError):
        return None, None, None


_symbols, _taken, _class = _find()
_TOOLS = types.MethodType, _tvmffi.plain


def _made(f, callee, address, handle, params, required, convert, make=None, returned=None):
    flat = 0
    if make is None:
        flat = 1 if getattr(convert, "flat", convert is None) else 2
        make = getattr(convert, "make", None) if flat == 1 else None
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    ended = _ended if returned is None else functools.partial(_ended, returned=returned)
    return _class(f, callee, address, handle, params, names, f.__defaults__ or (), required, convert, make, flat, _failed, _taken, ended, *_TOOLS)


def _checked(f, params="", other=None):
    """Is _tvmffi.checked. A function that requires 17 arguments, more than C takes, only looks at them."""
    return _class(f, other, 0, 0, params, (), (), 17, None, None, False, _failed, _taken, _ended, *_TOOLS)


if _class is not None:
    _tvmffi.checked, _tvmffi.is_plain = _checked, _class.plain
    _tvmffi._item = _checked(_tvmffi.unchecked_item)
    _tvmffi.same, _tvmffi.each = _class.same, _class.each
    _class.look(_tvmffi.looked)
    _errors.made = _checked(lambda x: x)
    _columns.made = lambda array, times=0, per=1: _class.column(array, times, per, _taken)  # noqa: E731
    _columns.read = frozenset("?bhilqnBHILQNfd")


def target(f, params, required, symbol=""):
    """Returns a function that calls a symbol of the library, or the Function f, with arguments that code of Python has converted.

    A list, tuple or dict of the result is one of Python. Arguments that C does not know go to f.
    """
    if _class is None:
        return f
    address, handle = (_address(symbol), 0) if symbol else (0, _handle(f))
    return _class(f, f, address, handle, params, (), (), required, None, None, 1, _failed, _taken, _ended, *_TOOLS)


def _handle(f):
    handle = f.__chandle__()
    return _tvmffi.untyped[handle].__chandle__() if handle in _tvmffi.untyped else handle


def _address(symbol):
    return ctypes.cast(getattr(_symbols, f"{LIBRARY}__tvm_ffi_{symbol}"), ctypes.c_void_p).value


def function(symbol, params, required, convert=None, returned=None):
    """Returns a decorator for a function that calls a symbol of the library.

    params has a letter for each parameter: s for a text, o for an object, f for a function, F for one that returns a
    container, b and i for those that return bytes and a number, c and C for those like f and F that get containers of
    tvm_ffi, n for a list or an array, p for one that Python converts or checks, v for another value, and * if the last
    one takes any number of arguments. convert makes the result of what tvm_ffi returns; if it is flat, C makes it alone.
    returned is for the results of the callbacks that return containers; see _ended.
    """
    if _class is None:
        return lambda f: f
    return lambda f: _made(f, None, _address(symbol), 0, params, required, convert, None, returned)


def method(cls, name, callee, params, required, convert=None, returned=None):
    """Does the same for a method or a property of a class, which calls a Function."""
    if _class is not None:
        f = cls.__dict__[name]
        g = _made(getattr(f, "fget", f), callee, 0, _handle(callee), params, required, convert, None, returned)
        setattr(cls, name, property(g, doc=f.__doc__) if isinstance(f, property) else g)


def field(cls, name, key, convert):
    """Does the same for a field of any type: only values that are not plain need code of Python."""
    if _class is not None:
        p, info = cls.__dict__[name], next(f for f in cls.__tvm_ffi_type_info__.fields if f.name == key)
        get = _class(info.getter, None, 0, 0, "", (), (), 17, convert, None, False, _failed, _taken, _ended, *_TOOLS)
        setattr(cls, name, property(get, p.fset and _checked(info.setter, "", p.fset), doc=p.__doc__))


def go_function(f, function, params, convert):
    """Does the same for f, which calls a Function that Go returned."""
    if _class is None:
        return f
    flat = 1 if getattr(convert, "flat", convert is None) else 2
    return _class(f, function, 0, function.__chandle__(), params, (), (), len(params), convert, None, flat, _failed, _taken, _ended, *_TOOLS)


def constructor(cls, params, required, returned=None):
    """Does the same for __init__. The letter of the object is -, or + where no code of Go runs."""
    info = cls.__tvm_ffi_type_info__
    inits = [m.func for m in info.methods if m.name == "__ffi_init__"] or [core._lookup_type_attr(info.type_index, "__ffi_init__")]
    if _class is not None and inits[0] is not None:
        cls.__init__ = _made(cls.__init__, inits[0], 0, inits[0].__chandle__(), params, required, cls, core.CObject.__init_handle_by_constructor__, returned)
