"""Exceptions that cross between Python and Go."""

from __future__ import annotations

import collections
import re
import sys
import types
import weakref

from . import _tvmffi
from ._tvmffi import Function, core, given, lib, own, plain, refused, shaped, tvm_ffi, typed, worded


def _optional(name):
    try:
        return lib.get_function(name)
    except AttributeError:
        return None


_error_new, _error_fields, _error_cause = map(_optional, ("_error_new", "_error_fields", "_error_cause"))
_error_fields = _error_fields and typed(_error_fields, "_error_fields")


class _Field:
    """A field of an error. The class of Python below it may have an attribute of that name, such as the filename of OSError."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, e, cls=None):
        if e is None:
            return self
        read = e.__dict__
        if self.name not in read:
            # What Go leaves out, or another language, is None.
            values = _field_values(e)
            for field in e._fields:
                read.setdefault(field, values.get(field))
        return read[self.name]

    def __set__(self, e, value):
        # The error is that of Go, which would not see the value.
        raise AttributeError(f"{type(e).__name__}.{self.name}: the fields of an error stay as they are: raise another {type(e).__name__}({self.name}=...)")


class GoError:
    """The Go side of an error class: its fields cross with the exception."""

    _kind = ""
    _fields: tuple[str, ...] = ()
    _names: dict[str, str] = {}  # in Go, of fields that have another name here
    _converts: dict[str, tuple] = {}  # the functions that convert fields to Go and from it
    _error = None  # the Error object, of Go or made by __tvm_ffi_error__

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name in cls.__dict__.get("_fields", ()):
            setattr(cls, name, _Field(name))

    def __init__(self, message=None, /, **fields):
        # tvm_ffi makes an exception of an error with its message only, and sets
        # __tvm_ffi_error__ after that.
        if message is not None and not isinstance(message, str):
            raise TypeError(f"{type(self).__name__}(message): expected a str, got {type(message).__name__}")
        fields = _given_fields(type(self), fields)
        if message is None:
            self._error = _error_new(self._kind, fields, None)  # checks the fields
            message = self._error.message
        elif fields:
            self._error = _error_new(self._kind, fields, message)
        super().__init__(message)

    @property
    def __tvm_ffi_error__(self):
        if self._error is None:  # made with a message only
            try:
                self._error = core.Error(self._kind, str(self), "")
            except Exception as e:  # hasattr must see no other exception
                raise AttributeError("__tvm_ffi_error__") from e
        return self._error

    @__tvm_ffi_error__.setter
    def __tvm_ffi_error__(self, error):
        self._error = error

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        fields = _field_values(self)
        extra = {k: v for k, v in self.__dict__.items() if k != "_error" and k not in self._fields}
        return (_restored, (type(self), self.args, fields), extra or None)


def _given_fields(cls, fields):
    values = {}
    for name, x in fields.items():
        what = f"{cls.__name__}({name}=...)"
        convert = cls._converts[name][0] if name in cls._converts else None
        values[cls._names.get(name, name)] = convert(what, given(what, x, typed=True)) if convert else given(what, x, 15)
    return made(values)


def _field_values(e):
    fields = e._error and _error_fields(e._error)
    if not fields:
        return {}
    plainly, values = plain(fields), {}
    for name in e._fields:
        key, to = e._names.get(name, name), e._converts.get(name, (None, None))[1]
        if key in fields:
            values[name] = to(fields[key]) if to else plainly[key]
    return values


def _restored(cls, args, fields):
    e = cls.__new__(cls, *args)
    e.args = args
    e._error = _with_fields(cls, fields, str(e))
    return e


def _with_fields(cls, fields, message):
    """Returns the Error object of a class, or None if it has a message only."""
    return _error_new(cls._kind, _given_fields(cls, fields), message) if fields or cls._fields == () else None


# made returns its argument. _face has one that raises a TypeError for an object that was not made.
made = lambda x: x  # noqa: E731


_RESULT = "the result of the callback"


class Guard:
    """Calls a Python function for Go, and keeps the exceptions that it raised.

    tvm_ffi makes a new exception, of a class that the kind names, of an error that comes
    back. With the original at hand, the caller gets that.
    """

    __slots__ = ("function", "depth", "convert", "packed", "raised")

    def __init__(self, function, depth=0, convert=None, packed=False):
        self.function = function
        self.depth = depth  # of the containers in the type of its result
        self.convert = convert  # of a result that is not plain, or None
        self.packed = packed  # it has no types, so all containers that it gets are those of Python
        self.raised = None

    def __call__(self, *args):
        try:
            args = map(plain, args) if self.packed else _tvmffi.each([own(x) for x in args])
            result = self.function(*args)
            if self.convert is None:
                result = given(_RESULT, result, self.depth)
            else:
                result = shaped(_RESULT, result, self.convert, self.depth)
            if hasattr(result, "__dlpack__"):
                refused(_RESULT, result)
            return made(result)
        except BaseException as e:
            # Old releases of tvm_ffi ignore exceptions such as KeyboardInterrupt in a
            # callback. A carrier brings the Error object.
            error = _keep(self, e)
            if error is None or isinstance(e, Exception) and error is getattr(e, "__tvm_ffi_error__", None) and _tells(e):
                raise
            carrier = _Carrier()
            carrier.__tvm_ffi_error__ = error
            raise carrier.with_traceback(e.__traceback__.tb_next) from None


class _Carrier(Exception):
    """Stands for another exception on its way into Go."""


def guard(f, depth=0, convert=None, packed=False):
    """Returns f, with a guard if it is a function of Python."""
    return Guard(f, depth, convert, packed) if callable(f) and not isinstance(f, Function) else f


class _Raised:
    """An exception on its way through Go."""

    __slots__ = ("exception", "error", "__weakref__")


# _on_the_way finds exceptions by the address of the Error object. Only guards keep them alive.
_on_the_way: weakref.WeakValueDictionary[int, _Raised] = weakref.WeakValueDictionary()


def _message(e):
    """Returns the text of an exception, for which tvm_ffi needs UTF-8: half a surrogate pair is written as in Python's source."""
    try:
        message = e.args[0] if isinstance(e, KeyError) and len(e.args) == 1 and type(e.args[0]) is str else str(e)
    except Exception:
        message = "<exception str() failed>"  # as in a traceback of Python
    return message.encode("utf-8", "backslashreplace").decode("utf-8")


