// Package gpupack says what a folder of "bench/gpu -pack" has: bench makes it, gpurun runs it.
package gpupack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The names in a pack.
const (
	ManifestName = "manifest.json"
	RunName      = "run"
	ReportName   = "bin/report"
	PeerName     = "bin/cpp"             // the C++ peer of the launches
	LibraryName  = "lib/libtvm_ffi.so"   //
	FakeName     = "fake/libfakecuda.so" // the driver for a dry run
	LoaderName   = "libc/ld-linux-x86-64.so.2"
)

// The variables that the programs of a pack get.
const (
	// PackVariable names the folder of the pack.
	PackVariable = "TVMFFI_TEST_PACK"
	// ImagesVariable names the folder with the images that this driver takes.
	ImagesVariable = "TVMFFI_TEST_IMAGES"
	// LoaderVariable is the command that starts programs where the machine has no C library, or an old one.
	LoaderVariable = "TVMFFI_TEST_EMULATOR"
	// DriverVariable names another driver than that of the machine.
	DriverVariable = "TVMFFI_CUDA_LIBRARY"
)

// ImagesFor returns the folder of the images for a driver, which supports that version of CUDA, such as 12040.
func ImagesFor(version int) string { return fmt.Sprintf("images/cuda%d", min(version/1000, 13)) }

// Part is one thing to run.
type Part struct {
	Name string
	// Command is a program of the pack and its arguments.
	Command []string
	// OnFake are the arguments on the fake driver, nil for the same, and OnFakeTests the tests that must pass there. The
	// note says what the dry run does not show.
	OnFake, OnFakeTests []string `json:",omitempty"`
	OnFakeNote          string   `json:",omitempty"`
	// Dir is the working folder in the pack, "" for the pack itself.
	Dir string `json:",omitempty"`
	// Tests are the tests that must pass. Without them the exit status alone decides.
	Tests []string `json:",omitempty"`
	// Devices is the least number of devices, CUDA the least version that the driver must support, such as 13000.
	Devices, CUDA int `json:",omitempty"`
	// NotOnFake says why the fake driver cannot do it.
	NotOnFake string `json:",omitempty"`
}

// Manifest is what a pack has.
type Manifest struct {
	Made     string // the date
	Commit   string
	Go       string
	Compiler string
	NVRTC    []string // versions, and what they made images for
	Parts    []Part
	Left     []string          // out of this pack, with the reason
	Files    map[string]string // SHA-256 by name
}

// Read reads the manifest of a pack.
func Read(dir string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		return nil, fmt.Errorf("%s is not a pack: make one with bench/gpu -pack DIR: %w", dir, err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w: make the pack again with bench/gpu -pack DIR", filepath.Join(dir, ManifestName), err)
	}
	if len(m.Parts) == 0 || len(m.Files) == 0 {
		return nil, fmt.Errorf("%s lists nothing to run: make the pack again with bench/gpu -pack DIR", filepath.Join(dir, ManifestName))
	}
	return m, nil
}

// Write lists the files of a folder and writes the manifest.
func (m *Manifest) Write(dir string) error {
	m.Files = map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || name == ManifestName {
			return err
		}
		m.Files[filepath.ToSlash(name)], err = sum(file)
		return err
	})
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ManifestName), append(data, '\n'), 0o644)
}

// Check returns an error that names each file that is missing or has changed, and each program that may not be executed.
func (m *Manifest) Check(dir string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		got, err := sum(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, fmt.Errorf("%s is missing", name))
		case err != nil:
			wrong = append(wrong, err)
		case got != m.Files[name]:
			wrong = append(wrong, fmt.Errorf("%s has changed", name))
		case program(name):
			// The loader of the pack would start such a program all the same, in place of the system.
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				wrong = append(wrong, err)
			} else if info.Mode()&0o111 == 0 {
				wrong = append(wrong, fmt.Errorf("%s may not be executed: it was copied without its mode", name))
			}
		}
	}
	for _, p := range m.Parts {
		if len(p.Command) == 0 || m.Files[p.Command[0]] == "" {
			wrong = append(wrong, fmt.Errorf("the program of the part %q is not in the pack: %q", p.Name, p.Command))
		}
	}
	return errors.Join(wrong...)
}

// program reports whether a file of a pack is started.
func program(name string) bool {
	return name == RunName || name == LoaderName || strings.HasPrefix(name, "bin/") && path.Ext(name) == ""
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Report is what the program report prints, as JSON.
type Report struct {
	Driver  string // the file
	CUDA    int    // the version that the driver supports
	Fake    bool   // a driver of testdata/fakecuda
	Devices []ReportDevice
}

// ReportDevice is a device in a Report.
type ReportDevice struct {
	Name, Arch, UUID, PCIBusID string
	Memory                     int64 // bytes
	Multiprocessors            int
}
