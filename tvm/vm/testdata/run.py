"""Runs main of a model with arrays from standard input: run.py MODEL.so"""

import json
import sys

import numpy as np
import tvm
from tvm import relax

machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
arrays = [np.array(a["data"], "float32").reshape(a["shape"]) for a in json.load(sys.stdin)]
result = machine["main"](*[tvm.runtime.tensor(a) for a in arrays])
json.dump([float(v) for v in result.numpy().ravel()], sys.stdout)