def _tells(e):
    """Reports whether an exception has a text. tvm_ffi asks for it even if it does not need it, and loses the exception without one."""
    try:
        return isinstance(e.__str__(), str)
    except Exception:
        return False


def _keep(guard, e):
    try:
        error = getattr(e, "__tvm_ffi_error__", None)
        message = _message(e)
        if error is None:
            error = core.Error(_kind_of(type(e)), message, "")
            e.__tvm_ffi_error__ = error
        elif error.message != message:  # its args are others now
            remade = _with_fields(type(e), _field_values(e), message) if isinstance(e, GoError) else None
            error = core.Error(error.kind, message, "") if remade is None else remade
        elif error.__chandle__() in _on_the_way and not isinstance(e, GoError):
            # Another thread raises it, too. tvm_ffi changes the Error object, which Go may be reading.
            error = core.Error(error.kind, error.message, "")
    except Exception:
        return None  # tvm_ffi makes an error of the class and the text
    r = _Raised()
    r.exception, r.error = e, error
    if guard.raised is None:
        guard.raised = collections.deque(maxlen=16)
    guard.raised.append(r)
    _on_the_way[error.__chandle__()] = r
    return error


def raised(e):
    """Returns the exception to raise for e, which a call of Go raised."""
    error = getattr(e, "__tvm_ffi_error__", None)
    if error is None:
        return e
    found = _on_the_way.pop(error.__chandle__(), None)
    if found is not None and found.exception is not None:
        original = found.exception
        found.exception = found.error = None  # the guard is in a frame of its traceback
        if original is not e:
            original.__traceback__ = _joined(e.__traceback__, original.__traceback__)
            if not isinstance(original, GoError) and error.same_as(original.__dict__.get("__tvm_ffi_error__")):
                original.__dict__.pop("__tvm_ffi_error__", None)
        return original
    if e.__cause__ is None and _error_cause is not None:
        cause = _error_cause(error)
        if cause is not None:
            e.__cause__ = raised(cause.py_error())
    if e.__cause__ is None or isinstance(e.__cause__, Exception):
        return e
    return e.__cause__  # such as KeyboardInterrupt and SystemExit, which "except Exception" must not catch


