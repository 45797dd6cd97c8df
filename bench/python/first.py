"""The Python peer of the table of consumers: first.py NAME LIBTVM_FFI LIBRARY."""

import ctypes
import os
import sys
import types

import tvm_ffi

name, _, library = sys.argv[1:]
if name == "xgrammar":
    import numpy as np

    # The package itself imports torch, which its binding classes do not need.
    package = types.ModuleType("xgrammar")
    package.__path__ = [os.path.dirname(library)]
    sys.modules["xgrammar"] = package
    tvm_ffi.load_module(library)
    from xgrammar import tvm_ffi_binding as x

    compiler = x.GrammarCompiler(x.TokenizerInfo(["a", "b", "</s>"], 0, None, [2], False), 1, False, -1, False)
    matcher = x.GrammarMatcher(compiler.compile_regex("a+"), None, False, -1, None)
    mask = np.zeros((1, 1), dtype="int32")
    matcher.fill_next_token_bitmask(tvm_ffi.from_dlpack(mask), 0, False)
    print("result", [i for i in range(3) if mask[0, 0] >> i & 1], flush=True)
else:
    ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    if name == "tvm":
        print("result", str(tvm_ffi.get_global_func("runtime.RuntimeEnabled")("cpu")).lower(), flush=True)
    else:
        print("result", tvm_ffi.get_global_func("perf.add_one")(1), flush=True)
sys.stdin.read()  # at rest
