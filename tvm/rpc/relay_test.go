//go:build unix

package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// played starts a relay whose other sides are the results: a peer, which has sent the bytes, and what C++ has.
func played(t *testing.T, l relayLimits, sent []byte) (r *relay, peer net.Conn, local *os.File, counts [2]*atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	peer, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Write(sent); err != nil {
		t.Fatal(err)
	}
	counts = [2]*atomic.Int64{new(atomic.Int64), new(atomic.Int64)}
	s, r, err := relayed(conn, l, counts[0], counts[1])
	if err != nil {
		t.Fatal(err)
	}
	local, err = s.file()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		peer.Close()
		s.abort()
		_ = r.wait()
		local.Close()
		s.close()
	})
	return r, peer, local, counts
}

func packet(content []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(content))), content...)
}

// Limits of time: for what must not end a relay, and for what must.
const never = time.Minute

var soon = nativetest.Patience(300 * time.Millisecond)

// TestRelay_passes: messages of all sizes arrive as they were, in turns, and are counted.
func TestRelay_passes(t *testing.T) {
	r, peer, local, counts := played(t, relayLimits{never, never, 1 << 20, nil}, nil)
	var total int64
	for _, size := range []int{0, 1, 7, 8, relayPart - 9, relayPart - 8, relayPart, relayPart + 1, 3*relayPart + 5, 1 << 20} {
		m := packet(bytes.Repeat([]byte{byte(size)}, size))
		for _, way := range [][2]io.ReadWriter{{peer, local}, {local, peer}} {
			written := make(chan error, 1)
			go func() { _, err := way[0].Write(m); written <- err }()
			got := make([]byte, len(m))
			if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, m) {
				t.Fatalf("a message of %d bytes did not arrive: %v", size, err)
			}
			if err := <-written; err != nil {
				t.Fatal(err)
			}
		}
		total += int64(len(m))
	}
	peer.Close()
	if rest, err := io.ReadAll(local); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %d bytes, %v", len(rest), err)
	}
	if err := r.why(); err != nil {
		t.Errorf("the relay ended: %v", err)
	}
	if in, out := counts[0].Load(), counts[1].Load(); in != total || out != total {
		t.Errorf("the relay counted %d and %d bytes of %d", in, out, total)
	}
}

// TestRelay_half: a peer that stops at any byte of ten messages holds nothing.
func TestRelay_half(t *testing.T) {
	var all []byte
	ends := map[int]bool{0: true} // of messages
	for i := range 10 {
		all = append(all, packet(make([]byte, i))...)
		ends[len(all)] = true
	}
	var tests sync.WaitGroup
	for n := range len(all) + 1 {
		r, _, local, _ := played(t, relayLimits{soon, soon, 1 << 20, nil}, all[:n])
		tests.Go(func() {
			passed := make(chan struct{})
			go func() { // C++ answers each message, so that the relay waits for the next one
				defer close(passed)
				for {
					var head [8]byte
					if _, err := io.ReadFull(local, head[:]); err != nil {
						return
					}
					_, _ = io.CopyN(io.Discard, local, int64(binary.LittleEndian.Uint64(head[:])))
					_, _ = local.Write(packet(nil))
				}
			}()
			<-passed
			if err := r.why(); errors.Is(err, errIdle) != ends[n] || !ends[n] && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after %d bytes: %v", n, err)
			}
		})
	}
	tests.Wait()
}

// TestRelay_computes: a peer may be silent while C++ computes, and not longer.
func TestRelay_computes(t *testing.T) {
	r, _, local, _ := played(t, relayLimits{never, soon, 1 << 20, nil}, packet([]byte("call")))
	time.Sleep(2 * soon)
	if err := r.why(); err != nil {
		t.Fatalf("while C++ computes: %v", err)
	}
	if _, err := local.Write(packet([]byte("result"))); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(local); len(all) != 12 || err != nil || !errors.Is(r.why(), errIdle) {
		t.Errorf("C++ got %d bytes, %v; the relay ended: %v", len(all), err, r.why())
	}
}

// TestRelay_large: neither a length nor the beginning of a large message reaches C++, which would take memory for it.
func TestRelay_large(t *testing.T) {
	head := binary.LittleEndian.AppendUint64(nil, 1<<30)
	for name, c := range map[string]struct {
		most int64
		want error
	}{"permitted": {1 << 31, os.ErrDeadlineExceeded}, "too large": {1<<30 - 1, ErrProtocol}} {
		r, _, local, _ := played(t, relayLimits{soon, never, c.most, nil}, append(head, make([]byte, 1000)...))
		if got, err := io.ReadAll(local); len(got) > 0 || err != nil || !errors.Is(r.why(), c.want) {
			t.Errorf("%s: C++ got %d bytes, %v; the relay ended: %v", name, len(got), err, r.why())
		}
	}
}

// TestRelay_slowReader: a peer that reads nothing ends the relay, which ends what C++ writes.
func TestRelay_slowReader(t *testing.T) {
	r, _, local, _ := played(t, relayLimits{soon, never, 1 << 20, nil}, nil)
	if _, err := local.Write(packet(make([]byte, 64<<20))); err == nil {
		t.Error("C++ could write everything")
	}
	if err := r.wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the relay ended: %v", err)
	}
}
