// Xgrammar_server serves a small language model of its own with the chat completions of OpenAI.
package main

import "github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"

func main() {
	server.Main("xgrammar_server", func() (server.Model, error) { return server.Toy(), nil })
}
