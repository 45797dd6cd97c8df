// Package xgrammar makes a language model write text that follows a JSON schema, a regular expression, a grammar, or the
// syntax of calls of tools. It stands on XGrammar, https://github.com/mlc-ai/xgrammar, whose bindings are [github.com/tvmffi-go/tvmffi/generated/xgrammar].
// The command "go tool tvmffi-bind setup xgrammar" puts XGrammar's library where a program finds it.
//
// A [Vocabulary] has the tokens of a model; [OpenTokenizer] makes one of its files. A [Compiler] compiles a
// [Source] for it to a [Grammar]. A [Matcher] follows one text, token by token:
//
//	for ended := false; !ended; ended, _ = matcher.Ended() {
//		matcher.Fill(mask)          // the tokens that may come next
//		mask.Apply(scores)          // forbids the others
//		token := sample(scores)
//		matcher.Accept(token)       // a stop token ends the text
//	}
//
// Each of these calls also returns an error, which a program checks.
// A [Batch] does that for many texts at each step of the model, without allocations.
//
// Package [github.com/tvmffi-go/tvmffi/xgrammar/tokenizer] makes the tokens of a prompt, and the text of those that the model writes,
// with the same numbers.
//
// For chats, [ToolSyntax] makes the format of calls of tools, and reads them. [SchemaOf] is the JSON schema of a Go type.
//
// # Memory
//
// A Vocabulary, Compiler, Grammar, Matcher, Mask and Batch has memory of C++. The caller releases each of them once, in any
// order, when no method of it runs: the memory lives as long as something was made of it. The garbage collector
// releases what was forgotten, at some time.
//
// # Goroutines
//
// Several goroutines may use a Vocabulary, Compiler or Grammar at once; one at a time uses a Matcher, Mask or Batch.
//
// # Sources of strangers
//
// Nothing can stop a call of XGrammar, and a small schema may take minutes, or all memory. With [Isolation], a compiler tries
// each new source in another process first, which is killed at its limits. So such a source costs its sender an error,
// and this process nothing. Every source that XGrammar compiles within the limits is accepted.
//
// XGrammar does not check everything that a schema says: it ignores keywords such as not and uniqueItems, reads oneOf as
// anyOf, and allows control characters in strings with a length. [JSONSchema.Check] says where, and Exact refuses such schemas.
// Where an equal schema is known that XGrammar follows, Check offers it, and [JSONSchema.Instead] takes all offers.
//
// # Errors
//
// Each error is an [*Error], which names its item. If XGrammar found it, it wraps the error of the library, whose kind [errors.Is]
// finds: [ErrGrammar], [ErrJSON], [ErrStructuralTag], [ErrLark]. [Error.Reason] is for the one who wrote the source.
package xgrammar
