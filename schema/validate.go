package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what Validate accepts, far above anything real.
const (
	maxNameLen     = 4096
	maxItems       = 1 << 20 // functions, types
	maxMembers     = 1 << 16 // fields, methods or attributes of a type; parameters of a function
	maxAncestors   = 128
	maxObjectSize  = 1 << 30
	minOffset      = -1 << 16
	maxAlignment   = 1 << 16
	maxVersionPart = 1 << 20
)

// Sort puts s into canonical order: functions by source, name and library,
// types parents first and then by key, attributes by name. Libraries, fields
// and methods keep their order, which has a meaning.
func (s *Schema) Sort() {
	slices.SortStableFunc(s.Functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Library, b.Library))
	})
	slices.SortStableFunc(s.Types, func(a, b Type) int {
		return cmp.Or(cmp.Compare(len(a.Ancestors), len(b.Ancestors)), cmp.Compare(a.Key, b.Key))
	})
	for i := range s.Types {
		slices.Sort(s.Types[i].Attributes)
	}
	slices.SortStableFunc(s.Flaws, func(a, b Flaw) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Library, b.Library))
	})
}

// Validate returns an error unless s is complete and consistent: every name is set and
// valid UTF-8, no item occurs twice, ancestors exist and agree with each other,
// fields lie inside their objects, and type expressions are well formed. The
// error names the item.
func (s Schema) Validate() error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func (s Schema) validate() error {
	if s.Format != FormatVersion {
		return fmt.Errorf("format is %d, expected %d", s.Format, FormatVersion)
	}
	for _, part := range []int{s.ABI.Major, s.ABI.Minor, s.ABI.Patch} {
		if part < 0 || part > maxVersionPart {
			return fmt.Errorf("abi version %d.%d.%d is not plausible", s.ABI.Major, s.ABI.Minor, s.ABI.Patch)
		}
	}
	libraries, err := s.validateLibraries()
	if err != nil {
		return err
	}
	if len(s.Functions) > maxItems || len(s.Types) > maxItems {
		return fmt.Errorf("%d functions and %d types; the limit is %d each", len(s.Functions), len(s.Types), maxItems)
	}
	if err := s.validateFunctions(libraries); err != nil {
		return err
	}
	if err := s.validateTypes(libraries); err != nil {
		return err
	}
	return s.validateFlaws()
}

// validateLibraries returns the names of the libraries, with the empty one of items without a library.
func (s Schema) validateLibraries() (map[string]bool, error) {
	libraries := map[string]bool{"": true}
	for i, l := range s.Libraries {
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("library %d (%q): %w", i, l.File, err)
		}
		if libraries[l.File] {
			return nil, fmt.Errorf("library %q occurs twice", l.File)
		}
		for _, need := range l.Needs {
			if need == "" || !libraries[need] {
				return nil, fmt.Errorf("library %q needs %q, which is not in the list before it", l.File, need)
			}
		}
		libraries[l.File] = true
	}
	return libraries, nil
}

func (s Schema) validateFunctions(libraries map[string]bool) error {
	type functionKey struct {
		source  Source
		library string
		name    string
	}
	functions := map[functionKey]bool{}
	for _, f := range s.Functions {
		if err := f.validate(libraries); err != nil {
			return fmt.Errorf("function %q: %w", f.Name, err)
		}
		key := functionKey{source: f.Source, name: f.Name}
		if f.Source == SourceModule {
			key.library = f.Library
		}
		if functions[key] {
			return fmt.Errorf("function %q occurs twice", f.Name)
		}
		functions[key] = true
	}
	return nil
}

func (s Schema) validateTypes(libraries map[string]bool) error {
	types := make(map[string]*Type, len(s.Types))
	for i := range s.Types {
		t := &s.Types[i]
		if types[t.Key] != nil {
			return fmt.Errorf("type %q occurs twice", t.Key)
		}
		types[t.Key] = t
	}
	for i := range s.Types {
		t := &s.Types[i]
		err := t.validate(libraries)
		if err == nil {
			err = t.validateAncestors(types)
		}
		if err != nil {
			return fmt.Errorf("type %q: %w", t.Key, err)
		}
	}
	return nil
}

func (s Schema) validateFlaws() error {
	if len(s.Flaws) > maxItems {
		return fmt.Errorf("%d flaws; the limit is %d", len(s.Flaws), maxItems)
	}
	for _, f := range s.Flaws {
		for _, text := range []string{f.Kind, f.Name, f.Library, f.Reason} {
			if err := checkText(text); err != nil {
				return fmt.Errorf("flaw %q: %w", f.Name, err)
			}
		}
	}
	return nil
}

