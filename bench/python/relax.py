"""Builds the module of the Relax VM for the benchmark of the engines. Usage: relax.py FILE."""

import sys

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def same(x: R.Object) -> R.Object:
        return x

    @R.function
    def checked(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        return x


tvm.compile(Module, target="llvm").export_library(sys.argv[1])
