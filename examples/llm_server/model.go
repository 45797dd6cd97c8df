package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/server"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
	"github.com/tvmffi-go/tvmffi/xgrammar"
	"github.com/tvmffi-go/tvmffi/xgrammar/tokenizer"
)

// model is SmolLM2 on a machine of TVM.
type model struct {
	machine      *vm.Machine
	one, several pass
	weights      *tvmffi.Array[*tvmffi.Tensor]
	tokens       *tokenizer.Tokenizer
	never        []int32 // tokens of control that do not end an answer
	longest      int     // bytes of a token

	step          sync.Mutex     // is held in a step
	cache, logits *tvmffi.Tensor // of all chats
	scores        []float32      // the memory of logits

	free chan struct{} // one for each chat that is open
	mu   sync.Mutex
	made int        // chats whose memory is in use
	idle []*session // of these, the closed ones: their memory knows the beginning of a text
}

// pass computes rows, of which each is a token of a chat.
type pass struct {
	function *vm.Function
	tensor   *tvmffi.Tensor
	plan     []int32 // its memory: compile.py says what is there
}

// What compile.py has built.
const (
	length, words  = 2048, 49152
	rows, together = 16, 4 // of a step, and of its kernels, which compute several at once
	end, endOfText = 2, 0  // <|im_end|>, <|endoftext|>
)

var cache = []int64{30, 2, 3, length, 64} // layers, keys and values, heads, tokens, numbers

