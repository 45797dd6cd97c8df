"""Prints what Python has for the values and errors of the library crosses, and what it gave back. Usage: crosses.py LIBRARY, or
crosses.py FOLDER with the Python package of the library"""

import json
import sys

if sys.argv[1].endswith(".so"):
    import tvm_ffi

    library = tvm_ffi.load_module(sys.argv[1])
else:
    sys.path.insert(0, sys.argv[1])
    import crosses as library


def short(text):
    return text if len(text) <= 60 else text[:25] + "..." + text[-10:]


def shown(x):
    """The value in Python's words, with the type where the words do not say it."""
    text = short(ascii(x))
    plain = (type(None), bool, int, float, str, bytes)
    return text if type(x) in plain or type(x).__name__ in text else type(x).__name__ + " " + text


def value(row):
    try:
        x = library.value(row)
    except Exception as e:
        return {"kind": type(e).__name__, "message": str(e)}
    try:
        text = shown(x)
    except Exception as e:
        text = type(x).__name__ + ", whose repr is " + type(e).__name__
    try:
        return {"shown": text, "back": str(library.returned(row, x))}
    except Exception as e:
        return {"shown": text, "back": type(e).__name__ + ": " + str(e)}


def error(row):
    try:
        library.raise_(row) if hasattr(library, "raise_") else library["raise"](row)
    except BaseException as e:
        caught = e

        def again():
            raise caught

        bases = [c.__name__ for c in type(e).__mro__[1:2]]
        return {"shown": short(ascii(e)) + " of " + bases[0], "back": str(library.caught(row, again))}
    return {"shown": "nothing", "back": ""}


cells = {str(row): value(str(row)) for row in library.names(False)}
cells.update({str(row): error(str(row)) for row in library.names(True)})
json.dump(cells, sys.stdout)
