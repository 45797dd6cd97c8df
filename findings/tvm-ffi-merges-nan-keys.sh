#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2: an entry of a dict with two keys that are NaN is lost in a Map, or later in its JSON graph.
#
# Guess: a Map keeps all entries of a dict, or refuses it: in Python no NaN equals another, and the dict has two entries. Seen: a
# Map compares NaN by its bits, so one entry of two remains, without an error. NaN with other bits is another key, until the
# Map is written as a JSON graph, where every NaN is one word. -0.0 and 0.0, which are one key in Python, are two in a Map.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "the same bits: 2 in the dict, 1 in the Map" "other bits: 2 in the dict, 2 in the Map, 1 read from its JSON graph" "zeros: 2 in the Map")
import struct

import tvm_ffi

write, read = tvm_ffi.get_global_func("ffi.ToJSONGraphString"), tvm_ffi.get_global_func("ffi.FromJSONGraphString")
nan, other = float("nan"), struct.unpack("d", struct.pack("Q", 0x7FF8000000000123))[0]
same = {nan: "a", float("nan"): "b"}
print(f"the same bits: {len(same)} in the dict, {len(tvm_ffi.Map(same))} in the Map")
differ = {nan: "a", other: "b"}
m = tvm_ffi.Map(differ)
print(f"other bits: {len(differ)} in the dict, {len(m)} in the Map, {len(read(write(m, None)))} read from its JSON graph")
print(f"zeros: {len(tvm_ffi.get_global_func('ffi.Map')(0.0, 1, -0.0, 2))} in the Map")
PY
echo "as described"
