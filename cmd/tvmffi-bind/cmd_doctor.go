package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/machine"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// verdict is the outcome of one check of doctor.
type verdict string

const (
	verdictOK      verdict = "ok"
	verdictNote    verdict = "note"    // works, with a limitation
	verdictProblem verdict = "problem" // something will not work
)

// finding is the result of one check of doctor.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Found   string  `json:"found"`
	Remedy  string  `json:"remedy,omitempty"`
}

// diagnosis is what doctor prints as JSON.
type diagnosis struct {
	Checks    []finding       `json:"checks"`
	Libraries []probe.Shipped `json:"libraries"`
}

// shipped lists libtvm_ffi and the libraries that doctor was asked about. A check says why one is missing.
func shipped(ctx context.Context, p *probe.Prober, in *probe.Inputs) []probe.Shipped {
	all := []probe.Shipped{}
	c := project.NewConfig(".", "")
	if _, err := os.Stat(project.ConfigName); err == nil || len(in.Libs) > 0 {
		if c, err = in.Source(ctx, p); err != nil {
			return all
		}
	}
	libs, err := p.Locate(ctx, c)
	if err != nil {
		return all
	}
	for _, lib := range libs {
		all = append(all, probe.NewShipped(lib))
	}
	return all
}

func newDoctor(con *console.Console, p *probe.Prober) *cobra.Command {
	var asJSON, asReport bool
	var in probe.Inputs
	cmd := &cobra.Command{
		Use:   "doctor [FILE|NAME[==VERSION]|WHEEL]...",
		Short: "Show what is found on this machine, and what to do about each problem",
		Long: `doctor looks for libtvm_ffi, for the programs that the tool uses, and for a GPU. It
also loads each library FILE, or the libraries of a Python package, and says what they
contain; without one, it loads those of ` + project.ConfigName + `, if there is one. It downloads
nothing, and changes nothing but the cache, into which it unpacks a WHEEL. With --json it
also lists these libraries with their versions, hashes and licences.

With --report it prints one block for a bug report: versions, hashes, the libraries
that the programs of this module would load, and the environment variables that
matter. The block has neither the name and home folder of the user nor values that
may be secrets; read it before you send it.`,
		Example: `  tvmffi-bind doctor
  tvmffi-bind doctor libgarden.so
  tvmffi-bind doctor --report`,
		RunE: func(cmd *cobra.Command, args []string) error {
			rest, err := in.Take(args)
			if err != nil {
				return err
			}
			if in.From != "" {
				rest = append(rest, in.From)
			}
			if len(rest) > 0 {
				return probe.NotLibrary(rest[0])
			}
			p := &probe.Prober{Console: con, Offline: true, Examines: true, Timeout: p.Timeout, Most: p.Most}
			findings := append(examine(cmd.Context(), p), checkSidecars(cmd.Context(), p)...)
			for _, file := range in.Libs {
				findings = append(findings, checkLibrary(cmd.Context(), p, file, in.Deps))
			}
			if _, err := os.Stat(project.ConfigName); err == nil && len(in.Libs) == 0 {
				findings = append(findings, checkConfig(cmd.Context(), p))
			}
			if asReport {
				printReport(cmd.Context(), con, findings, shipped(cmd.Context(), p, &in))
				return nil
			}
			problems := 0
			for _, f := range findings {
				if f.Verdict == verdictProblem {
					problems++
				}
			}
			if asJSON {
				if err := con.JSON(diagnosis{findings, shipped(cmd.Context(), p, &in)}); err != nil {
					return err
				}
			} else {
				printFindings(con, findings)
			}
			if problems > 0 {
				return console.RefuseQuietly("%d problems", problems)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&asReport, "report", false, "print one block for a bug report, without names of users")
	cmd.MarkFlagsMutuallyExclusive("json", "report")
	cmd.Flags().StringArrayVar(&in.Libs, "lib", nil, "library file, the same as FILE; may be repeated")
	cmd.Flags().StringArrayVar(&in.Deps, "dep", nil, "library file to load before each library; may be repeated")
	_ = cmd.MarkFlagFilename("lib")
	_ = cmd.MarkFlagFilename("dep")
	return cmd
}

// printReport prints what a bug report needs.
func printReport(ctx context.Context, con *console.Console, findings []finding, libraries []probe.Shipped) {
	facts := machine.System()
	for _, l := range libraries {
		facts = append(facts, machine.Fact{Name: "the tool reads", Value: fmt.Sprintf("%s\n%s\nsha256 %s", strings.TrimSpace(l.File+" "+l.Package+" "+l.Version), l.Path, l.SHA256)})
	}
	bindings, err := machine.Bindings(ctx, ".")
	if err != nil {
		bindings = []machine.Fact{{Name: "bindings", Value: "unknown: " + err.Error()}}
	}
	for _, b := range bindings {
		b.Value += "\nfor " + b.Name
		facts = append(facts, machine.Fact{Name: "programs load", Value: b.Value})
	}
	for _, v := range machine.Variables(os.Environ()) {
		facts = append(facts, machine.Fact{Name: "variable", Value: v.Name + "=" + v.Value})
	}
	var b strings.Builder
	for _, f := range findings {
		value := string(f.Verdict) + ": " + f.Found
		if f.Remedy != "" {
			value += "\n-> " + f.Remedy
		}
		facts = append(facts, machine.Fact{Name: f.Check, Value: value})
	}
	for _, f := range facts {
		fmt.Fprintf(&b, "%-15s %s\n", f.Name, strings.ReplaceAll(f.Value, "\n", "\n"+strings.Repeat(" ", 16)))
	}
	con.Printf("%s", machine.NewPrivate().Hide(b.String()))
}

func printFindings(con *console.Console, findings []finding) {
	colours := map[verdict]text.Color{verdictOK: text.FgGreen, verdictNote: text.FgYellow, verdictProblem: text.FgRed}
	for _, f := range findings {
		con.Printf("%s  %-14s %s\n", con.Paint(colours[f.Verdict], fmt.Sprintf("%-7s", f.Verdict)), f.Check, strings.ReplaceAll(f.Found, "\n", "\n"+strings.Repeat(" ", 24)))
		if f.Remedy != "" {
			con.Printf("%24s-> %s\n", "", f.Remedy)
		}
	}
}

// examine makes every check of the machine and changes nothing.
func examine(ctx context.Context, p *probe.Prober) []finding {
	pip := checkPip()
	return []finding{
		checkTool(ctx),
		checkCore(ctx, p, pip),
		checkAPI(ctx, p),
		checkInstalled(),
		checkCache(),
		pip,
		checkProgram("C++ compiler", "build your own libraries; bindings do not need it", "install g++ or clang++ if you write such libraries",
			[]string{"g++", "--version"}, []string{"clang++", "--version"}, []string{"c++", "--version"}),
		checkProgram("go command", "generate and build", "install Go and put it on the PATH",
			[]string{"go", "version"}),
		checkPlatform(),
		checkGPU(),
	}
}

// checkSidecars says of each sidecar of TVM's runtime why a program does not use it here, if TVM is installed.
func checkSidecars(ctx context.Context, p *probe.Prober) (all []finding) {
	c, err := project.Known("apache-tvm").Config()
	if err != nil {
		return nil
	}
	libs, err := p.Locate(ctx, c)
	if err != nil {
		return nil // TVM is not installed, which init and setup report
	}
	files := probe.Sidecars(libs)
	libs = slices.DeleteFunc(libs, func(l probe.Library) bool { // the compiler is large, and not needed
		return l.Path != libs[0].Path && !probe.TakesSidecars(l)
	})
	for _, file := range files {
		f := finding{Check: filepath.Base(file), Verdict: verdictOK, Found: "TVM's devices of this kind can be used"}
		identity := libs[len(libs)-1].Identity
		identity.File, identity.SHA256 = filepath.Base(file), ""
		if _, err := p.ReadLibraries(ctx, append(slices.Clip(libs), probe.Library{Path: file, Identity: identity})); err != nil {
			f.Verdict, f.Found = verdictNote, "not used: "+err.Error()
		} else if missing := p.StandIns; len(missing) > 0 {
			f.Verdict, f.Found = verdictNote, "not used: this machine lacks "+strings.Join(missing, ", ")
		}
		if f.Verdict != verdictOK {
			f.Remedy = "install the driver and the runtime of the device if this machine has one; without them, TVM computes on the CPU"
		}
		all = append(all, f)
	}
	return all
}

// checkLibrary loads a library in a child and counts what it adds.
func checkLibrary(ctx context.Context, p *probe.Prober, file string, deps []string) finding {
	f := finding{Check: filepath.Base(file)}
	in := probe.Inputs{Libs: []string{file}, Deps: deps}
	refusal := (*console.Refusal)(nil)
	c, err := in.Source(ctx, p)
	if err != nil { // it says what to do
		f.Verdict, f.Found = verdictProblem, err.Error()
		if errors.As(err, &refusal) {
			f.Verdict = verdictNote
		}
		return f
	}
	s, err := p.Read(ctx, c)
	if errors.As(err, &refusal) {
		f.Verdict, f.Found, f.Remedy = verdictNote, err.Error(), "export functions with TVM_FFI_DLL_EXPORT_TYPED_FUNC, or register them"
		return f
	}
	if err != nil {
		f.Verdict, f.Found = verdictProblem, err.Error()
		f.Remedy = "build it for this platform and this libtvm_ffi, or use the libtvm_ffi that it was built for; load its dependencies first with --dep"
		return f
	}
	s = report.Own(s)
	f.Verdict, f.Found = verdictOK, report.Size(s)
	if replaced := p.Replaced(); replaced != "" {
		f.Verdict, f.Found = verdictNote, f.Found+"; "+replaced
	}
	if len(s.Functions)+len(s.Types) == 0 {
		f.Verdict, f.Remedy = verdictNote, "it loads but adds nothing: export functions with TVM_FFI_DLL_EXPORT_TYPED_FUNC, or register them"
	}
	return f
}

// checkConfig reads the configuration and loads its libraries in a child.
func checkConfig(ctx context.Context, p *probe.Prober) finding {
	f := finding{Check: project.ConfigName}
	c, err := project.ReadConfig(project.ConfigName)
	if err != nil {
		f.Verdict, f.Found, f.Remedy = verdictProblem, err.Error(), "see docs/CONFIG.md of tvmffi-bind for the keys"
		return f
	}
	if len(c.Kernels) > 0 {
		f.Verdict, f.Found = verdictOK, console.Count(len(c.Kernels), "kernel")+" (checked by gen, not here)"
		return f
	}
	if _, err := p.CoreOf(ctx, c); err != nil && c.From == "" {
		f.Verdict, f.Found = verdictNote, "its libraries were not checked: there is no libtvm_ffi"
		return f
	}
	s, err := p.Read(ctx, c)
	if err != nil {
		f.Verdict, f.Found, f.Remedy = verdictProblem, err.Error(), "gen needs all libraries and deps of the file: correct the file, or provide what is missing"
		return f
	}
	f.Verdict, f.Found = verdictOK, fmt.Sprintf("package %s of %s", c.Package, report.Size(report.Own(s)))
	if replaced := p.Replaced(); replaced != "" {
		f.Verdict, f.Found = verdictNote, f.Found+"; "+replaced
	}
	return f
}

func checkTool(ctx context.Context) finding {
	version := console.Version()
	if commit := console.Commit(ctx); commit != "" {
		version += ", commit " + commit
	} else if console.Release() == "" {
		version += ", commit unknown (go build -buildvcs=true in a clone notes it)"
	}
	return finding{Check: "tvmffi-bind", Verdict: verdictOK, Found: fmt.Sprintf("%s, %s, %s", version, runtime.Version(), project.Platform())}
}

// checkCore loads libtvm_ffi in a child and asks it for its version.
func checkCore(ctx context.Context, p *probe.Prober, pip finding) finding {
	f := finding{Check: "libtvm_ffi"}
	lib, err := p.Core(ctx, "")
	if err != nil {
		f.Verdict, f.Found, f.Remedy = verdictProblem, err.Error(), remedyForCore(err, pip)
		return f
	}
	s, err := p.ReadLibraries(ctx, []probe.Library{lib})
	if err != nil {
		f.Verdict, f.Found = verdictProblem, err.Error()
		f.Remedy = fmt.Sprintf("run \"%s setup --version %s\" and set TVMFFI_LIBRARY to the path that it prints", console.Command(), wheel.DefaultVersion)
		return f
	}
	f.Verdict = verdictOK
	f.Found = fmt.Sprintf("%s\nreports %d.%d.%d, %d functions, %d types", lib.Path, s.ABI.Major, s.ABI.Minor, s.ABI.Patch, len(s.Functions), len(s.Types))
	if lib.Identity.PackageVersion != "" {
		f.Found += ", package version " + lib.Identity.PackageVersion
	}
	if s.ABI.Major == 0 && s.ABI.Minor == 1 && s.ABI.Patch < 9 {
		f.Verdict = verdictProblem
		f.Remedy = "the oldest supported version is 0.1.9: run \"pip install --upgrade " + project.CorePackage + "\""
	}
	return f
}

// remedyForCore returns what to do where libtvm_ffi is missing or damaged.
func remedyForCore(err error, pip finding) string {
	setup := fmt.Sprintf("run \"%s setup\"", console.Command())
	switch {
	case errors.Is(err, find.ErrShared): // the error says it
		return ""
	case os.Getenv("TVMFFI_LIBRARY") != "":
		return "correct or unset TVMFFI_LIBRARY"
	case pip.Verdict != verdictOK:
		return "first " + pip.Remedy + "; then " + setup
	}
	return setup
}

// checkAPI compares the C functions that libtvm_ffi exports with those that the
// runtime calls.
func checkAPI(ctx context.Context, p *probe.Prober) finding {
	f := finding{Check: "C API", Verdict: verdictOK}
	lib, err := p.Core(ctx, "")
	if err != nil {
		f.Verdict, f.Found = verdictNote, "not checked: there is no libtvm_ffi"
		return f
	}
	file, err := symbols.Read(lib.Path)
	if err != nil {
		f.Verdict, f.Found, f.Remedy = verdictProblem, err.Error(), "set TVMFFI_LIBRARY to another file"
		return f
	}
	var required, missing, absent []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(capi.API)) {
		name, optional, _ := strings.Cut(field.Tag.Get("symbol"), ",")
		if !strings.HasPrefix(name, "TVMFFI") {
			continue // of the C++ runtime, which is not part of the API
		}
		switch has := slices.Contains(file.API, name); {
		case optional == "":
			required = append(required, name)
			if !has {
				missing = append(missing, name)
			}
		case !has:
			absent = append(absent, name)
		}
	}
	f.Found = fmt.Sprintf("%d functions exported, %d of %d required ones present", len(file.API), len(required)-len(missing), len(required))
	if len(absent) > 0 {
		f.Verdict = verdictNote
		f.Found += "; too old for " + strings.Join(absent, ", ")
		f.Remedy = fmt.Sprintf("values that need them are refused; run \"%s setup --version %s\" for the newest", console.Command(), wheel.DefaultVersion)
	}
	if len(missing) > 0 {
		f.Verdict = verdictProblem
		f.Found += "; missing: " + strings.Join(missing, ", ")
		f.Remedy = fmt.Sprintf("run \"%s setup --version %s\" and set TVMFFI_LIBRARY to the path that it prints", console.Command(), wheel.DefaultVersion)
	}
	return f
}

// checkInstalled lists the places of libtvm_ffi in search order.
func checkInstalled() finding {
	f := finding{Check: "search order", Verdict: verdictOK}
	var lines []string
	if explicit := os.Getenv("TVMFFI_LIBRARY"); explicit != "" {
		lines = append(lines, "TVMFFI_LIBRARY="+explicit)
	}
	if path := os.Getenv("TVMFFI_LIBRARY_PATH"); path != "" {
		lines = append(lines, "TVMFFI_LIBRARY_PATH="+path)
	}
	versions := map[string]bool{}
	for _, i := range find.Installed(project.CorePackage, find.PathOfCore(runtime.GOOS)) {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", i.Path, i.Version, i.Source))
		versions[i.Version] = true
	}
	if len(lines) == 0 {
		lines = append(lines, "not in any installed Python package; searched:", "  "+joinOr(find.Searched(), "no site-packages folder exists", "\n  "))
	}
	if len(versions) > 1 {
		f.Verdict = verdictNote
		f.Remedy = "several versions are installed and the first one is used: set TVMFFI_LIBRARY to choose"
	}
	if warnings := sharedFolders(); len(warnings) > 0 {
		lines = append(lines, warnings...)
		f.Verdict = verdictNote
		f.Remedy = strings.TrimPrefix(f.Remedy+"; name absolute folders in TVMFFI_LIBRARY_PATH that only you can write to", "; ")
	}
	f.Found = strings.Join(lines, "\n")
	return f
}

func joinOr(list []string, none, separator string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, separator)
}

