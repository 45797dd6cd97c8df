"""Writes a tensor cache of TVM: weights.py FOLDER"""

import sys

import numpy as np
from tvm.contrib import tvmjs

numbers = np.random.default_rng(1)
weights = {
    "param_0": numbers.standard_normal((2, 3)).astype("float32"),
    "param_1": numbers.standard_normal(4).astype("float16"),
    "param_2": numbers.standard_normal((300, 1000)).astype("float32"),  # in a shard of its own
    "param_3": numbers.integers(-9, 9, 5).astype("int8"),
}
formats = {"param_2": "f32-to-bf16", "*": "raw"}
tvmjs.dump_tensor_cache(weights, sys.argv[1], encode_format=formats, shard_cap_mb=1, show_progress=False)
