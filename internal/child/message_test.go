package child

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestMessage sends messages, cuts them off, and puts something else in their place.
func TestMessage(t *testing.T) {
	for _, m := range []message{{}, {"reply\xff\n\x00", true, -1}, {strings.Repeat("x", 100_000), false, 1 << 40}} {
		var pipe bytes.Buffer
		if err := errors.Join(m.send(&pipe), send(&pipe, "next")); err != nil {
			t.Fatal(err)
		}
		whole := pipe.Bytes()
		if got, err := receiveMessage(&pipe); got != m || err != nil {
			t.Errorf("%.20q arrived as %.20q, %v", m.reply, got.reply, err)
		}
		if next, err := receive(&pipe); next != "next" || err != nil {
			t.Error(next, err)
		}
		end := headerSize + 9 + len(m.reply)
		for _, n := range []int{0, 1, headerSize - 1, headerSize, end - 1} {
			want := io.ErrUnexpectedEOF
			if n == 0 || n == headerSize {
				want = io.EOF
			}
			if _, err := receiveMessage(bytes.NewReader(whole[:n])); !errors.Is(err, io.EOF) && !errors.Is(err, want) {
				t.Errorf("%d bytes of %d give %v", n, end, err)
			}
		}
	}
	var short bytes.Buffer
	if err := send(&short, "12345678"); err != nil {
		t.Fatal(err)
	}
	long := append(bytes.Clone(short.Bytes()[:8]), bytes.Repeat([]byte{0xff}, 8)...) // a length that no text has
	for _, text := range []string{"a line that a library prints\n", short.String(), string(long)} {
		if _, err := receiveMessage(strings.NewReader(text)); !errors.Is(err, errForeign) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
