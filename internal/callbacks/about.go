package callbacks

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// About describes an exported function for the errors about its arguments, in words that
// hold in every language.
type About struct {
	// Name is the name that callers know, such as add, or Point.move for a method.
	Name string
	// Params are the names of the parameters, without the object of a method.
	Params []string
	// Optional is the number of parameters at the end that a call may leave out, without a
	// variadic one.
	Optional int
	// Variadic is set if the last parameter takes any number of arguments.
	Variadic bool
	// Method is set if the first argument is the object.
	Method bool
	// Ended, if it is not nil, is called when native code has released the function. It must
	// return at once and call nothing of this module, because locks are held.
	Ended func()
}

// NodeEnded calls Ended.
func (b *About) NodeEnded() {
	if b.Ended != nil {
		b.Ended()
	}
}

// counts returns the numbers of arguments that a call may have, with the object of a
// method. most is -1 if there is no limit.
func (b *About) counts() (least, most int) {
	most = len(b.Params)
	if b.Method {
		most++
	}
	least = most - b.Optional
	if b.Variadic {
		return least - 1, -1
	}
	return least, most
}

// inArgument adds to an error that it is of argument i: "sorted(rows["x"][2]=...): ...".
func (b *About) inArgument(i int, err error) error {
	path, leaf := failure.PathOf(err)
	kind := failure.KindType
	if f := failure.FailureOf(leaf); f != nil {
		kind = f.Kind
	}
	text := Plain(failure.Message(leaf))
	if last := len(b.Params) - 1; b.Variadic && path == "" && i >= last && (strings.HasSuffix(text, ", got Array") || strings.HasSuffix(text, ", got Tensor")) {
		text += ": pass its elements one by one, such as *x in Python"
	}
	place := b.Name + ": argument " + strconv.Itoa(i) + path
	if name := b.parameter(i); name != "" {
		place = b.Name + "(" + name + path + "=...)"
	}
	return failure.NewFailure(*failure.AtPath(kind, place, text, leaf))
}

// ArgumentError adds to an error that it is of a parameter, in the words for callers.
func ArgumentError(function, parameter string, err error) error {
	return (&About{Name: function, Params: []string{parameter}}).inArgument(0, err)
}

// parameter names argument i; "" if it has no name.
func (b *About) parameter(i int) string {
	if b.Method {
		if i--; i < 0 {
			return "self"
		}
	}
	last := len(b.Params) - 1
	switch {
	case b.Variadic && i >= last && last >= 0:
		return b.Params[last] + "[" + strconv.Itoa(i-last) + "]"
	case i > last:
		return ""
	}
	return b.Params[i]
}

// wrongCount is the error of a call with n arguments.
func (b *About) wrongCount(n int) error {
	least, most := b.counts()
	if b.Method {
		least, most, n = least-1, max(most-1, -1), max(n-1, 0)
	}
	takes := "no arguments"
	switch {
	case most < 0:
		takes = "at least " + arguments(least)
	case least < most:
		takes = strconv.Itoa(least) + " to " + arguments(most)
	case most > 0:
		takes = arguments(most)
	}
	if len(b.Params) > 0 {
		takes += " (" + strings.Join(b.Params, ", ")
		if b.Variadic {
			takes += "..."
		}
		takes += ")"
	}
	text := b.Name + "() takes " + takes + ", got " + strconv.Itoa(n)
	if n < least {
		missing := b.Params[n:least]
		verb := " is missing"
		if len(missing) > 1 {
			verb = " are missing"
		}
		text += ": " + strings.Join(missing, ", ") + verb
	}
	return failure.Errorf(failure.KindType, "%s", text)
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return strconv.Itoa(n) + " arguments"
}