def reraise(name=""):
    """Re-raises the current exception, or the original that it carries."""
    e = sys.exc_info()[1]
    if isinstance(e, BufferError) and not hasattr(e, "__tvm_ffi_error__"):
        for parameter, x in sys._getframe(1).f_locals.items():
            refused(f"{name}({parameter}=...)", x)
        raise
    x, caller = raised(e), sys._getframe(1)
    if x is e and isinstance(x, TypeError) and _UNKNOWN in str(x):
        x.args = (_named(str(x), caller.f_locals),)
    if x is e and type(x) is OverflowError and not hasattr(x, "__tvm_ffi_error__"):  # such as that of a result that a datetime cannot hold
        x.args = (f"{name}(): {x}",)
    field = x is e and caller.f_code.co_name == "__init__" and re.match(r"[\w.]+\.__ffi_init__\(\) field '(\w+)':\s+", str(x))
    if field:
        parameter = field[1] + "_" if field[1] + "_" in caller.f_locals else field[1]
        x.args, x.__cause__ = (worded(f"{name}({parameter}=...)", str(x)[field.end() :], caller.f_locals.get(parameter)),), None
        x.__suppress_context__ = False
    caller = None
    same, context = x is e, x.__context__
    e = None
    try:
        if same:
            raise
        raise x
    finally:
        # Python has made e the context. A variable of this frame, which is in the traceback,
        # would keep the exception in a cycle.
        x.__context__ = context
        x = context = None


_UNKNOWN = "an object that only Python knows"


def _named(text, arguments):
    """Returns an error of Go about an argument with the name of its class."""
    try:
        parameter, path = re.match(r"[\w.]+\((\w+)(.*)=\.\.\.\): expected ", text).groups()
        x = arguments[parameter]
        for key, i, field in re.findall(r'\["(.*?)"\]|\[(\d+)\]|\.(\w+)', path):
            x = x[int(i) if i else key or field]
        return text.replace(_UNKNOWN, type(x).__name__)
    except Exception:  # a key, or an element of another class
        return text


# _MOST is how many frames of the original exception are in a traceback.
_MOST = 60


def _joined(outer, inner):
    """Puts the frames of Go before those of the original exception."""
    frames, originals = [], []
    while outer is not None:
        frames.append(outer)
        outer = outer.tb_next
    while inner is not None:
        originals.append(inner)
        inner = inner.tb_next
    # The text of the error lists the frames of the callback, too: the innermost ones. The
    # first frame raises the exception again. Frames without a file are those of tvm_ffi.
    tb = originals[1] if len(originals) > 1 else None  # without __call__ of the guard
    if len(originals) > _MOST:
        # Each level of calls between Python and Go reads the frames of all levels below it.
        tb = originals[-_MOST // 2]
        for f in reversed(originals[1 : _MOST // 2]):
            tb = types.TracebackType(tb, f.tb_frame, f.tb_lasti, f.tb_lineno)
    for f in reversed(frames[1 : max(1, len(frames) - len(originals))]):
        file = f.tb_frame.f_code.co_filename
        if file != "<unknown>" and not file.endswith(".s"):
            tb = types.TracebackType(tb, f.tb_frame, f.tb_lasti, f.tb_lineno)
    return tb


# All exceptions of Python that are made of one message.
_BUILTIN = {
    getattr(sys.modules["builtins"], name): name
    for name in """EXCEPTIONS""".split()
}
for _cls, _name in _BUILTIN.items():
    core.ERROR_NAME_TO_TYPE.setdefault(_name, _cls)
# tvm_ffi names the kind itself where _keep fails, as it does at the limit of recursion of Python 3.12.
core.ERROR_TYPE_TO_NAME.setdefault(RecursionError, "RecursionError")


def _kind_of(cls):
    for c in cls.__mro__:
        kind = core.ERROR_TYPE_TO_NAME.get(c) or _BUILTIN.get(c)
        if kind is not None:
            return kind
    return "RuntimeError"


register_error = tvm_ffi.register_error


def base(name):
    """Returns the class of a kind of error."""
    return core.ERROR_NAME_TO_TYPE.get(name, RuntimeError)
