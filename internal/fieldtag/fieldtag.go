// Package fieldtag reads the tags of fields, `ffi:"name,options"`, for define.Object, which
// sees them at run time, and for the export of Go packages, which sees the source.
// It knows the grammar of tags; whether an option fits its field is for the callers to check.
package fieldtag

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Tag is the content of a tag.
type Tag struct {
	// Name is empty for a field that is left out, whose tag is "-".
	Name     string
	Optional bool
	// Flags are the flags that the options set; a field without options is writable.
	Flags      schema.Flags
	Default    string
	HasDefault bool
}

// flags are the options that set a flag.
var flags = map[string]schema.Flags{
	"kwonly": schema.FlagKwOnly, "noinit": schema.FlagInitOff,
	"norepr": schema.FlagReprOff, "nocompare": schema.FlagCompareOff, "nohash": schema.FlagHashOff,
	"ignore": schema.FlagSEqHashIgnore, "def": schema.FlagDefPattern, "simpledef": schema.FlagDefSimple,
}

// Lookup returns the value of ffi in a whole tag. If reflect finds none because the tag is
// malformed, Lookup returns an error.
func Lookup(tag reflect.StructTag) (text string, ok bool, err error) {
	if text, ok := tag.Lookup("ffi"); ok {
		return text, true, nil
	}
	for rest := string(tag); strings.Contains(rest, "ffi:"); {
		key, value, _ := strings.Cut(strings.TrimLeft(rest, " "), ":")
		quoted, err := strconv.QuotedPrefix(value)
		if err != nil || quoted[0] != '"' || strings.ContainsAny(key, " \t\r\n,;") {
			return "", false, fmt.Errorf("the tag %s is malformed: write `ffi:\"name\"`, and a space before the next key", tag)
		}
		rest = value[len(quoted):]
	}
	return "", false, nil
}

// ErrNotExported says that a field with a tag cannot be read from outside its package.
var ErrNotExported = errors.New("it has a tag, but is not exported: write it with a capital letter")

// Embeds reports whether the fields of f, a field without a tag, count as fields of the struct around it. A pointer to a
// struct that has tags is an error: there would be no place for its fields where it is nil.
func Embeds(f reflect.StructField) (bool, error) {
	if !f.Anonymous || f.Type.Kind() == reflect.Struct {
		return f.Anonymous, nil
	}
	if f.Type.Kind() == reflect.Pointer && hasTags(f.Type.Elem(), nil) {
		return false, ByPointer(f.Type.String())
	}
	return false, nil
}

// ByPointer is the error about an embedded field of the given type, a pointer to a struct that has tags.
func ByPointer(kind string) error {
	return fmt.Errorf("it embeds the pointer %s, whose fields would be left out: embed the struct itself, or give the field a tag", kind)
}

// hasTags reports whether a value of type t, which lies in those of the types outer, has fields with tags.
func hasTags(t reflect.Type, outer []reflect.Type) bool {
	if t.Kind() != reflect.Struct || slices.Contains(outer, t) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if _, ok := f.Tag.Lookup("ffi"); ok {
			return true
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if f.Anonymous && hasTags(inner, append(outer, t)) {
			return true
		}
	}
	return false
}

// Parse reads the value of ffi.
func Parse(text string) (Tag, error) {
	name, options, _ := strings.Cut(text, ",")
	if name == "-" {
		return Tag{}, nil
	}
	if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, " `\"") || strings.ContainsFunc(name, unicode.IsControl) {
		return Tag{}, fmt.Errorf("the tag has no name that other languages can use: %q", name)
	}
	t := Tag{Name: name, Flags: schema.FlagWritable}
	for options != "" {
		if t.Default, t.HasDefault = strings.CutPrefix(options, "default="); t.HasDefault {
			return t, nil
		}
		t.Default = ""
		var option string
		option, options, _ = strings.Cut(options, ",")
		switch {
		case option == "optional":
			t.Optional = true
		case option == "readonly":
			t.Flags &^= schema.FlagWritable
		case flags[option] != 0:
			t.Flags |= flags[option]
		default:
			return Tag{}, fmt.Errorf("the tag has an unknown option %q: there are optional, kwonly, noinit, readonly, norepr, nocompare, nohash, ignore, def, simpledef and, as the last, default=VALUE", option)
		}
	}
	return t, nil
}

