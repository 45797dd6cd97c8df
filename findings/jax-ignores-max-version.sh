#!/usr/bin/env bash
# jax 0.10.2: __dlpack__(max_version=(1, 0)) gives the capsule without a version, so nobody hears that the array is immutable.
#
# Guess: JAX takes part in DLPack 1.0, since it accepts max_version, and marks its arrays as read-only. Seen: it accepts the option
# and ignores it. np.from_dlpack makes a read-only array all the same, because NumPy trusts no capsule without a version;
# a consumer that trusts it, such as apache-tvm-ffi 0.1.15.post2, writes to the immutable array, and JAX computes with that.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q jax==0.10.2 numpy==2.4.6 apache-tvm-ffi==0.1.15.post2
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "capsule: dltensor" "NumPy may write: False" "tvm_ffi may write: True" "sum after a write: 10.0")
import ctypes
import jax.numpy as jnp, numpy as np, tvm_ffi

a = jnp.arange(3, dtype="float32")
name = ctypes.pythonapi.PyCapsule_GetName
name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
print("capsule:", name(a.__dlpack__(max_version=(1, 0))).decode())
print("NumPy may write:", np.from_dlpack(a).flags.writeable)
x = np.from_dlpack(tvm_ffi.from_dlpack(a))
print("tvm_ffi may write:", x.flags.writeable)
x[0] = 7
print("sum after a write:", jnp.sum(a))
PY
echo "as described"
