package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/libname"
)

const initName = "__ffi_init__"

// Fingerprint returns a hash of the interface: names, canonical signatures,
// type hierarchy, fields and constructors. Docs, file hashes, memory layout,
// versions and the spelling of the metadata do not enter it, so that the same
// library built for another platform has the same fingerprint.
func (s Schema) Fingerprint() string {
	return s.fingerprint(func(string) bool { return true })
}

// LibraryFingerprint is the Fingerprint of the items that the library with this file name
// added.
func (s Schema) LibraryFingerprint(file string) string {
	return s.fingerprint(func(library string) bool { return library == file })
}

func (s Schema) fingerprint(selected func(library string) bool) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, f := range s.Functions {
		if !selected(f.Library) {
			continue
		}
		add("function %s %q %q %q", f.Source, f.ModuleStem(), f.Name, f.Signature.String())
	}
	byKey := s.typesByKey()
	for i := range s.Types {
		t := &s.Types[i]
		if !selected(t.Library) {
			continue
		}
		add("type %q %q", t.Key, t.Ancestors)
		if t.Accepts != nil {
			add("accepts %q %q", t.Key, t.Accepts)
		}
		for _, f := range t.Fields {
			add("field %q %q %q %t", t.Key, f.Name, f.Type, f.Flags&FlagWritable != 0)
		}
		for _, m := range t.Methods {
			add("method %q %q %q %t", t.Key, m.Name, m.Signature.String(), m.Flags&FlagIsStaticMethod != 0)
		}
		if init := autoInit(t, byKey); init != nil {
			add("constructor %q %q", t.Key, initText(init))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(append([]string{"tvmffi interface 1"}, lines...), "\n")))
	return hex.EncodeToString(sum[:])
}

// ModuleStem is the name of the library of a module function without what
// differs between platforms; "" for global functions.
func (f Function) ModuleStem() string {
	if f.Source != SourceModule {
		return ""
	}
	return libname.Stem(f.Library)
}

func (s Schema) typesByKey() map[string]*Type {
	byKey := make(map[string]*Type, len(s.Types))
	for i := range s.Types {
		byKey[s.Types[i].Key] = &s.Types[i]
	}
	return byKey
}

// initParam is a parameter of the constructor that the registry makes from the
// fields of a type.
type initParam struct {
	name     string
	typ      string
	optional bool
}

// autoInit lists the parameters of the automatic constructor: nil if the type
// has none, because it lacks the attribute or declares a constructor itself.
// Required parameters come first, positional before keyword-only, in the order
// in which a caller gives them.
func autoInit(t *Type, byKey map[string]*Type) []initParam {
	if !slices.Contains(t.Attributes, initName) ||
		slices.ContainsFunc(t.Methods, func(m Method) bool { return m.Name == initName }) {
		return nil
	}
	var fields []Field
	for _, key := range t.Ancestors {
		if a := byKey[key]; a != nil {
			fields = append(fields, a.Fields...)
		}
	}
	fields = append(fields, t.Fields...)
	params := []initParam{}
	for _, class := range []Flags{0, FlagKwOnly, FlagHasDefault} {
		for _, f := range fields {
			flags := f.Flags & (FlagKwOnly | FlagHasDefault)
			if flags&FlagHasDefault != 0 {
				flags = FlagHasDefault
			}
			if f.Flags&FlagInitOff == 0 && flags == class {
				params = append(params, initParam{f.Name, f.Type.String(), class == FlagHasDefault})
			}
		}
	}
	return params
}

func initText(params []initParam) string {
	if params == nil {
		return ""
	}
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = p.name + ": " + p.typ
		if p.optional {
			texts[i] += " = default"
		}
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
