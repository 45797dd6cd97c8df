package nvrtc

import (
	"slices"
	"strings"
)

// parsed is what the options say about files and about the result.
type parsed struct {
	folders  []string // of -I, in order
	included []string // files of -include
	defines  []string // names of macros
	other    string   // an option that asks for LTO IR or OptiX IR
	arch     string   // an option that names an architecture
	unknown  string   // an option that may read or write files, or that is not known here
}

// pure are the options of NVRTC 11 to 13 that neither read nor write files.
var pure = strings.Fields(`device-c dc device-w dw relocatable-device-code rdc extensible-whole-program ewp device-debug G
	generate-line-info lineinfo dopt Ofast-compile Ofc maxrregcount ftz prec-sqrt prec-div fmad fno-signed-zeros ffinite-math-only
	use_fast_math extra-device-vectorization modify-stack-limit gen-opt-lto jump-table-density jtd device-stack-protector no-cache
	frandom-seed undefine-macro U no-source-include std builtin-move-forward builtin-initializer-list disable-warnings w Wreorder
	Wconversion warning-as-error Werror fmax-errors restrict device-as-default-execution-space device-int128 device-float128
	optimization-info opt-info display-error-number err-no no-display-error-number no-err-no diag-error diag-suppress diag-warn
	brief-diagnostics brief-diag split-compile fdevice-syntax-only minimal utf-8`)

// parse reads options as NVRTC does: with one dash or two, the value behind = or in the next
// element, and for -I, -D and -U also in the same one.
func parse(options []string) parsed {
	var o parsed
	for i := 0; i < len(options); i++ {
		text := strings.TrimLeft(options[i], "-")
		name, value, has := strings.Cut(text, "=")
		if letter := strings.TrimPrefix(options[i], "-"); !strings.HasPrefix(letter, "-") && len(letter) > 1 && strings.ContainsRune("IDU", rune(letter[0])) {
			name, value, has = letter[:1], strings.TrimLeft(strings.TrimPrefix(letter[1:], "="), " "), true
		}
		if !has && i+1 < len(options) && (!strings.HasPrefix(options[i+1], "-") || slices.Contains([]string{"I", "include-path", "include", "pre-include", "D", "define-macro"}, name)) {
			i++
			value = options[i]
		}
		o.add(name, value, options[i])
	}
	return o
}

func (o *parsed) add(name, value, text string) {
	switch name {
	case "I", "include-path":
		o.folders = append(o.folders, value)
	case "include", "pre-include":
		o.included = append(o.included, value)
	case "D", "define-macro":
		macro, _, _ := strings.Cut(value, "=")
		macro, _, _ = strings.Cut(macro, "(")
		o.defines = append(o.defines, macro)
	case "dlto", "dlink-time-opt", "optix-ir":
		o.other = text
	case "gpu-architecture", "arch":
		o.arch = text
	case "ptxas-options", "Xptxas":
		if strings.Contains(value, "file") {
			o.unknown = text
		}
	default:
		if !slices.Contains(pure, name) {
			o.unknown = text
		}
	}
}
