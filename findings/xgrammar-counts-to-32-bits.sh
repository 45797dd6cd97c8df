#!/usr/bin/env bash
# XGrammar 0.2.9 reads the number of a repetition modulo 2^32, where it is below 10^15.
#
# Guess: a count that does not fit is an error, as one from 10^15 on is. Seen: a{4294967297} is a, in compile_regex, in the pattern
# of a schema and in a grammar, without a warning.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 typing_extensions
"$dir/venv/bin/python" - <<'PY' 2>/dev/null
import importlib.util
import json
import os
import sys
import types

import tvm_ffi

# The package itself imports torch, and its binding classes do not.
package = types.ModuleType("xgrammar")
package.__path__ = importlib.util.find_spec("xgrammar").submodule_search_locations
sys.modules["xgrammar"] = package
tvm_ffi.load_module(os.path.join(package.__path__[0], "libxgrammar_bindings.so"))
from xgrammar import tvm_ffi_binding as x

compiler = x.GrammarCompiler(x.TokenizerInfo([b"</s>"] + [bytes([b]) for b in range(256)], 0, None, [0], False), 1, False, -1, False)


def accepts(compiled, text):
    matcher = x.GrammarMatcher(compiled, None, True, -1, None)
    return matcher.accept_string(text, False) and matcher.is_completed()


def regex(pattern, text):
    return accepts(compiler.compile_regex(pattern), text)


def schema(pattern, text):
    compiled = compiler.compile_json_schema(json.dumps({"type": "string", "pattern": f"^{pattern}$"}), False, None, None, True, None, False)
    return accepts(compiled, json.dumps(text, ensure_ascii=False))


def grammar(pattern, text):
    return accepts(compiler.compile_grammar_ebnf(x.Grammar.from_ebnf('root ::= "a"' + pattern[1:], "root")), text)


for reader in regex, schema, grammar:
    for n in 1, 2, 2**32 + 1, 2**32 + 2:
        pattern = "a{%d}" % n
        got = [count for count in range(1, 4) if reader(pattern, "a" * count)]
        print(f"{reader.__name__}: {pattern} is {got[0]} times a")
        assert got == [n % 2**32], (reader.__name__, n)
    try:
        reader("a{%d}" % 10**16, "a")
        raise AssertionError("no error")
    except RuntimeError as e:
        print(f"{reader.__name__}: {str(e).strip().splitlines()[-1].split(': ', 1)[1][:60]}")
PY
echo "as described"
