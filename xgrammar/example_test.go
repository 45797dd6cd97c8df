package xgrammar_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// A schema of a Go type, the mask of the tokens that may come first, and the token that a model with these scores takes.
func Example() {
	tokens := []string{`{"`, `year`, `name`, `": `, `19`, `54`, `}`, `</s>`}
	vocabulary, err := xgrammar.NewVocabulary(tokens, xgrammar.Raw, xgrammar.VocabularyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer vocabulary.Release()
	compiler, err := xgrammar.NewCompiler(vocabulary, xgrammar.CompilerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer compiler.Release()
	schema, err := xgrammar.SchemaOf[struct {
		Year int `json:"year"`
	}]()
	if err != nil {
		log.Fatal(err)
	}
	grammar, err := compiler.Compile(context.Background(), schema)
	if err != nil {
		log.Fatal(err) // for example: the schema is not valid
	}
	defer grammar.Release()
	matcher, err := grammar.NewMatcher(xgrammar.MatcherOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer matcher.Release()
	mask, err := vocabulary.NewMask()
	if err != nil {
		log.Fatal(err)
	}
	defer mask.Release()
	if _, err := matcher.Fill(mask); err != nil {
		log.Fatal(err)
	}
	for token := range mask.Allowed() {
		fmt.Println("allowed:", tokens[token])
	}
	scores := []float32{1, 2, 3, 4, 5, 6, 7, 8} // of the model
	if err := mask.Apply(scores); err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores)
	fmt.Println(matcher.Accept(0))
	// Output:
	// allowed: {"
	// [1 -Inf -Inf -Inf -Inf -Inf -Inf -Inf]
	// true <nil>
}

// A model for chats writes free text or calls, and the program reads them.
func ExampleToolSyntax() {
	tool := xgrammar.Tool{Type: "function"}
	tool.Function.Name = "weather"
	tool.Function.Parameters = []byte(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`)
	format, err := xgrammar.Qwen.Format([]xgrammar.Tool{tool}, xgrammar.ToolChoice{Mode: "required"}, false)
	if err != nil {
		log.Fatal(err)
	}
	tag, err := format.Tag() // a Source for a Compiler
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tag) > 0)
	fmt.Println(xgrammar.Qwen.Calls("<tool_call>\n" + `{"name": "weather", "arguments": {"city": "Oslo"}}` + "\n</tool_call>"))
	// Output:
	// true
	//  [{weather {"city": "Oslo"}}]
}

// The text of a file of Hugging Face's tokenizers.
func ExampleReadTokenizer() {
	text := []byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "Ġthe": 1}}, "decoder": {"type": "ByteLevel"},
		"added_tokens": [{"id": 2, "content": "<|im_end|>", "special": true}]}`) // in a program: os.ReadFile("tokenizer.json")
	v, err := xgrammar.ReadTokenizer(text, xgrammar.VocabularyOptions{StopTexts: []string{"<|im_end|>"}})
	if err != nil {
		log.Fatal(err)
	}
	defer v.Release()
	fmt.Printf("%d tokens, %q, stop at %d\n", v.Size(), v.Text(1), v.StopTokens())
	// Output: 3 tokens, " the", stop at [2]
}
