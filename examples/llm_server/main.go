// Llm_server serves SmolLM2, a language model of 135 million parameters, with the chat completions of OpenAI: on the virtual
// machine of TVM, without Python.
package main

import (
	"flag"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
)

func main() {
	folder := flag.String("model", "smollm2", "`folder` that model/compile.py has written")
	chats := flag.Int("chats", 4, "chats that are answered at the same time, of about 50 MB each; others wait")
	server.Main("llm_server", func() (server.Model, error) { return open(*folder, *chats) })
}
