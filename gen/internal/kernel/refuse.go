package kernel

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// mostDims bounds the dimensions of a tensor and of a Shape, for each of which code is written.
const mostDims = 64

// shapes refuses parameters that are empty or too long, and a second stream.
func (k *Kernel) shapes() {
	for i := range k.Plan.Operands {
		at := &k.Plan.Operands[i]
		switch p := at.Param.(type) {
		case spec.Tuple:
			if len(p.Elems) == 0 {
				k.fail("spec", -1, "%s: a Tuple without elements passes nothing: write its elements, or remove it", at.Name)
			}
		case spec.Shape:
			if len(p.Dims) == 0 {
				k.fail("spec", -1, "%s: a Shape without sizes passes nothing: write its sizes, or remove it", at.Name)
			}
			k.rank(at.Name, len(p.Dims))
		case spec.Tensor:
			k.rank(at.Name, len(p.Shape))
		}
	}
	first := ""
	if k.Stream >= 0 {
		first = k.Plan.Operands[k.Stream].Name
	}
	for _, p := range k.Plan.Func.Params {
		if e, ok := p.(spec.EnvStream); ok && first != "" {
			k.fail("spec", -1, "%s: it is the second stream beside %s, and a kernel runs on one: remove one", e.Name, first)
		} else if ok {
			first = e.Name
		}
	}
}

func (k *Kernel) rank(name string, n int) {
	if n > mostDims {
		k.fail("spec", -1, "%s: %d dimensions are too many: write at most %d", name, n, mostDims)
	}
}

// symbol is a name of C, C++ or PTX, also with what a compiler appends.
var symbol = regexp.MustCompile(`^[\pL_$%][\pL\pN_$%.]*$`)

// texts refuses texts that are a part of code and cannot be.
func (k *Kernel) texts() {
	if !symbol.MatchString(k.Entry) && k.Entry != k.Plan.Func.Name {
		k.fail("entry", -1, "%q is not the name of a kernel: write it as PTX has it, with letters, digits, _ and $; the name of a template is mangled", k.Entry)
	}
	if !utf8.ValidString(k.Doc) {
		k.fail("doc", -1, "%.40q is not UTF-8: write it in UTF-8", k.Doc)
	} else if i := strings.IndexFunc(k.Doc, func(r rune) bool {
		return r != '\n' && r != '\t' && r != '\r' && unicode.IsControl(r) || r == '\uFEFF'
	}); i >= 0 {
		k.fail("doc", -1, "byte %d of %.40q cannot stand in a comment: remove it", i, k.Doc)
	}
	for i, o := range k.Options {
		name, _, _ := strings.Cut(strings.TrimLeft(o, "-"), "=")
		if !strings.HasPrefix(o, "-") {
			name = "" // the value of the option before it
		}
		switch {
		case o == "" || strings.IndexByte(o, 0) >= 0:
			k.fail("options", i, "%q is not an option of NVRTC: remove it", o)
		case name == "arch" || name == "gpu-architecture":
			k.fail("options", i, "%s: name the architecture with arch in place of this option", o)
		case name == "dlto" || name == "dlink-time-opt" || name == "optix-ir":
			k.fail("options", i, "%s: its result is for a linker, and a kernel is loaded as it is: remove it", o)
		}
	}
}

// files refuses names that go:embed does not take, and images between which nothing decides.
func (k *Kernel) files() {
	for i, f := range k.Images {
		k.embedded("image", i, f)
		if slices.Contains(k.Images[:i], f) {
			k.fail("image", i, "%s is named twice: remove one", f)
			continue
		}
		arch := architecture.FindString(f)
		for _, other := range k.Images[:i] {
			if strings.HasSuffix(f, ".cubin") && strings.HasSuffix(other, ".cubin") && strings.Trim(arch, "._-") == strings.Trim(architecture.FindString(other), "._-") {
				k.fail("image", i, "%s and %s are for one architecture: keep one", other, f)
			}
		}
	}
	if k.Program != "" {
		k.embedded("source", -1, k.Program)
	}
}

func (k *Kernel) embedded(key string, item int, file string) {
	if !fs.ValidPath(file) || strings.ContainsAny(file, "\"'`*?[]<>|\\:") || strings.ContainsFunc(file, unicode.IsControl) {
		k.fail(key, item, "go:embed does not take the file %q: name one in the folder of the package or below, without quotes and the characters * ? [ ] < > | \\ :", file)
	}
}

// clusters refuses a grid that is known not to be made of whole clusters.
func (k *Kernel) clusters() {
	for i, c := range k.Cluster {
		grid := &Expr{Var: -1, Value: 1}
		if i < len(k.Grid) {
			grid = k.Grid[i]
		}
		if c != nil && c.Constant() && grid.Constant() && grid.Value%c.Value != 0 {
			k.fail("cluster", -1, "the grid is %d in %c, and the cluster %d: write a grid that is a multiple of the cluster", grid.Value, 'x'+i, c.Value)
			return
		}
	}
}

// registered is what a name in the registry is made of.
var registered = regexp.MustCompile(`^[\pL\pN_$-]+(\.[\pL\pN_$-]+)*$`)

// register names the kernel in the registry, and refuses a name that cannot be looked up in
// every language.
func (k *Kernel) register() {
	key := "register"
	if k.Register == "" {
		key, k.Register = "spec", k.p.pkg.Name+"."+k.Plan.Func.Name
	}
	if !registered.MatchString(k.Register) {
		k.fail(key, -1, "%q is not a name for the registry: write letters, digits, _, - and $, with dots between words, such as kernels.saxpy", k.Register)
	}
}
