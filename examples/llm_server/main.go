// Llm_server serves SmolLM2, a language model of 135 million parameters, with the chat completions of OpenAI: on the virtual
// machine of TVM, without Python.
package main

import (
	"flag"
	"runtime/debug"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
)

func main() {
	folder := flag.String("model", "smollm2", "`folder` that model/compile.py has written")
	chats := flag.Int("chats", 8, "chats that are answered at the same time, of about 50 MB each, 16 at most; others wait")
	verify := flag.Bool("verify", false, "compare the weights with their MD5 sums at the start, which reads them all")
	server.Main("llm_server", func() (server.Model, error) {
		defer debug.FreeOSMemory() // of what has read the tokenizer
		return open(*folder, *chats, *verify)
	})
}
