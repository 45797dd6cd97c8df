package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
)

// packer makes a pack: everything that runs on a machine with an NVIDIA driver and nothing else.
type packer struct {
	*tree
	root     string // of the repository
	dir      string
	manifest gpupack.Manifest
	scratch  string
}

// packParts are what a pack may have, in the order in which it runs.
var packParts = []string{"tests", "saxpy", "cute", "flashinfer", "cutlass", "launch"}

// libraryParts are those with kernels of libraries, whose compilers have 2 GB: a pack has them if that is said.
var libraryParts = []string{"cute", "flashinfer", "cutlass"}

// pack makes a pack in a folder, which must be empty or have an older pack. parts are names of packParts, separated
// by commas, "" for all, but for libraryParts without libraries.
func (t *tree) pack(ctx context.Context, dir, parts string, libraries bool) (err error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("a pack is made on linux/amd64, for linux/amd64: this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	chosen, err := chosenParts(parts, libraries)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := emptied(dir); err != nil {
		return err
	}
	defer func() {
		if err != nil { // half a pack is of no use
			os.RemoveAll(dir)
		}
	}()
	scratch, err := os.MkdirTemp("", "gpupack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	p := &packer{tree: t, root: filepath.Dir(t.bench), dir: dir, scratch: scratch}
	if err := p.describe(ctx); err != nil {
		return err
	}
	if err := p.common(ctx); err != nil {
		return err
	}
	make := map[string]func(context.Context) error{"tests": p.tests, "saxpy": p.saxpy, "cute": p.cute, "flashinfer": p.flashInfer, "cutlass": p.cutlass,
		"launch": p.launch}
	for _, name := range packParts {
		if !slices.Contains(chosen, name) {
			p.manifest.Left = append(p.manifest.Left, leftOut(name, parts))
			continue
		}
		fmt.Fprintln(os.Stderr, "packing", name)
		if err := make[name](ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := p.readme(); err != nil {
		return err
	}
	if err := p.manifest.Write(dir); err != nil {
		return err
	}
	size, err := bytesIn(dir)
	fmt.Fprintf(os.Stderr, "%s is ready, %d files, %d MB: copy it whole, with the modes of its files, to a machine with a GPU and start %s there; README.md says more\n",
		dir, len(p.manifest.Files), size>>20, gpupack.RunName)
	return err
}

// chosenParts reads a list of names of parts.
func chosenParts(parts string, libraries bool) ([]string, error) {
	if parts != "" && libraries {
		return nil, fmt.Errorf("-libraries with -parts: name %s among the parts in place of it", strings.Join(libraryParts, ", "))
	}
	if parts == "" {
		return slices.DeleteFunc(slices.Clone(packParts), func(name string) bool { return !libraries && slices.Contains(libraryParts, name) }), nil
	}
	chosen := strings.Split(parts, ",")
	for _, name := range chosen {
		if !slices.Contains(packParts, name) {
			return nil, fmt.Errorf("no part is called %q: there are %s", name, strings.Join(packParts, ", "))
		}
	}
	return chosen, nil
}

// emptied makes an empty folder. It removes an older pack and refuses to remove anything else.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(entries) > 0 {
		if _, err := gpupack.Read(dir); err != nil {
			return fmt.Errorf("%s is not empty and has no pack: name another folder", dir)
		}
		for _, e := range entries {
			if e.Name() == "log" {
				return fmt.Errorf("%s has logs: take them away first", dir)
			}
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(dir, 0o755)
}

func bytesIn(dir string) (n int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// describe fills in what made the pack.
func (p *packer) describe(ctx context.Context) error {
	commit, err := command(ctx, p.root, nil, "git", "describe", "--always", "--dirty")
	if err != nil {
		commit = "unknown"
	}
	version, err := command(ctx, "", nil, compilerName(), "--version")
	if err != nil {
		return fmt.Errorf("install g++, or name a C++ compiler by CXX: %w", err)
	}
	p.manifest = gpupack.Manifest{Made: time.Now().Format(time.DateOnly), Commit: strings.TrimSpace(commit), Go: runtime.Version(), Compiler: firstLine(version)}
	return nil
}

// at returns the path of a file of the pack, whose folder is made.
func (p *packer) at(name string) (string, error) {
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	return file, os.MkdirAll(filepath.Dir(file), 0o755)
}

// copy puts a file into the pack.
func (p *packer) copy(from, name string) error {
	to, err := p.at(name)
	if err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// build compiles a Go program, or with the verb "test" the tests of a package. A program without package os/user or
// net is linked statically; those with package runtime of this module open libraries by the loader of the machine.
func (p *packer) build(ctx context.Context, name, pkg string, flags ...string) error {
	file, err := p.at(name)
	if err != nil {
		return err
	}
	verb := []string{"go", "build"}
	if slices.Contains(flags, "test") {
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "test" })
		verb = []string{"go", "test", "-c"}
	}
	args := slices.Concat(verb, []string{"-trimpath", "-ldflags=-s -w", "-o", file}, flags, []string{"."})
	_, err = command(ctx, filepath.Join(p.root, pkg), []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false"}, args...)
	return err
}

// testsIn lists the tests in a program of the pack.
func (p *packer) testsIn(ctx context.Context, name string) ([]string, error) {
	out, err := command(ctx, p.dir, nil, filepath.Join(p.dir, name), "-test.list", ".")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Fields(out), func(s string) bool { return !strings.HasPrefix(s, "Test") }), nil
}

// testPart is a part that runs tests, each of which must pass.
func testPart(name, program string, tests ...string) gpupack.Part {
	return gpupack.Part{Name: name, Tests: tests,
		Command: []string{program, "-test.v", "-test.timeout=25m", "-test.run=^(" + strings.Join(tests, "|") + ")$"}}
}

// add adds a part to the manifest.
func (p *packer) add(parts ...gpupack.Part) { p.manifest.Parts = append(p.manifest.Parts, parts...) }

// common packs what all parts need: the program run, the report, libtvm_ffi, the fake driver and C libraries.
func (p *packer) common(ctx context.Context) error {
	fmt.Fprintln(os.Stderr, "packing the programs")
	for name, pkg := range map[string]string{gpupack.RunName: "./bench/gpurun", gpupack.ReportName: "./bench/gpureport", "bin/bench": "./bench"} {
		if err := p.build(ctx, name, pkg); err != nil {
			return err
		}
	}
	peer, err := p.compile(ctx, "launch.cc", "launch", "-Wl,--as-needed")
	if err != nil {
		return err
	}
	if err := p.copy(peer, gpupack.PeerName); err != nil {
		return err
	}
	if err := p.copy(p.wheel.Library(), gpupack.LibraryName); err != nil {
		return err
	}
	fake, err := p.at(gpupack.FakeName)
	if err != nil {
		return err
	}
	if _, err := command(ctx, p.root, nil, compilerName(), "-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", "-pthread", "-shared",
		"-Wl,-soname,libfakecuda.so", "-o", fake, filepath.Join("testdata", "fakecuda", "fakecuda.cc"), "-ldl"); err != nil {
		return err
	}
	return p.cLibraries(ctx)
}

// cLibraryNames are the libraries of C and C++ that programs of the pack load, libtvm_ffi and the driver among them. The
// pack has them for a machine that lacks one, or has an older one.
var cLibraryNames = []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
	filepath.Base(gpupack.LoaderName)}

func (p *packer) cLibraries(ctx context.Context) error {
	for _, name := range cLibraryNames {
		out, err := command(ctx, "", nil, compilerName(), "-print-file-name="+name)
		if err != nil {
			return err
		}
		file := strings.TrimSpace(out)
		if !filepath.IsAbs(file) { // the compiler does not find it
			file = "/lib64/" + name
		}
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return fmt.Errorf("the C library %s of this machine: %w", name, err)
		}
		if err := p.copy(file, "libc/"+name); err != nil {
			return err
		}
	}
	return nil
}

// tests packs the tests of package cuda that run on any driver.
func (p *packer) tests(ctx context.Context) error {
	const program = "bin/gputest"
	if err := p.build(ctx, program, "./cuda/internal/gputest", "test"); err != nil {
		return err
	}
	if err := p.images(ctx, filepath.Join(p.root, "cuda", "internal", "gputest")); err != nil {
		return err
	}
	tests, err := p.testsIn(ctx, program)
	if err != nil {
		return err
	}
	const faults, process = "TestFaults", "TestOtherProcess"
	two := []string{"TestTwoDevices", "TestPeerMemory", "TestVirtualPeers", "TestMulticast"}
	for _, needed := range append(two, faults, process, "TestTwoStreams") {
		if !slices.Contains(tests, needed) {
			return fmt.Errorf("the tests of cuda/internal/gputest have no %s: %q", needed, tests)
		}
	}
	alone := slices.DeleteFunc(tests, func(s string) bool { return slices.Contains(two, s) || s == faults || s == process })
	pair := testPart("Two devices", program, two...)
	pair.Devices = 2
	p.add(testPart("Tests of package cuda", program, alone...), testPart("Memory of another process", program, process),
		testPart("Faults, each in a process of its own", program, faults), pair)
	return nil
}

// saxpy packs the example cuda_saxpy with images in place of the source that it compiles by NVRTC.
func (p *packer) saxpy(ctx context.Context) error {
	const example = "examples/cuda_saxpy"
	dir := filepath.Join(p.scratch, "saxpy")
	kernels := filepath.Join(dir, "kernels")
	if err := os.MkdirAll(kernels, 0o755); err != nil {
		return err
	}
	// Images of CUDA 12 alone: newer drivers take those too.
	if err := p.compileImages(ctx, nvrtcWheels[0], filepath.Join(p.root, example, "kernels", "saxpy.cu"), kernels); err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(p.root, example, "tvmffi.yaml"))
	if err != nil {
		return err
	}
	text, found := imagesForSource(string(config))
	if !found {
		return fmt.Errorf("%s/tvmffi.yaml has no kernel with a source and an arch", example)
	}
	module, err := p.moduleFiles(dir)
	if err != nil {
		return err
	}
	module["tvmffi.yaml"] = text
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := command(ctx, p.root, nil, "go", "run", "./cmd/tvmffi-bind", "gen", "--offline", "--config", filepath.Join(dir, "tvmffi.yaml")); err != nil {
		return err
	}
	// The generated package and its images take the place of those in the repository.
	replace := map[string]string{}
	files, err := os.ReadDir(kernels)
	if err != nil {
		return err
	}
	for _, f := range files {
		replace[filepath.Join(p.root, example, "kernels", f.Name())] = filepath.Join(kernels, f.Name())
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	file := filepath.Join(p.scratch, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		return err
	}
	const program = "bin/saxpy"
	if err := p.build(ctx, program, "./"+example, "test", "-overlay="+file); err != nil {
		return err
	}
	p.add(testPart("Example cuda_saxpy, compared with sums in Go", program, "TestRun", "TestWrongCall"))
	return nil
}

// imagesForSource changes the configuration of a kernel from a source to images beside it.
func imagesForSource(config string) (string, bool) {
	var out []string
	source, arch := false, false
	for line := range strings.Lines(config) {
		trimmed := strings.TrimSpace(line)
		switch name, isSource := strings.CutPrefix(trimmed, "source: "); {
		case isSource:
			source = true
			line = strings.Replace(line, trimmed, "image: "+strings.TrimSuffix(name, ".cu")+".*", 1)
		case strings.HasPrefix(trimmed, "arch: "):
			arch = true
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, ""), source && arch
}

// moduleFiles are the files of a module that uses this one; the generator writes into modules only.
func (p *packer) moduleFiles(dir string) (map[string]string, error) {
	mod, err := os.ReadFile(filepath.Join(p.root, "go.mod"))
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(p.root, "go.sum"))
	if err != nil {
		return nil, err
	}
	own, rest, _ := bytes.Cut(mod, []byte("\n"))
	self := strings.TrimPrefix(string(own), "module ")
	return map[string]string{
		"go.mod": fmt.Sprintf("module example.test/pack\n%s\nrequire %s v0.0.0\nreplace %s => %s\n", rest, self, self, p.root),
		"go.sum": string(sum),
	}, nil
}

// launch packs the measurement of launches.
func (p *packer) launch(ctx context.Context) error {
	files, err := p.launchBuilt(ctx)
	if err != nil {
		return err
	}
	to := launchPacked(p.dir)
	for from, to := range map[string]string{files.ours: to.ours, files.script: to.script, files.image: to.image} {
		name, err := filepath.Rel(p.dir, to)
		if err != nil {
			return err
		}
		if err := p.copy(from, name); err != nil {
			return err
		}
	}
	p.add(gpupack.Part{Name: "Launches, compared with C++ and CuPy", Command: []string{"bin/bench", "-launch", "-peers", "."},
		OnFake: []string{"-launch", "-peers", ".", "-runs", "1", "-judge=false"}})
	return nil
}

// images compiles the kernels of a folder for all architectures, once for drivers of CUDA 12 and once for those of CUDA
// 13.
func (p *packer) images(ctx context.Context, folder string) error {
	sources, err := filepath.Glob(filepath.Join(folder, "*.cu"))
	if err != nil {
		return err
	}
	for _, w := range nvrtcWheels {
		dir, err := p.at(gpupack.ImagesFor(1000*w.major) + "/x")
		if err != nil {
			return err
		}
		for _, s := range sources {
			if err := p.compileImages(ctx, w, s, filepath.Dir(dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

func compilerName() string {
	if name := os.Getenv("CXX"); name != "" {
		return name
	}
	return "g++"
}

// found reports whether a program is there.
func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
