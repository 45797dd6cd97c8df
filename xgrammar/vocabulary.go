package xgrammar

import (
	"fmt"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// VocabType says how a tokenizer writes its tokens.
type VocabType = bind.VocabType

// The ways in which tokenizers write tokens.
const (
	Raw          = bind.VocabTypeRaw          // the bytes themselves
	ByteFallback = bind.VocabTypeByteFallback // <0x1B> for a byte and ▁ for a space, as SentencePiece does
	ByteLevel    = bind.VocabTypeByteLevel    // a letter for each byte, as byte-level BPE does
)

// VocabularyOptions are what a vocabulary has beside its tokens. The zero value has the defaults.
type VocabularyOptions struct {
	// Size is the number of the model's scores, if it is larger than the number of tokens. If it is smaller, [ReadTokenizer]
	// leaves out the tokens from Size on, which the model cannot write, and [NewVocabulary] returns an error.
	Size int
	// StopTokens and StopTexts, such as "<|im_end|>", end a text. An empty StopTokens that is not nil says that no token
	// does: then a matcher needs StopTokens or EndsByItself in its [MatcherOptions]. Without both, [NewVocabulary] looks for
	// the names that XGrammar knows, such as "</s>", and [ReadTokenizer] reads them from the configurations. It is an
	// error if they are nowhere: where a grammar allows no more text, a mask would allow no token.
	StopTokens []int32
	StopTexts  []string
	// AddPrefixSpace says that the tokenizer puts a space before each text. ReadTokenizer finds it in the file.
	AddPrefixSpace bool
	// GenerationConfig and TokenizerConfig are the texts of the files generation_config.json and tokenizer_config.json of a
	// model, for ReadTokenizer. The tokens that end a text are eos_token_id in the former and eos_token in the latter.
	GenerationConfig, TokenizerConfig []byte
}

// Vocabulary has the tokens of a model. Several goroutines may use it at once. The caller releases it; what was made of
// it lives on.
type Vocabulary struct {
	info  *bind.TokenizerInfo
	size  int
	texts [][]byte
	stop  []int64
}

// NewVocabulary makes a Vocabulary of tokens in the order of their numbers.
func NewVocabulary(tokens []string, as VocabType, o VocabularyOptions) (*Vocabulary, error) {
	v := &Vocabulary{size: max(o.Size, len(tokens))}
	if o.Size > 0 && o.Size < len(tokens) {
		return nil, failed("the vocabulary", fmt.Errorf("Size is %d, and there are %d tokens: want as many or more, or 0", o.Size, len(tokens)))
	}
	if err := fits("Size", o.Size); err != nil {
		return nil, failed("the vocabulary", err)
	}
	stop := convert[int32, int64](o.StopTokens)
	for _, id := range stop {
		if id < 0 || int(id) >= v.size {
			return nil, failed("the vocabulary", fmt.Errorf("StopTokens has %d, want 0 to %d", id, v.size-1))
		}
	}
	for _, text := range o.StopTexts {
		ids := withText(tokens, text)
		if len(ids) == 0 {
			return nil, failed("the vocabulary", fmt.Errorf("StopTexts has %q, which none of the %d tokens is", text, len(tokens)))
		}
		stop = append(stop, convert[int32, int64](ids)...)
	}
	options := []bind.TokenizerInfoOption{bind.AddPrefixSpace(o.AddPrefixSpace), bind.VocabSize(int64(v.size))}
	if stop != nil || o.StopTokens != nil {
		options = append(options, bind.StopTokenIDs(tvmffi.Of(stop...)))
	}
	var err error
	if v.info, err = bind.NewTokenizerInfo(tvmffi.Of(tokens...), as, options...); err == nil {
		v.texts, err = values(v.info.DecodedVocab())
	}
	if err == nil {
		v.stop, err = values(v.info.StopTokenIDs())
	}
	if err == nil && len(v.stop) == 0 && o.StopTokens == nil {
		v.Release()
		return nil, failed("the vocabulary", fmt.Errorf("none of the %d tokens has a name that XGrammar knows as the end of a text, such as %q: name it in StopTexts or StopTokens; an empty StopTokens that is not nil says that no token ends a text", len(tokens), "</s>"))
	}
	return v, failed("the vocabulary", err)
}

// withText returns all tokens with a text: each of them ends a text if one does. The empty text belongs to numbers without a token.
func withText(tokens []string, text string) (ids []int32) {
	for id, token := range tokens {
		if token == text && text != "" {
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// values copies an array and releases it.
func values[T any](array *tvmffi.Array[T], err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer array.Release()
	return array.Slice()
}

// Size returns the number of tokens that a [Mask] covers.
func (v *Vocabulary) Size() int { return v.size }

// StopTokens returns the tokens that end a text.
func (v *Vocabulary) StopTokens() []int32 { return convert[int64, int32](v.stop) }

// Text returns the bytes that a token stands for, which nobody may change: not "Ġthe" but " the". Those of a number without
// a token are empty.
func (v *Vocabulary) Text(token int32) []byte {
	if token < 0 || int(token) >= len(v.texts) {
		return nil
	}
	return v.texts[token]
}

// Release gives the memory back.
func (v *Vocabulary) Release() { v.info.Release() }

func convert[From, To int32 | int64](tokens []From) (all []To) {
	for _, id := range tokens {
		all = append(all, To(id))
	}
	return all
}
