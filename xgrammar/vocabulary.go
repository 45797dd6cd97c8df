package xgrammar

import (
	"encoding/json"
	"fmt"
	"slices"

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
	// Size is the number of the model's scores, if it is larger than the number of tokens.
	Size int
	// StopTokens and StopTexts, such as "<|im_end|>", end a text. Without both, XGrammar looks for usual names, such as
	// "</s>". If it finds none, [Vocabulary.StopTokens] returns none, and where a grammar allows no more text, a mask allows
	// no token: then a matcher needs StopTokens or EndsByItself in its [MatcherOptions].
	StopTokens []int32
	StopTexts  []string
	// AddPrefixSpace says that the tokenizer puts a space before each text. ReadTokenizer finds it in the file.
	AddPrefixSpace bool
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
	stop := convert[int32, int64](o.StopTokens)
	for _, id := range stop {
		if id < 0 || int(id) >= v.size {
			return nil, failed("the vocabulary", fmt.Errorf("StopTokens has %d, want 0 to %d", id, v.size-1))
		}
	}
	for _, text := range o.StopTexts {
		id := slices.Index(tokens, text)
		if id < 0 {
			return nil, failed("the vocabulary", fmt.Errorf("StopTexts has %q, which none of the %d tokens is", text, len(tokens)))
		}
		stop = append(stop, int64(id))
	}
	options := []bind.TokenizerInfoOption{bind.AddPrefixSpace(o.AddPrefixSpace), bind.VocabSize(int64(v.size))}
	if stop != nil {
		options = append(options, bind.StopTokenIDs(tvmffi.Of(stop...)))
	}
	var err error
	if v.info, err = bind.NewTokenizerInfo(tvmffi.Of(tokens...), as, options...); err == nil {
		v.texts, err = values(v.info.DecodedVocab())
	}
	if err == nil {
		v.stop, err = values(v.info.StopTokenIDs())
	}
	return v, failed("the vocabulary", err)
}

// values copies an array and releases it.
func values[T any](array *tvmffi.Array[T], err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer array.Release()
	return array.Slice()
}

// ReadTokenizer makes a Vocabulary of the text of a file tokenizer.json of Hugging Face's tokenizers. The tokens that end a
// text are in another file there, generation_config.json or tokenizer_config.json: name them in o.
func ReadTokenizer(text []byte, o VocabularyOptions) (*Vocabulary, error) {
	tokens, err := tokensOf(text)
	if err != nil {
		return nil, failed("tokenizer.json", err)
	}
	var found struct {
		VocabType VocabType `json:"vocab_type"`
		Prefix    bool      `json:"add_prefix_space"`
	}
	metadata, err := bind.TokenizerInfoDetectMetadataFromHF(string(text))
	if err == nil {
		err = json.Unmarshal([]byte(metadata), &found)
	}
	if err != nil {
		return nil, failed("tokenizer.json", err)
	}
	o.AddPrefixSpace = o.AddPrefixSpace || found.Prefix
	return NewVocabulary(tokens, found.VocabType, o)
}

// maxTokens bounds the numbers of tokens in a file: the vocabulary is as large as they are.
const maxTokens = 1 << 24

// tokensOf returns the tokens of a tokenizer.json in the order of their numbers, "" where there is none.
func tokensOf(text []byte) (tokens []string, err error) {
	var file struct {
		Model struct{ Vocab json.RawMessage }
		Added []struct {
			ID      int
			Content string
		} `json:"added_tokens"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	vocab := map[string]int{}
	var pieces [][2]any // of a Unigram model: a text and its score
	if json.Unmarshal(file.Model.Vocab, &pieces) != nil {
		if err := json.Unmarshal(file.Model.Vocab, &vocab); err != nil {
			return nil, fmt.Errorf("model.vocab has neither the numbers nor the scores of tokens: %w", err)
		}
	}
	for id, piece := range pieces {
		vocab[fmt.Sprint(piece[0])] = id
	}
	for _, token := range file.Added {
		vocab[token.Content] = token.ID
	}
	for token, id := range vocab {
		if id < 0 || id >= maxTokens {
			return nil, fmt.Errorf("the number of the token %q is %d, want 0 to %d", token, id, maxTokens-1)
		}
		tokens = append(tokens, make([]string, max(id+1-len(tokens), 0))...)
		tokens[id] = token
	}
	return tokens, nil
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
