"""Launches the kernel of the Go library as Python users do. Usage: use.py SAXPYLIB"""

import ctypes
import os
import sys
import threading

import numpy as np
import tvm_ffi

SIGNATURE = "saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)"
CALLING = "when calling: `" + SIGNATURE + "`"

lib = tvm_ffi.load_module(sys.argv[1])
driver = ctypes.CDLL(os.environ.get("TVMFFI_CUDA_LIBRARY", "libcuda.so.1"))
fake = hasattr(driver, "fakecuda_log")


def launches():
    """The launches that the fake driver has recorded since the last call."""
    driver.fakecuda_log.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(driver.fakecuda_log(None, ctypes.c_size_t(0)) + 1)
    driver.fakecuda_log(text, ctypes.c_size_t(len(text)))
    driver.fakecuda_clear()
    return [line.split(" ", 1)[1] for line in text.value.decode().splitlines() if " cuLaunchKernel " in line]


def done(status):
    assert status == 0, status


streams, device = [], ctypes.c_int()


def new_stream():
    """A stream that the driver has made. It waits for the default stream."""
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    if not streams:
        done(driver.cuInit(0))
        done(driver.cuDeviceGet(ctypes.byref(device), 0))
        done(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        done(driver.cuCtxSetCurrent(context))
    done(driver.cuStreamCreateWithPriority(ctypes.byref(stream), 0, 0))
    streams.append(stream)
    return stream


def refused(kind, message, *args):
    for f in functions:
        try:
            f(*args)
        except kind as e:
            assert str(e) == message, (str(e), message)
        else:
            raise AssertionError("no error in place of " + message)


kernel = tvm_ffi.get_global_func("kernels.saxpy")
functions = [lib.saxpy, kernel]  # __tvm_ffi_saxpy of the library, and the global function
signature = lib.get_function_metadata("saxpy")["type_schema"]
assert "DLTensor*" in signature, signature
assert tvm_ffi.get_global_func_metadata("kernels.saxpy")["type_schema"] == signature
assert lib.get_function_doc("saxpy") == "It adds a times x to y.\n\n" + SIGNATURE, lib.get_function_doc("saxpy")

x = np.arange(1000, dtype="float32")
y = np.ones(1000, dtype="float32")

# Tensors of the host, by DLPack and as they are.
for a, b in [(x, y), (tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))]:
    refused(ValueError, f"Mismatched Tensor on argument #0 {CALLING}, expected device_type=cuda", a, b, 2.0, None)

dx, dy, short = lib.place(x, 0), lib.place(y, 0), lib.place(x[:999].copy(), 0)
square = lib.place(x.reshape(10, 100), 0)
assert dx.device == tvm_ffi.device("cuda:0") and tuple(dx.shape) == (1000,)
if fake:
    launches()
refused(ValueError, f"Mismatched y.shape[0] on argument #1 {CALLING}, expected to match x.shape[0]", dx, short, 2.0, None)
refused(ValueError, f"Mismatched Tensor on argument #1 {CALLING}, expected ndim=1", dx, square, 2.0, None)
refused(TypeError, f"Mismatched type on argument #0 {CALLING}, expected Tensor", None, dy, 2.0, None)
refused(TypeError, f"Mismatched type on argument #2 {CALLING}, expected float", dx, dy, "2", None)
refused(TypeError, f"Mismatched type on argument #3 {CALLING}, expected handle or int", dx, dy, 2.0, 1.5)
if fake:  # it has two devices
    refused(ValueError, f"Mismatched device index on argument #1 {CALLING}, expected to match x.device.index", dx, lib.place(y, 1), 2.0, None)
    launches()
refused(TypeError, f"Expects 4 parameters {CALLING}", dx, dy, 2.0)
if fake:
    assert launches() == [], "launched in spite of an error"

lib.saxpy(dx, dy, 2.0, None)
kernel(dx, dy, 1, 0)
with tvm_ffi.use_raw_stream(dx.device, 0):  # a stream that is given goes before the stream of the environment
    for f in functions:
        s = new_stream()
        f(dx, dy, 0.5, s.value)
        done(driver.cuStreamSynchronize(s))
assert (np.from_dlpack(lib.fetch(dy)) == 1 + 4 * x).all()
if fake:
    got = launches()
    assert len(got) == 4, got
    for line, a, s in zip(got, ["00000040", "0000803f", "0000003f", "0000003f"], ["0", "0"] + [f"{s.value:x}" for s in streams]):
        assert line.startswith(f"cuLaunchKernel grid=4,1,1 block=256,1,1 shared=0 stream={s} args=e8030000,{a},"), line

# From many threads, each with vectors of its own.
failures = []


def work():
    try:
        a, b = lib.place(x, 0), lib.place(y, 0)
        for _ in range(100):
            kernel(a, b, 1.0, None)
        assert (np.from_dlpack(lib.fetch(b)) == 1 + 100 * x).all()
    except BaseException as e:
        failures.append(e)


threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not failures, failures

for s in streams:
    done(driver.cuStreamDestroy_v2(s))
done(driver.cuDevicePrimaryCtxRelease_v2(device))
lib.free()
print("all right")
