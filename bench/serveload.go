package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// served is what a server did under a load.
type served struct {
	requests, tokens int
	wall, cpu        time.Duration
	memory           int64 // that the process has for itself at the end, in bytes
}

// serveSchema is what all answers follow: an object with a text, a choice and a number.
const serveSchema = `{"type": "object", "additionalProperties": false, "required": ["name", "kind", "year"], "properties": {
	"name": {"type": "string", "maxLength": 40}, "kind": {"enum": ["person", "place", "thing"]}, "year": {"type": "integer", "minimum": 1000, "maximum": 2100}}}`

// serveBody is a request for JSON. The answer depends on its number alone.
func serveBody(model string, number, tokens int) []byte {
	subjects := []string{"Marie Curie", "the city of Oslo", "a hammer", "Ada Lovelace", "the river Nile"}
	text, err := json.Marshal(map[string]any{"model": model, "seed": number, "temperature": 0.8, "max_tokens": tokens,
		"messages":        []map[string]string{{"role": "user", "content": "Describe " + subjects[number%len(subjects)] + " as JSON."}},
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "thing", "strict": true, "schema": json.RawMessage(serveSchema)}}})
	if err != nil {
		panic(err) // of maps of texts
	}
	return text
}

// storyBody is a request for a text that does not end within its tokens.
func storyBody(model string, tokens int) []byte {
	return fmt.Appendf(nil, `{"model": %q, "temperature": 0, "max_tokens": %d, "messages": [{"role": "user", "content": "Write a long story about a farmer and his dog."}]}`, model, tokens)
}

// askServer sends a request and returns the number of tokens of the answer.
func askServer(ctx context.Context, client *http.Client, url string, body []byte) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var a struct {
		Choices []struct {
			Message struct{ Content string }
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal(text, &a); err != nil || response.StatusCode != http.StatusOK || len(a.Choices) != 1 {
		return 0, fmt.Errorf("%s: %.300s", response.Status, text)
	}
	if c := a.Choices[0]; c.Finish == "stop" && !json.Valid([]byte(c.Message.Content)) {
		return 0, fmt.Errorf("the answer is not JSON: %s", c.Message.Content)
	}
	return a.Usage.Completion, nil
}

// press asks the server with some clients for a time. A request that has begun is counted.
func press(ctx context.Context, url, model string, process, clients int, length time.Duration) (f served, err error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer client.CloseIdleConnections()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
	)
	before, err := cpuOf(process)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	for id := range clients {
		all.Go(func() {
			for number := id; time.Since(start) < length && ctx.Err() == nil; number += clients {
				n, err := askServer(ctx, client, url, serveBody(model, number, 48))
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				f.requests++
				f.tokens += n
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	f.wall = time.Since(start)
	after, err := cpuOf(process)
	if err == nil {
		f.memory, err = anonymous(process)
	}
	f.cpu = after - before
	return f, err
}

// decode returns the CPU time of a token of a text, without its prompt: of 128 more tokens of the same answer, the least of three times.
func decode(ctx context.Context, url, model string, process int) (time.Duration, error) {
	const few, many = 16, 144
	least := time.Duration(math.MaxInt64)
	for range 3 {
		var at [3]time.Duration
		for i, tokens := range []int{few, few, many} { // the first one computes the prompt
			n, err := askServer(ctx, http.DefaultClient, url, storyBody(model, tokens))
			if err == nil && n != tokens {
				err = fmt.Errorf("a story of %d tokens has %d", tokens, n)
			}
			if err == nil {
				at[i], err = cpuOf(process)
			}
			if err != nil {
				return 0, err
			}
		}
		least = min(least, ((at[2]-at[1])-(at[1]-at[0]))/(many-few))
	}
	return least, nil
}

// processes returns a process and its children.
func processes(process int) (all []string, err error) {
	all = []string{strconv.Itoa(process)}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Fields(string(text))...)
	}
	return all, err
}

// cpuOf returns the CPU time of a process and its children.
func cpuOf(process int) (sum time.Duration, err error) {
	all, err := processes(process)
	for _, id := range all {
		text, err := os.ReadFile("/proc/" + id + "/stat")
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		const utime, tick = 11, 10 * time.Millisecond
		for _, field := range strings.Fields(rest)[utime : utime+2] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum, err
}

// anonymous returns the memory of a process and its children that is of no file: Go's heap, the caches of chats, what Python has
// read. Weights that are mapped are not among it.
func anonymous(process int) (sum int64, err error) {
	all, err := processes(process)
	for _, id := range all {
		memory, err := memoryOf(id)
		if err != nil {
			return 0, err
		}
		sum += memory["RssAnon"]
	}
	return sum, err
}

// memoryOf returns the memory of a process by the names of /proc/PID/status, in bytes.
func memoryOf(process string) (map[string]int64, error) {
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return nil, err
	}
	all := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		var kB int64
		if n, _ := fmt.Sscanf(value, "%d kB", &kB); n == 1 {
			all[name] = kB << 10
		}
	}
	return all, nil
}
