package project

import (
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml/lexer"
	yamltoken "github.com/goccy/go-yaml/token"
)

// Limits of what is read, far above anything real. The YAML parser takes time and memory
// with the square of the nesting and of the number of keys.
const (
	maxConfigLen   = 256 << 10
	maxConfigDepth = 32
	maxLockLen     = 64 << 20
)

// ReadFile reads a file that has at most limit bytes, such as one that a user has named.
func ReadFile(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes, which is the limit", file, limit)
	}
	return data, nil
}

// checkDepth returns an error with the position if data nests deeper than a
// configuration can. Nesting by indentation alone needs no limit: the length of the file
// bounds it.
func checkDepth(file string, data []byte) error {
	flow, entries, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(data)) {
		if t.Position.Line != line {
			line, entries = t.Position.Line, 0
		}
		switch t.Type {
		case yamltoken.SequenceStartType, yamltoken.MappingStartType:
			flow++
		case yamltoken.SequenceEndType, yamltoken.MappingEndType:
			flow = max(flow-1, 0)
		case yamltoken.SequenceEntryType, yamltoken.MappingKeyType:
			entries++ // on one line they nest
		}
		if flow+entries > maxConfigDepth {
			return fmt.Errorf("%s:%d:%d: lists and mappings nest deeper than %d levels: no key of a configuration needs more than 4", file, t.Position.Line, t.Position.Column, maxConfigDepth)
		}
	}
	return nil
}
