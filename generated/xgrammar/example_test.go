package xgrammar_test

import (
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A schema, a mask of the tokens that may come first, and the token that the model chooses.
func Example() {
	tokens := []string{`{"`, `year`, `name`, `": `, `19`, `54`, `}`, `</s>`}
	tokenizer, err := xgrammar.NewTokenizerInfo(tvmffi.Of(tokens...), xgrammar.VocabTypeRaw)
	if err != nil {
		log.Fatal(err)
	}
	defer tokenizer.Release()
	compiler, err := xgrammar.NewGrammarCompiler(tokenizer)
	if err != nil {
		log.Fatal(err)
	}
	defer compiler.Release()
	grammar, err := compiler.CompileJSONSchema(`{"properties": {"year": {"type": "integer"}}, "required": ["year"]}`)
	if err != nil {
		log.Fatal(err) // for example: the schema is not valid
	}
	defer grammar.Release()
	matcher, err := xgrammar.NewGrammarMatcher(grammar)
	if err != nil {
		log.Fatal(err)
	}
	defer matcher.Release()

	mask, err := tvmffi.NewTensor(tvmffi.Int32, 1, int64(len(tokens)+31)/32)
	if err != nil {
		log.Fatal(err)
	}
	defer mask.Release()
	if _, err := matcher.FillNextTokenBitmask(mask); err != nil {
		log.Fatal(err)
	}
	bits, err := tvmffi.ReadSlice[int32](mask)
	if err != nil {
		log.Fatal(err)
	}
	for i, token := range tokens {
		if bits[i/32]>>(i%32)&1 == 1 {
			fmt.Println("allowed:", token)
		}
	}
	ok, err := matcher.AcceptToken(0)
	fmt.Println(ok, err)
	// Output:
	// allowed: {"
	// true <nil>
}

// An option changes one default of the call: the document may have properties that the schema does not mention.
func ExampleStrictMode() {
	tokenizer, err := xgrammar.NewTokenizerInfo(tvmffi.Of("</s>"), xgrammar.VocabTypeRaw)
	if err != nil {
		log.Fatal(err)
	}
	defer tokenizer.Release()
	compiler, err := xgrammar.NewGrammarCompiler(tokenizer)
	if err != nil {
		log.Fatal(err)
	}
	defer compiler.Release()
	for _, strict := range []bool{true, false} {
		grammar, err := compiler.CompileJSONSchema(`{"type": "object", "properties": {"a": {"type": "integer"}}}`, xgrammar.StrictMode(strict))
		if err != nil {
			log.Fatal(err)
		}
		matcher, err := xgrammar.NewGrammarMatcher(grammar)
		if err != nil {
			log.Fatal(err)
		}
		ok, err := matcher.AcceptString(`{"a": 1, "b": 2}`)
		fmt.Println(strict, ok, err)
		matcher.Release()
		grammar.Release()
	}
	// Output:
	// true false <nil>
	// false true <nil>
}

// The rule with the name of RootRuleName, by default root, matches the text.
func ExampleGrammarFromEBNF() {
	grammar, err := xgrammar.GrammarFromEBNF(`answer ::= "yes" | "no"`, xgrammar.RootRuleName("answer"))
	if err != nil {
		log.Fatal(err)
	}
	defer grammar.Release()
	fmt.Println(grammar.ToString())
	// Output:
	// root ::= (("yes") | ("no"))
	//  <nil>
}

// Free text with calls of a tool in it, whose arguments follow a JSON schema.
func ExampleGrammarFromStructuralTag() {
	grammar, err := xgrammar.GrammarFromStructuralTag(`{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<call>"], "tags": [
		{"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": {"type": "object"}}, "end": "</call>"}]}}`)
	if err != nil {
		log.Fatal(err)
	}
	defer grammar.Release()
	_, err = xgrammar.GrammarFromStructuralTag(`{"type": "structural_tag"}`)
	fmt.Println(err)
	// Output: InvalidStructuralTagError: Invalid structural tag error: Structural tag must have a format field
}

func ExampleVocabType() {
	fmt.Println(xgrammar.VocabTypeByteLevel, xgrammar.VocabType(7))
	// Output: BYTE_LEVEL VocabType(7)
}
