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
var initialisms = wordSet(`abi acl api ascii ast blas bnf ccl cpu css cuda dfb dma dns dps ebnf eof ffi fft fpga
	fsm gpu guid hf html http https id io iou ip ir jit json kv lhs llm llvm mla mlir nccl nchw nhwc nms npu nvcc nvptx
	nvrtc onnx ptx qkv qps ram rhs rms rng rnn roi rpc simd sla smtp sql ssa ssh tcp tir tls tpu trn ttl tvm udp ui uid
	uri url utf8 uuid vm vtcm xml`)

// capitals holds the words that have capitals, but not only.
var capitals = map[string]string{
	"aarch64": "AArch64", "dlpack": "DLPack", "fsms": "FSMs", "ids": "IDs", "irmodule": "IRModule", "lora": "LoRA",
	"moe": "MoE", "opencl": "OpenCL", "opengl": "OpenGL", "openmp": "OpenMP", "rocm": "ROCm", "tvmscript": "TVMScript",
	"vdevice": "VDevice", "webgpu": "WebGPU",
}

func wordSet(words string) map[string]bool {
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

// lowerCamel converts a registry name to an unexported Go identifier.
func lowerCamel(name string) string {
	upper := Camel(name)
	s := lowerFirst(upper)
	if w := words(name); len(w) > 0 && w[0] == strings.ToLower(w[0]) && strings.HasPrefix(upper, title(w[0])) {
		s = w[0] + strings.TrimPrefix(upper, title(w[0])) // idsOf, not iDsOf
	}
	if token.IsExported(s) { // a capital without a small letter, such as U+03D2
		return "x" + s
	}
	return s
}

// lowerFirst makes an exported identifier unexported. It lowers the leading capitals as
// one word, so IRModule becomes irModule.
func lowerFirst(name string) string {
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

// camelWords splits an identifier before each capital that starts a word: IRModuleFrame is
// IR, Module and Frame.
func camelWords(name string) []string {
	var all []string
	runes := []rune(name)
	start := 0
	for i := 1; i < len(runes); i++ {
		if unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			all = append(all, string(runes[start:i]))
			start = i
		}
	}
	return append(all, string(runes[start:]))
}

// join puts the name of a member after the name of its type. It leaves out the words at the
// start of the member's name with which the name of the type starts or ends.
func join(owner, member string) string {
	o, m := camelWords(owner), camelWords(member)
	n := 0
	for n < len(o) && n < len(m) && o[n] == m[n] {
		n++
	}
	for k := min(len(o), len(m)); k > 0 && n == 0; k-- {
		if slices.Equal(o[len(o)-k:], m[:k]) {
			n = k
		}
	}
	if n == len(m) {
		n = 0
	}
	return owner + strings.Join(m[n:], "")
}

// verbatim spells a registry name inside an identifier without loss: bytes that an
// identifier cannot contain become _x and two hexadecimal digits each.
func verbatim(name string) string {
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

// awkwardSegments holds the directory names that Go or a file system treats specially,
// apart from keywords and predeclared names.
var awkwardSegments = wordSet(`internal vendor testdata main init documentation
	con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// segment converts one part of a namespace to a directory that is also a good package
// name: lower-case ASCII letters and digits. It removes underscores and dashes, puts x
// before a leading underscore or digit, writes other characters as u and the code point,
// and adds the suffix pkg to names with a special meaning.
func segment(part string) string {
	var b strings.Builder
	first := strings.TrimLeft(part, "-")
	if first == "" || first[0] == '_' || first[0] >= '0' && first[0] <= '9' {
		b.WriteByte('x')
	}
	for _, r := range part {
		if b.Len() >= maxFileName {
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
	if _, taken := universe.holder(s); taken || awkwardSegments[s] {
		s += "pkg"
	}
	return s
}

// Folders returns the path of a namespace relative to its root.
func Folders(ns string) string {
	if ns == "" {
		return ""
	}
	parts := strings.Split(ns, ".")
	for i := range parts {
		parts[i] = segment(parts[i])
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