// pipVersion prints what python3 -m pip --version prints, in a quarter of the time.
const pipVersion = `import sys; del sys.path[0]; import pip
print("pip", pip.__version__, "from", pip.__path__[0], "(python %d.%d)" % sys.version_info[:2])`

// checkPip looks for what downloads wheels.
func checkPip() finding {
	return checkProgram("pip", "download official wheels (setup, init)", "install pip (python3 -m ensurepip) or uv, or set TVMFFI_LIBRARY to the path of libtvm_ffi",
		[]string{"python3", "-c", pipVersion}, []string{"pip", "--version"}, []string{"uv", "--version"})
}

// sharedFolders returns what is wrong with the folders of TVMFFI_LIBRARY_PATH. Programs load from
// them what the user has named, so that a folder in which others can write is not refused.
func sharedFolders() (warnings []string) {
	for _, dir := range filepath.SplitList(os.Getenv("TVMFFI_LIBRARY_PATH")) {
		if dir != "" && !filepath.IsAbs(dir) {
			warnings = append(warnings, dir+" is not an absolute path, and is not searched")
		} else if err := find.OwnOnly(dir); dir != "" && err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	return warnings
}

// checkCache looks for what is damaged in the cache, and who can write to it.
func checkCache() finding {
	f := finding{Check: "cache", Verdict: verdictProblem}
	dir, err := find.CacheDir()
	if err != nil {
		f.Found = err.Error()
		return f
	}
	if err := writable(dir); err != nil {
		f.Found, f.Remedy = err.Error(), "set TVMFFI_CACHE to a folder that you can write to"
		return f
	}
	wheels, others, err := wheel.Unpacked()
	if err != nil {
		f.Found = err.Error()
		return f
	}
	var lines, damaged []string
	for _, d := range wheels {
		lines = append(lines, filepath.Base(d.Root()))
		if err := d.Verify(); err != nil {
			damaged = append(damaged, err.Error())
		}
	}
	for _, path := range others {
		lines = append(lines, filepath.Base(path)+" (its hash is not known here: not checked)")
	}
	slices.Sort(lines)
	f.Found = strings.Join(append([]string{dir, joinOr(lines, "empty", ", ")}, damaged...), "\n")
	if f.Verdict = verdictOK; len(damaged) > 0 {
		f.Verdict, f.Remedy = verdictProblem, "run \""+console.Command()+" setup\", which gets damaged wheels of this platform again; remove the folders of others"
	}
	return f
}

// writable returns an error if dir, or the folder in which it would be made, cannot be
// written to.
func writable(dir string) error {
	for {
		_, err := os.Stat(dir)
		if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
			dir = parent
			continue
		}
		if err != nil {
			return err
		}
		_, remove, err := whole.Folder(dir)
		if err != nil {
			return err
		}
		return remove()
	}
}

