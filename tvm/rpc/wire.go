package rpc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// The numbers that begin a session's connection.
const (
	magic         int32 = 0xff271
	codeDuplicate       = magic + 1
	codeMismatch        = magic + 2
)

// Limits for peers that have not sent a key yet. Real peers stay far below.
const (
	maxKey    = 4 << 10
	maxPacket = 1 << 20
)

// writeHello sends a code and a key, which begin a session in both directions.
func writeHello(w io.Writer, code int32, key string) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(code))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
	_, err := w.Write(append(b, key...))
	return err
}

// writeCode sends only the code, to refuse a client.
func writeCode(w io.Writer, code int32) error {
	_, err := w.Write(binary.LittleEndian.AppendUint32(nil, uint32(code)))
	return err
}

func readInt32(r io.Reader) (int32, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	return int32(binary.LittleEndian.Uint32(b[:])), nil
}

// readText reads a length and that many bytes, which must be limit at most.
func readText(r io.Reader, limit int32) (string, error) {
	n, err := readInt32(r)
	if err != nil {
		return "", err
	}
	if n < 0 || n > limit {
		return "", fmt.Errorf("%w: a length of %d, where %d is the limit", ErrProtocol, n, limit)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	return string(b), nil
}

// readHello reads what writeHello sends.
func readHello(r io.Reader) (string, error) {
	switch code, err := readInt32(r); {
	case err != nil:
		return "", err
	case code != magic:
		return "", fmt.Errorf("%w: it began with %#x, where %#x begins a session", ErrProtocol, code, magic)
	}
	return readText(r, maxKey)
}

// greet sends the key to a server and reads its answer.
func greet(conn io.ReadWriter, key string) error {
	if err := writeHello(conn, magic, "client:"+key); err != nil {
		return err
	}
	switch code, err := readInt32(conn); {
	case err != nil:
		return err
	case code == codeMismatch, code == codeDuplicate:
		name, _, _ := strings.Cut(key, " ")
		return fmt.Errorf("%w %q", ErrKey, name)
	case code != magic:
		return fmt.Errorf("%w: it answered with %#x, where %#x begins a session", ErrProtocol, code, magic)
	}
	_, err := readText(conn, maxKey)
	return err
}

// relayPacket copies one packet of a session, which begins with its length.
func relayPacket(to io.Writer, from io.Reader) error {
	var head [8]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > maxPacket {
		return fmt.Errorf("%w: a first packet of %d bytes, where %d is the limit", ErrProtocol, n, maxPacket)
	}
	var packet bytes.Buffer
	packet.Write(head[:])
	if _, err := io.CopyN(&packet, from, int64(n)); err != nil {
		return err
	}
	_, err := to.Write(packet.Bytes())
	return err
}
