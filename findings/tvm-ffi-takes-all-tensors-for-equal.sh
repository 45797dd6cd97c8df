#!/usr/bin/env bash
# apache-tvm-ffi 0.1.15.post2: == of dataclasses takes any two tensors, functions or errors for equal.
#
# Guess: == compares the numbers of tensors, or takes a tensor for equal to itself alone, as Python does. Seen: it compares objects by the
# fields that their type registers. These types register none, so two tensors with other numbers and another shape are equal, their
# hashes too, and so are two dataclasses that differ in a tensor or a function only.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q apache-tvm-ffi==0.1.15.post2 numpy==2.2.6
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "tensors: True, hashes: True" "functions: True" "dataclasses: True, with another number: False")
import numpy
import tvm_ffi
from tvm_ffi.dataclasses import py_class


@py_class("finding.Layer", eq=True)
class Layer(tvm_ffi.Object):
    size: int
    weights: tvm_ffi.Tensor


equal, hashed = tvm_ffi.get_global_func("ffi.RecursiveEq"), tvm_ffi.get_global_func("ffi.RecursiveHash")
one, two = tvm_ffi.from_dlpack(numpy.array([1.0])), tvm_ffi.from_dlpack(numpy.array([2.0, 3.0]))
print(f"tensors: {equal(one, two)}, hashes: {hashed(one) == hashed(two)}")
print(f"functions: {equal(tvm_ffi.convert(lambda: 1), tvm_ffi.convert(lambda: 2))}")
print(f"dataclasses: {Layer(1, one) == Layer(1, two)}, with another number: {Layer(1, one) == Layer(2, two)}")
PY
echo "as described"
