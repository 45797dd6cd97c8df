package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/orcjit/orcjit"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// JIT compiles texts of C++ and links them into this process, without a linker. Any number of
// goroutines may use one.
type JIT struct {
	session *orcjit.ExecutionSession

	mu      sync.Mutex
	modules []*tvmffi.Module
	loaded  int // how often, for names
	closed  bool
}

// NewJIT returns a JIT whose texts may have constructors, exceptions and static variables. The
// caller closes it.
func NewJIT() (*JIT, error) {
	// The ORC runtime inside the library gives each text a __dso_handle and runs its
	// constructors. Without it, only plain C can be loaded.
	embedded := orcjit.StringOrBytesOfString("")
	const defaultSize = 0 // of a block of memory
	session, err := orcjit.NewExecutionSession(&embedded, defaultSize)
	if err != nil {
		return nil, err
	}
	return &JIT{session: session}, nil
}

// Close releases all code. Functions, objects and errors of that code must not be used, and
// must have been released or collected: their destructors are part of it.
func (j *JIT) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range j.modules {
		m.Release()
	}
	j.modules, j.closed = nil, true
	j.session.Release()
}

// Cycle is how long the way from a text to a function took.
type Cycle struct{ Compile, Link time.Duration }

// Load compiles the code, links its object files into the process, and returns the module, which
// stays loaded until Close. A text that does not compile is a [*native.CompileError].
func (j *JIT) Load(ctx context.Context, code native.Code) (*tvmffi.Module, Cycle, error) {
	var took Cycle
	start := time.Now()
	objects, err := native.BuildObjects(ctx, code)
	if err != nil {
		return nil, took, err
	}
	took.Compile = time.Since(start)
	var files []orcjit.StringOrBytes
	for _, path := range objects {
		files = append(files, orcjit.StringOrBytesOfString(path))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, took, fmt.Errorf("%s: the JIT is closed", code.Name)
	}
	start = time.Now()
	// A session refuses a second module of a name: "Duplicate JITDylib registration".
	j.loaded++
	name := fmt.Sprintf("%s.%d", code.Name, j.loaded)
	module, err := orcjit.SessionLoadModule(j.session, tvmffi.Of(files...), name, nil, nil)
	if err != nil {
		return nil, took, explain(code.Name, err)
	}
	if err := linked(module, code); err != nil {
		// Version 0.1.3 cannot release it: the next module of the session would fail.
		j.modules = append(j.modules, module)
		return nil, took, err
	}
	took.Link = time.Since(start)
	j.modules = append(j.modules, module)
	return module, took, nil
}

// linked looks up every function, because LLVM links when it is asked for one.
func linked(module *tvmffi.Module, code native.Code) error {
	for name := range code.Exports {
		f, err := module.Function(name)
		if err != nil {
			return explain(code.Name, err)
		}
		f.Release()
	}
	return nil
}

// explain shortens an error of the linker in LLVM, which lists every symbol of the text.
func explain(name string, err error) error {
	var e *tvmffi.Error
	if errors.As(err, &e) && strings.Contains(e.Message, "Failed to materialize symbols") {
		return &LinkError{Name: name, Err: err}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// LinkError reports that a text compiles but cannot be linked into the process. Most often it
// calls a function that neither it nor the process defines.
type LinkError struct {
	Name string // of the code
	Err  error  // from the library; it lists the symbols that cannot be used
}

// Error leaves out the symbols of the text, which Err has.
func (e *LinkError) Error() string {
	return e.Name + ": the text compiles but cannot be linked into the process; LLVM has printed the reason to the standard error: " +
		"define the symbols that it does not find, or load their library before"
}

// Unwrap returns the error of the library.
func (e *LinkError) Unwrap() error { return e.Err }

// Live is a function of C++ that can be replaced while it is called. F is its type in Go, such
// as func(float64) (float64, error).
type Live[F any] struct {
	jit     *JIT
	name    string
	version atomic.Int64
	current atomic.Pointer[F]
}

// NewLive compiles the first version of a function. The text defines a function of that name.
func NewLive[F any](ctx context.Context, jit *JIT, name, text string) (*Live[F], Cycle, error) {
	live := &Live[F]{jit: jit, name: name}
	took, err := live.Replace(ctx, text)
	if err != nil {
		return nil, took, err
	}
	return live, took, nil
}

// Func returns the newest version. It stays valid when another one replaces it.
func (l *Live[F]) Func() F { return *l.current.Load() }

// Version counts the versions, from 1.
func (l *Live[F]) Version() int64 { return l.version.Load() }

// Replace compiles a new version, and then sets it. Calls that run end in the old one. If it
// returns an error, the old version remains.
func (l *Live[F]) Replace(ctx context.Context, text string) (Cycle, error) {
	module, took, err := l.jit.Load(ctx, native.Code{Name: l.name, CPP: []string{text}, Exports: map[string]string{l.name: ""}})
	if err != nil {
		return took, err
	}
	f, err := typed[F](module, l.name)
	if err != nil {
		return took, err
	}
	l.current.Store(&f)
	l.version.Add(1)
	return took, nil
}

// typed returns a function of a module as a function of Go.
func typed[F any](module *tvmffi.Module, name string) (f F, err error) {
	function, err := module.Function(name)
	if err != nil {
		return f, err
	}
	defer function.Release()
	any, err := tvmffi.AnyOf(function)
	if err != nil {
		return f, err
	}
	defer any.Release()
	return tvmffi.As[F](any)
}

// median sorts the durations and returns the one in the middle.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
