#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2: ffi.json.Parse and ffi.json.Stringify change the type and the value of numbers without an error.
#
# Guess: an int of any size is read as an int, since the library has ffi.BigInt; a float that is written is read as a float
# again; every number that JSON allows is read. Seen: an int beyond int64 becomes a rounded float, though Stringify refuses an
# ffi.BigInt; a whole float of 16 or 17 digits is written without a point and read as an int, while smaller and larger ones
# are not; the smallest floats are refused as if no value stood there.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "9223372036854775807 int" "1.8446744073709552e+19 float" "refused: ValueError" "1000000000000000.0 float" "10000000000000000 int" "1e+17 float" "5e-324: ValueError")
import tvm_ffi

parse, write = tvm_ffi.get_global_func("ffi.json.Parse"), tvm_ffi.get_global_func("ffi.json.Stringify")
for text in ("9223372036854775807", "18446744073709551615"):
    x = parse(text)
    print(x, type(x).__name__)
try:
    write(2**64, None)
except ValueError as e:
    print("refused:", type(e).__name__)
for x in (1e15, 1e16, 1e17):
    text = write(x, None)
    print(text, type(parse(text)).__name__)
try:
    parse("5e-324")
except ValueError as e:
    print("5e-324:", type(e).__name__)
PY
echo "as described"
