#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2: a dtype of Python is equal to another one if the spelling is, and some types lose themselves on
# their way through the library's names.
#
# Guess: dtype("int32x1") is dtype("int32"), because both are 32 bits and one lane, and str of a dtype that came back from
# C++ names the same type. Seen: a dtype is a str, so two spellings of one type are not equal, also after a call that only
# returns its argument. The name that the library gives to 65535 lanes, which is a scalable vector of one, is that of a
# scalar, and a handle of 8 bits is called as one of 64: their names, read again, are other types.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "int32x1 int32 equal: False same lanes: True" "int32xvscalex1 int32 equal: False same lanes: False" "handle8 handle equal: False same bits: False" "float32 float32 equal: True same bits: True")
import tvm_ffi

echo = tvm_ffi.get_global_func("testing.echo")
for spelling, what in (("int32x1", "lanes"), ("int32xvscalex1", "lanes"), ("handle8", "bits"), ("float32", "bits")):
    d = tvm_ffi.dtype(spelling)
    back = echo(d)
    again = tvm_ffi.dtype(str(back))
    print(d, back, "equal:", back == d, f"same {what}:", getattr(d, what) == getattr(again, what))
PY
echo "as described"
