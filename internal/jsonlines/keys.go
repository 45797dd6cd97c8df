package jsonlines

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Unmarshal is [json.Unmarshal] with [Check].
func Unmarshal(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return check(data, into)
}

// Check returns an error if encoding/json would lose a part of JSON text without an error: a key that an object has twice, of
// which other readers may take the other one; keys that differ in case alone, and are one field of a struct; null for a number, a
// bool or a text of an array or a map, which becomes 0, false or the empty text; numbers outside the range of float64, which other
// readers cannot hold; and characters that it replaces, which are bytes that are not UTF-8 and halves of surrogate pairs. The error
// gives the line, the column, and where the object with the key stands. The text must be valid JSON: call Check after it was read.
// It returns nil for other text.
//
// into is what the text was read into, or nil. What is in a type with UnmarshalJSON is for that method to check, except for keys
// that occur twice, numbers and characters.
func Check(data []byte, into any) error {
	if !json.Valid(data) {
		return nil
	}
	return check(data, into)
}

// CheckBig is Check for a reader that has integers of any size.
func CheckBig(data []byte) error {
	if !json.Valid(data) {
		return nil
	}
	return keys{data: string(data), bigInts: true}.check(nil)
}

// check is Check of valid JSON.
func check(data []byte, into any) error {
	return keys{data: string(data)}.check(into) // the keys are parts of it
}

func (k keys) check(into any) error {
	if !utf8.ValidString(k.data) {
		at := 0
		for r, size := utf8.DecodeRuneInString(k.data); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(k.data[at:]) {
			at += size
		}
		return k.errorf(at, "the byte %#x is not UTF-8", k.data[at])
	}
	k.value(reflect.TypeOf(into))
	return k.err
}

// errorf returns an error with a place in the text.
func (k *keys) errorf(at int, format string, args ...any) error {
	before := k.data[:at]
	return fmt.Errorf("line %d, column %d: %w", strings.Count(before, "\n")+1, at-strings.LastIndexByte(before, '\n'), fmt.Errorf(format, args...))
}

// keys goes through valid JSON text.
type keys struct {
	data string
	at   int
	path []step
	err  error
	// bigInts says that the reader has integers of any size.
	bigInts bool
	// fields are those of the struct types so far, by their names in JSON, folded.
	fields map[reflect.Type]map[string]reflect.StructField
}

// step is a key of an object, or an index.
type step struct {
	key   bool
	name  string
	index int
}

// next returns the next byte that is not a space.
func (k *keys) next() byte {
	for k.data[k.at] <= ' ' {
		k.at++
	}
	return k.data[k.at]
}

// value skips a value that was read into a t, which may be nil.
func (k *keys) value(t reflect.Type) {
	t = plain(t)
	switch k.next() {
	case '"':
		k.text()
	case '{':
		k.object(t)
	case '[':
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		k.at++
		for i := 0; k.next() != ']' && k.err == nil; i++ {
			if k.data[k.at] == ',' {
				k.at++
			}
			k.path = append(k.path, step{index: i})
			k.part(elem)
			k.path = k.path[:len(k.path)-1]
		}
		k.at++
	default:
		start := k.at
		for k.at < len(k.data) && strings.IndexByte(",]} \t\r\n", k.data[k.at]) < 0 {
			k.at++
		}
		if t == nil {
			k.number(start)
		}
	}
}

// number checks a number that ends at k.at, and is read by somebody else: true, false and null are none. Few need the time of strconv.
func (k *keys) number(start int) {
	text := k.data[start:k.at]
	if text[0] > '9' || (len(text) < 300 || k.bigInts) && !strings.ContainsAny(text, "eE") {
		return
	}
	if x, _ := strconv.ParseFloat(text, 64); math.IsInf(x, 0) {
		if len(text) > 80 {
			text = text[:80] + "…"
		}
		k.err = k.errorf(start, "the number %s is outside the range of float64%s: write one up to 1.8e308", text, k.where())
	}
}