// SetAside makes s valid: one bad item of a library must not keep the others from
// being bound. A function or method that is bad only because of its metadata loses that
// and becomes a packed one with a Flaw. A method whose name and parameters an earlier method has
// is left out. Other bad functions and types become Flaws of s.
func (s *Schema) SetAside() {
	libraries := map[string]bool{"": true}
	for _, l := range s.Libraries {
		libraries[l.File] = true
	}
	for i := range s.Functions {
		f := &s.Functions[i]
		f.Flaw = cleanFlaw(f.Flaw)
		if err := f.validateMetadata(); err != nil {
			f.Signature, f.Metadata, f.Reported, f.Flaw = nil, nil, false, cleanFlaw(err.Error())
		}
	}
	s.Functions = slices.DeleteFunc(s.Functions, func(f Function) bool {
		return s.Flawed("function", f.Name, f.Library, f.validate(libraries))
	})
	for i := range s.Types {
		t := &s.Types[i]
		for k := range t.Methods {
			m := &t.Methods[k]
			m.Flaw = cleanFlaw(m.Flaw)
			if err := m.validateMetadata(); err != nil {
				m.Signature, m.Metadata, m.Flaw = nil, nil, cleanFlaw(err.Error())
			}
		}
		t.Methods = callable(t.Methods)
	}
	types := map[string]*Type{}
	slices.SortStableFunc(s.Types, func(a, b Type) int { return cmp.Compare(len(a.Ancestors), len(b.Ancestors)) })
	s.Types = slices.DeleteFunc(s.Types, func(t Type) bool {
		err := t.validate(libraries)
		if err == nil {
			err = t.validateAncestors(types)
		}
		if err == nil {
			types[t.Key] = &t
		}
		return s.Flawed("type", t.Key, t.Library, err)
	})
}

// callable returns the methods without those that no call can mean. A call goes to the overload
// whose parameters fit, and to the first method of the name if none has a signature.
func callable(methods []Method) []Method {
	var all []Method
	for _, m := range methods {
		if !slices.ContainsFunc(all, func(other Method) bool {
			return other.Name == m.Name && (m.Signature == nil || other.Params() == m.Params())
		}) {
			all = append(all, m)
		}
	}
	return all
}

// Flawed adds a flaw if err is not nil, and reports whether it did.
func (s *Schema) Flawed(kind, name, library string, err error) bool {
	if err == nil {
		return false
	}
	if checkText(name) != nil {
		name = strings.Trim(strconv.Quote(name), `"`)
	}
	s.Flaws = append(s.Flaws, Flaw{kind, name, library, cleanFlaw(err.Error())})
	return true
}

// cleanFlaw returns the reason of a flaw as a schema holds it.
func cleanFlaw(reason string) string { return strings.ToValidUTF8(reason, "?") }

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the text is not valid UTF-8")
	}
	return nil
}

func checkName(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > maxNameLen:
		return fmt.Errorf("%s has %d bytes, the limit is %d", what, len(s), maxNameLen)
	}
	if err := checkText(s); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (l Library) validate() error {
	if err := checkName("the file", l.File); err != nil {
		return err
	}
	if strings.ContainsAny(l.File, "/\\") || l.File == "." || l.File == ".." {
		return errors.New("the file must be a base name without folders")
	}
	switch l.Role {
	case RoleCore, RoleBound, RoleDependency:
	default:
		return fmt.Errorf("unknown role %q; the roles are core, bound and dependency", l.Role)
	}
	if l.SHA256 != "" && (len(l.SHA256) != 64 || strings.Trim(l.SHA256, "0123456789abcdef") != "") {
		return fmt.Errorf("sha256 %s is not 64 lower-case hexadecimal digits", abbreviate(l.SHA256))
	}
	for _, text := range []string{l.Package, l.PackageVersion, l.PathInPackage} {
		if len(text) > maxNameLen {
			return fmt.Errorf("a text has %d bytes, the limit is %d", len(text), maxNameLen)
		}
		if err := checkText(text); err != nil {
			return err
		}
	}
	if p := l.PathInPackage; strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\\:") || slices.Contains(strings.Split(p, "/"), "..") {
		return fmt.Errorf("path_in_package %q must be relative, with slashes and without \"..\"", p)
	}
	return nil
}

func (f Function) validate(libraries map[string]bool) error {
	if err := checkName("the name", f.Name); err != nil {
		return err
	}
	switch {
	case f.Source != SourceGlobal && f.Source != SourceModule:
		return fmt.Errorf("unknown source %q; the sources are global and module", f.Source)
	case f.Source == SourceModule && f.Library == "":
		return errors.New("a function of a module needs its library")
	case !libraries[f.Library]:
		return fmt.Errorf("library %q is not in the list of libraries", f.Library)
	case f.Reported && f.Signature == nil:
		return errors.New("reported is set, but there is no signature")
	}
	return f.validateMetadata()
}

// validateMetadata checks what comes from the metadata of f.
func (f *Function) validateMetadata() error {
	return validateMetadata(f.Signature, f.Metadata, f.Flaw)
}

// validateMetadata checks what comes from the metadata of m.
func (m *Method) validateMetadata() error {
	return validateMetadata(m.Signature, m.Metadata, m.Flaw)
}

func validateMetadata(s *Signature, extra map[string]any, flaw string) error {
	if flaw != "" && (s != nil || len(extra) > 0) {
		return errors.New("flaw is set, but there is a signature or metadata")
	}
	if err := checkText(flaw); err != nil {
		return fmt.Errorf("flaw: %w", err)
	}
	if err := s.validate(1); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	return checkMetadata(extra)
}

