"""Prints the logits that numpy computes in float32 for a short prompt, of the same weights as the compiled model: reference.py BITS

With 4 bits, the inputs of products are rounded as the model rounds them.
"""

import json
import pathlib
import sys

import gguf
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "model"))
from compile import EPSILON, GROUPS, HALF, HEADS, LAYERS, SHARE, SIZE, THETA, WIDTH, read
from fourbits import GROUP


def whole(x):
    """x as whole numbers times the scale of their group."""
    groups = x.astype("float32").reshape(*x.shape[:-1], -1, GROUP)
    scale = np.abs(groups).max(-1, keepdims=True) / np.float32(127)
    return (np.rint(groups / np.maximum(scale, np.float32(1e-30))) * scale).reshape(x.shape)


def reference(raw, tokens, given):
    """The logits after the tokens, by numpy in float32. A product reads what given makes of its input."""
    norm = lambda x, g: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * g
    n = len(tokens)
    angles = np.arange(n)[:, None] * THETA ** (-2.0 * np.arange(HALF) / SIZE)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]

    def turn(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)

    x = raw["token_embd"][tokens]
    for i in range(LAYERS):
        of = lambda name: raw[f"blk.{i}.{name}"]
        h = given(norm(x, of("attn_norm")))
        q = turn((h @ of("attn_q").T).reshape(n, HEADS, SIZE))
        k = turn((h @ of("attn_k").T).reshape(n, GROUPS, SIZE)).repeat(SHARE, 1)
        v = (h @ of("attn_v").T).reshape(n, GROUPS, SIZE).repeat(SHARE, 1)
        s = np.einsum("thd,shd->hts", q, k) / SIZE**0.5 + np.triu(np.full((n, n), -np.inf), 1)
        s = np.exp(s - s.max(-1, keepdims=True))
        x = x + given(np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), v).reshape(n, WIDTH)) @ of("attn_output").T
        h = given(norm(x, of("ffn_norm")))
        a = h @ of("ffn_gate").T
        x = x + given(a / (1 + np.exp(-a)) * (h @ of("ffn_up").T)) @ of("ffn_down").T
    return given(norm(x[-1], raw["output_norm"])) @ raw["token_embd"].T


raw, fields = read()
raw = {name: gguf.quants.dequantize(t.data, t.tensor_type).astype("float32") for name, t in raw.items()}
words = fields["tokenizer.ggml.tokens"].contents()
prompt = "<|im_start|> user \u010a What \u0120is \u0120the \u0120capital \u0120of \u0120France ? <|im_end|> \u010a <|im_start|> ass istant \u010a The \u0120capital"
tokens = [words.index(word) for word in prompt.split()]
json.dump({"tokens": tokens, "logits": [float(v) for v in reference(raw, tokens, whole if sys.argv[1:] == ["4"] else lambda x: x)]}, sys.stdout)
