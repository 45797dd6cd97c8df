package tvmffi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"

	"github.com/ebitengine/purego"
)

// LoadOption changes where libraries are looked for.
type LoadOption = core.LoadOption

// WithLibrary names the file of libtvm_ffi, as the variable TVMFFI_LIBRARY does.
func WithLibrary(path string) LoadOption {
	return func(c *core.LoadConfig) { c.Core = path }
}

// WithFile names the file of a library that bindings need; its base name says
// which one it is.
func WithFile(path string) LoadOption {
	return func(c *core.LoadConfig) {
		if c.Paths == nil {
			c.Paths = map[string]string{}
		}
		c.Paths[filepath.Base(path)] = path
	}
}

// WithDir adds a folder that is searched before the others.
func WithDir(dir string) LoadOption {
	return func(c *core.LoadConfig) { c.Dirs = append(c.Dirs, dir) }
}

var coreState struct {
	sync.Mutex
	path string
}

// Load finds and loads libtvm_ffi, once; the package says where it looks. Later
// calls do nothing, but a call that names another file than the one loaded is an
// error: a process has one libtvm_ffi.
func Load(options ...LoadOption) error {
	if len(options) == 0 && capi.Attached() {
		return nil
	}
	var config core.LoadConfig
	for _, option := range options {
		option(&config)
	}
	return loadCore(&config)
}

// LibraryPath returns the file of the loaded libtvm_ffi, "" before Load.
func LibraryPath() string {
	coreState.Lock()
	defer coreState.Unlock()
	return coreState.path
}

// Version returns the version that the loaded libtvm_ffi reports, such as
// "0.1.16". It need not be that of the Python package the file came from.
func Version() (string, error) {
	if err := Load(); err != nil {
		return "", err
	}
	return versionText(capi.Version()), nil
}

func versionText(v abi.Version) string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// LoadLibrary loads a shared library that registers functions and types when it
// is loaded. Its symbols become visible to libraries loaded later. It is never
// unloaded.
func LoadLibrary(path string) error {
	if err := Load(); err != nil {
		return err
	}
	return open(path)
}