func (s *Signature) validate(depth int) error {
	if s == nil {
		return nil
	}
	if len(s.Params) > maxMembers {
		return fmt.Errorf("%d parameters, the limit is %d", len(s.Params), maxMembers)
	}
	for i, p := range s.Params {
		for _, text := range []string{p.Name, p.Note} {
			if err := checkText(text); err != nil {
				return fmt.Errorf("parameter %d: %w", i, err)
			}
		}
		if err := p.Type.validate(depth + 1); err != nil {
			return fmt.Errorf("parameter %d: %w", i, err)
		}
	}
	if err := s.Return.validate(depth + 1); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

func (t TypeSchema) validate(depth int) error {
	if depth > MaxDepth+1 {
		return fmt.Errorf("types nest deeper than %d levels", MaxDepth)
	}
	if err := checkName("the name of a type", t.Name); err != nil {
		return err
	}
	if t.IsFunction() {
		if len(t.Args) > 0 {
			return fmt.Errorf("%s must hold its signature in func, not in args", t.Name)
		}
		return t.Func.validate(depth)
	}
	if t.Func != nil {
		return fmt.Errorf("%s is not a function but has a signature", t.Name)
	}
	if err := checkArgs(t); err != nil {
		return err
	}
	for _, a := range t.Args {
		if err := a.validate(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (t *Type) validate(libraries map[string]bool) error {
	if err := checkName("the key", t.Key); err != nil {
		return err
	}
	switch {
	case !libraries[t.Library]:
		return fmt.Errorf("library %q is not in the list of libraries", t.Library)
	case t.TotalSize < 0 || t.TotalSize > maxObjectSize:
		return fmt.Errorf("total size %d is out of range", t.TotalSize)
	case max(len(t.Fields), len(t.Methods), len(t.Attributes)) > maxMembers:
		return fmt.Errorf("more than %d fields, methods or attributes", maxMembers)
	}
	if t.Accepts != nil {
		if err := t.Accepts.validate(1); err != nil {
			return fmt.Errorf("what it accepts: %w", err)
		}
	}
	fields := map[string]bool{}
	for _, f := range t.Fields {
		err := f.validate(t.TotalSize)
		if err == nil && fields[f.Name] {
			err = errors.New("it occurs twice")
		}
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		fields[f.Name] = true
	}
	methods := map[string]bool{}
	for _, m := range t.Methods {
		err := checkName("the name", m.Name)
		if err == nil {
			err = m.validateMetadata()
		}
		if err == nil && methods[m.Name] && m.Signature == nil {
			err = errors.New("it occurs twice, and has no signature that tells the two apart")
		}
		if err == nil && methods[m.Name+m.Params()] {
			err = fmt.Errorf("it occurs twice with the parameters %s", m.Params())
		}
		if err != nil {
			return fmt.Errorf("method %q: %w", m.Name, err)
		}
		methods[m.Name], methods[m.Name+m.Params()] = true, true
	}
	attributes := map[string]bool{}
	for _, a := range t.Attributes {
		if err := checkName("the name of an attribute", a); err != nil {
			return err
		}
		if attributes[a] {
			return fmt.Errorf("attribute %q occurs twice", a)
		}
		attributes[a] = true
	}
	return nil
}

func (f Field) validate(totalSize int) error {
	if err := checkName("the name", f.Name); err != nil {
		return err
	}
	switch {
	case f.Offset < minOffset || f.Offset > maxObjectSize:
		return fmt.Errorf("offset %d is out of range", f.Offset)
	case f.Size < 0 || f.Size > maxObjectSize:
		return fmt.Errorf("size %d is out of range", f.Size)
	case totalSize > 0 && f.Offset+f.Size > totalSize:
		return fmt.Errorf("offset %d and size %d lie outside the object, which has %d bytes", f.Offset, f.Size, totalSize)
	case f.Alignment < 0 || f.Alignment > maxAlignment || f.Alignment&(f.Alignment-1) != 0:
		return fmt.Errorf("alignment %d is not a power of two", f.Alignment)
	}
	if err := f.Type.validate(1); err != nil {
		return err
	}
	return checkMetadata(f.Metadata)
}

// validateAncestors checks that the ancestors of t are exactly the ancestors of its
// parent and the parent, which also excludes cycles.
func (t *Type) validateAncestors(types map[string]*Type) error {
	if len(t.Ancestors) > maxAncestors {
		return fmt.Errorf("%d ancestors, the limit is %d", len(t.Ancestors), maxAncestors)
	}
	for i, key := range t.Ancestors {
		if key == t.Key || slices.Contains(t.Ancestors[:i], key) {
			return fmt.Errorf("its ancestors form a cycle at %q", key)
		}
		ancestor := types[key]
		if ancestor == nil {
			return fmt.Errorf("its ancestor %q is not in the schema", key)
		}
		if !slices.Equal(ancestor.Ancestors, t.Ancestors[:i]) {
			return fmt.Errorf("its ancestors disagree with the ancestors of %q: %q against %q", key, t.Ancestors[:i], ancestor.Ancestors)
		}
	}
	return nil
}
