#!/usr/bin/env bash
# Compiles the kernels, links them to a library, and writes what that offers.
# Usage: native/build.sh [FOLDER [SCHEMA]]
#
# PYTHON is a Python with nvidia-cutlass-dsl, apache-tvm-ffi and numpy.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build} schema=${2:-native/kernels.json}
mkdir -p "$out"
"${PYTHON:-python3}" native/kernels.py "$out"
go tool tvmffi-bind build -o "$out/libcutekernels.so" "$out"/*.o --ldflag "$out/libcute_dsl_runtime.so" --ldflag '-Wl,-rpath,$ORIGIN'
go tool tvmffi-bind dump "$out/libcutekernels.so" -o "$schema"
