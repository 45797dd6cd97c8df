#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2 with pyarrow 26.0.1: a Tensor over an Arrow array may be written, though Arrow's data is immutable.
#
# Guess: from_dlpack refuses an Arrow array, as it refuses a read-only array of NumPy (BufferError), because Arrow marks its
# memory as read-only. Seen: it asks for the capsule without a version, which has no such mark, and Arrow gives one, with a
# DeprecationWarning. What writes to the Tensor changes the array, and all that share its buffer. The capsule with a version,
# which pyarrow gives to those that ask for it, has the mark.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pyarrow==26.0.1
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "warned: ['DeprecationWarning']" "writeable: True" "arrow: [7.0, 2.0]" "NumPy: BufferError" "marked: False")
import warnings
import numpy as np, pyarrow as pa, tvm_ffi

a = pa.array([1.0, 2.0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = np.from_dlpack(tvm_ffi.from_dlpack(a))
print("warned:", [w.category.__name__ for w in caught])
print("writeable:", x.flags.writeable)
x[0] = 7
print("arrow:", a.to_pylist())
fixed = np.arange(3.0)
fixed.flags.writeable = False
try:
    tvm_ffi.from_dlpack(fixed)
except BufferError as e:
    print("NumPy:", type(e).__name__)
print("marked:", np.from_dlpack(pa.array([1.0])).flags.writeable)
PY
echo "as described"
