package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// guarded starts a server without TVM's library. All its slots are taken, so it greets clients
// and lets them wait, but begins no session. The func returns its log and ends it.
func guarded(t *testing.T, c Config) (*Server, func() string) {
	t.Helper()
	log := new(bytes.Buffer)
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, err := c.complete()
	if err != nil {
		t.Fatal(err)
	}
	s, err := listen(c)
	if err != nil {
		t.Fatal(err)
	}
	for range c.MaxSessions {
		s.slots <- struct{}{}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	return s, func() string {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		return log.String()
	}
}

// connect sends bytes to a server.
func connect(t *testing.T, s *Server, sent []byte) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(nativetest.Patience(20 * time.Second)))
	if _, err := conn.Write(sent); err != nil {
		t.Fatal(err)
	}
	return conn
}

func hello(key string) []byte {
	var b bytes.Buffer
	_ = writeHello(&b, magic, key)
	return b.Bytes()
}

// TestServer_greeting: a server answers a client with a wrong key by a code, cuts off peers that
// speak another protocol or nothing, and logs why.
func TestServer_greeting(t *testing.T) {
	var code bytes.Buffer
	if err := writeCode(&code, codeMismatch); err != nil {
		t.Fatal(err)
	}
	mismatch := code.String()
	for name, c := range map[string]struct {
		sent         []byte
		answer, logs string
		limit        time.Duration
	}{
		"another key":     {hello("client:table"), mismatch, `client:table`, 0},
		"a server":        {hello("server:board"), mismatch, `server:board`, 0},
		"no key":          {hello(""), mismatch, "refused a client", 0},
		"another program": {[]byte("GET / HTTP/1.1\r\n\r\n"), "", ErrProtocol.Error(), 0},
		"silence":         {nil, "", "i/o timeout", 50 * time.Millisecond},
		"half a greeting": {hello("client:board")[:9], "", "i/o timeout", 50 * time.Millisecond},
		"a huge key":      {append(hello("")[:4], 0, 0, 0, 0x40), "", "a length of 1073741824, where 4096 is the limit", 0},
	} {
		s, end := guarded(t, Config{Key: "board", HandshakeTimeout: c.limit})
		answer, err := io.ReadAll(connect(t, s, c.sent))
		if string(answer) != c.answer || err != nil && len(c.answer) > 0 {
			t.Errorf("%s: the answer is %q, %v, want %q", name, answer, err, c.answer)
		}
		if log := end(); !strings.Contains(log, c.logs) {
			t.Errorf("%s: the log has no %q:\n%s", name, c.logs, log)
		}
	}
}

