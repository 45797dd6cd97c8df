"""Prints the logits that numpy computes in float32 for a short prompt, of the same weights as the compiled model."""

import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "model"))
from compile import EPSILON, GROUPS, HALF, HEADS, LAYERS, SHARE, SIZE, THETA, WIDTH, read


def reference(raw, tokens):
    """The logits after the tokens, by numpy in float32."""
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
        h = norm(x, of("attn_norm"))
        q = turn((h @ of("attn_q").T).reshape(n, HEADS, SIZE))
        k = turn((h @ of("attn_k").T).reshape(n, GROUPS, SIZE)).repeat(SHARE, 1)
        v = (h @ of("attn_v").T).reshape(n, GROUPS, SIZE).repeat(SHARE, 1)
        s = np.einsum("thd,shd->hts", q, k) / SIZE**0.5 + np.triu(np.full((n, n), -np.inf), 1)
        s = np.exp(s - s.max(-1, keepdims=True))
        x = x + np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), v).reshape(n, WIDTH) @ of("attn_output").T
        h = norm(x, of("ffn_norm"))
        a = h @ of("ffn_gate").T
        x = x + (a / (1 + np.exp(-a)) * (h @ of("ffn_up").T)) @ of("ffn_down").T
    return norm(x[-1], raw["output_norm"]) @ raw["token_embd"].T


raw, fields = read()
words = fields["tokenizer.ggml.tokens"].contents()
prompt = "<|im_start|> user \u010a What \u0120is \u0120the \u0120capital \u0120of \u0120France ? <|im_end|> \u010a <|im_start|> ass istant \u010a The \u0120capital"
tokens = [words.index(word) for word in prompt.split()]
json.dump({"tokens": tokens, "logits": [float(v) for v in reference(raw, tokens)]}, sys.stdout)
