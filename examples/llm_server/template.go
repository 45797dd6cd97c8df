package main

import (
	"encoding/json"
	"strings"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
	"github.com/tvmffi-go/tvmffi/xgrammar"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

const system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

// withTools adds the tools to the text of the system, because the template of SmolLM2 has no place for them. It describes them in JSON,
// and shows the syntax that the server forces.
func withTools(text string, tools []xgrammar.Tool) string {
	if len(tools) == 0 {
		return text
	}
	var lines strings.Builder
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false) // the model reads < and &, as the client wrote them
	for _, tool := range tools {
		if err := encoder.Encode(tool.Function); err != nil { // the server has read it
			continue
		}
	}
	call := xgrammar.Qwen
	return text + "\n\nYou can call these functions:\n" + lines.String() + "A call looks like this:\n" + call.Begin + "NAME" + call.Middle + "{ARGUMENTS}" + call.End
}

// parts is a chat by the template of the model, with the beginning of the answer. The parts of the template alone have tokens
// of control: to the model, what a message says is text.
func parts(chat server.Chat) []tokenizer.Part {
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
	messages := chat.Messages
	if len(messages) == 0 || messages[0].Role != "system" && messages[0].Role != "developer" {
		messages = append([]server.Message{{Role: "system", Text: system}}, messages...)
	}
	for i, m := range messages {
		text := m.Text + m.Calls
		if i == 0 {
			text = withTools(text, chat.Tools)
		}
		add(m.Role, text)
	}
	control("<|im_start|>assistant\n")
	return all
}
