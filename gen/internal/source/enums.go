package source

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
)

// Enum is a named integer or string type with exported constants.
type Enum struct {
	GoName string
	Doc    string
	// Constants are in the order of the source.
	Constants []Constant
	Object    *types.TypeName
}

// Constant is an exported constant of an Enum.
type Constant struct {
	GoName string
	Doc    string
	Value  constant.Value
}

// enums reads the named types of the package that have exported constants. A type of
// another package stays a number or a string: its constants are not an interface of this
// package.
func (r *reader) enums(own []*ast.File) {
	byType := map[*types.TypeName]*Enum{}
	docs := map[*types.TypeName]string{}
	for _, file := range own {
		for _, decl := range file.Decls {
			decl, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if named, ok := r.pkg.TypesInfo.Defs[spec.Name].(*types.TypeName); ok {
						docs[named] = documentation(only(spec.Doc, decl))
					}
				case *ast.ValueSpec:
					r.constants(byType, spec, decl)
				}
			}
		}
	}
	for object, enum := range byType {
		enum.Doc = docs[object]
		r.Enums = append(r.Enums, enum)
	}
	slices.SortFunc(r.Enums, func(a, b *Enum) int { return cmp.Compare(a.GoName, b.GoName) })
}

// constants adds the constants of a declaration to the enums of their types.
func (r *reader) constants(byType map[*types.TypeName]*Enum, spec *ast.ValueSpec, decl *ast.GenDecl) {
	for _, name := range spec.Names {
		c, ok := r.pkg.TypesInfo.Defs[name].(*types.Const)
		if !ok || !c.Exported() {
			continue
		}
		named, ok := types.Unalias(c.Type()).(*types.Named)
		if !ok || named.Obj().Pkg() != r.pkg.Types || !named.Obj().Exported() {
			continue
		}
		basic, ok := named.Underlying().(*types.Basic)
		if !ok || basic.Info()&(types.IsInteger|types.IsString) == 0 {
			continue
		}
		enum := byType[named.Obj()]
		if enum == nil {
			enum = &Enum{GoName: named.Obj().Name(), Object: named.Obj()}
			byType[named.Obj()] = enum
		}
		doc := documentation(only(spec.Doc, decl))
		if doc == "" {
			doc = documentation(spec.Comment)
		}
		enum.Constants = append(enum.Constants, Constant{GoName: name.Name, Doc: doc, Value: c.Val()})
	}
}

// only returns the comment of a spec, or of the declaration that has no other spec.
func only(doc *ast.CommentGroup, decl *ast.GenDecl) *ast.CommentGroup {
	if doc == nil && !decl.Lparen.IsValid() {
		return decl.Doc
	}
	return doc
}
