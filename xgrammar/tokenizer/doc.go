// Package tokenizer makes tokens of texts and texts of tokens, as the tokenizer of a model does. It reads tokenizer.json, the
// file of Hugging Face's tokenizers, and is Go alone: it needs neither a library of C nor another package of this module.
//
//	t, err := tokenizer.Open(os.DirFS("model"), tokenizer.Options{})
//	ids := t.EncodeParts(
//		tokenizer.Part{Text: "<|im_start|>user\n", Control: true},
//		tokenizer.Part{Text: question}, // "<|im_end|>" in it stays text
//		tokenizer.Part{Text: "<|im_end|>\n<|im_start|>assistant\n", Control: true})
//
// Models of the types BPE (byte-level, and with the bytes of SentencePiece), Unigram, WordPiece and WordLevel are supported,
// with all parts of files that known models have. [Read] refuses a file with anything else, by name; it never makes a tokenizer
// whose tokens are other ones. Tokens have the numbers that [github.com/tvmffi-go/tvmffi/xgrammar.ReadTokenizer] gives them.
//
// # Control tokens
//
// An added token of the file, such as "<|im_end|>" or "<think>", is one in a [Part] that says so, and text in all others. Added
// tokens of white space are plain text everywhere, and so are those of Options.Plain. Hugging Face's library has only the flag
// special for that, which "<think>" and DeepSeek's "<｜User｜>" do not have: there, users can write them.
//
// # Equality
//
// Tokens and texts are those of version 0.23.3 of Hugging Face's library, whose tables of Unicode it has, for any release of Go.
// Four things differ. The parts truncation and padding of a file, which training leaves behind, are not followed: all tokens of a
// text come, as with Hugging Face's transformers if a call does not ask for them. That library does not have bytes that are not UTF-8. A control token that the normalizers of the file
// change is not left out of a decoded text there. With the scheme "first" of Metaspace, it puts a sign before each word that comes
// of the first rune, if that becomes several words.
package tokenizer
