"""The Python peer of the engines: the binding classes of xgrammar, and the public API of TVM.

Usage: engines.py DATA XGRAMMAR REMOTE LIBTVM_FFI TVM_RUNTIME; -engines writes DATA.
"""

import ctypes
import os
import sys
import types

import numpy as np
import tvm_ffi
from harness import items, repeated, serve

data = sys.argv[1]


def xgrammar():
    # The package itself imports torch, which its binding classes do not need.
    package = types.ModuleType("xgrammar")
    package.__path__ = [os.path.dirname(sys.argv[2])]
    sys.modules["xgrammar"] = package
    tvm_ffi.load_module(sys.argv[2])
    from xgrammar import tvm_ffi_binding as x

    with open(os.path.join(data, "vocabulary.hex")) as f:
        vocabulary = [bytes.fromhex(line) for line in f]
    with open(os.path.join(data, "document.txt")) as f:
        document = [int(word) for word in f.read().split()]
    with open(os.path.join(data, "schema.json")) as f:
        schema = f.read()
    tokenizer = x.TokenizerInfo(vocabulary, 0, None, [0], False)
    compiler = x.GrammarCompiler(tokenizer, 1, False, -1, False)  # one thread, no cache

    def compiled():
        return compiler.compile_json_schema(schema, True, None, None, True, None, False)

    repeated("xg_compile", compiled)
    matcher = x.GrammarMatcher(compiled(), None, False, -1, None)
    mask = tvm_ffi.from_dlpack(np.zeros((1, (len(vocabulary) + 31) // 32), dtype="int32"))

    def accept():
        for token in document:
            matcher.accept_token(token, False)
        matcher.reset()

    repeated("xg_accept", accept)
    positions = []
    for token in document:
        positions.append(matcher.fork())
        if not matcher.accept_token(token, False):
            sys.exit("engines.py: the schema does not allow the document")
    matcher.reset()

    def fill():
        for at in positions:
            at.fill_next_token_bitmask(mask, 0, False)

    repeated("xg_mask", fill)

    def step():
        for token in document:
            matcher.fill_next_token_bitmask(mask, 0, False)
            matcher.accept_token(token, False)
        matcher.reset()

    repeated("xg_step", step)
    texts = [matcher.fork() for _ in range(16)]
    batch = x.BatchGrammarMatcher(1)
    array = tvm_ffi.Array(texts)
    masks = tvm_ffi.from_dlpack(np.zeros((16, (len(vocabulary) + 31) // 32), dtype="int32"))

    def several():
        for token in document:
            batch.batch_fill_next_token_bitmask(array, masks, None, False)
            x.BatchGrammarMatcher.batch_accept_token(array, [token] * 16, False)
        for one in texts:
            one.reset()

    repeated("xg_batch", several)


def vm():
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.runtime.load_module(os.path.join(data, "vm.so")), tvm.cpu())
    x = tvm.runtime.tensor(np.zeros(8, dtype="float32"))
    same, checked = machine["same"], machine["checked"]

    def integer(n):
        for i in range(n):
            same(i)

    def tensor(n):
        for _ in range(n):
            checked(x)

    def named(n):
        for _ in range(n):
            machine["checked"](x)

    items.update(vm_int=integer, vm_tensor=tensor, vm_named=named)


MEGABYTE = 1 << 20


def remote():
    import tvm
    from tvm import rpc

    server = rpc.Server("127.0.0.1", 9190, 9290, silent=True)  # a process of its own
    session = rpc.connect("127.0.0.1", server.port)
    session.upload(sys.argv[3], "remote.so")
    echo = session.load_module("remote.so")["echo"]

    def integer(n):
        for i in range(n):
            echo(i)

    text = b"x" * MEGABYTE
    items["rpc_int"] = integer
    repeated("rpc_bytes", lambda: echo(text))
    numbers = np.zeros(MEGABYTE // 4, dtype="float32")
    x = tvm.runtime.empty(numbers.shape, "float32", session.cpu(0))

    def tensor():
        x.copyfrom(numbers)
        x.numpy()

    repeated("rpc_tensor", tensor)
    return server


def workers():
    from tvm.runtime import disco

    session = disco.ProcessSession(3)  # a thread, as worker 0, and two processes
    bytes_of, shape_of = session.get_global_func("ffi.Bytes"), session.get_global_func("ffi.Shape")

    def integer(n):
        for i in range(n):
            shape_of(i)
            session._sync_all()

    text = b"x" * MEGABYTE

    def broadcast():
        bytes_of(text)
        session._sync_all()

    items["disco_int"] = integer
    repeated("disco_bytes", broadcast)
    return session


xgrammar()
for name in "libtvm_runtime.so", "libtvm_runtime_extra.so":  # tvm loads the latter too late for its Disco
    ctypes.CDLL(os.path.join(os.path.dirname(sys.argv[-1]), name), ctypes.RTLD_GLOBAL)
vm()
server, session = remote(), workers()
serve()
session.shutdown()
server.terminate()
os._exit(0)  # a destructor would write to the workers, which have ended
