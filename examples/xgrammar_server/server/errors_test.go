package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestErrors(t *testing.T) {
	s, url := start(t, func(s *settings) { s.tokens, s.body, s.requests = 50, 2000, 1 })
	schema := func(text string) string {
		return `"response_format": {"type": "json_schema", "json_schema": {"schema": ` + text + `}}`
	}
	for _, c := range []struct {
		members string
		status  int
		want    string
	}{
		{`"n": 17`, 400, `"message":"n: it is 17, want 1 to 16","type":"invalid_request_error","param":"n"`},
		{`"n": 0`, 400, `n: it is 0, want 1 to 16`},
		{`"stop": ["a", ""]`, 400, `stop: a text is empty`},
		{`"stop": ["a", "b", "c", "d", "e"]`, 400, `stop: it is [\"a\", \"b\", \"c\", \"d\", \"e\"], want a text or at most four`},
		{`"top_logprobs": 2`, 400, `top_logprobs: it needs logprobs`},
		{`"logprobs": true, "top_logprobs": 21`, 400, `top_logprobs: it is 21, want 0 to 20`},
		{`"top_p": 1.1`, 400, `top_p: it is 1.1, want 0 to 1`},
		{`"presence_penalty": -3`, 400, `presence_penalty: it is -3, want -2 to 2`},
		{`"frequency_penalty": 2.5`, 400, `frequency_penalty: it is 2.5, want -2 to 2`},
		{`"logit_bias": {"7": 101}`, 400, `logit_bias: token \"7\" has 101, want a token from 0 to `},
		{`"logit_bias": {"99999": 1}`, 400, `logit_bias: token \"99999\" has 1`},
		{`"seed": 1.5`, 400, `"message":"seed: its type is number 1.5, want integer","type":"invalid_request_error","param":"seed"`},
		{`"stream_options": {"include_usage": true}`, 400, `stream_options: it needs stream`},
		{`"stream": true, "stream_options": {"usage": true}`, 400, `"param":"stream_options.usage"`},
		{`"response_format": {"type": "json_object", "schema": {}}`, 400, `response_format.schema: this server does not support it`},
		{`"response_format": {"json_schema": {"name": "a", "schema": {}}}`, 400, `response_format.json_schema: it needs the type json_schema`},
		{`"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "grammar": "a"}}`, 400, `response_format.json_schema.grammar: this`},
		{`"tools": [{"type": "function", "function": {"name": "f", "input_schema": {}}}]`, 400, `tools[0].function.input_schema: this server does not support it`},
		{`"messages": [{"role": "user", "content": "a"}, {"role": "user"}]`, 400, `messages[1].content: there is none`},
		{`"messages": [{"role": "assistant", "content": "", "function_call": {"name": "f"}}]`, 400, `messages[0].function_call: this server`},
		{`"messages": [{"role": "assistant", "audio": {"id": "a"}, "content": "a"}]`, 400, `messages[0].audio: this server does not support it`},
		{`"messages": [{"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "a"}}]}]`, 400, `messages[0].tool_calls[0].type: it is \"custom\", want function`},
		{`"top_p": "a"`, 400, `"param":"top_p"`},
		{`"logit_bias": {"07": 1}`, 400, `logit_bias: token \"07\" has 1`},
		{`"modalities": ["text", "audio"]`, 400, `modalities: this server writes text alone`},
		{`"top_k": 3`, 400, `"message":"top_k: this server does not support it","type":"invalid_request_error","param":"top_k"`},
		{`"functions": []`, 400, `functions: this server does not support it`},
		{`"messages": [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]`, 400, `messages[1].role: it is \"robot\", want one of system, developer, user, assistant, tool`},
		{`"max_tokens": 51`, 400, `max_tokens: it is 51, want 1 to 50","type":"invalid_request_error","param":"max_tokens"`},
		{`"max_completion_tokens": 0`, 400, `max_completion_tokens: it is 0, want 1 to 50`},
		{`"max_tokens": 5, "max_completion_tokens": 6`, 400, `max_tokens: it is 5, and max_completion_tokens is 6: send one of them`},
		{`"max_tokens": 1.5`, 400, `max_tokens: its type is number 1.5, want integer`},
		{`"max_tokens": 1.0`, 400, `max_tokens: its type is number 1.0, want integer`},
		{`"max_tokens": -0`, 400, `max_tokens: it is 0, want 1 to 50`},
		{`"n": 9223372036854775808`, 400, `n: its type is number 9223372036854775808, want integer`},
		{`"n": "1"`, 400, `n: its type is string, want integer`},
		{`"seed": 18446744073709551616`, 400, `seed: its type is number 18446744073709551616, want integer`},
		{`"temperature": 1e400`, 400, `temperature: its type is number 1e400, want number`},
		{`"logit_bias": {"7": 1e400}`, 400, `logit_bias`},
		{`"logit_bias": {"4294967303": 1}`, 400, `logit_bias: token \"4294967303\" has 1`},
		{`"logit_bias": {"7": 1, "7": 2}`, 400, `logit_bias.7: it is there twice`},
		{`"messages": [{"role": "user", "content": "a", "Content": "b"}]`, 400, `messages.Content: it is there twice`},
		{`"messages": [{"role": "user", "role": "tool"}]`, 400, `messages.role: it is there twice`},
		{`"messages": [{"role": "user", "content": "\ud83d"}]`, 400, `messages.content: it has half of a surrogate pair`},
		{`"stop": "\ufffd\ud800"`, 400, `stop: it has half of a surrogate pair`},
		{`"stop": ["� \\\ud83d\ude00\ude00"]`, 400, `stop: it has half of a surrogate pair`},
		{`"temperature": 1e-400`, 400, `temperature: it is 1e-400, which is nearer to 0`},
		{`"logit_bias": {"5": -0.001E-400}`, 400, `logit_bias.5: it is -0.001E-400, which is nearer to 0`},
		{`"logit_bias": {"5": null}`, 400, `logit_bias: token \"5\" has null`},
		{`"logit_bias": [1]`, 400, `logit_bias: its type is array, want object`},
		{`"messages": [{"role": "user", "content": [{"type": "text"}]}]`, 400, `messages: content has a part of the type \"text\", want one with the member text`},
		{`"messages": [{"role": "user", "content": [{"type": "text", "text": null}]}]`, 400, `want one with the member text`},
		{`"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "refusal": "b"}]}]`, 400, `want one with the member text`},
		{`"messages": [{"role": "assistant", "content": [{"type": "refusal", "text": "a"}]}]`, 400, `want one with the member refusal`},
		{`"messages": [{"role": "assistant", "content": "a", "refusal": "b"}]`, 400, `messages[0].refusal: the message has a content, too`},
		{`"messages": [{"role": "assistant", "tool_calls": [{"type": "function", "function": {"arguments": "{}"}}]}]`, 400, `messages[0].tool_calls[0].function.name: there is none`},
		{`"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "TEXT": "b"}]}]`, 400, `messages.content.TEXT: it is there twice`},
		{`"stream_options": {"include_usage": true, "Include_Usage": false}`, 400, `stream_options.Include_Usage: it is there twice`},
		{`"response_format": {"type": "text", "json_\u017fchema": {}, "json_schema": {}}`, 400, `response_format.json_schema: it is there twice`},
		{`"tools": [{"type": "function", "function": {"name": "f", "name": "g"}}]`, 400, `tools.function.name: it is there twice`},
		{`"tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {}, "a": {}}}}}]`, 400, `tools.function.parameters.properties.a: it is there twice`},
		{`"model": ""`, 400, `model: it is missing: this server has toy`},
		{`"messages": "a"`, 400, `messages: its type is string, want array","type":"invalid_request_error","param":"messages"`},
		{`"messages": [{"role": 3}]`, 400, `messages.role: its type is number, want string`},
		{`"messages": [{"content": 3}]`, 400, `messages: content is neither a string nor an array of parts`},
		{`"tool_choice": 3`, 400, `tool_choice: it has number, want none, auto, required`},
		{`"tool_choice": "required"`, 400, `tool_choice: a call is required, and there is no tool","type":"invalid_request_error","param":"tool_choice"`},
		{`"tool_choice": {"type": "function", "function": {"name": "f"}}`, 400, `tool_choice: no tool has the name`},
		{`"tool_choice": ""`, 400, `tool_choice: it is \"\", want none, auto or required`},
		{`"tool_choice": {"type": "function", "function": {"name": "f"}, "allowed_tools": {"mode": "auto", "tools": []}}`, 400, `tool_choice: it has the type \"function\"`},
		{`"tool_choice": {"type": "function", "function": {"name": "f", "strict": true}}`, 400, `tool_choice: unknown field \"strict\"","type":"invalid_request_error","param":"tool_choice"`},
		{`"tools": [{"type": "web"}]`, 400, `"param":"tools[0]"`},
		{`"temperature": 3`, 400, `temperature: it is 3, want 0 to 2`},
		{`"model": "gpt"`, 404, `the model \"gpt\" does not exist: this server has toy`},
		{`"messages": []`, 400, `messages: there is none`},
		{`"messages": [{"role": "user", "content": [{"type": "image_url"}]}]`, 400, `content has a part of the type \"image_url\", want text`},
		{`"user": "` + strings.Repeat("a", 2000) + `"`, 413, `the body has more than 2000 bytes`},
		{`"response_format": {}`, 400, `response_format: its type is \"\", want text, json_object or json_schema`},
		{`"response_format": {"type": null}`, 400, `response_format: its type is \"\", want text`},
		{`"response_format": {"type": "xml"}`, 400, `response_format: its type is \"xml\", want text`},
		{`"response_format": {"type": "json_schema"}`, 400, `response_format.json_schema.schema: it is not there`},
		{schema(`{"type": "wrong"}`), 400, `response_format: Unsupported type \"wrong\"`},
		{`"response_format": {"type": "json_schema", "json_schema": {"strict": true, "schema": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}}}`, 400,
			`response_format: the schema is strict, and cannot be followed at \"/uniqueItems\": XGrammar does not look at uniqueItems (looser)`},
		{`"tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "object", "required": ["a"]}}}]`, 400,
			`add \"a\" there (looser); this schema at \"\" is equal, and can be followed: {\"type\": \"object\", \"required\": [\"a\"], \"properties\": {\"a\": {}}}","type":"invalid_request_error","param":"tools[0]"`},
		{tools + `, ` + schema(`{"type": "wrong"}`), 400, `response_format or tools: `},
		{tools + `, "tool_choice": {"type": "function", "function": {"name": "f"}}`, 400, `tool_choice: no tool has the name \"f\"","type":"invalid_request_error","param":"tool_choice"`},
		{`"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "wrong"}}}]`, 400, `tools: `},
	} {
		status, text, err := post(t.Context(), url, c.members)
		if err != nil || status != c.status || !strings.Contains(text, c.want) || strings.Contains(text, ".cc:") || strings.Contains(text, "Go ") {
			t.Errorf("%.60s: %d %s %v, want %d and %s", c.members, status, text, err, c.status, c.want)
		}
	}
	for _, body := range []string{`{`, `[]`, `null`, `{} {}`, "{\"model\": \"\xff\"}"} {
		if status, text, err := send(t.Context(), url, body); err != nil || status < 400 || status >= 500 || !strings.Contains(text, `"invalid_request_error"`) {
			t.Errorf("%q: %d %s %v", body, status, text, err)
		}
	}
	if _, text, err := send(t.Context(), url, ""); err != nil || !strings.Contains(text, `body: it is empty, want a JSON object`) {
		t.Errorf("without a body: %s %v", text, err)
	}
	s.busy <- struct{}{}
	if status, text, err := post(t.Context(), url, `"n": 1`); status != http.StatusTooManyRequests || !strings.Contains(text, `"busy"`) {
		t.Errorf("%d %s %v", status, text, err)
	}
	<-s.busy
	members := `"max_tokens": 1, "messages": [{"role": "user", "content": "\ufffd \ud83d\ude00 �\\ud800"}], "temperature": 0e-400, "metadata": {"a": 1e-400, "A": "2"}, ` + schema(`{"type": "object", "properties": {"a": {}, "A": {}}}`)
	if status, text, err := post(t.Context(), url, members); err != nil || status != http.StatusOK {
		t.Errorf("names that the client chooses: %d %s %v", status, text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	session, err := s.model.Open(ctx, Chat{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.write(ctx, &request{MaxTokens: new(1)}, 0, session, nil, nil); s.problem(err).status != 499 {
		t.Errorf("an answer to nobody: %v", err)
	}
	if status, text, err := post(t.Context(), url, `"max_tokens": 1`); status != http.StatusOK {
		t.Errorf("afterwards: %d %s %v", status, text, err)
	}
}

// TestErrors_logProbs: a short request cannot ask for an answer that fills the memory.
func TestErrors_logProbs(t *testing.T) {
	_, url := start(t, nil)
	const members = `"logprobs": true, "top_logprobs": 20, "max_tokens": 1024, "n": 4`
	status, text, err := post(t.Context(), url, members)
	if err != nil || status != 400 || !strings.Contains(text, `top_logprobs: 4 choices of 1024 tokens with 21 probabilities each are more than 65536`) {
		t.Errorf("%d %.200s %v", status, text, err)
	}
}

// TestPaths: what the server does not serve is an error in OpenAI's form too.
func TestPaths(t *testing.T) {
	_, url := start(t, nil)
	for _, c := range []struct {
		method, path, origin string
		status               int
		want                 string
	}{
		{"GET", "/v1/models/toy", "", 200, `"id":"toy"`},
		{"GET", "/v1/models/gpt", "", 404, `"code":"model_not_found"`},
		{"POST", "/v1/embeddings", "", 404, `"message":"this server has no POST /v1/embeddings","type":"invalid_request_error","param":null,"code":"unknown_url"`},
		{"GET", "/v1/chat/completions", "", 405, `it takes POST, not GET`},
		{"POST", "/v1/chat/completions", "cross-site", 403, `"code":"cross_origin"`},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Sec-Fetch-Site", c.origin)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != c.status || !strings.Contains(string(text), c.want) || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s %v, want %d and %s", c.method, c.path, response.StatusCode, text, err, c.status, c.want)
		}
	}
}

// TestLoosely: a header names what is not followed of schemas that are not strict.
func TestLoosely(t *testing.T) {
	_, url := start(t, nil)
	for members, want := range map[string]string{
		`"max_tokens": 1, "tool_choice": "none", "tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": {"type": "object", "required": ["a"]}}}]`: "",
		`"max_tokens": 1, "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}}}]`:  `tools[0] "/properties/a/maxLength"`,
		`"max_tokens": 1, "reasoning_effort": "low", "verbosity": "low"`: "",
		`"max_tokens": 1`: "",
		`"max_tokens": 1, "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "string", "maxLength": 3}}}`:                                    "",
		`"max_tokens": 1, "response_format": {"type": "json_schema", "json_schema": {"schema": {"properties": {"é": {"not": {}}}, "allOf": [{}, {}]}}}`:                 `response_format "/allOf", response_format "/properties"`,
		`"max_tokens": 1, "response_format": {"type": "json_schema", "json_schema": {"strict": false, "schema": {"not": {"type": "null"}}}}`:                            "",
		`"max_tokens": 1, "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"é": {"not": {"type": "null"}}}}}}]`: `tools[0] "/properties/\u00e9/not"`,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(`{"model": "toy", "messages": [{"role": "user", "content": "a"}], `+members+`}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Schema-Not-Followed"); got != want || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d and the header %s, want %s", members, response.StatusCode, got, want)
		}
	}
}
