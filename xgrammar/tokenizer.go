package xgrammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
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
		if err := jsonlines.Unmarshal(config, &model); err != nil {
			return nil, failed("config.json", err)
		}
		if o.Size = model.Size; o.Size == 0 {
			o.Size = model.Text.Size
		}
		const maxTokens = 1 << 24
		if o.Size < 0 || o.Size > maxTokens {
			return nil, failed("config.json", fmt.Errorf("vocab_size is %d, want 0 to %d", o.Size, maxTokens))
		}
	}
	return ReadTokenizer(text, o)
}

// ReadTokenizer makes a Vocabulary of the text of a file tokenizer.json of Hugging Face's tokenizers. That file does not say
// which tokens end a text: give it the configurations that lie beside it, or StopTexts, in o. [OpenTokenizer] reads them.
//
// A token has the number that the file gives it. Numbers without a token have empty texts; the largest number may be 65535 and
// four times as many as there are tokens. A text may have two numbers in the list of a Unigram model. A number with two texts is
// an error, unless one of them is of added_tokens, which then counts. A key that an object has twice is an error, here and in the
// configurations. A model with more scores than tokens has [VocabularyOptions].Size;
// if it has fewer, the tokens from Size on are left out.
func ReadTokenizer(text []byte, o VocabularyOptions) (*Vocabulary, error) {
	file, err := tokenfile.Read(text)
	if err != nil {
		return nil, failed("tokenizer.json", err)
	}
	tokens := file.Tokens
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
		if err := jsonlines.Unmarshal(o.GenerationConfig, &file); err != nil {
			return failed("generation_config.json", err)
		}
		if text := string(file.EOS); text != "" && text != "null" && jsonlines.Unmarshal(file.EOS, &o.StopTokens) != nil {
			o.StopTokens = []int32{0}
			if err := jsonlines.Unmarshal(file.EOS, &o.StopTokens[0]); err != nil {
				return failed("generation_config.json", fmt.Errorf("eos_token_id is %.80s, want the number of a token, or several", text))
			}
		}
	}
	if o.TokenizerConfig != nil {
		var file struct {
			EOS json.RawMessage `json:"eos_token"`
		}
		if err := jsonlines.Unmarshal(o.TokenizerConfig, &file); err != nil {
			return failed("tokenizer_config.json", err)
		}
		var text string
		var token struct{ Content string }
		if set := string(file.EOS); set != "" && jsonlines.Unmarshal(file.EOS, &text) != nil {
			if err := jsonlines.Unmarshal(file.EOS, &token); err != nil || token.Content == "" {
				return failed("tokenizer_config.json", fmt.Errorf("eos_token is %.80s, want the text of a token", set))
			}
			text = token.Content
		}
		ids := withText(tokens, text)
		if text != "" && len(ids) == 0 {
			return failed("tokenizer_config.json", fmt.Errorf("eos_token is %q, which none of the %d tokens is: name another one in StopTexts", text, len(tokens)))
		}
		for _, id := range ids {
			if !slices.Contains(o.StopTokens, id) {
				o.StopTokens = append(o.StopTokens, id)
			}
		}
	}
	if len(o.StopTokens) == 0 {
		return failed("the tokenizer", errors.New("nothing says which tokens end a text: pass the texts of generation_config.json or tokenizer_config.json, "+
			"which lie beside tokenizer.json, or StopTexts; an empty StopTokens that is not nil says that no token does"))
	}
	return nil
}
