"""Runs programs in which Go and C fault, with faulthandler enabled before and after the library is loaded. Usage: faults.py FOLDER WORDS"""

import subprocess
import sys

BEGIN = f"""
import ctypes, faulthandler, signal, sys, threading
from faulthandler import enable
sys.path.insert(0, {sys.argv[1]!r})

def words():
    import tvm_ffi
    return tvm_ffi.load_module({sys.argv[2]!r})

def go(*calls):
    for f, *args in calls * 2:
        try:
            f(*args)
        except RuntimeError as e:
            assert "nil pointer dereference" in str(e), e
        else:
            raise AssertionError("no error")

def on_thread(f, *args):
    t = threading.Thread(target=f, args=args)
    t.start()
    t.join()
"""
FATAL = "Fatal Python error: "


def run(code, status=0, has=(), has_not=("goroutine",)):
    done = subprocess.run([sys.executable, "-c", BEGIN + code], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == status and all(s in said for s in has) and not any(s in said for s in has_not), (code, done.returncode, said)


# A fault in Go is an error, and nobody hears of it.
GOLIB = "import golib; fail = golib.fail, 'nil', 'x'\n"
quiet = {"has_not": [FATAL]}
run(GOLIB + "faulthandler.enable(); go(fail); on_thread(go, fail)\nfor f in (faulthandler.disable, faulthandler.enable) * 2: f(); go(fail)", **quiet)
run("faulthandler.enable()\n" + GOLIB + "go(fail); faulthandler.disable(); go(fail); faulthandler.enable(); go(fail)", **quiet)
run(GOLIB + "both = fail, (words()['letters'], None); faulthandler.enable(); go(*both); on_thread(go, *both); faulthandler.disable(); go(*both)", **quiet)
run(GOLIB + "faulthandler.enable(); both = fail, (words()['letters'], None); go(*both); faulthandler.disable(); go(*both)", **quiet)
# faulthandler stands in front if it was taken from the module before the import, but the call goes on. So it does with a bare library.
run(GOLIB + "enable(); go(fail); on_thread(go, fail)")
run(GOLIB + "enable(); on_thread(go, fail); go(fail)")
run("m = words(); faulthandler.enable(); go((m['letters'], None))")
run("m = words()\n" + GOLIB + "faulthandler.enable(); go(fail, (m['letters'], None))")

# A fault in C, and a signal that somebody sends, end the process as faulthandler does it.
ended = {"status": -11, "has": [FATAL + "Segmentation fault", 'File "<string>"']}
run(GOLIB + "faulthandler.enable(); go(fail); ctypes.string_at(0)", **ended)
run(GOLIB + "faulthandler.enable(); on_thread(lambda: (go(fail), ctypes.string_at(0)))", **ended)
run(GOLIB + "faulthandler.enable(); faulthandler.disable(); faulthandler.enable(); golib.apply(lambda x: ctypes.string_at(0), 1)", **ended)
run(GOLIB + "enable(); ctypes.string_at(0)", **ended)
run(GOLIB + "m = words(); faulthandler.enable(); go(fail, (m['letters'], None)); ctypes.string_at(0)", **ended)
run(GOLIB + "faulthandler.enable(); m = words(); ctypes.string_at(0)", **ended)
run(GOLIB + "faulthandler.enable(); signal.raise_signal(signal.SIGSEGV)", **ended)
run(GOLIB + "faulthandler.enable(); faulthandler._sigfpe()", -8, [FATAL + "Floating"])
run(GOLIB + "faulthandler.enable(); faulthandler.disable(); ctypes.string_at(0)", -11, has_not=[FATAL, "goroutine"])
run(GOLIB + "signal.raise_signal(signal.SIGSEGV)", -11)
# faulthandler was enabled before the library, and is disabled after it.
gone = "import tvm_ffi; faulthandler.enable()\n" + GOLIB + "faulthandler.disable(); go(fail); "
run(gone + "ctypes.string_at(0)", -11, has_not=[FATAL, "goroutine"])
run(gone + "signal.raise_signal(signal.SIGSEGV)", -11, has_not=[FATAL])
run(gone + "faulthandler.enable(); ctypes.string_at(0)", **ended)
