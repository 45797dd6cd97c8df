package xgrammar

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A Source is what a [Compiler] compiles: [JSONSchema], [JSON], [Regex], [EBNF], [Lark] or [StructuralTag].
type Source interface {
	compile(*bind.GrammarCompiler) (*bind.CompiledGrammar, error)
}

// JSONSchema is the source of the documents that follow a JSON schema. By default, objects and arrays have nothing that the
// schema does not mention, and white space may stand wherever JSON allows it.
type JSONSchema struct {
	Text string
	// Loose allows properties and elements that the schema does not mention.
	Loose bool
	// Exact makes Compile refuse a schema by which XGrammar would allow what the schema forbids: see [JSONSchema.Check].
	Exact bool
	// AnyOrder allows properties in any order, and then does not check that the required ones are there.
	AnyOrder bool
	// MaxWhitespace is how many characters of white space may stand in one place; 0 is any number. It is an error with Compact.
	MaxWhitespace int
	// Compact fixes the layout: one line, or lines with Indent spaces for each level. An Indent without Compact is an error.
	// Separators follow an element and a key. By default they are ", " and ": ", and with an Indent "," and ": "; without Compact they
	// are "," and ":", and white space may stand on both sides.
	Compact    bool
	Indent     int
	Separators [2]string
}

// JSON is the source of all JSON documents.
type JSON struct{}

// Regex is a regular expression, which matches the whole text. XGrammar reads all hexadecimal digits
// after \x, so \x41B is U+041B, here, in [EBNF] and in a regular expression of [Lark].
// In a pattern of [JSONSchema] \x has two digits. In a class, escape a dash that
// stands beside \w, \d or \s, as in [\w\-.]: without a backslash it may begin or end a range.
type Regex string

// EBNF is a grammar in the dialect GBNF. Root is the rule of a whole text; the default is root.
// For \x see [Regex].
type EBNF struct{ Text, Root string }

// Lark is a grammar in the syntax of Lark.
type Lark string

// StructuralTag is the JSON of a structural tag, which [Format.Tag] makes: the source of texts in which free text, fixed
// text and structured parts alternate, such as calls of tools.
type StructuralTag string

// whole returns an error for a text with a zero byte, because XGrammar would ignore what follows it, and for one in which an
// object has a key twice: XGrammar follows one of the two.
func whole(s Source) error {
	kind, texts := "InternalError", ""
	var err error
	switch s := s.(type) {
	case JSONSchema:
		err = jsonlines.Check([]byte(s.Text), nil)
		if !utf8.ValidString(s.Text) { // which XGrammar takes
			err = nil
		}
	case StructuralTag:
		kind, err = "InvalidJSONError", jsonlines.Check([]byte(s), nil)
	}
	if err != nil {
		return tvmffi.NewError(kind, err.Error())
	}
	switch s := s.(type) {
	case JSONSchema:
		texts = s.Text + s.Separators[0] + s.Separators[1]
	case EBNF:
		texts = s.Text + s.Root
	case Regex:
		texts = string(s)
	case Lark:
		kind, texts = "XGrammarError", string(s)
	case StructuralTag:
		kind, texts = "InvalidJSONError", string(s)
		var tree any
		if strings.Contains(texts, `\u0000`) && json.Unmarshal([]byte(s), &tree) == nil {
			kind, texts = "InvalidStructuralTagError", grammars(tree)
		}
	}
	if strings.IndexByte(texts, 0) < 0 {
		return nil
	}
	return tvmffi.NewError(kind, "it has a zero byte, where XGrammar would end it: remove that byte")
}

// grammars returns the texts of the EBNF grammars in the JSON of a structural tag: only there a zero byte ends something.
func grammars(tree any) (texts string) {
	switch t := tree.(type) {
	case []any:
		for _, x := range t {
			texts += grammars(x)
		}
	case map[string]any:
		if text, ok := t["grammar"].(string); ok && t["type"] == "grammar" {
			texts = text
		}
		for _, x := range t {
			texts += grammars(x)
		}
	}
	return texts
}

type compiled = bind.CompiledGrammar

func (s JSON) compile(c *bind.GrammarCompiler) (*compiled, error) {
	return c.CompileBuiltinJSONGrammar()
}
func (s Regex) compile(c *bind.GrammarCompiler) (*compiled, error) { return c.CompileRegex(string(s)) }
func (s Lark) compile(c *bind.GrammarCompiler) (*compiled, error) {
	return c.CompileLark(string(s), nil, nil)
}
func (s StructuralTag) compile(c *bind.GrammarCompiler) (*compiled, error) {
	g, err := c.CompileStructuralTag(string(s))
	if err != nil { // this call has a kind for each error
		_, typed := bind.GrammarFromStructuralTag(string(s))
		err = cmp.Or(typed, err)
	}
	return g, err
}
func (s EBNF) compile(c *bind.GrammarCompiler) (*compiled, error) {
	if s.Root == "" {
		return c.CompileEBNF(s.Text)
	}
	return c.CompileEBNF(s.Text, bind.RootRuleName(s.Root))
}

func (s JSONSchema) compile(c *bind.GrammarCompiler) (*compiled, error) {
	options := []bind.CompileJSONSchemaOption{bind.StrictMode(!s.Loose), bind.AnyOrder(s.AnyOrder), bind.AnyWhitespace(!s.Compact)}
	if s.MaxWhitespace > 0 {
		options = append(options, bind.MaxWhitespaceCnt(int64(s.MaxWhitespace)))
	}
	if s.Indent > 0 {
		options = append(options, bind.Indent(int64(s.Indent)))
	}
	if s.Separators != [2]string{} {
		item, key := ",", ":"
		switch {
		case s.Compact && s.Indent > 0:
			key = ": "
		case s.Compact:
			item, key = ", ", ": "
		}
		options = append(options, bind.Separators(tvmffi.Tuple2[string, string]{A: cmp.Or(s.Separators[0], item), B: cmp.Or(s.Separators[1], key)}))
	}
	return c.CompileJSONSchema(s.Text, options...)
}
