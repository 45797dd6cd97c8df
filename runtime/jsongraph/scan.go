package jsongraph

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// jsonScanner reads JSON text strictly: what it accepts, the lenient parser of the
// library reads in the same way. The literals NaN, Infinity and -Infinity, which
// the library writes, are accepted.
type jsonScanner struct {
	data []byte
	at   int
}

// fail makes the error of the place that was read last.
func (s *jsonScanner) fail(what string) error {
	line := 1 + bytes.Count(s.data[:s.at], []byte("\n"))
	column := s.at - bytes.LastIndexByte(s.data[:s.at], '\n')
	return failure.Errorf(failure.KindValue, "%s: line %d column %d (char %d)", what, line, column, s.at)
}

func (s *jsonScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\n', '\t', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next non-space byte; 0 at the end.
func (s *jsonScanner) peek() byte {
	if s.at < len(s.data) && s.data[s.at] > ' ' {
		return s.data[s.at]
	}
	s.space()
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// accept reads c if it comes next.
func (s *jsonScanner) accept(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// str reads a string. raw is what stands between the quotes; escaped says that it
// holds escapes.
func (s *jsonScanner) str() (raw []byte, escaped bool, err error) {
	if !s.accept('"') {
		return nil, false, s.fail("Expecting a string")
	}
	start := s.at
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '"':
			raw = s.data[start:s.at]
			s.at++
			return raw, escaped, nil
		case c < ' ':
			return nil, false, s.fail("Invalid control character")
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return nil, false, err
			}
		default:
			s.at++
		}
	}
	return nil, false, s.fail("Unterminated string")
}

// escape reads an escape sequence of a string.
func (s *jsonScanner) escape() error {
	s.at++
	if s.at >= len(s.data) {
		return s.fail("Unterminated string")
	}
	switch s.data[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		for i := 1; i <= 4; i++ {
			if s.at+i >= len(s.data) || !isHex(s.data[s.at+i]) {
				return s.fail("Invalid \\u escape")
			}
		}
		s.at += 5
		return nil
	}
	return s.fail("Invalid \\escape")
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// key reads a string with its escapes resolved; the result may be a part of the
// text.
func (s *jsonScanner) key() ([]byte, error) {
	start := s.at
	raw, escaped, err := s.str()
	if err != nil || !escaped {
		return raw, err
	}
	var text string
	if err := json.Unmarshal(s.data[start:s.at], &text); err != nil {
		return nil, s.fail("Invalid string")
	}
	return []byte(text), nil
}

// integer reads a number without fraction and exponent; ok is false, and nothing is
// read, if something else comes next.
func (s *jsonScanner) integer() (n int64, ok bool) {
	s.peek()
	at := s.at
	negative := at < len(s.data) && s.data[at] == '-'
	if negative {
		at++
	}
	start := at
	for at < len(s.data) && '0' <= s.data[at] && s.data[at] <= '9' {
		d := int64(s.data[at] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = 10*n + d
		at++
	}
	if at == start || s.data[start] == '0' && at > start+1 {
		return 0, false
	}
	if at < len(s.data) {
		switch s.data[at] {
		case '.', 'e', 'E', '+', '-':
			return 0, false
		}
	}
	s.at = at
	if negative {
		n = -n
	}
	return n, true
}

// digits skips digits and reports whether there was one.
func (s *jsonScanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && '0' <= s.data[s.at] && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

func (s *jsonScanner) literal(text string) bool {
	if len(s.data)-s.at >= len(text) && string(s.data[s.at:s.at+len(text)]) == text {
		s.at += len(text)
		return true
	}
	return false
}

func (s *jsonScanner) number() error {
	if s.literal("NaN") || s.literal("Infinity") || s.literal("-Infinity") {
		return nil
	}
	s.literal("-")
	zero := s.literal("0")
	if !zero && !s.digits() || zero && s.digits() {
		return s.fail("Expecting value")
	}
	if s.literal(".") && !s.digits() {
		return s.fail("Expecting a digit")
	}
	if s.literal("e") || s.literal("E") {
		if !s.literal("+") {
			s.literal("-")
		}
		if !s.digits() {
			return s.fail("Expecting a digit")
		}
	}
	return nil
}

// Value skips a value of any kind, which has depth levels around it.
func (s *jsonScanner) Value(depth int) error {
	if depth > codec.MaxDepth {
		return failure.Errorf(failure.KindValue, "the JSON text is nested deeper than %d levels", codec.MaxDepth)
	}
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.Value(depth + 1) })
	case '[':
		return s.array(func() error { return s.Value(depth + 1) })
	case '"':
		_, _, err := s.str()
		return err
	case 't', 'f', 'n':
		if s.literal("true") || s.literal("false") || s.literal("null") {
			return nil
		}
	}
	return s.number()
}

// array reads an array; item reads each element.
func (s *jsonScanner) array(item func() error) error {
	if !s.accept('[') {
		return s.fail("Expecting an array")
	}
	if s.accept(']') {
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.accept(']') {
			return nil
		}
		if !s.accept(',') {
			return s.fail("Expecting ',' delimiter")
		}
	}
}

// object reads an object; member reads the value of each key. A key that occurs twice is an error: readers disagree about
// which of its values counts.
func (s *jsonScanner) object(member func(key []byte) error) error {
	if !s.accept('{') {
		return s.fail("Expecting an object")
	}
	if s.accept('}') {
		return nil
	}
	var few [8][]byte
	first := few[:0]
	var more map[string]bool // the keys after those
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		if more[string(key)] || slices.ContainsFunc(first, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return s.fail(strconv.Quote(string(key)) + " occurs twice in an object")
		}
		switch {
		case len(first) < cap(first):
			first = append(first, key)
		case more == nil:
			more = map[string]bool{string(key): true}
		default:
			more[string(key)] = true
		}
		if !s.accept(':') {
			return s.fail("Expecting ':' delimiter")
		}
		if err := member(key); err != nil {
			return err
		}
		if s.accept('}') {
			return nil
		}
		if !s.accept(',') {
			return s.fail("Expecting ',' delimiter")
		}
	}
}
