package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// chosenInside are the members whose value has names that the client chooses, of which "a" and "A" are two.
var chosenInside = []string{"parameters", "schema", "metadata"}

// lost returns an error if encoding/json would lose a part of the body without an error: one of two members with the same name, or
// with names that differ in case alone, a character that it replaces, a number that it makes 0, and null for one.
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
		if strings.ContainsRune(token, utf8.RuneError) && half(text[start:d.InputOffset()]) {
			return "", invalid(strings.Join(at, "."), "it has half of a surrogate pair, want a character")
		}
		return token, nil
	case json.Number:
		if x, err := token.Float64(); err == nil && x == 0 && !chosen && strings.ContainsAny(strings.FieldsFunc(token.String(), exponent)[0], "123456789") {
			return "", invalid(strings.Join(at, "."), "it is %.40s, which is nearer to 0 than each other number", token)
		}
	case nil:
		if len(at) == 2 && at[0] == "logit_bias" { // encoding/json makes 0 of it
			return "", invalid(at[0], "token %.20q has null, want a number", at[1])
		}
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

func exponent(r rune) bool { return r == 'e' || r == 'E' }

// half reports whether the escapes of a text in JSON have half of a surrogate pair.
func half(raw []byte) bool {
	unit := func(at int) rune {
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0
		}
		n, _ := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16) // the decoder has read it
		return rune(n)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if r := unit(i); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, unit(i+6)) == utf8.RuneError {
				return true
			}
			i += 10
		}
		i++
	}
	return false
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
