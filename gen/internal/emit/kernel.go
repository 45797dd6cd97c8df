package emit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/kernel"
	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

const (
	cudaPath     = "github.com/tvmffi-go/tvmffi/cuda"
	kernelrtPath = "github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	specPath     = "github.com/tvmffi-go/tvmffi/cuda/spec"
)

func kernelrt(name string) *jen.Statement { return jen.Qual(kernelrtPath, name) }

// Kernels writes the file of a package of kernels.
func Kernels(pkg *kernel.Package, tool string) ([]byte, error) {
	f := jen.NewFile(pkg.Name)
	f.HeaderComment(marker(tool))
	f.HeaderComment("// source: kernels of the configuration")
	f.ImportName("embed", "embed")
	for path, name := range map[string]string{cudaPath: "cuda", kernelrtPath: "kernelrt", specPath: "spec", plan.Runtime: "tvmffi", exportrtPath: "exportrt"} {
		importAs(f, path, name, path == plan.Runtime)
	}
	f.Comment("// The generated code and the module fit each other, or this does not compile.")
	f.Const().Defs(jen.Id("_").Op("=").Add(kernelrt("Generation1")), jen.Id("_").Op("=").Add(exportrt("Generation1")))
	for _, im := range pkg.Images {
		image(f, im)
	}
	for _, k := range pkg.Kernels {
		kernelData(f, k)
		typedFunc(f, k)
		checksTable(f, k)
		launchFunc(f, k)
	}
	registerKernels(f, pkg)
	return render(f, "the kernels of "+pkg.Name)
}

// perLine writes the elements of a literal, one in each line.
func perLine(elements []jen.Code) *jen.Statement {
	return jen.ValuesFunc(func(g *jen.Group) {
		for _, e := range elements {
			g.Line().Add(e)
		}
		g.Line()
	})
}

func stringList(list []string) *jen.Statement {
	return jen.Index().String().ValuesFunc(func(g *jen.Group) {
		for _, s := range list {
			g.Lit(s)
		}
	})
}

// comments writes text as comment lines, each clean.
func comments(f *jen.File, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		f.Comment(strings.TrimRight("// "+clean(line), " "))
	}
}

// image writes the code of kernels. go:embed takes patterns, so names are quoted.
func image(f *jen.File, im *kernel.Image) {
	name := im.Kernel.GoName
	f.Line()
	var fields []jen.Code
	if im.Program != "" {
		f.Anon("embed")
		f.Comment("//go:embed " + strconv.Quote(im.Program))
		f.Var().Id("source" + name).String()
		fields = append(fields, field("Source", address("source"+name)), field("File", jen.Lit(im.Program)))
		if im.Arch != "" {
			fields = append(fields, field("Arch", jen.Lit(im.Arch)))
		}
		if len(im.Options) > 0 {
			fields = append(fields, field("Options", stringList(im.Options)))
		}
	} else {
		files := make([]string, len(im.Files))
		for i, file := range im.Files {
			files[i] = strconv.Quote(file)
		}
		f.Comment("//go:embed " + strings.Join(files, " "))
		f.Var().Id("files"+name).Qual("embed", "FS")
		fields = append(fields, field("Files", address("files"+name)), field("Pattern", jen.Lit(im.Pattern)))
	}
	f.Line()
	f.Var().Id("image" + name).Op("=").Add(kernelrt("Image")).Values(fields...)
}

// kernelData writes the data of a kernel that do not depend on a call.
func kernelData(f *jen.File, k *kernel.Kernel) {
	sizes := make([]jen.Code, len(k.Args))
	for i, a := range k.Args {
		sizes[i] = jen.Lit(a.Size)
	}
	fields := []jen.Code{
		jen.List(field("Name", jen.Lit(k.Plan.Func.Name)), field("Entry", jen.Lit(k.Entry)),
			field("Image", address("image"+k.Image.Kernel.GoName)), field("Sizes", jen.Index().Int().Values(sizes...))),
		jen.List(field("Grid", stringList(k.Source.Grid)), field("Block", stringList(k.Source.Block))),
	}
	if len(k.Source.Cluster) > 0 {
		fields = append(fields, field("Cluster", stringList(k.Source.Cluster)))
	}
	if k.Source.Shared != "" {
		fields = append(fields, field("Shared", jen.Lit(k.Source.Shared)))
	}
	for _, flag := range []struct {
		name string
		on   bool
	}{{"Full", k.Empty == "error"}, {"Cooperative", k.Cooperative}, {"Programmatic", k.Programmatic}} {
		if flag.on {
			fields = append(fields, field(flag.name, jen.True()))
		}
	}
	f.Line()
	f.Var().Id("kernel" + k.GoName).Op("=").Add(kernelrt("Kernel")).Add(perLine(fields))
}