// open loads a file while nobody else uses the registries.
func open(path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(full); err != nil {
		return &Error{Kind: "LibraryNotFound", Message: fmt.Sprintf("library %s: %v%s", path, err, nearest.File(full)), state: failure.FailureState{Cause: err}}
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	if _, err := dynlib.Open(full); err != nil {
		return failure.Errorf(failure.KindRuntime, "%w%s", err, loadRemedy(full, strings.TrimPrefix(err.Error(), "load "+full+": ")))
	}
	return nil
}

// search collects what was tried, for the error.
type search struct {
	what    string
	tried   []string
	refused bool // a file is there, and the system cannot load it
}

func (s *search) miss(where, path string, why any) {
	s.tried = append(s.tried, fmt.Sprintf("%s (%s): %v", path, where, why))
}

// absent is miss for a file that does not exist: it may have got another name.
func (s *search) absent(where, path string) {
	s.miss(where, path, "no such file"+nearest.File(path))
}

func (s *search) error(remedy string) error {
	list := "nowhere to look"
	if len(s.tried) > 0 {
		list = "tried:\n  " + strings.Join(s.tried, "\n  ")
	}
	if s.refused {
		return &Error{Kind: "LibraryNotFound", Message: s.what + " cannot be loaded; " + list}
	}
	return &Error{Kind: "LibraryNotFound", Message: s.what + " was not found; " + list + "\n" + remedy}
}

// place is where a library may be. An explicit one is the only one.
type place struct {
	path, where string
	explicit    bool
}

func loadCore(config *core.LoadConfig) error {
	coreState.Lock()
	defer coreState.Unlock()
	if capi.Attached() {
		return sameCore(config.Core)
	}
	if err := environmentLimit(); err != nil {
		return err
	}
	name := filepath.Base(sites.Library(runtime.GOOS))
	explicit := config.Core
	if explicit == "" {
		explicit = os.Getenv("TVMFFI_LIBRARY")
	}
	if h, err := dynlib.Loaded(name); err == nil {
		if err := attach(h, name); err != nil {
			return err
		}
		return sameCore(explicit)
	}
	s := search{what: name}
	for _, p := range corePlaces(name, explicit, config) {
		if _, err := os.Stat(p.path); err != nil {
			s.absent(p.where, p.path)
		} else if h, err := dynlib.Open(p.path); err != nil {
			s.miss(p.where, p.path, err)
		} else {
			return attach(h, p.path)
		}
		if p.explicit {
			break
		}
	}
	return s.error("run \"go tool tvmffi-bind setup\", or pip install apache-tvm-ffi, or put it beside the executable, or set TVMFFI_LIBRARY to the file")
}

func corePlaces(name, explicit string, config *core.LoadConfig) []place {
	if explicit != "" {
		return []place{{explicit, "named explicitly", true}}
	}
	places := inDirs(name, config.Dirs)
	installed := sites.FindLibrary()
	var others []place
	add := func(i sites.Installed, where string) {
		if p := (place{i.File, where, false}); config.CoreVersion != "" && i.Version == config.CoreVersion {
			places = append(places, p)
		} else {
			others = append(others, p)
		}
	}
	for _, i := range sites.Cached("apache-tvm-ffi", sites.Library(runtime.GOOS)) {
		add(i, "cache of tvmffi-bind setup")
	}
	for _, i := range installed {
		add(i, "Python package "+i.Version)
	}
	places = append(places, others...)
	if len(installed) == 0 {
		for _, dir := range sites.Searched() {
			places = append(places, place{filepath.Join(dir, sites.Library(runtime.GOOS)), "Python package", false})
		}
	}
	return places
}

// inDirs lists the folders of options, of TVMFFI_LIBRARY_PATH, and of the
// executable. The working directory is never searched by accident.
func inDirs(name string, dirs []string) []place {
	var places []place
	for _, dir := range dirs {
		places = append(places, place{filepath.Join(dir, name), "folder of WithDir", false})
	}
	for _, dir := range filepath.SplitList(os.Getenv("TVMFFI_LIBRARY_PATH")) {
		if filepath.IsAbs(dir) {
			places = append(places, place{filepath.Join(dir, name), "TVMFFI_LIBRARY_PATH", false})
		}
	}
	if exe, err := os.Executable(); err == nil {
		dir := filepath.Dir(exe)
		places = append(places, place{filepath.Join(dir, name), "folder of the executable", false},
			place{filepath.Join(dir, "lib", name), "lib folder of the executable", false})
	}
	return places
}

// sameCore refuses to go on with another libtvm_ffi than the one loaded.
func sameCore(want string) error {
	if want == "" {
		return nil
	}
	if full, err := filepath.Abs(want); err == nil && full == filepath.Clean(coreState.path) {
		return nil // also when the file has gone since
	}
	a, err := os.Stat(want)
	if err != nil {
		return &Error{Kind: "LibraryNotFound", Message: fmt.Sprintf("libtvm_ffi %s: %v", want, err), state: failure.FailureState{Cause: err}}
	}
	b, err := os.Stat(coreState.path)
	if err != nil {
		return failure.Errorf(failure.KindRuntime, "the process has already loaded libtvm_ffi from %s, which cannot be compared with %s now (%w): name the first one everywhere", coreState.path, want, err)
	}
	if !os.SameFile(a, b) {
		return failure.Errorf(failure.KindRuntime, "the process has already loaded libtvm_ffi from %s and cannot load a second copy from %s: name one of them everywhere", coreState.path, want)
	}
	return nil
}

// The oldest libtvm_ffi whose C functions this package knows to work.
const oldestPatch = 9

// attach makes the library at path the libtvm_ffi of the process.
func attach(h dynlib.Handle, path string) error {
	getVersion, err := h.Symbol("TVMFFIGetVersion")
	if err != nil {
		return failure.Errorf(failure.KindRuntime, "%s is no libtvm_ffi: it has no symbol TVMFFIGetVersion; set TVMFFI_LIBRARY to the file, or run \"go tool tvmffi-bind setup\"", path)
	}
	path = dynlib.File(getVersion)
	v := new(abi.Version)
	purego.SyscallN(getVersion, uintptr(unsafe.Pointer(v)))
	if v.Major != 0 || v.Minor != 1 || v.Patch < oldestPatch {
		return failure.Errorf(failure.KindRuntime, "libtvm_ffi %s has version %s: this package works with 0.1.%d to 0.1.x; run \"go tool tvmffi-bind setup\"", path, versionText(*v), oldestPatch)
	}
	if missing := core.Attach(h); missing != nil {
		return failure.Errorf(failure.KindRuntime, "libtvm_ffi %s (version %s) lacks %s; run \"go tool tvmffi-bind setup\"", path, versionText(*v), strings.Join(missing, ", "))
	}
	coreState.path = path
	return nil
}

// loadLibrary loads what a generated package needs.
func loadLibrary(l *core.Library, options []LoadOption) error {
	var config core.LoadConfig
	for _, option := range options {
		option(&config)
	}
	for name, path := range config.Paths {
		if config.Core == "" && namesCore(name) {
			config.Core = path
		}
	}
	for _, file := range l.Files {
		if namesCore(file.Name) {
			config.CoreVersion = file.Version
		}
	}
	if config.Core != "" || !capi.Attached() {
		if err := loadCore(&config); err != nil {
			return err
		}
	}
	l.Paths = nil
	for _, file := range l.Files {
		if namesCore(file.Name) {
			// Bindings of libtvm_ffi itself use the one that is there: a second copy
			// would end the process.
			l.Paths = append(l.Paths, LibraryPath())
			continue
		}
		key := file
		key.Dependency = false
		path := loadedFiles[key]
		if _, named := config.Paths[file.Name]; path == "" || named || len(config.Dirs) > 0 {
			var err error
			if path, err = loadFile(file, &config); err != nil {
				return err
			}
			loadedFiles[key] = path
		}
		l.Paths = append(l.Paths, path)
	}
	return nil
}

// loadedFiles holds where the libraries of generated packages were found. The packages of
// one library share what the options of one Load said: a copy from elsewhere would
// register everything again. The Registry guards it.
var loadedFiles = map[core.File]string{}

// namesCore reports whether a file is called as libtvm_ffi is, on any platform.
func namesCore(name string) bool {
	return slices.ContainsFunc([]string{"linux", "darwin", "windows"}, func(goos string) bool {
		return name == filepath.Base(sites.Library(goos))
	})
}

func loadFile(file core.File, config *core.LoadConfig) (string, error) {
	s := search{what: file.Name}
	for _, p := range filePlaces(file, config) {
		if _, err := os.Stat(p.path); err != nil {
			s.absent(p.where, p.path)
		} else if err := checkHash(p, file); err != nil {
			s.miss(p.where, p.path, err)
		} else if err := open(p.path); err != nil {
			s.miss(p.where, p.path, failure.Message(err))
			s.refused = true
		} else {
			return filepath.Abs(p.path)
		}
		if p.explicit {
			break
		}
	}
	for name, path := range config.Paths {
		if name != file.Name && !namesCore(name) {
			s.miss("named explicitly", path, "has another name")
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("TVMFFI_LIBRARY_PATH")) {
		if dir != "" && !filepath.IsAbs(dir) {
			s.miss("TVMFFI_LIBRARY_PATH", dir, "is no absolute path, and was not searched")
		}
	}
	remedy := "put it beside the executable, name its folder in TVMFFI_LIBRARY_PATH (absolute), or give its path to Load with tvmffi.WithFile" +
		"\nif it got another name since the bindings were generated, give it this one, or write the new one under libraries in tvmffi.yaml and run go generate"
	if file.Package != "" {
		remedy = fmt.Sprintf("install the Python package (pip install %s==%s), or ", file.Package, file.Version) + remedy
	}
	return "", s.error(remedy)
}

const fromCache = "cache of tvmffi-bind"

func filePlaces(file core.File, config *core.LoadConfig) []place {
	if path, ok := config.Paths[file.Name]; ok {
		return []place{{path, "named explicitly", true}}
	}
	places := inDirs(file.Name, config.Dirs)
	if file.Package == "" {
		return places
	}
	for _, i := range sites.Cached(file.Package, file.PathInPackage) {
		places = append(places, place{i.File, fromCache, false})
	}
	for _, i := range sites.Find(file.Package, file.PathInPackage) {
		places = append(places, place{i.File, "Python package " + i.Version, false})
	}
	return places
}

// checkHash compares a file of our cache with the one that was bound. A file from
// elsewhere is the user's choice: there each function and type is checked when
// it is first used.
func checkHash(p place, file core.File) error {
	if p.where != fromCache || file.SHA256 == "" {
		return nil
	}
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != file.SHA256 {
		return fmt.Errorf("another version: its sha256 is %s, the bindings were made from %s", got, file.SHA256)
	}
	return nil
}
