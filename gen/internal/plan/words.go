package plan

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms holds, in lower case, the words that Go programmers write in capitals.
var initialisms = WordSet(`abi acl api ascii ast blas bnf ccl cpu css cuda dfb dma dns dps ebnf eof ffi fft fpga
	fsm gpu guid hf html http https id io iou ip ir jit json kv lhs llm llvm mla mlir nccl nchw nhwc nms npu nvcc nvptx
	nvrtc onnx ptx qkv qps ram rhs rms rng rnn roi rpc simd sla smtp sql ssa ssh tcp tir tls tpu trn ttl tvm udp ui uid
	uri url utf8 uuid vm vtcm xml`)

// capitals holds the words that have capitals, but not only.
var capitals = map[string]string{
	"aarch64": "AArch64", "dlpack": "DLPack", "fsms": "FSMs", "ids": "IDs", "irmodule": "IRModule", "lora": "LoRA",
	"moe": "MoE", "opencl": "OpenCL", "opengl": "OpenGL", "openmp": "OpenMP", "rocm": "ROCm", "tvmscript": "TVMScript",
	"vdevice": "VDevice", "webgpu": "WebGPU",
}

// WordSet returns the words of a text as a set.
func WordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// Camel converts a registry name to an exported Go identifier. Words are runs of letters
// and digits. A word with capitals stays the same; a word without them becomes an
// initialism or begins with a capital. A name gets the prefix X if it starts with a digit or
// a letter without case, or if it has no letters.
func Camel(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(title(w))
	}
	s := b.String()
	if s == "" {
		return fmt.Sprintf("X%x", name)
	}
	if first, _ := utf8.DecodeRuneInString(s); !unicode.IsUpper(first) {
		return "X" + s
	}
	return s
}

// LowerCamel converts a registry name to an unexported Go identifier.
func LowerCamel(name string) string {
	upper := Camel(name)
	s := LowerFirst(upper)
	if w := words(name); len(w) > 0 && w[0] == strings.ToLower(w[0]) && strings.HasPrefix(upper, title(w[0])) {
		s = w[0] + strings.TrimPrefix(upper, title(w[0])) // idsOf, not iDsOf
	}
	if token.IsExported(s) { // a capital without a small letter, such as U+03D2
		return "x" + s
	}
	return s
}

// LowerFirst makes an exported identifier unexported. It lowers the leading capitals as
// one word, so IRModule becomes irModule.
func LowerFirst(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// words splits a registry name at every character that is neither a letter nor a digit.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// title writes a word as a part of an exported name. The d of dimensions is a capital: Conv2D.
func title(word string) string {
	if s, ok := capitals[word]; ok {
		return s
	}
	if initialisms[word] {
		return strings.ToUpper(word)
	}
	if n := len(word); n > 2 && word[n-1] == 'd' && word[n-2] >= '1' && word[n-2] <= '9' {
		word = word[:n-1] + "D"
	}
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// Verbatim spells a registry name inside an identifier without loss: bytes that an
// identifier cannot contain become _x and two hexadecimal digits each.
func Verbatim(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			b.WriteString(name[i : i+size])
		} else {
			fmt.Fprintf(&b, "_x%x", name[i:i+size])
		}
		i += size
	}
	return b.String()
}

// Folders returns the path of a namespace relative to its root.
func Folders(ns string) string {
	if ns == "" {
		return ""
	}
	parts := strings.Split(ns, ".")
	for i := range parts {
		parts[i] = Segment(parts[i])
	}
	return path.Join(parts...)
}

// IsFolder reports whether a path may be the folder of a package: "." or words that are
// good names of packages.
func IsFolder(dir string) bool {
	if dir == "." {
		return true
	}
	return dir != "" && Folders(strings.ReplaceAll(dir, "/", ".")) == dir && path.Clean(dir) == dir && !strings.Contains(dir, ".")
}

// LastPart returns the part of a registry name after the last dot.
func LastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// Namespace returns the part of a registry name before the last dot.
func Namespace(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

// Count returns a number of things in words.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// MaxFileName keeps file names within the limits of file systems.
const MaxFileName = 100

// awkwardSegments holds the directory names that Go or a file system treats specially,
// apart from keywords and predeclared names.
var awkwardSegments = WordSet(`internal vendor testdata main init documentation
	con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// Segment converts one part of a namespace to a directory that is also a good package
// name: lower-case ASCII letters and digits. It removes underscores and dashes, puts x
// before a leading underscore or digit, writes other characters as u and the code point,
// and adds the suffix pkg to names with a special meaning.
func Segment(part string) string {
	var b strings.Builder
	first := strings.TrimLeft(part, "-")
	if first == "" || first[0] == '_' || first[0] >= '0' && first[0] <= '9' {
		b.WriteByte('x')
	}
	for _, r := range part {
		if b.Len() >= MaxFileName {
			break
		}
		switch {
		case r == '_' || r == '-':
		case r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(unicode.ToLower(r))
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	s := b.String()
	if token.IsKeyword(s) || slices.Contains(Basic, s) || slices.Contains(Builtin, s) || awkwardSegments[s] {
		s += "pkg"
	}
	return s
}

// Basic holds the predeclared names of Go that the bodies of generated functions may use, and
// Builtin the others.
var (
	Basic = strings.Fields(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64
		rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil len _`)
	Builtin = strings.Fields("append cap clear close complex copy delete imag make max min new panic print println real recover")
)

// Order returns 1 for what comes first, and otherwise 0: the difference of two is an order.
func Order(first bool) int {
	if first {
		return 1
	}
	return 0
}
