package rpc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/tvmffi-go/tvmffi/tvm/internal/silence"
)

const trackerMagic int32 = 0x2f271

// The requests to a tracker. Each is a JSON list that begins with one of these numbers.
const (
	trackerSuccess    = 0
	trackerPing       = 1
	trackerPut        = 3
	trackerRequest    = 4
	trackerUpdateInfo = 5
	trackerSummary    = 6
	trackerPending    = 7
)

// trackerTimeout is how long a tracker may take for an immediate answer.
const trackerTimeout = 10 * time.Second

// encodeMessage returns a message as it is sent: its length, and JSON.
func encodeMessage(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

func writeMessage(w io.Writer, v any) error {
	b, err := encodeMessage(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// readMessage reads one message into v.
func readMessage(r io.Reader, v any) error {
	text, err := readText(r, maxPacket)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fmt.Errorf("%w: the message %.100q: %w", ErrProtocol, text, err)
	}
	return nil
}

// items reads the items of a list into the values, of which those that are nil are left out. The list may be longer.
func items(list []json.RawMessage, values ...any) error {
	if len(list) < len(values) {
		return fmt.Errorf("%w: a list of %d items, expected %d", ErrProtocol, len(list), len(values))
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		if err := json.Unmarshal(list[i], v); err != nil {
			return fmt.Errorf("%w: item %d is %.100q: %w", ErrProtocol, i, list[i], err)
		}
	}
	return nil
}

// A trackerConn is a connection to a tracker. One goroutine uses it.
type trackerConn struct {
	net.Conn
	ctx  context.Context
	stop func() bool
}

// dialTracker connects to a tracker. The connection ends with ctx.
func dialTracker(ctx context.Context, addr string) (*trackerConn, error) {
	d := net.Dialer{Timeout: trackerTimeout}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := &trackerConn{Conn: c, ctx: ctx, stop: context.AfterFunc(ctx, func() { c.Close() })}
	if err := conn.greet(); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (c *trackerConn) greet() error {
	if err := silence.Limit(c.Conn, 3*trackerTimeout); err != nil {
		return err
	}
	c.SetDeadline(time.Now().Add(trackerTimeout))
	if err := writeCode(c, trackerMagic); err != nil {
		return err
	}
	switch code, err := readInt32(c); {
	case err != nil:
		return err
	case code != trackerMagic:
		return fmt.Errorf("%w: it answered with %#x, where a tracker answers with %#x", ErrProtocol, code, trackerMagic)
	}
	return nil
}

// ask sends a message and reads the answer, which comes at once unless it is a request for a
// server.
func (c *trackerConn) ask(answer any, message ...any) error {
	c.SetDeadline(time.Now().Add(trackerTimeout))
	if err := writeMessage(c, message); err != nil {
		return err
	}
	if message[0] == trackerRequest {
		c.SetReadDeadline(time.Time{})
	}
	return readMessage(c, answer)
}

// do sends a message that the tracker answers with a number, 0 for success.
func (c *trackerConn) do(message ...any) error {
	var code int
	if err := c.ask(&code, message...); err != nil {
		return err
	}
	if code != trackerSuccess {
		return fmt.Errorf("%w: the tracker answered %v with %d", ErrProtocol, message, code)
	}
	return nil
}

// Close ends the connection.
func (c *trackerConn) Close() error {
	c.stop()
	return c.Conn.Close()
}
