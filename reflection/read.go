package reflection

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Source is a library to read.
type Source struct {
	// Path is the file.
	Path string
	// Library identifies it in the schema. If its Role is RoleDependency, it is
	// loaded, but its exports are not listed.
	schema.Library
}

// Read loads libraries in order and describes all functions and types that are registered
// then, including libtvm_ffi's. libtvm_ffi may be first in the list, with the role core
// or bound; otherwise the runtime finds it. The libraries stay loaded.
func Read(ctx context.Context, libraries []Source) (schema.Schema, error) {
	r := reader{owners: owners{functions: map[string]string{}, types: map[string]string{}}}
	if len(libraries) > 0 && isCore(libraries[0].File) {
		if err := tvmffi.Load(tvmffi.WithLibrary(libraries[0].Path)); err != nil {
			return schema.Schema{}, err
		}
		r.schema.Libraries = append(r.schema.Libraries, libraries[0].Library)
		libraries = libraries[1:]
	} else if err := tvmffi.Load(); err != nil {
		return schema.Schema{}, err
	} else {
		r.schema.Libraries = append(r.schema.Libraries, schema.Library{File: coreName(), Role: schema.RoleCore})
	}
	v := capi.Version()
	r.schema.Format = schema.FormatVersion
	r.schema.ABI = schema.Version{Major: int(v.Major), Minor: int(v.Minor), Patch: int(v.Patch)}
	if err := r.owners.claim(r.schema.Libraries[0].File); err != nil {
		return schema.Schema{}, err
	}
	for _, l := range libraries {
		if err := r.load(ctx, l); err != nil {
			return schema.Schema{}, err
		}
	}
	if err := r.types(); err != nil {
		return schema.Schema{}, err
	}
	if err := r.globals(ctx); err != nil {
		return schema.Schema{}, err
	}
	r.schema.SetAside()
	r.schema.Sort()
	return r.schema, r.schema.Validate()
}

// coreName is the base name of libtvm_ffi on this platform.
func coreName() string { return filepath.Base(tvmffi.LibraryPath()) }

func isCore(file string) bool {
	return slices.Contains([]string{"libtvm_ffi.so", "libtvm_ffi.dylib", "tvm_ffi.dll"}, file)
}

// reader collects a schema.
type reader struct {
	schema schema.Schema
	owners owners
	names  map[string]string // of the libraries in the files of others
}

// load loads one library and reads its exports.
func (r *reader) load(ctx context.Context, l Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := symbols.Read(l.Path)
	if err != nil {
		return err
	}
	if err := file.CheckHost(runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	if err := tvmffi.LoadLibrary(l.Path); err != nil {
		return err
	}
	l.Needs = r.needs(l, file)
	r.schema.Libraries = append(r.schema.Libraries, l.Library)
	if err := r.owners.claim(l.File); err != nil {
		return err
	}
	if l.Role == schema.RoleDependency || len(file.Functions) == 0 {
		return nil
	}
	if err := r.exports(l, file); err != nil {
		return fmt.Errorf("exports of %s: %w", l.File, err)
	}
	return nil
}

// needs lists the libraries of the schema that a file is linked with. The loader knows a
// library by its name in other files, which may differ from its file name.
func (r *reader) needs(l Source, file symbols.File) []string {
	if r.names == nil {
		r.names = map[string]string{}
	}
	r.names[l.File], r.names[path.Base(file.ID)] = l.File, l.File
	var needs []string
	for i, library := range r.schema.Libraries {
		if slices.ContainsFunc(file.Needed, func(name string) bool {
			name = path.Base(name)
			return r.names[name] == library.File || i == 0 && isCore(name)
		}) {
			needs = append(needs, library.File)
		}
	}
	return needs
}

// owners remembers which library added each name.
type owners struct{ functions, types map[string]string }

// claim gives the names that nobody has claimed to the library.
func (o *owners) claim(library string) error {
	functions, err := tvmffi.Functions()
	if err != nil {
		return err
	}
	types, err := tvmffi.TypeKeys()
	if err != nil {
		return err
	}
	for _, list := range []struct {
		names  []string
		owners map[string]string
	}{{functions, o.functions}, {types, o.types}} {
		for _, name := range list.names {
			if _, ok := list.owners[name]; !ok {
				list.owners[name] = library
			}
		}
	}
	return nil
}

// globals reads the functions of the registry.
func (r *reader) globals(ctx context.Context) error {
	for name, library := range r.owners.functions {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := tvmffi.FunctionMetadata(name)
		if err != nil {
			return fmt.Errorf("metadata of %s: %w", name, err)
		}
		f := schema.Function{Name: name, Source: schema.SourceGlobal, Library: library}
		describe(&f, text)
		r.schema.Functions = append(r.schema.Functions, f)
	}
	return nil
}

// describe fills in what metadata says about a function. If it cannot be read, the
// function can still be called, like one without a signature.
func describe(f *schema.Function, metadata string) {
	m, err := schema.ParseMetadata(metadata)
	if err != nil {
		f.Flaw = err.Error()
		return
	}
	f.Signature, f.Metadata = m.Type.Func, m.Extra
}

// exports reads the functions that a library exports as a module.
func (r *reader) exports(l Source, file symbols.File) error {
	module, err := tvmffi.LoadModule(l.Path)
	if err != nil {
		return err
	}
	defer module.Release()
	var refusals *refusals
	for _, symbol := range file.Functions {
		f := schema.Function{Name: symbol.Name, Source: schema.SourceModule, Library: l.File}
		if symbol.HasMetadata {
			text, err := module.FunctionMetadata(symbol.Name)
			if err == nil {
				describe(&f, text)
			} else {
				f.Flaw = "metadata: " + err.Error()
			}
		} else {
			if refusals == nil {
				if refusals, err = newRefusals(module, l.Path); err != nil {
					return err
				}
			}
			f.Signature = refusals.signature(symbol.Name)
			f.Reported = f.Signature != nil
		}
		if symbol.HasDoc {
			if f.Doc, err = module.FunctionDoc(symbol.Name); err != nil {
				return fmt.Errorf("doc of %s: %w", symbol.Name, err)
			}
		}
		r.schema.Functions = append(r.schema.Functions, f)
	}
	return nil
}
