package main

import (
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

const system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

// parts is a chat by the template of the model, with the beginning of the answer. The parts of the template alone have tokens
// of control: to the model, what a message says is text.
func parts(chat []server.Message) []tokenizer.Part {
	var all []tokenizer.Part
	control := func(text string) { all = append(all, tokenizer.Part{Text: text, Control: true}) }
	add := func(role, text string) {
		if role == "developer" { // as newer models of OpenAI call the system
			role = "system"
		}
		control("<|im_start|>")
		all = append(all, tokenizer.Part{Text: role + "\n" + text})
		control("<|im_end|>\n")
	}
	if len(chat) == 0 || chat[0].Role != "system" && chat[0].Role != "developer" {
		add("system", system)
	}
	for _, m := range chat {
		add(m.Role, m.Text+m.Calls)
	}
	control("<|im_start|>assistant\n")
	return all
}
