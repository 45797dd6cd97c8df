#!/usr/bin/env bash
# apache-tvm 0.27.0.post1: on a CPU, a small buffer with the scope "local" is on the heap, and one without a scope is not.
#
# Guess: "local" is the scope nearest to the processor, registers on a GPU, so on a CPU it is the stack or registers at least as
# surely as the default scope is. Seen: for 16 floats with the scope, the generated code calls TVMBackendAllocWorkspace; without
# it, it does not. A matrix product of a language model, with 256 bytes of sums, took twice as long with the scope. With 1024
# floats, the code calls it for both.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q --no-deps apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1 typing_extensions cloudpickle==3.1.2 ml_dtypes numpy psutil tornado
cat >"$T/scopes.py" <<'PY'
import tvm
from tvm.script import tirx as T


def sums(size, scope):
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((64, size), "float32"), y: T.Buffer((size,), "float32")):
        sum = T.alloc_buffer((size,), "float32", scope=scope)
        for j in range(size):
            sum[j] = T.float32(0)
        for k, j in T.grid(64, size):
            sum[j] += x[k, j]
        for j in range(size):
            y[j] = sum[j]

    built = tvm.compile(tvm.IRModule({"f": f.with_attr("global_symbol", "f")}), target="llvm")
    return "heap" if "TVMBackendAllocWorkspace" in built.mod.inspect_source() else "no heap"


for size in 16, 1024:
    for scope in "local", "global":
        print(f"{size} floats, {scope}: {sums(size, scope)}")
PY
"$T/venv/bin/python" "$T/scopes.py" | diff - <(printf '%s\n' "16 floats, local: heap" "16 floats, global: no heap" "1024 floats, local: heap" "1024 floats, global: heap")
echo "as described"