// Plain puts the words of a codec into words that hold in every language:
// "expected ffi.Array of float64, got ffi.SmallStr" is "expected a sequence of float64, got
// string".
func Plain(message string) string {
	if key, ok := strings.CutPrefix(message, "a key: "); ok {
		return "a key: " + Plain(key)
	}
	rest, ok := strings.CutPrefix(message, "expected ")
	at := strings.LastIndex(rest, ", got ")
	if !ok || at < 0 {
		return message
	}
	got := rest[at+len(", got "):]
	if rest[:at] == "int" && got == "ffi.BigInt" {
		return "expected an int from -2**63 to 2**63-1, got one outside this range"
	}
	return "expected " + plainType(rest[:at]) + ", got " + plainValue(got) + instead(rest[:at], got)
}

// instead says what to pass in place of a value that looks like a sequence or a map to its owner, such as
// an array of NumPy, or a set, a range or a generator of Python.
func instead(want, got string) string {
	want = strings.TrimPrefix(want, "Optional<")
	switch {
	case strings.HasPrefix(want, record) && got == "ffi.OpaquePyObject":
		return ": pass a dict, such as vars(x)"
	case strings.HasPrefix(want, record):
		return ""
	case strings.HasPrefix(want, "ffi.Map") && got == "ffi.Array":
		return ": pass a dict, such as dict(x) in Python for a DataFrame or a list of pairs"
	}
	if strings.HasPrefix(want, "ffi.Bytes") && got == "ffi.Array" {
		return ": pass bytes(x) in Python for a list of ints"
	}
	if !strings.HasPrefix(want, "ffi.Array") {
		return ""
	}
	switch got {
	case "ffi.Tensor", "DLTensor*":
		return ": pass its values, such as x.tolist() in Python"
	case "ffi.OpaquePyObject":
		return ": pass a list or a tuple, such as list(x)"
	}
	return ""
}

// record begins the name of what a struct with tags is read from.
const record = "ffi.Map, ffi.Dict or an object for "

// plainValue describes a value by the name of its type.
func plainValue(name string) string {
	switch kind, _ := crossing.Named(name); kind {
	case crossing.KindBigInt:
		return "an int outside the range of int64"
	case crossing.KindOpaque:
		return "an object that only Python knows"
	default:
		return cmp.Or(crossing.Rows[kind].Plain, strings.TrimPrefix(name, "ffi."))
	}
}

// short shortens the names of types inside others.
var short = strings.NewReplacer(
	crossing.Rows[crossing.KindString].Key, crossing.Rows[crossing.KindString].Plain,
	crossing.Rows[crossing.KindBytes].Key, crossing.Rows[crossing.KindBytes].Plain, "ffi.", "")

// plainType describes the type that a codec expects.
func plainType(name string) string {
	switch kind, _ := crossing.Named(name); kind {
	case crossing.KindAny:
		return "any value"
	case crossing.KindArray:
		return "a sequence"
	case crossing.KindBigInt:
		return "an int"
	case crossing.KindBytes:
		return crossing.Rows[kind].Plain
	case crossing.KindPointer:
		name = crossing.Rows[kind].Plain
	}
	if inner, ok := strings.CutPrefix(name, "Optional<"); ok {
		return plainType(strings.TrimSuffix(inner, ">")) + " or None"
	}
	if inner, ok := strings.CutPrefix(name, "ffi.Array of "); ok {
		return "a sequence of " + inner
	}
	if inner, ok := strings.CutPrefix(name, record); ok {
		return "a map (" + inner + " in Go)"
	}
	if inner, ok := strings.CutPrefix(name, "ffi.Map for "); ok {
		return "a map (" + inner + " in Go)"
	}
	if inner, ok := strings.CutPrefix(name, "Tuple<"); ok {
		return "a tuple (" + short.Replace(strings.TrimSuffix(inner, ">")) + ")"
	}
	if n, elem, ok := strings.Cut(name, "]"); ok && len(n) > 1 && n[0] == '[' {
		return "a sequence of " + n[1:] + " elements of " + elem // an array of Go
	}
	name = short.Replace(name)
	switch {
	case name == "" || strings.ContainsRune("[*0123456789", rune(name[0])) || strings.HasPrefix(name, "a "), strings.HasPrefix(name, "an "):
		return name
	case strings.ContainsRune("aeioAEIO", rune(name[0])):
		return "an " + name
	}
	return "a " + name
}
