package machine

import (
	"regexp"
	"slices"
	"strings"
)

// shown matches the variables whose values a report shows.
var shown = regexp.MustCompile(`^(TVMFFI_|TVM_|XGRAMMAR_|LD_|DYLD_|CUDA_|OMP_|CGO_|MALLOC_|PYTHON)|^(GO(FLAGS|DEBUG|EXPERIMENT|TOOLCHAIN|WORK|ROOT|OS|ARCH|AMD64|ARM64|GC|MEMLIMIT|MAXPROCS|TRACEBACK|111MODULE)|GLIBC_TUNABLES|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|VIRTUAL_ENV|CONDA_PREFIX|NVCC|NVIDIA_VISIBLE_DEVICES|LANG|LC_ALL)$`)

// named matches the variables whose values a report leaves out, because addresses of registries often hold passwords.
var named = regexp.MustCompile(`(?i)^(GOPROXY|GOPRIVATE|GONOPROXY|GOAUTH|PIP_\w+|UV_\w+|(HTTPS?|ALL|NO)_PROXY)$`)

// secret matches names of variables, and of settings in their values, that may be secrets.
const secret = `key|token|secret|passw|auth|cred|cookie`

var (
	secretName    = regexp.MustCompile(`(?i)` + secret)
	secretSetting = regexp.MustCompile(`(?i)([\w.-]*(?:` + secret + `)[\w.-]*\s*[=:]\s*)[^\s,;]+`)
	linkerSetting = regexp.MustCompile(`(-X[= ]?['"]?[\w./-]+=)[^\s]+`)
	inAddress     = regexp.MustCompile(`(://)[^/@\s]+@`)
)

// Variables returns the variables in environ that change what the tool and programs do. Values that may be secrets are
// left out.
func Variables(environ []string) []Fact {
	var facts []Fact
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "" || value == "":
			continue
		case named.MatchString(name), shown.MatchString(name) && secretName.MatchString(name):
			value = "(set; its value is not shown)"
		case !shown.MatchString(name):
			continue
		default:
			value = secretSetting.ReplaceAllString(value, "${1}...")
			value = linkerSetting.ReplaceAllString(value, "${1}...")
			value = inAddress.ReplaceAllString(value, "${1}...@")
		}
		facts = append(facts, Fact{name, value})
	}
	slices.SortFunc(facts, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return facts
}