// checkProgram looks for the first of several commands that runs.
func checkProgram(name, purpose, remedy string, commands ...[]string) finding {
	for _, c := range commands {
		path, err := exec.LookPath(c[0])
		if err != nil {
			continue
		}
		out, err := exec.Command(path, c[1:]...).Output()
		if err != nil {
			continue
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return finding{Check: name, Verdict: verdictOK, Found: strings.TrimSpace(line)}
	}
	return finding{Check: name, Verdict: verdictNote, Found: "not found; needed to " + purpose, Remedy: remedy}
}

// checkPlatform reports where programs with bindings run. They need the C library and
// the C++ runtime of the system, even with CGO_ENABLED=0.
func checkPlatform() finding {
	f := finding{Check: "platform", Verdict: verdictOK, Found: project.Platform()}
	if runtime.GOOS != "linux" {
		return f
	}
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
		if glibc, _ := filepath.Glob("/lib*/ld-linux-*"); len(glibc) == 0 {
			f.Verdict, f.Found = verdictProblem, project.Platform()+" with musl; the official libtvm_ffi needs glibc"
			f.Remedy = "use an image with glibc and the C++ runtime, such as Debian's"
			return f
		}
	}
	f.Found += "; programs need glibc, libstdc++ and libgcc_s at run time, even with CGO_ENABLED=0"
	return f
}

// checkGPU looks for the NVIDIA driver: CUDA needs nothing else at run time.
func checkGPU() finding {
	f := finding{Check: "GPU driver", Verdict: verdictOK}
	if v, err := os.ReadFile("/proc/driver/nvidia/version"); err == nil {
		f.Found, _, _ = strings.Cut(string(v), "\n")
		return f
	}
	if path, err := exec.LookPath("nvidia-smi"); err == nil {
		out, err := exec.Command(path, "--query-gpu=name,driver_version", "--format=csv,noheader").Output()
		if err == nil {
			f.Found = strings.TrimSpace(string(out))
			return f
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			f.Verdict, f.Found = verdictProblem, "nvidia-smi fails: "+strings.TrimSpace(string(out)+string(exit.Stderr))
			f.Remedy = "install or restart the NVIDIA driver"
			return f
		}
	}
	f.Verdict, f.Found = verdictNote, "no NVIDIA driver; everything but CUDA works"
	return f
}
