package xgrammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// OpenTokenizer makes a Vocabulary of the files of a model, such as os.DirFS("model"): tokenizer.json, and, if they are there,
// generation_config.json and tokenizer_config.json for the tokens that end a text, and config.json for the number of the
// model's scores. What o has comes first.
func OpenTokenizer(files fs.FS, o VocabularyOptions) (*Vocabulary, error) {
	text, err := fs.ReadFile(files, "tokenizer.json")
	if err != nil {
		return nil, failed("the tokenizer", err)
	}
	var config []byte
	for name, to := range map[string]*[]byte{"generation_config.json": &o.GenerationConfig, "tokenizer_config.json": &o.TokenizerConfig, "config.json": &config} {
		if *to != nil {
			continue
		}
		if *to, err = fs.ReadFile(files, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, failed("the tokenizer", err)
		}
	}
	type sized struct {
		Size int `json:"vocab_size"`
	}
	var model struct {
		sized
		Text sized `json:"text_config"` // of a model that also reads pictures
	}
	if config != nil && o.Size == 0 {
		if err := decode(config, &model); err != nil {
			return nil, failed("config.json", err)
		}
		if o.Size = model.Size; o.Size == 0 {
			o.Size = model.Text.Size
		}
		if o.Size < 0 || o.Size > maxTokens {
			return nil, failed("config.json", fmt.Errorf("vocab_size is %d, want 0 to %d", o.Size, maxTokens))
		}
	}
	return ReadTokenizer(text, o)
}

// ReadTokenizer makes a Vocabulary of the text of a file tokenizer.json of Hugging Face's tokenizers. That file does not say
// which tokens end a text: give it the configurations that lie beside it, or StopTexts, in o. [OpenTokenizer] reads them.
//
// A token has the number that the file gives it. Numbers without a token have empty texts. A text may have two numbers in
// the list of a Unigram model. A number with two texts is an error, unless one of them is of added_tokens, which then counts.
// A key that an object has twice is an error too, here and in the configurations.
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
	if o.StopTokens == nil && len(o.StopTexts) == 0 {
		if err := o.readStops(tokens); err != nil {
			return nil, err
		}
	}
	if o.Size > 0 && o.Size < len(tokens) {
		tokens = tokens[:o.Size]
	}
	o.AddPrefixSpace = o.AddPrefixSpace || found.Prefix
	return NewVocabulary(tokens, found.VocabType, o)
}

// readStops takes the tokens that end a text from the configurations.
func (o *VocabularyOptions) readStops(tokens []string) error {
	if o.GenerationConfig != nil {
		var file struct {
			EOS json.RawMessage `json:"eos_token_id"`
		}
		if err := decode(o.GenerationConfig, &file); err != nil {
			return failed("generation_config.json", err)
		}
		if text := string(file.EOS); text != "" && text != "null" && json.Unmarshal(file.EOS, &o.StopTokens) != nil {
			o.StopTokens = []int32{0}
			if err := json.Unmarshal(file.EOS, &o.StopTokens[0]); err != nil {
				return failed("generation_config.json", fmt.Errorf("eos_token_id is %.80s, want the number of a token, or several", text))
			}
		}
	}
	if o.TokenizerConfig != nil {
		var file struct {
			EOS json.RawMessage `json:"eos_token"`
		}
		if err := decode(o.TokenizerConfig, &file); err != nil {
			return failed("tokenizer_config.json", err)
		}
		var text string
		var token struct{ Content string }
		if set := string(file.EOS); set != "" && json.Unmarshal(file.EOS, &text) != nil {
			if err := json.Unmarshal(file.EOS, &token); err != nil || token.Content == "" {
				return failed("tokenizer_config.json", fmt.Errorf("eos_token is %.80s, want the text of a token", set))
			}
			text = token.Content
		}
		if id := slices.Index(tokens, text); text != "" && id < 0 {
			return failed("tokenizer_config.json", fmt.Errorf("eos_token is %q, which none of the %d tokens is: name another one in StopTexts", text, len(tokens)))
		} else if text != "" && !slices.Contains(o.StopTokens, int32(id)) {
			o.StopTokens = append(o.StopTokens, int32(id))
		}
	}
	if len(o.StopTokens) == 0 {
		return failed("the tokenizer", errors.New("nothing says which tokens end a text: pass the texts of generation_config.json or tokenizer_config.json, "+
			"which lie beside tokenizer.json, or StopTexts; an empty StopTokens that is not nil says that no token does"))
	}
	return nil
}

// decode reads the JSON of a file. A key that an object has twice is an error: other readers, and other parts of this one,
// may take the other value.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	return jsonlines.CheckKeys(text)
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
	if err := decode(text, &file); err != nil {
		return nil, err
	}
	put := func(token string, id int) error {
		if id < 0 || id >= maxTokens {
			return fmt.Errorf("the number of the token %q is %d, want 0 to %d", token, id, maxTokens-1)
		}
		tokens = append(tokens, make([]string, max(id+1-len(tokens), 0))...)
		if other := tokens[id]; other != "" && other != token {
			return fmt.Errorf("the tokens %q and %q both have the number %d", min(other, token), max(other, token), id)
		}
		tokens[id] = token
		return nil
	}
	vocab := map[string]int{}
	var pieces [][]json.RawMessage // of a Unigram model: a text and its score
	if json.Unmarshal(file.Model.Vocab, &pieces) != nil {
		if err := json.Unmarshal(file.Model.Vocab, &vocab); err != nil {
			return nil, fmt.Errorf("model.vocab has neither the numbers nor the scores of tokens: %w", err)
		}
	}
	for id, piece := range pieces {
		var token string
		if len(piece) != 2 || json.Unmarshal(piece[0], &token) != nil {
			return nil, fmt.Errorf("model.vocab[%d] is %.80s: want the text of a token and its score", id, piece)
		}
		if err := put(token, id); err != nil {
			return nil, err
		}
	}
	fill := func(order iter.Seq[string]) error {
		for token := range order {
			if err := put(token, vocab[token]); err != nil {
				return err
			}
		}
		return nil
	}
	if fill(maps.Keys(vocab)) != nil { // in order, so that the error is the same at each run
		tokens = nil
		return nil, fill(slices.Values(slices.Sorted(maps.Keys(vocab))))
	}
	added := map[int]string{}
	for _, token := range file.Added {
		if other, twice := added[token.ID]; twice && other != token.Content {
			return nil, fmt.Errorf("added_tokens has %q and %q with the number %d", other, token.Content, token.ID)
		}
		added[token.ID] = token.Content
		if of, known := vocab[token.Content]; known && of != token.ID {
			return nil, fmt.Errorf("the token %q has the number %d in added_tokens and %d in model.vocab", token.Content, token.ID, of)
		}
		if token.ID >= 0 && token.ID < len(tokens) {
			tokens[token.ID] = ""
		}
		if err := put(token.Content, token.ID); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