// part is value for a value in an array or in a map.
func (k *keys) part(t reflect.Type) {
	if k.next() == 'n' && t != nil && (t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String) && plain(t) != nil {
		k.err = k.errorf(k.at, "found null%s, expected one of the type %s", k.where(), t.Kind())
		return
	}
	k.value(t)
}

// plain returns the type behind pointers, nil for one that reads its JSON itself.
func plain(t reflect.Type) reflect.Type {
	for t != nil {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

// where names the object or array in an error.
func (k *keys) where() string {
	if len(k.path) == 0 {
		return ""
	}
	parts := make([]string, len(k.path))
	for i, s := range k.path {
		if parts[i] = s.name; !s.key {
			parts[i] = strconv.Itoa(s.index)
		}
	}
	return " in " + strings.Join(parts, ".")
}

// fieldsOf returns the fields of a struct type, by their names in JSON, folded.
func (k *keys) fieldsOf(t reflect.Type) map[string]reflect.StructField {
	all, ok := k.fields[t]
	if ok {
		return all
	}
	if k.fields == nil {
		k.fields = map[reflect.Type]map[string]reflect.StructField{}
	}
	all = map[string]reflect.StructField{}
	k.fields[t] = all
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			for name, f := range k.fieldsOf(inner) {
				if _, nearer := all[name]; !nearer {
					all[name] = f
				}
			}
		case f.IsExported():
			all[folded(cmp.Or(name, f.Name))] = f
		}
	}
	return all
}

// folded returns a text that two names share if they differ in case alone.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// text skips a text and returns it with its quotes.
func (k *keys) text() string {
	start := k.at
	for k.at++; k.data[k.at] != '"'; k.at++ {
		if k.data[k.at] == '\\' {
			k.escape()
		}
	}
	k.at++
	return k.data[start:k.at]
}

// escape skips an escape sequence up to its last byte.
func (k *keys) escape() {
	start := k.at
	k.at++
	if k.data[k.at] != 'u' {
		return
	}
	k.at += 4
	if r := k.unit(start); utf16.IsSurrogate(r) {
		if utf16.DecodeRune(r, k.unit(k.at+1)) == utf8.RuneError {
			if k.err == nil {
				k.err = k.errorf(start, "%s is half of a surrogate pair, expected a character", k.data[start:start+6])
			}
			return
		}
		k.at += 6
	}
}

// unit returns the code unit of an escape sequence such as \u00e4 that begins at a place, 0 if there is none.
func (k *keys) unit(at int) rune {
	if at+6 > len(k.data) || k.data[at] != '\\' || k.data[at+1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(k.data[at+2:at+6], 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

func (k *keys) object(t reflect.Type) {
	k.at++
	seen := map[string]bool{}
	var fields map[string]reflect.StructField
	var given map[string]string // the keys of fields, by their names
	var elem reflect.Type
	switch {
	case t == nil:
	case t.Kind() == reflect.Map:
		elem = t.Elem()
	case t.Kind() == reflect.Struct:
		fields, given = k.fieldsOf(t), map[string]string{}
	}
	for k.next() != '}' {
		if k.data[k.at] == ',' {
			k.at++
			k.next()
		}
		start := k.at
		text := k.text()
		name := text[1 : len(text)-1]
		if strings.Contains(name, `\`) {
			if json.Unmarshal([]byte(text), &name) != nil {
				return // not valid JSON
			}
		}
		if seen[name] {
			k.err = k.errorf(start, "the key %q occurs twice%s: remove one", name, k.where())
			return
		}
		seen[name] = true
		if fields != nil {
			same := folded(name)
			f, known := fields[same]
			if other := given[same]; known && other != "" {
				k.err = k.errorf(start, "the keys %q and %q%s are one key: remove one", other, name, k.where())
				return
			}
			given[same], elem = name, nil
			if known {
				elem = f.Type
			}
		}
		k.next()
		k.at++ // the colon
		k.path = append(k.path, step{key: true, name: name})
		if fields != nil {
			k.value(elem)
		} else {
			k.part(elem)
		}
		if k.err != nil {
			return
		}
		k.path = k.path[:len(k.path)-1]
	}
	k.at++
}
