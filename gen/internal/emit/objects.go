package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// object writes an object type and its members, then what only generated code calls.
func (e *emitter) object(o *plan.Object) {
	e.add(nil, jen.Var().Id(o.Var).Op("=").Add(bindrt("Type")).Values(
		jen.Id("Library").Op(":").Add(address(o.Set.Name)), jen.Id("Key").Op(":").Lit(o.Key)))
	if !o.UserType {
		e.add(document(o.GoName, o.Doc), jen.Type().Id(o.GoName).Struct(jen.Id("_").Index(jen.Lit(0)).Op("*").Id(o.GoName), jen.Id(o.Base)))
	}
	for _, f := range o.Statics {
		if f.GoName != "" {
			e.function(f)
		}
	}
	for _, f := range o.Fields {
		e.field(o, f)
	}
	for _, f := range o.Methods {
		if f.GoName != "" {
			e.function(f)
		}
	}
	e.plumbing(o)
}

// plumbing writes what generated code needs of a type: its descriptor, its Ref, and the methods
// by which the type, nil included, satisfies its own Ref and the Refs of its ancestors.
func (e *emitter) plumbing(o *plan.Object) {
	if !o.UserRef {
		e.add(wrap(o.Ref+" is how functions take "+o.GoName+" and types derived from it; nil is None."),
			jen.Type().Id(o.Ref).Interface(runtime("ObjectRef"), jen.Id(o.Marker).Params().Op("*").Id(o.GoName)))
	}
	e.add([]string{"// TVMFFIType is for generated code."},
		jen.Func().Params(jen.Op("*").Id(o.GoName)).Id("TVMFFIType").Params(jen.Op("*").Id(o.GoName)).Op("*").Add(bindrt("Type")).Add(line(
			jen.Return(address(o.Var)))))
	marker := func(to *plan.Object, what string, value jen.Code) {
		e.add(wrap(to.Marker+" is for generated code. It returns x"+what+"; nil stays nil."),
			jen.Func().Params(pointerTo(plan.Self, o)).Id(to.Marker).Params().Op("*").Add(goType(plan.GoType{Object: to})).Add(line(jen.Return(value))))
	}
	marker(o, "", jen.Id("x"))
	for _, a := range o.Ancestors() {
		marker(a, " as its ancestor "+a.GoName, bindrt("Up").Types(goType(plan.GoType{Object: a})).Call(jen.Id("x")))
	}
}

// field writes a getter and a setter.
func (e *emitter) field(o *plan.Object, f *plan.Field) {
	if f.GoName == "" && f.Setter == "" {
		return
	}
	values := []jen.Code{
		jen.Id("Owner").Op(":").Add(address(o.Var)), jen.Id("Name").Op(":").Lit(f.Name), jen.Id("Sig").Op(":").Lit(f.Sig),
	}
	if f.Type.Bits() {
		values = append(values, jen.Id("Bits").Op(":").True())
	}
	e.add(nil, jen.Var().Id(f.Var).Op("=").Add(bindrt("Field")).Values(values...))
	get, set := f.Headings(o)
	if f.GoName != "" {
		e.add(document(f.GoName, f.Doc), heading(get).Block(jen.Return(e.read(f))))
	}
	if f.Setter != "" {
		e.add([]string{"// " + f.Setter + " sets the field " + clean(f.Name) + "."},
			heading(set).Block(
				jen.Return(bindrt("SetField").Call(address(f.Var), ref(jen.Id("x")), given(*f.Value, jen.Id("v"))))))
	}
}

func (e *emitter) read(f *plan.Field) jen.Code {
	switch {
	case f.Type.Narrow():
		return bindrt("IntegerField").Types(goType(f.Type)).Call(address(f.Var), ref(jen.Id("x")))
	case f.Read != "":
		return jen.Id(f.Var).Dot(f.Read).Call(ref(jen.Id("x")))
	case f.Object != nil:
		return bindrt("ObjectField").Types(goType(*f.Type.Elem)).Call(address(f.Var), ref(jen.Id("x")), e.typeOf(f.Object))
	}
	return bindrt("GetField").Types(goType(f.Type)).Call(address(f.Var), ref(jen.Id("x")))
}

// alias writes the names of a type in its own namespace.
func (e *emitter) alias(a *plan.Alias) {
	is := wrap(a.GoName + " is the object type " + clean(a.Object.Key) + ". Its methods are those of " + a.Link + ".")
	e.add(paragraphs(is, foreign(a.Object.Doc.Text, nil)),
		jen.Type().Id(a.GoName).Op("=").Add(goType(plan.GoType{Object: a.Object})))
	if a.Ref != "" {
		e.add(wrap(a.Ref+" is how functions take "+a.GoName+" and types derived from it; nil is None."),
			jen.Type().Id(a.Ref).Op("=").Add(goType(plan.GoType{Ref: a.Object})))
	}
	for _, f := range a.Forwards {
		if f.GoName != "" {
			e.forward(f)
		}
	}
}

// variant writes the Go type of a variant.
func (e *emitter) variant(v *plan.Variant) {
	e.add([]string{"// " + v.GoName + " holds one of several types:", "//", "//\t" + clean(v.Text)},
		jen.Type().Id(v.GoName).Struct(jen.Id(e.pkg.VariantBase)))
	for _, a := range v.Alternatives {
		e.add([]string{"// " + a.Of + " returns a variant that holds v."},
			jen.Func().Id(a.Of).Params(jen.Id("v").Add(goType(a.Argument))).Id(v.GoName).Block(
				jen.Return(jen.Id(v.GoName).Values(runtime("VariantOf").Call(jen.Id("v"))))))
		e.add([]string{"// " + a.As + " returns the value, and whether it has this type."},
			jen.Func().Params(jen.Id("x").Id(v.GoName)).Id(a.As).Params().Params(goType(a.Outcome), jen.Bool()).Block(
				jen.Return(runtime("VariantAs").Types(goType(a.Outcome)).Call(jen.Id("x").Dot(e.pkg.VariantBase)))))
	}
}

// forward writes a func that calls a constructor or a static method of another package.
func (e *emitter) forward(f *plan.Forward) {
	to := jen.Qual(f.To.Owner.Pkg.Path, f.To.GoName)
	h := f.Heading(e.pkg)
	var args []jen.Code
	for _, p := range h.Params {
		args = append(args, jen.Id(p.Name))
	}
	if h.Rest != "" {
		args = append(args, jen.Id(h.Rest).Op("..."))
	}
	e.add(document(f.GoName, f.Doc), heading(h).Block(jen.Return(to.Call(args...))))
}
