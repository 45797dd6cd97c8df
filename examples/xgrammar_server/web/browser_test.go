//go:build browser && linux

package web_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// browser is a headless Chromium, which ChromeDriver drives by the protocol WebDriver.
type browser struct {
	t       *testing.T
	session string // address
}

// open starts a browser. The test fails if the machine has none: the mode browser of .ci/matrix
// installs it.
func open(t *testing.T, dark bool) browser {
	t.Helper()
	driver, err := exec.LookPath("chromedriver")
	if err != nil {
		t.Fatalf("%v: install the packages chromium and chromium-driver, or run .ci/matrix browser", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, driver, fmt.Sprint("--port=", port))
	// The driver and its browser are a group of processes, which ends as one.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	b := browser{t, fmt.Sprintf("http://127.0.0.1:%d", port)}
	arguments := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--window-size=1280,900", "--user-data-dir=" + filepath.Join(t.TempDir(), "profile"),
	}
	if dark {
		arguments = append(arguments, "--blink-settings=preferredColorScheme=0")
	}
	capabilities := map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": map[string]any{"args": arguments}, "goog:loggingPrefs": map[string]string{"browser": "ALL"},
	}}}
	var made struct{ SessionID string }
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err = b.try(http.MethodPost, "/session", capabilities, &made); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	b.session += "/session/" + made.SessionID
	t.Cleanup(func() { b.do(http.MethodDelete, "", nil, nil) })
	return b
}

// try makes a command of WebDriver.
func (b browser) try(method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(context.Background(), method, b.session+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(a.Body).Decode(&answer); err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}

func (b browser) do(method, path string, body, into any) {
	b.t.Helper()
	if err := b.try(method, path, body, into); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs a script in the page; into gets what it returns.
func (b browser) eval(script string, into any) {
	b.t.Helper()
	b.do(http.MethodPost, "/execute/sync", map[string]any{"script": script, "args": []any{}}, into)
}

// wait waits until a script returns true.
func (b browser) wait(script string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var done bool
		if b.eval(script, &done); done {
			return
		}
		if time.Now().After(end) {
			var text string
			b.eval("return document.body.innerText", &text)
			b.t.Fatalf("%s stays false; the page shows:\n%s", script, text)
		}
	}
}

// click clicks the element of a selector, as a person does.
func (b browser) click(selector string) {
	b.t.Helper()
	var found map[string]string
	b.do(http.MethodPost, "/element", map[string]string{"using": "css selector", "value": selector}, &found)
	for _, id := range found {
		b.do(http.MethodPost, "/element/"+id+"/click", map[string]string{}, nil)
	}
}

// shot keeps a picture where XGRAMMAR_SERVER_SHOTS names a folder.
func (b browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("XGRAMMAR_SERVER_SHOTS")
	if dir == "" {
		return
	}
	var text string
	b.do(http.MethodGet, "/screenshot", nil, &text)
	picture, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowser writes each example of the page, stops a text, and shows an error.
func TestBrowser(t *testing.T) {
	s := start(t, func(s *settings) { s.web.Tokens = 100_000 })
	for _, dark := range []bool{false, true} {
		b := open(t, dark)
		b.do(http.MethodPost, "/url", map[string]string{"url": s.URL}, nil)
		b.wait(`return document.body.dataset.ready === "yes"`)
		var back string
		b.eval(`return getComputedStyle(document.body).backgroundColor`, &back)
		if light := back == "rgb(246, 247, 249)"; light == dark {
			t.Errorf("dark: %t, the background is %s", dark, back)
		}
		b.examples(dark)
		b.stops()
		b.fails()
		var logs []struct{ Level, Message string }
		b.do(http.MethodPost, "/se/log", map[string]string{"type": "browser"}, &logs)
		for _, l := range logs {
			if !strings.Contains(l.Message, "400 (Bad Request)") { // the error that fails asks for
				t.Errorf("the console has %s: %s", l.Level, l.Message)
			}
		}
	}
}

func (b browser) examples(dark bool) {
	var names []string
	b.eval(`return [...document.querySelectorAll("#example option")].map((o) => o.textContent)`, &names)
	if len(names) < 8 {
		b.t.Errorf("there are %d examples", len(names))
	}
	for i, name := range names {
		b.eval(fmt.Sprintf(`const e = document.getElementById("example"); e.value = %d; e.dispatchEvent(new Event("change"))`, i), nil)
		b.click("#go")
		b.wait(`return ["done", "error"].includes(document.getElementById("status").dataset.state)`)
		var page struct {
			State, Text, Status, JSON string
			Tokens, Forced, Bars      int
		}
		b.eval(`const $ = (id) => document.getElementById(id); return {
			state: $("status").dataset.state, status: $("status").textContent, text: $("text").textContent, json: $("json").textContent,
			tokens: $("text").children.length, forced: document.querySelectorAll("#text .forced").length, bars: $("chart").children.length}`, &page)
		if page.State != "done" || page.Tokens == 0 || page.Bars != page.Tokens {
			b.t.Errorf("%s: %+v", name, page)
		}
		if i == 0 {
			if page.Forced == 0 || !json.Valid([]byte(page.JSON)) || !strings.Contains(page.Text, `"name"`) {
				b.t.Errorf("%s: %+v", name, page)
			}
		}
		b.shot(fmt.Sprintf("page-%d-dark-%t", i, dark))
	}
}

// stops presses Stop while a long text is written.
func (b browser) stops() {
	b.eval(`document.querySelector("input[name=kind][value=regex]").click();
		document.getElementById("source").value = "[a-z]+~";
		document.getElementById("temperature").value = 0;
		document.getElementById("tokens").value = 100000;`, nil)
	b.eval(`document.getElementById("form").requestSubmit(); setTimeout(() => document.getElementById("halt").click())`, nil)
	b.wait(`return document.getElementById("status").textContent === "Stopped."`)
}

// fails sends a regular expression that is not one.
func (b browser) fails() {
	b.eval(`document.getElementById("source").value = "(a*)*"; document.getElementById("tokens").value = 100`, nil)
	b.click("#go")
	b.wait(`return document.getElementById("status").dataset.state === "error"`)
	var text string
	b.eval(`return document.getElementById("status").textContent`, &text)
	if !strings.Contains(text, "too_expensive") || !strings.Contains(text, "may be empty") {
		b.t.Errorf("the page shows %q", text)
	}
	b.shot("page-error")
}
