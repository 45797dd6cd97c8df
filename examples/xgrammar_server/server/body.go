package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// chosenInside are the members whose value has names that the client chooses, of which "a" and "A" are two.
var chosenInside = []string{"parameters", "schema", "metadata"}

// lost returns an error if encoding/json would lose a part of the body without an error: one of two members with the same name, or
// with names that differ in case alone, and a character that it replaces.
func lost(text []byte) error {
	if !utf8.Valid(text) {
		return invalid("body", "it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	_, err := objects(d, text, nil, false)
	return err
}

// objects reads a value inside the members at, whose names may differ in case alone if the client chooses them. It returns the
// value if that is a text. The caller has seen that no value is nested more deeply than encoding/json allows.
func objects(d *json.Decoder, text []byte, at []string, chosen bool) (string, error) {
	start := d.InputOffset()
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	switch token := token.(type) {
	case string:
		raw := bytes.ToLower(text[start:d.InputOffset()])
		if strings.ContainsRune(token, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) && !bytes.Contains(raw, []byte(`\ufffd`)) {
			return "", invalid(strings.Join(at, "."), "it has half of a surrogate pair, want a character")
		}
		return token, nil
	case json.Delim:
		names := map[string]bool{}
		for d.More() {
			inner, open := at, chosen
			if token == '{' {
				name, err := objects(d, text, at, chosen)
				if err != nil {
					return "", err
				}
				key := name
				if !chosen {
					key = strings.Map(folded, name)
				}
				if names[key] {
					return "", invalid(strings.Join(append(at, name), "."), "it is there twice")
				}
				names[key], inner, open = true, append(at, name), chosen || slices.Contains(chosenInside, name)
			}
			if _, err := objects(d, text, inner, open); err != nil {
				return "", err
			}
		}
		_, err = d.Token()
	}
	return "", err
}

// folded returns the same for two characters that encoding/json takes for one letter in names.
func folded(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}