// TestServer_waiting: a client that waits for room may leave, must not send anything before it
// has an answer, and is cut off when the server closes.
func TestServer_waiting(t *testing.T) {
	s, end := guarded(t, Config{Key: "board", MaxSessions: 1})
	leaves := connect(t, s, hello("client:board"))
	leaves.Close()
	early := connect(t, s, append(hello("client:board"), 1))
	if b, err := io.ReadAll(early); len(b) > 0 {
		t.Errorf("a client that does not wait received %d bytes, %v", len(b), err)
	}
	for late := time.Now().Add(nativetest.Patience(20 * time.Second)); s.Stats().Refused < 2 && time.Now().Before(late); {
		time.Sleep(5 * time.Millisecond)
	}
	stays := connect(t, s, hello("client:board"))
	time.Sleep(20 * time.Millisecond) // mostly it waits then
	log := end()
	if b, err := io.ReadAll(stays); len(b) > 0 {
		t.Errorf("a client of a closed server received %d bytes, %v", len(b), err)
	}
	for _, want := range []string{"the client ended before there was room for it: EOF", "it sent bytes before it had the answer"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// tracked starts a tracker and returns a client of it, and a func that waits for a queue.
func tracked(t *testing.T) (TrackerClient, func(key string, want Queue)) {
	t.Helper()
	tracker, err := ListenTracker(TrackerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- tracker.Serve(context.Background()) }()
	t.Cleanup(func() {
		tracker.Close()
		if err := <-served; !errors.Is(err, ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	client := TrackerClient{Addr: tracker.Addr().String()}
	return client, func(key string, want Queue) {
		t.Helper()
		var s Summary
		for end := time.Now().Add(nativetest.Patience(30 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if s, err = client.Summary(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s.Queues[key] == want {
				return
			}
		}
		t.Fatalf("the queue of %s is %+v, want %+v", key, s.Queues[key], want)
	}
}

// TestServer_tracker: a server offers each of its sessions once, under the host that it names,
// and takes the offers back when it closes.
func TestServer_tracker(t *testing.T) {
	client, queue := tracked(t)
	s, end := guarded(t, Config{Tracker: client.Addr, Key: "board", MaxSessions: 2, Advertise: "board.example"})
	queue("board", Queue{Free: 2})
	summary, err := client.Summary(t.Context())
	if err != nil || len(summary.Servers) != 1 || summary.Servers[0].Key != "server:board" || fmt.Sprint(summary.Servers[0].Addr[0]) != "board.example" {
		t.Errorf("the summary is %+v, %v", summary, err)
	}
	addr, place, err := client.request(t.Context(), "board", 1)
	if err != nil || addr != fmt.Sprintf("board.example:%d", s.Addr().(*net.TCPAddr).Port) || !strings.HasPrefix(place, "board:") {
		t.Fatalf("the place is %s at %s, %v", place, addr, err)
	}
	queue("board", Queue{Free: 1})
	if !s.admits(place) || s.admits(place) || s.admits("board") {
		t.Error("the key of a place admits not exactly one client")
	}
	end()
	queue("board", Queue{})
}

// TestTracker_order: of the clients that wait, the one with the highest priority is first, and of
// equal ones the one that came first. A client that leaves is forgotten.
func TestTracker_order(t *testing.T) {
	client, queue := tracked(t)
	type served struct {
		priority int
		key      string
	}
	got := make(chan served)
	leave, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := client.Request(leave, "board", 9)
		left <- err
	}()
	queue("board", Queue{Pending: 1})
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a client that leaves: %v", err)
	}
	queue("board", Queue{})
	for i, priority := range []int{1, 5, 3, 5} {
		go func() {
			_, place, err := client.request(t.Context(), "board", priority)
			if err != nil {
				t.Error(err)
			}
			got <- served{priority, place}
		}()
		queue("board", Queue{Pending: i + 1})
	}
	server, err := dialTracker(t.Context(), client.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var order []int
	for i := range 4 {
		key := fmt.Sprint("board:", i)
		if err := server.do(trackerPut, "board", []any{9000, key}, nil); err != nil {
			t.Fatal(err)
		}
		s := <-got
		if order = append(order, s.priority); s.key != key {
			t.Errorf("client %d received the key %s", i, s.key)
		}
	}
	if !slices.Equal(order, []int{5, 5, 3, 1}) {
		t.Errorf("the clients were served in the order %v", order)
	}
}

// TestTracker_hostile: a peer that breaks the protocol is cut off, and the tracker goes on.
func TestTracker_hostile(t *testing.T) {
	client, _ := tracked(t)
	message := func(text string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(trackerMagic))
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for name, sent := range map[string][]byte{
		"another program":     []byte("GET / HTTP/1.1\r\n\r\n"),
		"not JSON":            message("{"),
		"not a list":          message("{}"),
		"an empty list":       message("[]"),
		"an unknown code":     message("[77]"),
		"a code that is text": message(`["3"]`),
		"too few items":       message(`[3,"board"]`),
		"a port that is text": message(`[3,"board",["x","board:1"],null]`),
		"a wrong port":        message(`[3,"board",[100000,"board:1"],null]`),
		"another key":         message(`[3,"board",[1,"b:1"],null]`),
		"a wrong request":     message(`[4,1,2,"x"]`),
		"a huge key":          message(`[4,"` + strings.Repeat("k", 1<<13) + `","",1]`),
		"a wrong info":        message(`[5,{"key":7}]`),
		"a huge length":       append(message("")[:4], 0xff, 0xff, 0xff, 0x7f),
		"a negative length":   append(message("")[:4], 0xff, 0xff, 0xff, 0xff),
	} {
		conn, err := net.Dial("tcp", client.Addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(nativetest.Patience(20 * time.Second)))
		if _, err := conn.Write(sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the tracker keeps the connection", name)
		}
		conn.Close()
	}
	if s, err := client.Summary(t.Context()); err != nil || len(s.Queues)+len(s.Servers) != 0 {
		t.Errorf("the tracker knows %+v, %v", s, err)
	}
}

// TestTracker_clientErrors: the error of a client names the tracker and the request.
func TestTracker_clientErrors(t *testing.T) {
	l, err := net.Listen("tcp", nativetest.Loopback())
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			conn.Close()
		}
	}()
	client := TrackerClient{Addr: addr}
	_, err = client.Summary(t.Context())
	if e, ok := errors.AsType[*ConnectionError](err); !ok || e.Addr != addr || e.Op != "summary of" || !errors.Is(err, ErrProtocol) {
		t.Errorf("something else than a tracker: %v", err)
	}
	l.Close()
	_, err = client.Request(t.Context(), "board", 1)
	if e, ok := errors.AsType[*ConnectionError](err); !ok || e.Op != `request of "board" from` || !strings.Contains(err.Error(), addr) {
		t.Errorf("without a tracker: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err = client.Request(ctx, "board", 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > nativetest.Patience(10*time.Second) {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

// TestMarket_silent: the offers of a server that does not answer any more wait until it does.
func TestMarket_silent(t *testing.T) {
	var m market
	m.init()
	newPeer := func() *peer {
		return &peer{answers: make(chan []byte, 1), offers: map[string]bool{}}
	}
	silent, lives, first, second := newPeer(), newPeer(), newPeer(), newPeer()
	for _, p := range []*peer{silent, lives} {
		m.heard(p)
		if err := m.offer(offer{server: p, key: "board"}); err != nil {
			t.Fatal(err)
		}
	}
	silent.heard = silent.heard.Add(-silentServer)
	for _, p := range []*peer{first, second} {
		if err := m.request(p, "board", 1); err != nil {
			t.Fatal(err)
		}
	}
	if s := m.summary(); len(first.answers) != 1 || len(second.answers) != 0 || s.Queues["board"] != (Queue{1, 1}) {
		t.Errorf("with a silent server: %v", s)
	}
	if m.heard(silent); len(second.answers) != 1 || m.given != 2 || m.summary().String() != "board: 0 free, 0 wait\n" {
		t.Errorf("when it answers: %v", m.summary())
	}
}

// TestTracker_half: half a message holds no connection of a tracker, and silence between messages does.
func TestTracker_half(t *testing.T) {
	tracker, err := ListenTracker(TrackerConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer tracker.Close()
	tracker.part = nativetest.Patience(200 * time.Millisecond) // also for a whole message, on a machine that is busy
	go tracker.Serve(context.Background())
	open := func(more ...byte) net.Conn {
		conn, err := net.Dial("tcp", tracker.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(nativetest.Patience(20 * time.Second)))
		err = writeCode(conn, trackerMagic)
		if err == nil {
			_, err = readInt32(conn)
		}
		if _, failed := conn.Write(more); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		return conn
	}
	idle := &trackerConn{Conn: open(), ctx: t.Context(), stop: func() bool { return true }}
	for _, sent := range [][]byte{{3}, {3, 0, 0, 0, '['}} {
		if _, err := io.ReadAll(open(sent...)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %q the connection stays", sent)
		}
	}
	if err := idle.do(trackerPing); err != nil {
		t.Error(err)
	}
}
