package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/internal/cases"
)

// TestLoad has 64 clients that send constraints and check each answer with a checker that knows
// nothing of XGrammar. TVMFFI_TEST_LOAD, such as 60s, is how long; 3 s without it.
func TestLoad(t *testing.T) {
	length := 3 * time.Second
	if text := os.Getenv("TVMFFI_TEST_LOAD"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	goroutines := runtime.NumGoroutine()
	s := start(t, func(s *settings) { s.grammars.CacheEntries = 40 }) // fewer than cases
	l := &load{site: s, all: cases.All(t), end: time.Now().Add(length)}
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() { l.client(t, i) })
	}
	time.Sleep(length / 3)
	before := memory(t)
	clients.Wait()
	s.Client().CloseIdleConnections()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if active, waiting := s.engine.Load(); active+waiting == 0 && runtime.NumGoroutine() < goroutines+20 {
			break
		}
	}
	after := memory(t)
	if n := runtime.NumGoroutine(); n >= goroutines+20 {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if l.answers.Load() < 64 || l.whole.Load() < l.answers.Load()*9/10 {
		t.Errorf("%d answers, %d of them whole", l.answers.Load(), l.whole.Load())
	}
	if grown := after.resident - before.resident; grown > slack {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
	if grown := after.heap - before.heap; grown > 16<<20 {
		t.Errorf("the heap of Go grew by %d MB", grown>>20)
	}
	t.Logf("%d answers (%d whole, %d ended by the client) in %v, %d tokens, %d MB resident after a third and %d MB at the end, heap %d and %d MB",
		l.answers.Load(), l.whole.Load(), l.left.Load(), length, l.tokens.Load(), before.resident>>20, after.resident>>20, before.heap>>20, after.heap>>20)
}

// slack is how much the process may grow: the allocators of Go and C keep some memory that
// nothing uses.
var slack int64 = 32 << 20

type load struct {
	site
	all                          []cases.Case
	end                          time.Time
	answers, whole, left, tokens atomic.Int64
}

// client sends constraints until the end, each seventh as a stream that it leaves.
func (l *load) client(t *testing.T, id int) {
	for n := id; time.Now().Before(l.end); n++ {
		c := l.all[n%len(l.all)]
		body := map[string]any{"prompt": fmt.Sprint("Number ", n), "seed": n, "max_tokens": 600, "temperature": float64(n%4) / 3, "whitespace": c.Spec.Whitespace}
		switch c.Spec.Kind {
		case grammar.JSON:
			body["json"] = true
		default:
			body[string(c.Spec.Kind)] = c.Spec.Source
		}
		if n%7 == 6 {
			body["stream"] = true
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
			return
		}
		if err := l.one(t, c, string(text), n%7 == 6); err != nil {
			t.Errorf("%s, seed %d: %v", c.Name, n, err)
			return
		}
	}
}

func (l *load) one(t *testing.T, c cases.Case, body string, leave bool) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL+"/v1/generate", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := l.Client().Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if leave {
		l.left.Add(1)
		_, err := response.Body.Read(make([]byte, 64))
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s", response.StatusCode, text)
	}
	l.answers.Add(1)
	l.tokens.Add(int64(a.Usage.Output))
	if a.Finish != "stop" {
		return nil
	}
	l.whole.Add(1)
	return c.Check(a.Text)
}

type usage struct{ heap, resident int64 }

// memory returns the live heap of Go, and the memory of the process where Linux shows it.
func memory(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{heap: int64(m.HeapAlloc)}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	u.resident = pages * int64(os.Getpagesize())
	return u
}
