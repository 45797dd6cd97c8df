#!/usr/bin/env bash
# XGrammar 0.2.9 looks at propertyNames only for names that are not in properties, and then takes a name of properties for one of those:
# its own schema counts no more. With strict_mode=False it ignores "unevaluatedProperties": false.
#
# Guess: propertyNames is ignored beside properties, and properties keep their schemas, as they do beside additionalProperties.
# Seen: {"a": "s"} is allowed for an integer a, as soon as propertyNames stands beside it and other properties are allowed.
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


def allows(schema, text, strict=True):
    compiled = compiler.compile_json_schema(json.dumps(schema), False, None, None, strict, None, False)
    matcher = x.GrammarMatcher(compiled, None, True, -1, None)
    return matcher.accept_string(text, False) and matcher.is_completed()


a = {"type": "object", "properties": {"a": {"type": "integer"}}}
names = {**a, "propertyNames": {"enum": ["a", "c"]}}
others = {"additionalProperties": True}
seen = [
    ("others", {**a, **others}, '{"a": "s"}', True, False),
    ("others and names", {**names, **others}, '{"a": "s"}', True, True),
    ("another name", {**names, **others}, '{"b": 1}', True, False),
    ("a name twice", {**names, **others}, '{"a": 1, "a": "s"}', True, True),
    ("names and no others", names, '{"a": "s"}', True, False),
    ("names, not strict", names, '{"a": "s"}', False, True),
    ("unevaluated, strict", {**a, "unevaluatedProperties": False}, '{"b": 1}', True, False),
    ("unevaluated, not strict", {**a, "unevaluatedProperties": False}, '{"b": 1}', False, True),
    ("additional, not strict", {**a, "additionalProperties": False}, '{"b": 1}', False, False),
]
for name, schema, text, strict, want in seen:
    got = allows(schema, text, strict)
    print(f"{name}: {text} is allowed: {got}")
    assert got == want, name
PY
echo "as described"
