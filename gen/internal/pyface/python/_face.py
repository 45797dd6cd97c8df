"""Functions that call the library with values of Python's own types, without code of Python."""

from __future__ import annotations

import ctypes
import sys
import types

from ._errors import reraise
from ._tvmffi import FILE, LIBRARY, lib, tvm_ffi


def _failed():
    """Raises the exception for the error that Go returned."""
    try:
        raise _taken().py_error()
    except:  # noqa: E722
        reraise()


def _find():
    """Returns the symbols of the library and its class of functions, or None where Python or tvm_ffi is another one.

    Values of other Pythons, such as those without the global interpreter lock, have another form.
    """
    if sys.implementation.name != "cpython" or object.__basicsize__ != 16:
        return None, None, None
    try:
        symbols = ctypes.PyDLL(FILE)
        make = getattr(symbols, LIBRARY + "__python")
        make.argtypes, make.restype = [ctypes.c_void_p] * 3 + [ctypes.c_int], ctypes.py_object
        taken = lib.get_function("_python")
        find = ctypes.cast(ctypes.pythonapi.dlsym, ctypes.c_void_p)
        return symbols, taken, make(find, ctypes.pythonapi._handle, tvm_ffi.LIB._handle, taken.release_gil)
    except (AttributeError, OSError, ValueError):
        return None, None, None


_symbols, _taken, _class = _find()


def function(symbol, params, required, convert=None):
    """Returns a decorator for a function that calls a symbol of the library.

    params has a letter for each parameter: s for a text, v for another value, and * if the last one takes any number
    of arguments. convert makes the result of what tvm_ffi returns; with a shape, C makes it.
    """
    if _class is None:
        return lambda f: f
    address = ctypes.cast(getattr(_symbols, f"{LIBRARY}__tvm_ffi_{symbol}"), ctypes.c_void_p).value
    shape, make = getattr(convert, "shape", None), getattr(convert, "make", None)
    return lambda f: _class(f, address, params, required, convert, shape, make, _failed, _taken, types.MethodType)
