package libraries

import (
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Library is the set of shared libraries behind a generated package. Its zero
// value stands for libtvm_ffi alone.
type Library struct {
	// Files are loaded in order, after libtvm_ffi.
	Files []find.File
	// Like is another set of the package, or nil. The options of its Load hold for this
	// one, too.
	Like *Library

	// The Registry guards the rest. A goroutine that loads holds it in any case. Two
	// goroutines could take it and a second lock in different orders.
	loading, done bool
	state         error
	options, like *find.Options // of the Load that succeeded, and of Like at that time
	loads         int64         // how many libraries were loaded when state was set
	// Paths holds where each of Files was found, as far as they are loaded.
	Paths []string
}

// Load finds and loads the libraries; o is nil without options. Once it has succeeded,
// later calls do nothing. A failure is reported again to each use until another call
// succeeds, Like gets options, or something else has loaded a library. A call from
// a library that is being loaded does nothing, either: Go code that its initialisers call
// finds what is registered so far.
func (l *Library) Load(o *find.Options) error { return l.load(o, true) }

// load is Load. Without again, a failure is reported again before anything is looked for.
func (l *Library) load(o *find.Options, again bool) error {
	if l == nil {
		return (&Library{}).find(o)
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	if l.loading {
		return nil
	}
	var like *find.Options
	if l.Like != nil {
		like = l.Like.options
	}
	if l.done && (l.state == nil || !again && l.like == like && l.loads == loads.Load()) {
		if o != nil {
			l.options = o
		}
		return l.state
	}
	given := o
	if o == nil {
		o = like
	}
	l.like = like
	l.loading = true
	defer func() { l.loading = false }()
	l.state = l.find(o)
	l.done, l.loads = true, loads.Load()
	if given != nil && l.state == nil { // the options of a call that failed hold for no other
		l.options = given
	}
	return l.state
}

// find loads libtvm_ffi and the files of l. The caller holds the Registry if l has files.
func (l *Library) find(o *find.Options) error {
	if o == nil {
		o = &find.Options{}
	}
	for name, path := range o.Paths {
		if o.Core == "" && find.IsCore(name) {
			o.Core = path
		}
	}
	for _, f := range l.Files {
		switch {
		case find.IsCore(f.Name):
			o.CoreVersion = f.Version
		case f.Package != "" && !f.Dependency:
			o.Package = f.Package + "==" + f.Version
		}
	}
	if o.Core != "" || o.LightCalls || !capi.Attached() {
		if err := OpenCore(o); err != nil {
			return err
		}
	}
	l.Paths = nil
	for _, f := range l.Files {
		if find.IsCore(f.Name) {
			// Bindings of libtvm_ffi itself use the one that is loaded: a second copy
			// would end the process.
			l.Paths = append(l.Paths, CorePath())
			continue
		}
		path, err := findFile(f, o)
		if err != nil {
			return err
		}
		l.Paths = append(l.Paths, path)
	}
	return nil
}

// Ensure loads the libraries unless they are.
func (l *Library) Ensure() error {
	if l == nil && capi.Attached() {
		return nil
	}
	return l.load(nil, false)
}

// Lacks says why something that was generated is not there, and what to do. It
// follows Ensure.
func (l *Library) Lacks() string {
	if l != nil && l.loading {
		return "its library is being loaded and has not registered it yet; use it when that is over"
	}
	return "the loaded library differs from the one the bindings were generated from; run go generate, or load the matching version"
}

// PathOf returns where a file was found.
func (l *Library) PathOf(name string) (string, error) {
	for i, file := range l.Files {
		if file.Name == name && i < len(l.Paths) {
			return l.Paths[i], nil
		}
	}
	if l.loading {
		return "", failure.Errorf(failure.KindAttr, "library %s is being loaded: use its exports after that", name)
	}
	return "", failure.Errorf(failure.KindAttr, "library %s is not among the files of the bindings", name)
}

// Name returns the files that are bound.
func (l *Library) Name() string {
	var names []string
	for i, f := range l.Files {
		switch {
		case f.Dependency:
		case i < len(l.Paths):
			names = append(names, l.Paths[i])
		default:
			names = append(names, f.Name)
		}
	}
	if names == nil {
		return find.CoreName()
	}
	return strings.Join(names, ", ")
}
