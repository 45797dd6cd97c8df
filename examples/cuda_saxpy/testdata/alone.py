"""Calls the kernel of a package of kernels, which is a shared library of its own.
Usage: alone.py LIBKERNELS"""

import sys

import numpy as np
import tvm_ffi

SIGNATURE = "saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)"

lib = tvm_ffi.load_module(sys.argv[1])
assert "DLTensor*" in lib.get_function_metadata("saxpy")["type_schema"]
assert lib.get_function_doc("saxpy") == "It adds a times x to y.\n\n" + SIGNATURE
x = np.ones(8, dtype="float32")
for f in [lib.saxpy, tvm_ffi.get_global_func("kernels.saxpy")]:
    for kind, message, args in [
        (ValueError, f"Mismatched Tensor on argument #0 when calling: `{SIGNATURE}`, expected device_type=cuda", (x, x, 2.0, None)),
        (TypeError, f"Expects 4 parameters when calling: `{SIGNATURE}`", (x, x, 2.0)),
    ]:
        try:
            f(*args)
        except kind as e:
            assert str(e) == message, (str(e), message)
        else:
            raise AssertionError("no error in place of " + message)
print("all right")
