package toolkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// The headers that tell whether a folder is one of the CUDA runtime, of the C++ standard
// library for devices, and of what the compiler needs.
const (
	runtimeHeader  = "cuda_fp16.h"
	standardHeader = "cuda/std/type_traits"
	compilerHeader = "crt/host_defines.h"
)

// headerPackages are the Python packages with the headers of a major version.
func headerPackages(major int) []Package {
	if major >= 13 {
		const folder = "nvidia/cu13/include/"
		return []Package{
			{Distribution: "nvidia-cuda-runtime", File: folder + runtimeHeader},
			{Distribution: "nvidia-cuda-crt", File: folder + compilerHeader},
			{Distribution: "nvidia-cuda-cccl", File: folder + "cccl/" + standardHeader},
		}
	}
	return []Package{
		{Distribution: "nvidia-cuda-runtime-cu12", File: "nvidia/cuda_runtime/include/" + runtimeHeader},
		{Distribution: "nvidia-cuda-nvcc-cu12", File: "nvidia/cuda_nvcc/include/" + compilerHeader},
		{Distribution: "nvidia-cuda-cccl-cu12", File: "nvidia/cuda_cccl/include/" + standardHeader},
	}
}

// HeaderPackages names the Python packages that have a header for a version.
func HeaderPackages(v Version, header string) []string {
	p := headerPackages(v.Major)
	if strings.HasPrefix(header, "crt/") {
		return []string{p[1].Distribution}
	}
	return []string{p[0].Distribution, p[2].Distribution}
}

// Headers are the folders to look for CUDA headers in.
type Headers struct {
	Folders []string
	// Runtime and Standard say whether the headers of the CUDA runtime and the C++ standard
	// library for devices are there.
	Runtime, Standard bool
}

// Add adds a folder that exists, once.
func (h *Headers) Add(dir string) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return
	}
	for _, f := range h.Folders {
		if f == dir {
			return
		}
	}
	h.Folders = append(h.Folders, dir)
	h.Runtime = h.Runtime || isFile(filepath.Join(dir, runtimeHeader))
	h.Standard = h.Standard || isFile(filepath.Join(dir, filepath.FromSlash(standardHeader)))
}

// Complete reports whether nothing is missing.
func (h *Headers) Complete() bool { return h.Runtime && h.Standard }

// FindHeaders finds the headers for the compiler of version v, which is in a file. Folders of
// another major version are left out. The order is: a toolkit that CUDA_HOME or CUDA_PATH
// names, what belongs to the file, Python packages, /usr/local/cuda. A place is looked at only
// while something is missing.
func FindHeaders(v Version, file string) Headers {
	var h Headers
	for _, r := range Roots() {
		h.toolkit(r, v)
	}
	if !h.Complete() {
		h.beside(file, v)
	}
	if !h.Complete() {
		h.packages(v)
	}
	if !h.Complete() {
		h.toolkit(usual, v)
	}
	return h
}

// toolkit adds the folders of a toolkit, if its version suits.
func (h *Headers) toolkit(root string, v Version) {
	for _, dir := range []string{filepath.Join(root, "include"), filepath.Join(root, "targets", "x86_64-linux", "include"), filepath.Join(root, "targets", "sbsa-linux", "include")} {
		if have, ok := versionOfHeaders(dir); ok && have.Major == v.Major {
			h.Add(dir)
			h.Add(filepath.Join(dir, "cccl"))
		}
	}
}

// beside adds the folders of the toolkit or the site-packages folder that has the file.
func (h *Headers) beside(file string, v Version) {
	root := filepath.Dir(filepath.Dir(file))
	h.toolkit(root, v)
	h.toolkit(filepath.Dir(filepath.Dir(root)), v) // of ROOT/targets/x86_64-linux/lib
	if v.Major >= 13 {
		return // the packages share one folder, which is that of the file
	}
	for _, p := range headerPackages(v.Major) {
		_, below, _ := strings.Cut(p.File, "/")
		folder, _, _ := strings.Cut(below, "/include/")
		h.Add(filepath.Join(filepath.Dir(root), folder, "include"))
	}
}

// packages adds the folders of installed packages: of each package the copy of version v,
// if there is one, or the first.
func (h *Headers) packages(v Version) {
	for _, p := range headerPackages(v.Major) {
		found, _ := Installed(p)
		var best *find.Candidate
		for i, f := range found {
			if best == nil || strings.HasPrefix(f.Version, v.String()+".") && !strings.HasPrefix(best.Version, v.String()+".") {
				best = &found[i]
			}
		}
		if best != nil {
			header := p.File[strings.Index(p.File, "/include/")+len("/include/"):]
			header = strings.TrimPrefix(header, "cccl/")
			h.Add(strings.TrimSuffix(best.Path, string(filepath.Separator)+filepath.FromSlash(header)))
		}
	}
}

var definedVersion = regexp.MustCompile(`(?m)^#define CUDA_VERSION (\d+)`)

// versionOfHeaders reads the version of the headers in a folder from cuda.h.
func versionOfHeaders(dir string) (Version, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "cuda.h"))
	if err != nil {
		return Version{}, false
	}
	m := definedVersion.FindSubmatch(text)
	if m == nil {
		return Version{}, false
	}
	n, err := strconv.Atoi(string(m[1]))
	return VersionOf(n), err == nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}