// forms has for each kind of parameter its type in Go, the func that packs it, and its
// type in the metadata.
var forms = map[kernel.Kind]struct {
	goType     jen.Code // nil for the type of the parameter
	pack       string
	convert    string
	registered string
}{
	kernel.Tensor:  {jen.Op("*").Add(runtime("Tensor")), "FromTensor", "", "DLTensor*"},
	kernel.Stream:  {jen.Op("*").Qual(cudaPath, "Stream"), "", "", "void*"},
	kernel.Pointer: {runtime("Pointer"), "FromPointer", "", "void*"},
	kernel.Int:     {nil, "FromInt", "int64", "int"},
	kernel.Uint:    {nil, "FromUint", "uint64", "int"},
	kernel.Bool:    {jen.Bool(), "FromBool", "", "bool"},
	kernel.Float32: {jen.Float32(), "FromFloat", "float64", "float"},
	kernel.Float64: {jen.Float64(), "FromFloat", "", "float"},
}

func paramType(p kernel.Param) jen.Code {
	if t := forms[p.Kind].goType; t != nil {
		return t
	}
	return jen.Id(p.Type)
}

// typedFunc writes the Go func that packs its arguments.
func typedFunc(f *jen.File, k *kernel.Kernel) {
	var params, keep []jen.Code
	stream := jen.Nil()
	values := map[int][]jen.Code{} // by operand
	for i, p := range k.Params {
		param := jen.Id(p.Name)
		if i+1 == len(k.Params) || k.Params[i+1].Kind != p.Kind || k.Params[i+1].Type != p.Type {
			param.Add(paramType(p))
		}
		params = append(params, param)
		arg := jen.Id(p.Name)
		if convert := forms[p.Kind].convert; convert != "" && convert != p.Type {
			arg = jen.Id(convert).Call(arg)
		}
		switch p.Kind {
		case kernel.Stream:
			values[p.Operand], stream = []jen.Code{nil}, jen.Id(p.Name) // the launch takes it apart from the others, which leaves its place empty
		case kernel.Shape:
			for d := range len(k.Plan.Operands[p.Operand].Param.(spec.Shape).Dims) {
				values[p.Operand] = append(values[p.Operand], kernelrt("FromInt").Call(jen.Id(p.Name).Index(jen.Lit(d))))
			}
		default:
			values[p.Operand] = []jen.Code{kernelrt(forms[p.Kind].pack).Call(arg)}
		}
		if p.Kind == kernel.Tensor || p.Kind == kernel.Stream {
			keep = append(keep, kernelrt("Keep").Call(jen.Id(p.Name)))
		}
	}
	var args []jen.Code
	for i := range k.Plan.Operands {
		if c, ok := k.Plan.Operands[i].Param.(spec.Const); ok {
			values[i] = []jen.Code{constant(c)}
		}
		for leaf, v := range values[i] {
			if v != nil {
				args = append(args, jen.Id("args").Index(jen.Lit(k.Leaf[i]+leaf)).Op("=").Add(v))
			}
		}
	}
	f.Line()
	comments(f, fmt.Sprintf("%s launches the kernel %s:\n", k.GoName, k.Plan.Func.Name))
	f.Comment("//\t" + clean(k.Plan.Func.String()))
	f.Comment("//")
	if k.Doc != "" {
		comments(f, strings.TrimSpace(k.Doc)+"\n")
	}
	comments(f, launchDoc(k))
	f.Func().Id(k.GoName).Params(params...).Error().BlockFunc(func(g *jen.Group) {
		// One by one: a literal would be built elsewhere and copied, for which the processor has to wait.
		g.Var().Id("args").Index(jen.Lit(k.Leaves)).Add(kernelrt("Value"))
		for _, a := range args {
			g.Add(a)
		}
		g.Err().Op(":=").Id("launch"+k.GoName).Call(jen.Id("args").Index(jen.Op(":")), kernelrt("Stream").Values(field("On", stream)))
		for _, c := range keep {
			g.Add(c)
		}
		g.Return(jen.Err())
	})
}

// constant writes the value of an argument that the func does not have as a parameter.
func constant(c spec.Const) jen.Code {
	switch v := c.Value.(type) {
	case bool:
		return kernelrt("FromBool").Call(jen.Lit(v))
	case int64:
		return kernelrt("FromInt").Call(jen.Id(strconv.FormatInt(v, 10)))
	case float64:
		return kernelrt("FromFloat").Call(jen.Qual("math", "Float64frombits").Call(jen.Id(bitsText(v))))
	}
	return nil // None, which is the zero Value
}

// bitsText writes the bits of a float, which may be an infinity or NaN.
func bitsText(v float64) string { return fmt.Sprintf("0x%x", math.Float64bits(v)) }

