#!/usr/bin/env bash
# tokenizers 0.23.3: the numbers of added_tokens in a tokenizer.json are read, and not used. Each added token gets the next free
# number behind the count of the model's tokens, in the order of the file.
#
# Guess: a file says {"id": 4, "content": "<e>"}, so <e> is 4, and 3 stays a gap. Seen: <e> is 3. With a gap in the model's
# own numbers (0, 1, 4) <e> is 3 too, although the file says 5, and two added tokens that the file numbers 3 and 2 are 2 and 3.
# Two tokens of the model with one number raise nothing: one of the texts is not decoded, and which one is not always the same.
# So a reader that takes the numbers of the file, and a model that was trained with this package, can disagree about the token
# that ends a text. In files that the package wrote itself both are equal.
set -euo pipefail
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
python3 -m venv "$T/venv"
"$T/venv/bin/pip" install -q tokenizers==0.23.3
"$T/venv/bin/python" - <<'PY' | diff - <(printf '%s\n' "gap: a=0 b=1 c=2 <e>=3" "gap in the model: a=0 b=1 <e>=3 c=4" "other order: a=0 b=1 <e>=2 <f>=3" "one number twice: 3 texts, 1 decoded for 0")
import json

from tokenizers import Tokenizer


def numbers(vocab, added):
    file = {
        "version": "1.0",
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
        "added_tokens": [
            {"id": i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            for text, i in added.items()
        ],
    }
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        file[part] = None
    return Tokenizer.from_str(json.dumps(file))


def shown(t):
    return " ".join(f"{text}={i}" for text, i in sorted(t.get_vocab().items(), key=lambda item: item[1]))


print("gap:", shown(numbers({"a": 0, "b": 1, "c": 2}, {"<e>": 4})))
print("gap in the model:", shown(numbers({"a": 0, "b": 1, "c": 4}, {"<e>": 5})))
print("other order:", shown(numbers({"a": 0, "b": 1}, {"<e>": 3, "<f>": 2})))
t = numbers({"a": 0, "b": 0, "c": 2}, {})
print("one number twice:", len(t.get_vocab()), "texts,", int(t.id_to_token(0) in ("a", "b")), "decoded for 0")
PY
echo "as described"
