package child

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A text begins with a mark, by which something else that a library writes to the pipe is noticed, and with its length.
const (
	mark       = 0x7476_6d66_6669_0001
	headerSize = 16
)

// errForeign is the error for what does not begin with the mark.
var errForeign = errors.New("the other process sent something that is not a message")

// send writes a text to a pipe.
func send(w io.Writer, text string) error {
	b := make([]byte, headerSize, headerSize+len(text))
	binary.LittleEndian.PutUint64(b, mark)
	binary.LittleEndian.PutUint64(b[8:], uint64(len(text)))
	_, err := w.Write(append(b, text...))
	return err
}

// receive reads a text. It takes memory only for what arrives.
func receive(r io.Reader) (string, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return "", err
	}
	n := int64(binary.LittleEndian.Uint64(header[8:]))
	if binary.LittleEndian.Uint64(header[:]) != mark || n < 0 {
		return "", errForeign
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, r, n); err != nil {
		return "", fmt.Errorf("a message is not complete: %w", err)
	}
	return text.String(), nil
}

// message is what a process answers to the setup and to each request.
type message struct {
	reply     string
	exhausted bool  // memory was refused
	memory    int64 // that the process has now, beyond its start
}

func (m message) send(w io.Writer) error {
	b := make([]byte, 9, 9+len(m.reply))
	if m.exhausted {
		b[0] = 1
	}
	binary.LittleEndian.PutUint64(b[1:], uint64(m.memory))
	return send(w, string(append(b, m.reply...)))
}

func receiveMessage(r io.Reader) (message, error) {
	text, err := receive(r)
	if err != nil {
		return message{}, err
	}
	if len(text) < 9 {
		return message{}, errForeign
	}
	return message{text[9:], text[0] != 0, int64(binary.LittleEndian.Uint64([]byte(text[1:9])))}, nil
}