// open opens the model in a folder.
func open(folder string, chats int, verify bool) (_ *model, err error) {
	if chats < 1 || chats > rows {
		return nil, fmt.Errorf("-chats is %d, want 1 to %d", chats, rows)
	}
	m := &model{free: make(chan struct{}, chats)}
	if err := m.places(chats); err != nil {
		return nil, err
	}
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
		err = m.processor()
	}
	if err == nil {
		err = m.memory(chats)
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
	if verify {
		if err := weights.Verify(); err != nil {
			return nil, err
		}
	}
	var file []byte
	if m.weights, err = weights.Tuple(params); err == nil {
		file, err = os.ReadFile(filepath.Join(folder, "tokenizer.json"))
	}
	if err == nil {
		if m.tokens, err = tokenizer.Read(file, tokenizer.Options{}); err != nil {
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
	for _, x := range []*tvmffi.Tensor{m.cache, m.logits, m.one.tensor, m.several.tensor} {
		if x != nil {
			x.Release()
		}
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

// Vocabulary returns a new vocabulary. It does not read tokenizer.json again: compile.py writes letters for bytes.
func (m *model) Vocabulary() (*xgrammar.Vocabulary, error) {
	return xgrammar.NewVocabulary(m.tokens.Tokens(), xgrammar.ByteLevel, xgrammar.VocabularyOptions{StopTokens: []int32{end, endOfText}, Size: words})
}

// Open waits until one of the chats is free. It takes the memory that knows most of the text: a client sends the whole chat
// with each question.
func (m *model) Open(ctx context.Context, chat server.Chat) (server.Session, error) {
	all, bytes := parts(chat), 0
	for _, part := range all {
		bytes += len(part.Text)
	}
	if least := bytes / m.longest; least >= length { // to make tokens of it would take long
		return nil, server.TooLong(least, length)
	}
	select {
	case m.free <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	text := m.tokens.EncodeParts(all...)
	m.mu.Lock()
	defer m.mu.Unlock()
	best, known := -1, -1
	for i, c := range m.idle {
		if n := same(c.text[:c.done], text); n > known {
			best, known = i, n
		}
	}
	if best < 0 || m.made < cap(m.free) && known < len(text)/2 {
		m.made++
		return &session{model: m, place: m.made - 1, text: text}, nil
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

// processor compares what the model was compiled for with this machine, before the first instruction that it may lack.
func (m *model) processor() error {
	var about struct {
		CPU   string
		Needs []string
	}
	if err := m.machine.ReadMetadata(&about); err != nil {
		return err
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return nil // not Linux: nobody says what there is
	}
	if lacks := lacking(about.Needs, string(info)); len(lacks) > 0 {
		return fmt.Errorf("model.so is compiled for the CPU %s, and this one lacks %s: compile it here, or for x86-64-v3", about.CPU, strings.Join(lacks, ", "))
	}
	return nil
}

// lacking returns the features, as LLVM calls them, that are not among the flags in a text of Linux.
func lacking(needs []string, cpuinfo string) (lacks []string) {
	_, flags, _ := strings.Cut(cpuinfo, "\nflags")
	flags, _, _ = strings.Cut(flags, "\n")
	has := strings.Fields(strings.ReplaceAll(flags, "_", "")) // avx512_vnni is avx512vnni
	for _, name := range needs {
		if !slices.Contains(has, name) && (name != "bmi" || !slices.Contains(has, "bmi1")) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// places makes the cache.
func (m *model) places(chats int) error {
	shape := append([]int64{int64(chats)}, cache...)
	size, err := tvmffi.Float16.BytesOf(shape)
	if err != nil {
		return err
	}
	r, err := zeros(size)
	if err == nil {
		m.cache, err = tvmffi.FromPointer(tvmffi.Pointer{Address: reflect.ValueOf(r.bytes).Pointer()}, tvmffi.Float16, tvmffi.CPU, r, shape...)
	}
	return err
}

// memory makes what the passes read and write: once, so a step makes nothing.
func (m *model) memory(chats int) (err error) {
	if m.logits, err = tvmffi.NewTensor(tvmffi.Float32, int64(chats), words); err == nil {
		m.scores, err = tvmffi.Slice[float32](m.logits)
	}
	for name, p := range map[string]*pass{"one": &m.one, "several": &m.several} {
		n := int64(rows)
		if name == "one" {
			n = 1
		}
		if err == nil {
			p.function, err = m.machine.Function(name)
		}
		if err == nil {
			p.tensor, err = tvmffi.NewTensor(tvmffi.Int32, n+1, 4)
		}
		if err == nil {
			p.plan, err = tvmffi.Slice[int32](p.tensor)
		}
	}
	return err
}

// session is an open chat, or the memory of a closed one.
type session struct {
	*model
	place int // in the cache and the logits
	text  []int32
	done  int // how many tokens of the text the cache knows
	rows  int // how many more the step computes
}

// Len returns the number of tokens.
func (c *session) Len() int { return len(c.text) }

// Close gives the memory to other chats.
func (c *session) Close() {
	c.mu.Lock()
	c.idle = append(c.idle, c)
	c.mu.Unlock()
	<-c.free
}

// Step computes the tokens that the cache does not know, alone. The server does not call it.
func (c *session) Step(ctx context.Context, tokens ...int32) ([]float32, error) {
	for s := (server.Step{Session: c, Tokens: tokens}); ; s.Tokens = nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if c.StepAll([]*server.Step{&s}); s.Scores != nil || s.Err != nil {
			return s.Scores, s.Err
		}
	}
}

// Batch returns the number of chats.
func (m *model) Batch() int { return cap(m.free) }

// StepAll computes rows: one for each chat, and more for the first ones whose text the cache does not know yet.
func (m *model) StepAll(all []*server.Step) {
	m.step.Lock()
	defer m.step.Unlock()
	more := rows - len(all)
	total := len(all)
	for _, s := range all {
		c := s.Session.(*session)
		c.text = append(c.text, s.Tokens...)
		c.rows = 1 + min(more, len(c.text)-c.done-1)
		more -= c.rows - 1
		total += c.rows - 1
	}
	p := &m.several
	if total == 1 {
		p = &m.one
	}
	row, wanted := 0, 0
	for _, s := range all {
		c := s.Session.(*session)
		for i := range c.rows {
			row++
			p.plan[4*row], p.plan[4*row+1], p.plan[4*row+2] = c.text[c.done+i], int32(c.done+i), int32(c.place)
		}
		if c.done+c.rows == len(c.text) {
			wanted++
			p.plan[4*wanted+3] = int32(row - 1)
		}
	}
	for ; p == &m.several && wanted%together > 0; wanted++ { // logits that are computed twice are the same
		p.plan[4*wanted+7] = p.plan[4*wanted+3]
	}
	p.plan[0], p.plan[1] = int32(row), int32(wanted)
	_, err := p.function.Call(p.tensor, m.cache, m.logits, m.weights)
	for _, s := range all {
		c := s.Session.(*session)
		if s.Err = err; err != nil {
			continue
		}
		if c.done += c.rows; c.done < len(c.text) {
			continue
		}
		s.Scores = m.scores[c.place*words:][:words]
		for _, t := range m.never {
			s.Scores[t] = float32(math.Inf(-1))
		}
	}
}
