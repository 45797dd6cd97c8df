package emit

import (
	"fmt"
	"go/types"
	pathpkg "path"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// exportrtPath is the import path of the runtime of exported code.
const exportrtPath = "github.com/tvmffi-go/tvmffi/runtime/exportrt"

// exportsFunc is the func that gives the shared library access to the package.
const exportsFunc = "TVMFFIExports"

// Exported holds the input for the files of an export.
type Exported struct {
	*source.Package
	// Library is the name of the shared library, without lib and .so.
	Library string
	Prefix  string
	Tool    string
}

func exportrt(name string) *jen.Statement { return jen.Qual(exportrtPath, name) }

// exporter writes the registration of a package.
type exporter struct {
	Exported
	file *jen.File
	// The names of the locals of adapters: a holds the arguments, r the result, c a call
	// frame and fn the called function.
	a, ok, err, ctx, r, c, fn string
	// self holds the object of a method, and p points to its fields.
	self, p string
}

// newExporter chooses names of locals that do not shadow names of the user.
func newExporter(x Exported, file *jen.File) *exporter {
	local := func(name string) string {
		for x.Declared[name] {
			name += "_"
		}
		return name
	}
	return &exporter{
		Exported: x, file: file,
		a: local("a"), ok: local("ok"), err: local("err"), ctx: local("ctx"), r: local("r"), c: local("c"), fn: local("fn"),
		self: local("self"), p: local("p"),
	}
}

// Registration writes the generated file of the package itself: its types, the list of
// its exports, and Register.
func Registration(x Exported) ([]byte, error) {
	e := newExporter(x, jen.NewFilePathName(x.Path, x.Name))
	e.file.HeaderComment(marker(x.Tool))
	e.file.HeaderComment("// source: the directives of this package")
	e.imports()
	e.file.Comment("// This does not compile if the runtime does not support this generated code.")
	e.file.Const().Id("_").Op("=").Add(exportrt("Generation1"))
	for _, t := range x.Types {
		e.typeVar(t)
	}
	e.file.Line()
	e.file.Var().Id("tvmffiExports").Op("=").Add(e.library())
	e.file.Line()
	e.file.Comment("// Register registers the functions and types of this package for all languages in this")
	e.file.Comment("// process, like the shared library when it is loaded. A second call does nothing.")
	e.file.Func().Id("Register").Params().Error().Block(jen.Return(jen.Id("tvmffiExports").Dot("Register").Call()))
	e.file.Line()
	e.file.Comment("// " + exportsFunc + " is for the main package of the shared library.")
	e.file.Func().Id(exportsFunc).Params().Op("*").Add(exportrt("Exports")).Block(jen.Return(address("tvmffiExports")))
	if slices.ContainsFunc(x.Types, (*source.Type).HasMembers) {
		e.members()
	}
	return e.render("the registration")
}

func (e *exporter) render(what string) ([]byte, error) { return render(e.file, what+" of "+e.Path) }

// imports names each package that the file may need; no name is declared in the user's
// package.
func (e *exporter) imports() {
	paths := map[string]string{plan.Runtime: "tvmffi", plan.Bindrt: "bindrt", exportrtPath: "exportrt", "context": "context"}
	collect := func(t types.Type) {
		walkNamed(t, func(n *types.TypeName) {
			if p := n.Pkg(); p != nil && p.Path() != e.Path && paths[p.Path()] == "" {
				paths[p.Path()] = p.Name()
			}
		})
	}
	functions := slices.Clone(e.Functions)
	for _, t := range e.Types {
		functions = slices.Concat(functions, t.Methods, t.Properties)
		if t.Constructor != nil {
			functions = append(functions, t.Constructor)
		}
	}
	for _, f := range functions {
		for _, p := range slices.Concat(f.Params, f.Results) {
			collect(p.Type)
		}
	}
	for _, in := range e.Included {
		paths[in.Path] = in.Name
	}
	if len(e.Types) > 0 {
		paths[plan.Runtime+"/define"] = "define"
	}
	if slices.ContainsFunc(e.Types, func(t *source.Type) bool { return t.Structural != "" }) {
		paths[plan.Runtime+"/structural"] = "structural"
	}
	used := map[string]bool{e.a: true, e.ok: true, e.err: true, e.ctx: true, e.r: true, e.c: true, e.fn: true, e.self: true, e.p: true}
	for _, path := range sortedKeys(paths) {
		name := paths[path]
		for e.Declared[name] || used[name] {
			name += "pkg"
		}
		used[name] = true
		importAs(e.file, path, name, name != paths[path] || name != pathpkg.Base(path))
	}
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// walkNamed visits the named types in t.
func walkNamed(t types.Type, visit func(*types.TypeName)) {
	switch t := t.(type) {
	case *types.Alias:
		visit(t.Obj())
	case *types.Named:
		visit(t.Obj())
		for a := range t.TypeArgs().Types() {
			walkNamed(a, visit)
		}
	case *types.Pointer:
		walkNamed(t.Elem(), visit)
	case *types.Slice:
		walkNamed(t.Elem(), visit)
	case *types.Array:
		walkNamed(t.Elem(), visit)
	case *types.Map:
		walkNamed(t.Key(), visit)
		walkNamed(t.Elem(), visit)
	case *types.Signature:
		for p := range t.Params().Variables() {
			walkNamed(p.Type(), visit)
		}
		for p := range t.Results().Variables() {
			walkNamed(p.Type(), visit)
		}
	}
}

// key is the key of a type with the prefix.
func (e *exporter) key(t *source.Type) string { return e.prefixed(t.Key) }

// prefixed returns a key or a kind with the prefix.
func (e *exporter) prefixed(key string) string {
	if strings.Contains(key, ".") {
		return key
	}
	return e.Prefix + key
}

func (e *exporter) typeVar(t *source.Type) {
	name := t.GoName + "Type"
	args := []jen.Code{jen.Lit(e.key(t))}
	if t.Doc != "" {
		args = append(args, define("Doc").Call(jen.Lit(t.Doc)))
	}
	if t.Parent != "" {
		args = append(args, define("ParentKey").Call(jen.Lit(t.Parent)))
	}
	for _, flag := range t.Flags {
		args = append(args, define(flag).Call())
	}
	if t.Structural != "" {
		args = append(args, define("Structural").Call(jen.Qual(plan.Runtime+"/structural", t.Structural)))
	}
	if t.HasMembers() {
		args = append(args, define("Deferred").Call(address(membersOf(t))))
	}
	e.file.Line()
	what, object := "Object", "define.Instance["+t.GoName+"]"
	if t.Opaque {
		what, object = "Opaque", t.GoName
	}
	e.file.Commentf("// %s is the type %s: objects of it are *%s.", name, e.key(t), object)
	e.file.Var().Id(name).Op("=").Add(define(what).Types(jen.Id(t.GoName)).Call(lines(args)...))
}

// lines puts each argument after the first on its own line.
func lines(args []jen.Code) []jen.Code {
	for i := 1; i < len(args); i++ {
		args[i] = jen.Line().Add(args[i])
	}
	return args
}

func membersOf(t *source.Type) string {
	return "members" + t.GoName
}

// members writes the methods of types. An init function sets them, because a method may
// use the variable of its type, which would be an initialization cycle.
func (e *exporter) members() {
	var names, sets []jen.Code
	for _, t := range e.Types {
		if !t.HasMembers() {
			continue
		}
		names = append(names, jen.Id(membersOf(t)))
		var items []jen.Code
		if t.Constructor != nil {
			items = append(items, e.constructor(t, t.Constructor))
		}
		for _, m := range slices.Concat(t.Methods, t.Properties) {
			items = append(items, e.member(t, m))
		}
		sets = append(sets, jen.Id(membersOf(t)).Op("=").Index().Add(define("TypeOption")).Values(spread(items)...))
	}
	e.file.Line()
	e.file.Var().List(names...).Index().Add(define("TypeOption"))
	e.file.Line()
	e.file.Func().Id("init").Params().Block(sets...)
}

// spread puts each item on its own line.
func spread(items []jen.Code) []jen.Code {
	out := make([]jen.Code, 0, len(items)+1)
	for _, item := range items {
		out = append(out, jen.Line().Add(item))
	}
	return append(out, jen.Line())
}

func (e *exporter) member(t *source.Type, m *source.Function) jen.Code {
	if m.Hook != "" {
		return define(m.Hook).Call(methodOf(t, m))
	}
	args := []jen.Code{jen.Lit(m.Name), e.visible(m, t)}
	if m.Doc != "" {
		args = append(args, runtime("Doc").Call(jen.Lit(m.Doc)))
	}
	return define("Method").Call(append(append(args, e.paramOptions(m)...), exportrt("Method").Call(e.directOf(t, m)))...)
}

// paramOptions returns the options for the names of the parameters.
func (e *exporter) paramOptions(f *source.Function) []jen.Code {
	var options []jen.Code
	for _, name := range e.paramNames(f) {
		options = append(options, runtime("Param").Call(name, jen.Lit("")))
	}
	return options
}

// direct returns the exportrt.Function of f, which is a method of t unless t is nil.
func (e *exporter) direct(name string, f *source.Function, t *source.Type, more ...jen.Code) *jen.Statement {
	fields := append([]jen.Code{field("Name", jen.Lit(name))}, more...)
	if names := e.paramNames(f); len(names) > 0 {
		fields = append(fields, field("Params", jen.Index().String().Values(names...)))
	}
	return jen.Values(spread(append(fields, e.callFields(f, t)...))...)
}

func (e *exporter) library() jen.Code {
	fields := []jen.Code{field("Name", jen.Lit(e.Library)), field("Prefix", jen.Lit(e.Prefix))}
	if len(e.Types) > 0 {
		var all []jen.Code
		for _, t := range e.Types {
			all = append(all, jen.Id(t.GoName+"Type"))
		}
		fields = append(fields, field("Types", jen.Index().Add(exportrt("Type")).Values(all...)))
	}
	if len(e.Functions) > 0 {
		var all []jen.Code
		for _, f := range e.Functions {
			all = append(all, e.function(f))
		}
		fields = append(fields, field("Functions", jen.Index().Add(exportrt("Function")).Values(spread(all)...)))
	}
	if methods := e.contextMethods(); len(methods) > 0 {
		var all []jen.Code
		for _, m := range methods {
			all = append(all, e.method(m.owner, m.method))
		}
		fields = append(fields, field("Methods", jen.Index().Add(exportrt("Function")).Values(spread(all)...)))
	}
	if len(e.Errors) > 0 {
		var all []jen.Code
		for _, t := range e.Errors {
			all = append(all, e.errorType(t))
		}
		fields = append(fields, field("Errors", jen.Index().Add(exportrt("ErrorType")).Values(spread(all)...)))
	}
	if len(e.Enums) > 0 {
		var all []jen.Code
		for _, t := range e.Enums {
			all = append(all, exportrt("EnumOf").Types(jen.Id(t.GoName)).Call())
		}
		fields = append(fields, field("Enums", jen.Index().Add(exportrt("Enum")).Values(spread(all)...)))
	}
	if e.Exits {
		fields = append(fields, field("Goexit", jen.True()))
	}
	if len(e.Included) > 0 {
		var all []jen.Code
		for _, in := range e.Included {
			all = append(all, jen.Qual(in.Path, exportsFunc).Call())
		}
		fields = append(fields, field("Includes", jen.Index().Op("*").Add(exportrt("Exports")).Values(all...)))
	}
	return exportrt("Exports").Values(spread(fields)...)
}

// field is a field of a composite literal.
func field(name string, value jen.Code) jen.Code { return jen.Id(name).Op(":").Add(value) }

func (e *exporter) function(f *source.Function) jen.Code {
	fields := []jen.Code{field("Name", jen.Lit(f.Name))}
	if f.Doc != "" {
		fields = append(fields, field("Doc", jen.Lit(f.Doc)))
	}
	if names := e.paramNames(f); len(names) > 0 {
		fields = append(fields, field("Params", jen.Index().String().Values(names...)))
	}
	return jen.Values(spread(append(fields, e.callFields(f, nil)...))...)
}

// paramNames returns the names of the parameters as string literals.
func (e *exporter) paramNames(f *source.Function) []jen.Code {
	if f.Packed {
		return nil
	}
	var names []jen.Code
	for i, p := range f.Params {
		name := p.Name
		if name == "" || name == "_" {
			name = fmt.Sprintf("arg%d", i)
		}
		names = append(names, jen.Lit(name))
	}
	return names
}

// argument returns the name of the variable that holds argument i.
func (e *exporter) argument(i int) string { return e.numbered("x", i) }

func (e *exporter) numbered(letter string, i int) string {
	name := letter + strconv.Itoa(i)
	for e.Declared[name] {
		name += "_"
	}
	return name
}

// goType writes a type of the user.
func (e *exporter) goType(t types.Type) jen.Code {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return jen.Qual("unsafe", "Pointer")
		}
		return jen.Id(t.Name())
	case *types.Alias:
		return e.named(t.Obj(), t.TypeArgs())
	case *types.Named:
		return e.named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return jen.Op("*").Add(e.goType(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(e.goType(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(e.goType(t.Elem()))
	case *types.Map:
		return jen.Map(e.goType(t.Key())).Add(e.goType(t.Elem()))
	case *types.Signature:
		var params, results []jen.Code
		for p := range t.Params().Variables() {
			params = append(params, e.goType(p.Type()))
		}
		for r := range t.Results().Variables() {
			results = append(results, e.goType(r.Type()))
		}
		return jen.Func().Params(params...).Params(results...)
	case *types.Interface:
		return jen.Any()
	case *types.Struct: // in a map that stands for a set
		return jen.Struct()
	}
	panic(fmt.Sprintf("emit: no code for type %s", t))
}

func (e *exporter) named(o *types.TypeName, args *types.TypeList) jen.Code {
	s := jen.Id(o.Name())
	if o.Pkg() != nil {
		s = jen.Qual(o.Pkg().Path(), o.Name())
	}
	if args.Len() == 0 {
		return s
	}
	var list []jen.Code
	for a := range args.Types() {
		list = append(list, e.goType(a))
	}
	return s.Types(list...)
}
