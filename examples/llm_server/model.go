package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
	"github.com/tvmffi-go/tvmffi/xgrammar"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

// model is SmolLM2 on a machine of TVM.
type model struct {
	machine         *vm.Machine
	decode, prefill *vm.Function // of one token, and of chunk
	weights         *tvmffi.Array[*tvmffi.Tensor]
	file            []byte // tokenizer.json
	tokens          *tokenizer.Tokenizer
	never           []int32 // tokens of control that do not end an answer
	longest         int     // bytes of a token

	free chan struct{} // one for each chat that is open
	mu   sync.Mutex
	made int     // chats that have memory
	idle []*chat // of these, the closed ones: their memory knows the beginning of a text
}

// What compile.py has built.
const (
	length, chunk, words = 2048, 16, 49152
	end, endOfText       = 2, 0 // <|im_end|>, <|endoftext|>
)

var cache = []int64{30, 2, 3, length, 64} // layers, keys and values, heads, tokens, numbers

// open opens the model in a folder.
func open(folder string, chats int) (_ *model, err error) {
	if chats < 1 {
		return nil, fmt.Errorf("-chats is %d, want 1 or more", chats)
	}
	m := &model{free: make(chan struct{}, chats)}
	defer func() {
		if err != nil {
			m.Close()
			err = fmt.Errorf("-model %s: %w", folder, err)
		}
	}()
	if _, err := os.Stat(filepath.Join(folder, "model.so")); err != nil {
		return nil, fmt.Errorf("%w; model/compile.py makes this folder, see the README", err)
	}
	exe, err := vm.Load(filepath.Join(folder, "model.so"))
	if err != nil {
		return nil, err
	}
	defer exe.Release()
	if m.machine, err = exe.NewMachine(vm.Pooled); err == nil {
		m.decode, err = m.machine.Function("decode")
	}
	if err == nil {
		m.prefill, err = m.machine.Function("prefill")
	}
	var params []vm.Param
	if err == nil {
		params, err = m.machine.Params()
	}
	if err != nil {
		return nil, err
	}
	weights, err := vm.LoadWeights(folder)
	if err != nil {
		return nil, err
	}
	defer weights.Release()
	if m.weights, err = weights.Tuple(params); err == nil {
		m.file, err = os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	}
	if err == nil {
		if m.tokens, err = tokenizer.Read(m.file, tokenizer.Options{}); err != nil {
			err = fmt.Errorf("tokenizer.json: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	if m.tokens.Size() != words || m.tokens.Token(end) != "<|im_end|>" || m.tokens.Token(endOfText) != "<|endoftext|>" {
		return nil, fmt.Errorf("tokenizer.json has %d tokens, of which %d is %q, and the model %d, of which %d is <|im_end|>: it is that of another model",
			m.tokens.Size(), end, m.tokens.Token(end), words, end)
	}
	for t := range int32(m.tokens.Size()) {
		m.longest = max(m.longest, len(m.tokens.Token(t)))
		if m.tokens.Special(t) && t != end && t != endOfText {
			m.never = append(m.never, t)
		}
	}
	return m, nil
}

// Close releases the model. No chat is open.
func (m *model) Close() error {
	if m.machine != nil {
		m.machine.Close() // it waits for a call that runs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.idle {
		c.release()
	}
	if m.weights != nil {
		m.weights.Release()
	}
	return nil
}

// Name returns what requests call the model.
func (m *model) Name() string { return "smollm2-135m" }

// Context returns the number of tokens for which the model has memory.
func (m *model) Context() int { return length }

// Vocabulary returns a new vocabulary.
func (m *model) Vocabulary() (*xgrammar.Vocabulary, error) {
	return xgrammar.ReadTokenizer(m.file, xgrammar.VocabularyOptions{StopTokens: []int32{end, endOfText}, Size: words})
}

// Open waits until one of the chats is free. It takes the memory that knows most of the text: a client sends the whole chat
// with each question.
func (m *model) Open(ctx context.Context, messages []server.Message) (server.Session, error) {
	bytes := 0
	for _, message := range messages {
		bytes += len(message.Text) + len(message.Calls)
	}
	if least := bytes / m.longest; least >= length { // to make tokens of it would take long
		return nil, server.TooLong(least, length)
	}
	select {
	case m.free <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	text := m.tokens.EncodeParts(parts(messages)...)
	m.mu.Lock()
	defer m.mu.Unlock()
	best, known := -1, -1
	for i, c := range m.idle {
		if n := same(c.text[:c.done], text); n > known {
			best, known = i, n
		}
	}
	if best < 0 || m.made < cap(m.free) && known < len(text)/2 {
		c, err := m.newChat()
		if err != nil {
			<-m.free
			return nil, err
		}
		m.made++
		c.text = text
		return c, nil
	}
	c := m.idle[best]
	m.idle = append(m.idle[:best], m.idle[best+1:]...)
	c.text, c.done = text, min(known, len(text)-1) // the last token is computed for its logits
	return c, nil
}

// same returns how many tokens two texts begin with.
func same(a, b []int32) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// chat is an open chat, or the memory of a closed one. Its tensors are made once: a step makes nothing.
type chat struct {
	*model
	text []int32
	done int // how many tokens of the text the cache knows

	cache, logits, at, one, many *tvmffi.Tensor
	scores                       []float32 // the memory of the tensors
	place, token, tokens         []int32
}

func (m *model) newChat() (c *chat, err error) {
	c = &chat{model: m}
	make := func(t tvmffi.DataType, shape ...int64) (x *tvmffi.Tensor) {
		if err == nil {
			x, err = tvmffi.NewTensor(t, shape...)
		}
		return x
	}
	c.cache, c.logits = make(tvmffi.Float16, cache...), make(tvmffi.Float32, 1, words)
	c.at, c.one, c.many = make(tvmffi.Int32, 2), make(tvmffi.Int32, 1), make(tvmffi.Int32, chunk)
	if err == nil {
		c.scores, err = tvmffi.Slice[float32](c.logits)
	}
	for to, x := range map[*[]int32]*tvmffi.Tensor{&c.place: c.at, &c.token: c.one, &c.tokens: c.many} {
		if err == nil {
			*to, err = tvmffi.Slice[int32](x)
		}
	}
	if err != nil {
		c.release()
	}
	return c, err
}

func (c *chat) release() {
	for _, x := range []*tvmffi.Tensor{c.cache, c.logits, c.at, c.one, c.many} {
		if x != nil {
			x.Release()
		}
	}
}

// Len returns the number of tokens.
func (c *chat) Len() int { return len(c.text) }

// Close gives the memory to other chats.
func (c *chat) Close() {
	c.mu.Lock()
	c.idle = append(c.idle, c)
	c.mu.Unlock()
	<-c.free
}

// Step computes the tokens that the cache does not know, in chunks between which other chats have their turn.
func (c *chat) Step(ctx context.Context, tokens ...int32) ([]float32, error) {
	c.text = append(c.text, tokens...)
	for c.done < len(c.text) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, in, to := c.decode, c.one, c.token
		if len(c.text)-c.done > 1 && c.done+chunk <= length { // it writes whole chunks to the cache
			f, in, to = c.prefill, c.many, c.tokens
		}
		n := copy(to, c.text[c.done:])
		clear(to[n:])
		c.place[0], c.place[1] = int32(c.done), int32(n-1)
		if _, err := f.Call(in, c.at, c.cache, c.logits, c.weights); err != nil {
			return nil, err
		}
		c.done += n
	}
	for _, t := range c.never {
		c.scores[t] = float32(math.Inf(-1))
	}
	return c.scores, nil
}
