package rpc

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A stream reads from one buffer and writes to another one.
type stream struct {
	io.Reader
	io.Writer
}

func TestGreet(t *testing.T) {
	answer := func(code int32, rest ...byte) string {
		return string(append(binary.LittleEndian.AppendUint32(nil, uint32(code)), rest...))
	}
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"a server":          {answer(magic, 7, 0, 0, 0) + "server:", nil},
		"another key":       {answer(codeMismatch), ErrKey},
		"a key twice":       {answer(codeDuplicate), ErrKey},
		"not a server":      {answer(77), ErrProtocol},
		"a huge length":     {answer(magic, 0, 0, 0, 0x7f), ErrProtocol},
		"a negative length": {answer(magic, 0, 0, 0, 0xff), ErrProtocol},
		"an end":            {answer(magic, 7, 0, 0, 0) + "ser", io.ErrUnexpectedEOF},
	} {
		var sent bytes.Buffer
		err := greet(stream{strings.NewReader(c.answer), &sent}, "board -timeout=3")
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if key, err := readHello(&sent); key != "client:board -timeout=3" || err != nil {
			t.Errorf("%s: the server reads %q, %v", name, key, err)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add([]byte("\x71\xf2\x0f\x00\x07\x00\x00\x00client:"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if key, err := readHello(bytes.NewReader(b)); err == nil && len(key) > maxKey {
			t.Errorf("a key of %d bytes", len(key))
		}
		if err := relayPacket(io.Discard, bytes.NewReader(b)); err == nil && len(b) < 8 {
			t.Error("a packet without its length")
		}
	})
}

// FuzzTracker sends a tracker requests. They neither stop it nor fill it.
func FuzzTracker(f *testing.F) {
	for _, s := range []string{`[1]`, `[3,"a",[1,"a:1"],null]`, `[4,"a","",1]`, `[5,{"key":"server:a","addr":[null,1]}]`, `[6]`, `[7]`, `[3,"a",[1,"a:1"],"h"]`, `[]`, `{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tracker := &Tracker{}
		tracker.market.init()
		p := &peer{host: "h", answers: make(chan []byte, maxAnswers), offers: map[string]bool{}}
		var m []json.RawMessage
		text := append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
		if readMessage(bytes.NewReader(text), &m) == nil {
			tracker.handle(p, m)
		}
		tracker.market.leave(p)
		if s := tracker.market.summary(); len(s.Queues)+len(s.Servers) != 0 {
			t.Errorf("the peer left %+v", s)
		}
	})
}

// TestReadMessage: what is behind the JSON of a message is an error, as for the tracker of TVM.
func TestReadMessage(t *testing.T) {
	for text, want := range map[string]bool{`[0]`: true, " [0]\n": true, `[0] [1]`: false, `[0]x`: false, `[0`: false, ``: false} {
		var list []json.RawMessage
		err := readMessage(bytes.NewReader(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)), &list)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestKeys(t *testing.T) {
	k := newKeys(2)
	first := k.make("board")
	if len(first) != 2 || len(k.make("board")) != 0 || first[0] == first[1] || !strings.HasPrefix(first[0], "board:") {
		t.Fatalf("the keys are %q", first)
	}
	if !k.take(first[0]) || k.take(first[0]) || k.take("board:other") {
		t.Error("a key serves not exactly once")
	}
	k.free()
	if more := k.make("board"); len(more) != 1 || len(k.all()) != 2 {
		t.Errorf("after a session: %q of %q", more, k.all())
	}
	for range maxMissed {
		k.check([]string{first[1]})
	}
	if len(k.all()) != 2 {
		t.Errorf("a client may still come, but the keys are %q", k.all())
	}
	k.check([]string{first[1]})
	if left := k.all(); !slices.Equal(left, []string{first[1]}) || len(k.make("board")) != 1 {
		t.Errorf("after the check: %q", left)
	}
}

func TestTimeoutOption(t *testing.T) {
	for _, c := range []struct {
		server time.Duration
		option string
		want   time.Duration
	}{
		{0, "", 0}, {0, "-timeout=2.5", 2500 * time.Millisecond}, {time.Second, "-timeout=2", time.Second}, {time.Minute, "-timeout=2", 2 * time.Second},
		{time.Minute, "-timeout=-1", time.Minute}, {0, "-timeout=NaN", 0}, {0, "-timeout=1e300", 0}, {time.Minute, "-timeout=", time.Minute}, {0, "other", 0},
	} {
		s := &Server{config: Config{SessionTimeout: c.server}}
		if got := s.timeout([]string{c.option}); got != c.want {
			t.Errorf("the server permits %v, the client asks %q: %v", c.server, c.option, got)
		}
	}
}

func TestConfig(t *testing.T) {
	for addr, want := range map[string]string{"": "127.0.0.1:0", ":9090": "127.0.0.1:9090", "0.0.0.0:9090": "0.0.0.0:9090", "[::1]:7": "[::1]:7"} {
		if c, err := (Config{Addr: addr}).complete(); c.Addr != want || err != nil {
			t.Errorf("%q becomes %q, %v", addr, c.Addr, err)
		}
	}
	for name, c := range map[string]Config{
		"key \"a b\" has spaces": {Key: "a b"}, "key \"a\\u00a0b\" has spaces": {Key: "a\u00a0b"}, "bytes that are not UTF-8": {Key: "a\xff"},
		"needs a Key": {Tracker: "127.0.0.1:1"}, "missing port": {Addr: "9090"},
	} {
		if _, err := c.complete(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestClientKey: a key that would arrive as another one is not sent.
func TestClientKey(t *testing.T) {
	for _, key := range []string{"a b", "a -timeout=1", "a\xff", strings.Repeat("a", maxKey+1)} {
		_, dialed := Dial(t.Context(), "127.0.0.1:1", DialOptions{Key: key})
		_, asked := (&TrackerClient{Addr: "127.0.0.1:1"}).Request(t.Context(), key, 0)
		for _, err := range []error{dialed, asked} {
			if err == nil || !strings.Contains(err.Error(), "has spaces, bytes that are not UTF-8, or more than") {
				t.Errorf("%.20q: %v", key, err)
			}
		}
	}
}

// TestConfig_dir: a folder in which no session can begin is an error of Listen.
func TestConfig_dir(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := Listen(Config{Dir: missing}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v", err)
	}
	t.Chdir(t.TempDir())
	c := Config{Dir: "."}
	if err := c.tryDir(); err != nil || !filepath.IsAbs(c.Dir) {
		t.Errorf("%s, %v", c.Dir, err)
	}
	if left, err := os.ReadDir("."); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestNil: the methods of nil pointers panic, without the end of the process that a wrong address of C++ would be.
func TestNil(t *testing.T) {
	var server *Server
	var session *Session
	for name, call := range map[string]func(){
		"Addr": func() { server.Addr() }, "Stats": func() { server.Stats() }, "Serve": func() { _ = server.Serve(t.Context()) },
		"Shutdown": func() { _ = server.Shutdown(t.Context()) }, "Close": func() { server.Close() },
		"Tracker": func() { (*Tracker)(nil).Close() }, "Do": func() { _ = session.Do(t.Context(), nil) }, "Session": func() { session.Close() },
	} {
		func() {
			defer func() {
				if err, ok := recover().(runtime.Error); !ok {
					t.Errorf("%s: %v", name, err)
				}
			}()
			call()
		}()
	}
}

// TestStuck knows the error of a send that the system gave up, which leaves half a request.
func TestStuck(t *testing.T) {
	if !stuck(tvmffi.NewError("InternalError", "Socket SockChannel::Send Error:Resource temporarily unavailable")) {
		t.Error("the session goes on with half a request")
	}
	if stuck(tvmffi.NewError("RPCError", "SockChannel::Send")) || stuck(tvmffi.NewError("InternalError", "no")) {
		t.Error("the session ends without a reason")
	}
}

// TestUnpackHostile unpacks archives whose files would lie elsewhere.
func TestUnpackHostile(t *testing.T) {
	for name, h := range map[string]*tar.Header{
		"a parent":        {Name: "../x.o", Typeflag: tar.TypeReg},
		"an absolute":     {Name: "/x.o", Typeflag: tar.TypeReg},
		"a symbolic link": {Name: "x.o", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		"a device":        {Name: "x.o", Typeflag: tar.TypeChar},
	} {
		dir := t.TempDir()
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := errors.Join(w.WriteHeader(h), w.Close(), os.WriteFile(filepath.Join(dir, "a.tar"), b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		if files, err := unpack(filepath.Join(dir, "a.tar"), filepath.Join(dir, "d"), 1<<20); err == nil || len(files) > 0 {
			t.Errorf("%s: %q, %v", name, files, err)
		}
	}
}

// TestUnpackLarge unpacks archives that have more than they may, plain and compressed.
func TestUnpackLarge(t *testing.T) {
	write := func(size int, names ...string) string {
		var b bytes.Buffer
		packed := gzip.NewWriter(&b)
		w := tar.NewWriter(packed)
		for _, name := range names {
			if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(size)}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		archive := filepath.Join(t.TempDir(), "a.tar")
		if err := errors.Join(w.Close(), packed.Close(), os.WriteFile(archive, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		return archive
	}
	archive, dir := write(100, "0.o", "1.o", "2.o"), t.TempDir()
	if files, err := unpack(archive, dir, 300); err != nil || len(files) != 3 {
		t.Errorf("an archive of the largest size: %q, %v", files, err)
	}
	dir = t.TempDir()
	if _, err := unpack(archive, dir, 299); err == nil || !strings.Contains(err.Error(), "more than 299 bytes") {
		t.Errorf("an archive that is too large: %v", err)
	}
	if written, err := os.ReadDir(dir); err != nil || len(written) != 2 {
		t.Errorf("%d files were written, %v", len(written), err)
	}
	same := slices.Repeat([]string{"a.o"}, maxArchiveFiles+1) // making so many files takes the system 3 s
	if _, err := unpack(write(0, same...), t.TempDir(), 1); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("an archive of too many files: %v", err)
	}
}
