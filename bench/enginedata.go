package main

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// vocabularySize is the size of many small models' vocabularies.
const vocabularySize = 32000

// engineSchema is what a service that reads invoices might ask a model for.
const engineSchema = `{
  "type": "object",
  "properties": {
    "number": {"type": "string", "pattern": "^INV-[0-9]{4,8}$"},
    "date": {"type": "string", "format": "date"},
    "currency": {"enum": ["EUR", "USD", "GBP", "JPY"]},
    "customer": {
      "type": "object",
      "properties": {
        "name": {"type": "string"},
        "email": {"type": "string"},
        "vip": {"type": "boolean"},
        "address": {"$ref": "#/$defs/address"}
      },
      "required": ["name", "email", "vip", "address"],
      "additionalProperties": false
    },
    "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
    "notes": {"type": ["string", "null"]}
  },
  "required": ["number", "date", "currency", "customer", "lines", "notes"],
  "additionalProperties": false,
  "$defs": {
    "address": {
      "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
      "required": ["street", "city", "zip"],
      "additionalProperties": false
    },
    "line": {
      "type": "object",
      "properties": {
        "article": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 1000},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"enum": ["new", "sale", "fragile", "digital"]}}
      },
      "required": ["article", "quantity", "price", "tags"],
      "additionalProperties": false
    }
  }
}`

// engineDocument is what the model answers; the schema allows it.
const engineDocument = `{"number": "INV-20417", "date": "2026-03-14", "currency": "EUR", ` +
	`"customer": {"name": "Zoë Lindqvist", "email": "zoe@example.com", "vip": true, ` +
	`"address": {"street": "Hafenstraße 12", "city": "Hamburg", "zip": "20457"}}, ` +
	`"lines": [{"article": "garden table, oak", "quantity": 2, "price": 149.5, "tags": ["new", "fragile"]}, ` +
	`{"article": "cushion \"Sommer\"", "quantity": 8, "price": 12.99, "tags": ["sale"]}], ` +
	`"notes": "Deliver to the back door, please. The customer calls on Monday."}`

// vocabulary makes the tokens of a byte-level tokenizer: each byte, the runs of signs of
// JSON, numbers, and words of syllables with and without a space before them. It makes the
// same ones each time. Token 0 ends a text.
func vocabulary() []string {
	var all []string
	seen := map[string]bool{}
	add := func(token string) {
		if !seen[token] && len(all) < vocabularySize {
			seen[token] = true
			all = append(all, token)
		}
	}
	add("</s>")
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for n := 2; n <= 16; n++ {
		add(strings.Repeat(" ", n))
		add("\n" + strings.Repeat(" ", n))
	}
	for _, signs := range []string{`{"`, `"}`, `":`, `": `, `": "`, `",`, `", `, `", "`, `["`, `"]`, `"],`, `},`, `}}`, `}]`, `{}`, `[]`, ` {`, ` [`, ` "`, `."`, `\"`, `\n`, `\u`, `//`, `@`, `: {`, `: [`} {
		add(signs)
	}
	for n := range 1000 {
		add(fmt.Sprint(n))
	}
	for _, word := range strings.FieldsFunc(engineSchema, func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' }) {
		add(word)
		add(" " + word)
	}
	// The seed is any number; the peers need the same vocabulary, not a special one.
	random := rand.New(rand.NewPCG(15, 27))
	onsets, nuclei, codas := strings.Fields("b c d f g h l m n p r s t v w z ch sh th st tr pr gr bl qu sch"), strings.Fields("a e i o u ea ou ie ä ö é"), append(strings.Fields("n r s t l m ng nd st ck rt"), "", "", "")
	for len(all) < vocabularySize {
		word := ""
		for range 1 + random.IntN(3) {
			word += onsets[random.IntN(len(onsets))] + nuclei[random.IntN(len(nuclei))] + codas[random.IntN(len(codas))]
		}
		switch random.IntN(8) {
		case 0, 1, 2:
			word = " " + word
		case 3:
			word = strings.ToUpper(word[:1]) + word[1:]
		case 4:
			word = " " + strings.ToUpper(word[:1]) + word[1:]
		}
		add(word)
	}
	return all
}

// tokenize splits a text into the longest tokens that fit, and returns their numbers.
func tokenize(text string, vocabulary []string) []int {
	numbers := map[string]int{}
	for i, token := range vocabulary {
		numbers[token] = i
	}
	longest := len(slices.MaxFunc(vocabulary, func(a, b string) int { return cmp.Compare(len(a), len(b)) }))
	var tokens []int
	for text != "" {
		for n := min(longest, len(text)); n > 0; n-- { // every single byte is a token
			if number, ok := numbers[text[:n]]; ok {
				tokens, text = append(tokens, number), text[n:]
				break
			}
		}
	}
	return tokens
}

// engineData writes what the peers of the engines read to a folder, and returns the number
// of tokens of the document.
func engineData(dir string) (tokens int, err error) {
	var hexed, numbers strings.Builder
	all := vocabulary()
	for _, token := range all {
		fmt.Fprintln(&hexed, hex.EncodeToString([]byte(token)))
	}
	document := tokenize(engineDocument, all)
	for _, number := range document {
		fmt.Fprintln(&numbers, number)
	}
	for name, text := range map[string]string{"vocabulary.hex": hexed.String(), "document.txt": numbers.String(), "schema.json": engineSchema} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	return len(document), nil
}
