"""Makes tokenizers that use each option of files: the judge of package tokenizer.

make.py LINES FOLDER   trains them on lines that judge.py wrote, and writes FOLDER/NAME/tokenizer.json
"""

import io, json, pathlib, sys

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders as D, models, normalizers as N, pre_tokenizers as P, processors, trainers

lines = [json.loads(l) for l in open(sys.argv[1], encoding="utf-8")]
lines = lines[len(lines) // 2 :]  # those of files
out = pathlib.Path(sys.argv[2])
buffer = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([l.replace("\n", " ").replace("\0", " ") for l in lines]),
    model_writer=buffer,
    vocab_size=4000,
    model_type="unigram",
    character_coverage=0.98,
    normalization_rule_name="nmt_nfkc",
    max_sentence_length=20000,
    minloglevel=2,
)
model = sentencepiece_model_pb2.ModelProto.FromString(buffer.getvalue())
charsmap = model.normalizer_spec.precompiled_charsmap
pieces = [(p.piece, p.score) for p in model.pieces]


def bpe(**k):
    return Tokenizer(models.BPE(**k))


BTOK = [
    AddedToken("<|end|>", special=True),
    AddedToken("<|l|>", lstrip=True, special=True),
    AddedToken("<|r|>", rstrip=True, special=True),
    AddedToken("word", single_word=True, normalized=True),
    AddedToken("<n|É>", normalized=True),
    AddedToken("   ", normalized=False),
    AddedToken("  ", normalized=True),
]


def train(t, kind, **k):
    tr = {"bpe": trainers.BpeTrainer, "wp": trainers.WordPieceTrainer, "uni": trainers.UnigramTrainer, "wl": trainers.WordLevelTrainer}[
        kind
    ](vocab_size=k.pop("vocab_size", 3000), show_progress=False, **k)
    t.train_from_iterator(lines, tr)
    return t


def save(name, t, added=BTOK):
    t.add_tokens(
        [
            AddedToken(a.content, lstrip=a.lstrip, rstrip=a.rstrip, single_word=a.single_word, normalized=a.normalized, special=a.special)
            for a in added
        ]
    )
    d = out / name
    d.mkdir(parents=True, exist_ok=True)
    t.save(str(d / "tokenizer.json"))


BYTES = P.ByteLevel.alphabet()
# byte-level
t = bpe()
t.pre_tokenizer = P.ByteLevel(add_prefix_space=True)
t.decoder = D.ByteLevel()
save("gpt2_prefix", train(t, "bpe", initial_alphabet=BYTES))
t = bpe()
t.normalizer = N.NFKD()
t.pre_tokenizer = P.Sequence(
    [P.Punctuation("contiguous"), P.ByteLevel(add_prefix_space=False), P.Digits(False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]
)
t.decoder = D.ByteLevel()
save("falcon", train(t, "bpe", initial_alphabet=BYTES))
t = bpe()
t.pre_tokenizer = P.Sequence([P.Digits(True), P.ByteLevel(add_prefix_space=False)])
t.decoder = D.ByteLevel()
t.post_processor = processors.RobertaProcessing(("<|end|>", 3000), ("<|l|>", 3001))
save("starcoder", train(t, "bpe", initial_alphabet=BYTES))
t = bpe()
t.normalizer = N.NFD()
t.pre_tokenizer = P.Sequence(
    [P.Split(Regex(r" ?[^(\s|[.,!?…。，、।۔،])]+"), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]
)
t.decoder = D.ByteLevel()
save("bloom", train(t, "bpe", initial_alphabet=BYTES))
t = bpe()
t.normalizer = N.Sequence([N.ByteLevel()])
t.decoder = D.ByteLevel()
save("bytelevel_norm", train(t, "bpe", initial_alphabet=BYTES))
# clip: lower, suffix
t = bpe(end_of_word_suffix="</w>", unk_token="<unk>")
t.normalizer = N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "), N.Lowercase()])
t.pre_tokenizer = P.Sequence(
    [
        P.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        P.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
)
t.decoder = D.BPEDecoder("</w>")
save("clip", train(t, "bpe", special_tokens=["<unk>"], end_of_word_suffix="</w>"))
t = bpe(continuing_subword_prefix="##", unk_token="<unk>", fuse_unk=False)
t.pre_tokenizer = P.Whitespace()
save("prefix", train(t, "bpe", special_tokens=["<unk>"], continuing_subword_prefix="##", limit_alphabet=300))
t = bpe(unk_token="<unk>", fuse_unk=True)
t.pre_tokenizer = P.WhitespaceSplit()
save("fuse", train(t, "bpe", special_tokens=["<unk>"], limit_alphabet=100))
B = ["<0x%02X>" % i for i in range(256)]
for scheme in ("always", "first", "never"):
    for split in (True, False):
        t = bpe(unk_token="<unk>", fuse_unk=True, byte_fallback=True)
        t.pre_tokenizer = P.Metaspace(prepend_scheme=scheme, split=split)
        t.decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()] + ([D.Strip(" ", 1, 0)] if scheme != "never" else []))
        train(t, "bpe", special_tokens=["<unk>"], limit_alphabet=200)
        j = json.loads(t.to_str())
        v = j["model"]["vocab"]
        n = len(v)
        for i, b in enumerate(B):
            v[b] = n + i
        save(f"meta_{scheme}_{split}", Tokenizer.from_str(json.dumps(j)))


# unigram
def uni(fb, ps):
    ps = list(ps)
    if fb:
        ps += [(b, -20.0) for b in B]
    return Tokenizer(models.Unigram(ps, unk_id=0, byte_fallback=fb))


t = uni(False, pieces)
t.normalizer = N.Sequence([N.Precompiled(charsmap), N.Replace(Regex(" {2,}"), " ")])
t.pre_tokenizer = P.Metaspace()
t.decoder = D.Metaspace()
t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
save(
    "xlmr",
    t,
    [
        AddedToken("<s>", special=True, normalized=False),
        AddedToken("</s>", special=True, normalized=False),
        AddedToken("<mask>", lstrip=True, special=True),
    ],
)
t = uni(True, pieces)
t.normalizer = N.Sequence([N.NFKC()])
t.pre_tokenizer = P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="always")])
t.decoder = D.Sequence([D.ByteFallback(), D.Metaspace()])
save("t5", t)
t = Tokenizer(models.Unigram())
t.normalizer = N.Sequence([N.NFKC()])
t.pre_tokenizer = P.Metaspace(replacement="▁")
t.decoder = D.Metaspace()
save("uni_trained", train(t, "uni", unk_token="<unk>", special_tokens=["<unk>"]))
# wordpiece
for low in (True, False):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = N.BertNormalizer(lowercase=low)
    t.pre_tokenizer = P.BertPreTokenizer()
    t.decoder = D.WordPiece()
    train(t, "wp", special_tokens=["[UNK]", "[CLS]", "[SEP]"], vocab_size=6000, limit_alphabet=3000)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    save(f"bert_{low}", t, [AddedToken("[CLS]", special=True), AddedToken("[SEP]", special=True)])
t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
t.normalizer = N.Sequence([N.NFD(), N.StripAccents()])
t.pre_tokenizer = P.CharDelimiterSplit("e")
save("wordlevel", train(t, "wl", special_tokens=["[UNK]"]))
for b in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"):
    for inv in (False, True):
        t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        t.pre_tokenizer = P.Split(Regex("[aeiou]|[0-9]+"), b, invert=inv)
        save(f"split_{b}_{inv}", train(t, "wl", special_tokens=["[UNK]"], vocab_size=4000))