// launchDoc documents how a kernel is launched.
func launchDoc(k *kernel.Kernel) string {
	s := fmt.Sprintf("The grid is %s, the block %s.", strings.Join(k.Source.Grid, " x "), strings.Join(k.Source.Block, " x "))
	if k.Empty == "error" {
		s += "\nA grid without blocks is an error."
	} else {
		s += "\nIf the grid has no blocks, nothing is launched."
	}
	if k.Stream >= 0 {
		return s + "\nOn a nil stream it runs on the environment stream."
	}
	return s + "\nIt runs on the environment stream."
}

// registerKernels writes the declarations for all kernels together.
func registerKernels(f *jen.File, pkg *kernel.Package) {
	functions := make([]jen.Code, len(pkg.Kernels))
	for i, k := range pkg.Kernels {
		functions[i] = registered(pkg, k)
	}
	f.Line()
	f.Var().Id("tvmffiExports").Op("=").Add(exportrt("Exports")).Add(perLine([]jen.Code{
		field("Name", jen.Lit(pkg.Name)), field("Prefix", jen.Lit(pkg.Name+".")),
		field("Functions", jen.Index().Add(exportrt("Function")).Add(perLine(functions))),
	}))
	f.Line()
	comments(f, "Register makes the kernels functions that all languages of this process can call by\ntheir names in the registry, all of them or none. A second call does nothing.")
	f.Func().Id("Register").Params().Error().Block(jen.Return(jen.Id("tvmffiExports").Dot("Register").Call()))
	f.Line()
	comments(f, exportsFunc+" is for the package that makes a shared library, which tvmffi-bind export writes.")
	f.Func().Id(exportsFunc).Params().Op("*").Add(exportrt("Exports")).Block(jen.Return(address("tvmffiExports")))
	f.Line()
	images := make([]jen.Code, len(pkg.Images))
	for i, im := range pkg.Images {
		images[i] = address("image" + im.Kernel.GoName)
	}
	comments(f, "Unload unloads the kernels from all devices. None of them may be in a call; the next call\nloads them again.")
	f.Func().Id("Unload").Params().Error().Block(jen.Return(kernelrt("Unload").Call(images...)))
}

// registeredType is the type of an argument in the metadata.
func registeredType(p spec.Param, kind kernel.Kind) string {
	switch p := p.(type) {
	case spec.Tuple:
		return "ffi.Array"
	case spec.Shape:
		return "ffi.Shape"
	case spec.Const:
		switch p.Value.(type) {
		case bool:
			return "bool"
		case int64:
			return "int"
		case float64:
			return "float"
		}
		return "None"
	}
	return forms[kind].registered
}

// registered writes a kernel as a function for all languages.
func registered(pkg *kernel.Package, k *kernel.Kernel) jen.Code {
	var names, types []string
	kinds := map[int]kernel.Kind{}
	for _, p := range k.Params {
		kinds[p.Operand] = p.Kind
	}
	for i, at := range k.Plan.Operands {
		if at.Parent < 0 {
			t := registeredType(at.Param, kinds[i])
			if at.Optional {
				t = "Optional<" + t + ">"
			}
			names, types = append(names, at.Name), append(types, t)
		}
	}
	doc := k.Plan.Func.String()
	if k.Doc != "" {
		doc = strings.TrimSpace(k.Doc) + "\n\n" + doc
	}
	fields := []jen.Code{field("Name", jen.Lit(k.Symbol()))}
	if k.Register != pkg.Name+"."+k.Symbol() {
		fields = append(fields, field("Global", jen.Lit(k.Register)))
	}
	call := jen.Return(jen.Id("launch"+k.GoName).Call(kernelrt("Values").Call(jen.Id("a")), kernelrt("Stream").Values()))
	if k.Stream >= 0 || k.Nested {
		call = jen.Id("args").Op(":=").Add(kernelrt("Values")).Call(jen.Id("a")).Line()
		if k.Nested {
			call = jen.List(jen.Id("args"), jen.Err()).Op(":=").Id("checks" + k.GoName).Dot("Open").Call(kernelrt("Values").Call(jen.Id("a"))).Line().
				If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())).Line()
		}
		stream := kernelrt("Stream").Values()
		if k.Stream >= 0 {
			stream = kernelrt("StreamAt").Call(jen.Id("args"), jen.Lit(k.Leaf[k.Stream]))
		}
		call.Return(jen.Id("launch"+k.GoName).Call(jen.Id("args"), stream))
	}
	return perLine(append(fields,
		field("Doc", jen.Lit(doc)), field("Params", stringList(names)), field("Func", jen.Id(k.GoName)),
		field("Signature", jen.Lit("("+strings.Join(types, ", ")+") -> None")),
		field("Call", jen.Func().Params(jen.Id("a").Op("*").Add(kernelrt("Args"))).Error().Block(call)),
	))
}
