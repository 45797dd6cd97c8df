"""Prints the nanoseconds of a call of main with 16 numbers: time.py MODEL.so"""

import sys
import timeit

import numpy as np
import tvm
from tvm import relax

machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
main, x = machine["main"], tvm.runtime.tensor(np.zeros(16, "float32"))
print(round(min(timeit.repeat(lambda: main(x), number=5000, repeat=30)) / 5000 * 1e9))
