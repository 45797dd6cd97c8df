#!/usr/bin/env bash
# XGrammar 0.2.9 follows multipleOf of an integer alone, and beside two limits with fewer than 10,000 numbers between them. Beside
# one limit, or two that are farther apart, it drops multipleOf and keeps the limits, with a line on the standard error at most.
#
# Guess: multipleOf and limits are followed together, or the schema is refused.
# Seen: {"type": "integer", "minimum": 0, "multipleOf": 5} allows 6. With "maximum": 9999 it does not, with 10000 it does.
# A property that fits a pattern of patternProperties and is named in properties may follow either schema. "propertyNames" makes
# "additionalProperties": false say nothing. "minProperties" counts a name that is written twice as two.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet xgrammar==0.2.9
"$dir/venv/bin/python" - <<'PY' 2>/dev/null
import json

import xgrammar
from xgrammar.testing import _is_grammar_accept_string as accepts


def allows(schema, text):
    return accepts(xgrammar.Grammar.from_json_schema(json.dumps(schema)), text)


def fives(**limits):
    return {"type": "integer", "multipleOf": 5, **limits}


seen = [
    ("alone", fives(), "6", False),
    ("one limit", fives(minimum=0), "6", True),
    ("9,999", fives(minimum=0, maximum=9999), "6", False),
    ("10,000", fives(minimum=0, maximum=10000), "6", True),
    ("the limit itself", fives(minimum=0), "-5", False),
    ("two schemas of one property", {"type": "object", "properties": {"xa": {"type": "integer"}}, "patternProperties": {"^x.*$": {"type": "string"}}, "additionalProperties": False}, '{"xa": "s"}', True),
    ("names and no others", {"type": "object", "propertyNames": {"pattern": "^a$"}, "additionalProperties": False}, '{"a": 1}', True),
    ("one name twice", {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}, '{"a": 1, "a": 1}', True),
]
for name, schema, text, want in seen:
    got = allows(schema, text)
    print(f"{name}: {text} is allowed: {got}")
    assert got == want, name
PY
echo "as described"
