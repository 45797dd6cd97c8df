package disco

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The controller and a node show each other that they know the secret before anything else is
// read. All messages have a fixed size, and little time:
//
//	controller: magic, nonce
//	node:       magic, nonce, code of the secret, both nonces and the number of workers, that number
//	controller: code of the secret, both nonces and the settings, the settings
const (
	magic          = "tvmffi-disco/1\r\n\x00\xff"
	nonceSize      = 32
	handshakeLimit = 5 * time.Second
)

// settings are the controller's settings for a node.
type settings struct {
	Session                         int64
	Node, Nodes, PerNode, SilenceMS uint32
}

func nonce() []byte {
	b := make([]byte, nonceSize)
	_, _ = rand.Read(b) // does not fail
	return b
}

func code(secret string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func fixed(x any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil {
		panic(err) // only numbers are passed
	}
	return b
}

// admit is the controller's part. number returns the settings for a node that knows the secret
// and has the given number of workers.
func admit(c net.Conn, secret string, number func(workers uint32) (settings, error)) (settings, error) {
	var none settings
	if err := c.SetDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return none, err
	}
	own := nonce()
	if _, err := c.Write(append([]byte(magic), own...)); err != nil {
		return none, err
	}
	answer := make([]byte, len(magic)+nonceSize+sha256.Size+4)
	if err := expectMagic(c, answer); err != nil {
		return none, err
	}
	theirs, proof, workers := answer[len(magic):][:nonceSize], answer[len(magic)+nonceSize:][:sha256.Size], answer[len(answer)-4:]
	if !hmac.Equal(proof, code(secret, []byte("node"), own, theirs, workers)) {
		return none, fmt.Errorf("%w: it has another secret", ErrRefused)
	}
	given, err := number(binary.LittleEndian.Uint32(workers))
	if err != nil {
		return none, err
	}
	text := fixed(given)
	_, err = c.Write(append(code(secret, []byte("controller"), theirs, own, text), text...))
	return given, errors.Join(err, c.SetDeadline(time.Time{}))
}

// apply is the node's part.
func apply(c net.Conn, secret string, workers int) (settings, error) {
	var none settings
	if err := c.SetDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return none, err
	}
	hello := make([]byte, len(magic)+nonceSize)
	if err := expectMagic(c, hello); err != nil {
		return none, err
	}
	theirs, own, number := hello[len(magic):], nonce(), fixed(uint32(workers))
	answer := bytes.Join([][]byte{[]byte(magic), own, code(secret, []byte("node"), theirs, own, number), number}, nil)
	if _, err := c.Write(answer); err != nil {
		return none, err
	}
	reply := make([]byte, sha256.Size+binary.Size(none))
	if _, err := io.ReadFull(c, reply); err != nil {
		return none, fmt.Errorf("%w: the controller has another secret, needs more workers, or has all nodes: %w", ErrRefused, err)
	}
	proof, text := reply[:sha256.Size], reply[sha256.Size:]
	if !hmac.Equal(proof, code(secret, []byte("controller"), own, theirs, text)) {
		return none, fmt.Errorf("%w: the controller has another secret", ErrRefused)
	}
	given := none
	_, err := binary.Decode(text, binary.LittleEndian, &given)
	return given, errors.Join(err, c.SetDeadline(time.Time{}))
}

// expectMagic reads b. It checks the magic first, to detect a peer that sends less and waits.
func expectMagic(c net.Conn, b []byte) error {
	if _, err := io.ReadFull(c, b[:len(magic)]); err != nil {
		return fmt.Errorf("%w: it does not introduce itself: %w", ErrRefused, err)
	}
	if string(b[:len(magic)]) != magic {
		return fmt.Errorf("%w: it begins with %q, which is not the protocol of this version of package disco", ErrRefused, b[:len(magic)])
	}
	if _, err := io.ReadFull(c, b[len(magic):]); err != nil {
		return fmt.Errorf("%w: it does not introduce itself: %w", ErrRefused, err)
	}
	return nil
}
