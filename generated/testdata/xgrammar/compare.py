"""Replays what Go did, with the binding classes of the Python package of XGrammar.

Usage: compare.py PACKAGE FILE. The package itself imports torch and transformers, which the
classes do not need: only the module that has them is imported, under the name of the package.
FILE has the vocabulary, and for each constraint the tokens and masks that Go saw.
"""
import json
import sys
import types

import numpy as np
import tvm_ffi

package = types.ModuleType("xgrammar")
package.__path__ = [sys.argv[1]]
sys.modules["xgrammar"] = package
from xgrammar import load_binding  # noqa: E402, F401
from xgrammar.tvm_ffi_binding import _ffi_api as api  # noqa: E402

with open(sys.argv[2]) as f:
    data = json.load(f)
vocabulary = [bytes.fromhex(t) for t in data["vocabulary"]]
tokenizer = api.TokenizerInfo(vocabulary, 0, None, [data["stop"]], False)
compiler = api.GrammarCompiler(tokenizer, 1, True, -1, False)
words = (len(vocabulary) + 31) // 32


def compile(c):
    kind, source, space = c["kind"], c["source"], c["whitespace"]
    if kind == "json":
        return compiler.compile_builtin_json_grammar()
    if kind == "regex":
        return compiler.compile_regex(source)
    if kind == "grammar":
        return compiler.compile_grammar_from_strings(source, "root")
    source = json.dumps(source, ensure_ascii=False)
    return compiler.compile_json_schema(source, space, None, None, True, 8 if space else None, False)


def mask(matcher):
    bits = np.zeros((1, words), np.int32)
    matcher.fill_next_token_bitmask(tvm_ffi.from_dlpack(bits), 0, False)
    return bits.tobytes().hex()


def jump(matcher):
    try:
        return matcher.find_jump_forward_string().encode().hex()
    except UnicodeDecodeError as e:  # Python refuses a text that ends within a character
        return bytes(e.object).hex()


masks = wrong = 0
for c in data["cases"]:
    matcher = api.GrammarMatcher(compile(c), None, False, -1, None)
    for i, step in enumerate(c["steps"]):
        masks += 1
        seen = mask(matcher), jump(matcher)
        if seen != (step["mask"], step["jump"]):
            wrong += 1
            print(f"{c['name']}, step {i}: Python has {seen}, Go {step}")
        if i % 5 == 4:  # three tokens back, and the same ones again
            matcher.rollback(3)
            for again in c["steps"][i - 3 : i]:
                matcher.accept_token(again["token"], False)
            if mask(matcher) != step["mask"]:
                wrong += 1
                print(f"{c['name']}, step {i}: another mask after a rollback")
        if not matcher.accept_token(step["token"], False):
            wrong += 1
            print(f"{c['name']}, step {i}: Python refuses token {step['token']}")
    if matcher.is_terminated() != c["ended"]:
        wrong += 1
        print(f"{c['name']}: the text ended: {matcher.is_terminated()}, in Go {c['ended']}")
print(json.dumps({"cases": len(data["cases"]), "masks": masks, "wrong": wrong}))