// DataType stands for the runtime's DataType where that cannot be imported.
type DataType struct{ abi.DLDataType }

// octal says whether an int is written with a zero in front: 010 is 8 for [strconv], and 10 as a float, as 010s and in Python.
func octal(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789_") == ""
}

// Duration reads a duration: one in the form of time.ParseDuration, such as 1.5s, or a number of nanoseconds. A part of a nanosecond,
// which ParseDuration drops, is an error.
func Duration(text string) (time.Duration, error) {
	if octal(text) {
		return 0, errOctal
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return time.Duration(n), nil
	}
	if _, err := time.ParseDuration(text); err != nil {
		return 0, err
	}
	whole := new(big.Rat) // ParseDuration counts in float64 behind the point
	for rest := strings.TrimLeft(text, "+-"); rest != ""; {
		units := strings.TrimLeft(rest, ".0123456789")
		number, unit := rest[:len(rest)-len(units)], units
		if i := strings.IndexAny(units, ".0123456789"); i >= 0 {
			unit = units[:i]
		}
		rest = units[len(unit):]
		one, _ := time.ParseDuration("1" + unit)
		if part, ok := new(big.Rat).SetString("0" + number); ok {
			whole.Add(whole, part.Mul(part, new(big.Rat).SetInt64(int64(one))))
		}
	}
	if text[0] == '-' {
		whole.Neg(whole)
	}
	if !whole.IsInt() || !whole.Num().IsInt64() {
		return 0, errPart
	}
	return time.Duration(whole.Num().Int64()), nil
}

var (
	errPart  = errors.New("has a part of a nanosecond, which a duration cannot have")
	errOctal = errors.New("has a zero in front, which makes it octal for some readers: leave the zero out, or write 0o")
)

// SetDefault reads the text of a default into target. It reports false if values of that
// type have no text. Its cases are what [strconv] reads at a width of Go, and not the kinds that cross: most of those have no text.
func SetDefault(text string, target reflect.Value) (ok bool, err error) {
	kind := target.Kind()
	switch {
	case kind == reflect.Bool:
		var x bool
		x, err = strconv.ParseBool(text)
		target.SetBool(x)
	case target.Type() == reflect.TypeFor[time.Duration]():
		x, err := Duration(text)
		switch {
		case errors.Is(err, errPart), errors.Is(err, errOctal):
			return true, fmt.Errorf("the default %q %w", text, err)
		case err != nil:
			return true, fmt.Errorf("the default %q is not a duration: write one such as 1.5s, or a number of nanoseconds", text)
		}
		target.SetInt(int64(x))
		return true, nil
	case (target.CanInt() || target.CanUint()) && octal(text):
		return true, fmt.Errorf("the default %q %w", text, errOctal)
	case target.CanInt():
		var x int64
		x, err = strconv.ParseInt(text, 0, target.Type().Bits())
		target.SetInt(x)
	case target.CanUint():
		var x uint64
		x, err = strconv.ParseUint(text, 0, target.Type().Bits())
		target.SetUint(x)
	case target.CanFloat():
		var x float64
		x, err = jsonlines.Float(text, target.Type().Bits())
		target.SetFloat(x)
	case kind == reflect.String:
		target.SetString(text)
	case target.Type() == reflect.TypeFor[DataType]():
		if strings.HasPrefix(text, "custom") {
			return true, nil // only a loaded library knows
		}
		if _, err = abi.ParseDLDataType(text); err != nil {
			err = fmt.Errorf("the default %q: %w", text, err)
		}
		return true, err
	default:
		return false, nil
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, strconv.ErrRange):
		err = fmt.Errorf("the default %q does not fit %s", text, kind)
	case strings.Contains(text, ","):
		err = fmt.Errorf("the default %q is not a valid %s: default= takes the rest of the tag, so put it last", text, kind)
	default:
		err = fmt.Errorf("the default %q is not a valid %s", text, kind)
	}
	return true, err
}
