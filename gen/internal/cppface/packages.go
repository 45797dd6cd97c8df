package cppface

import (
	"path"
	"strings"
	"text/template"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// packages writes the files by which CMake and pkg-config find the library.
func packages(l *face.Library, c Config) ([]face.File, error) {
	about, _, _ := strings.Cut(face.Clean(strings.ReplaceAll(l.Doc, "\n", " ")), ". ")
	if about == "" {
		about = "A library made in Go"
	}
	data := map[string]string{
		"Marker": c.Marker, "Source": face.Clean(l.Path), "Name": l.Name, "Version": c.Version, "About": strings.TrimSuffix(about, "."),
		"Load": strings.ToUpper(l.Name) + "_LOAD_AT_RUN_TIME",
	}
	cmake := path.Join("lib", "cmake", l.Name)
	var files []face.File
	for _, f := range []struct {
		path     string
		template *template.Template
	}{
		{path.Join(cmake, l.Name+"Config.cmake"), configTemplate},
		{path.Join(cmake, l.Name+"ConfigVersion.cmake"), versionTemplate},
		{path.Join("lib", "pkgconfig", l.Name+".pc"), pkgConfigTemplate},
	} {
		var b strings.Builder
		if err := f.template.Execute(&b, data); err != nil {
			return nil, err
		}
		files = append(files, face.File{Path: f.path, Content: []byte(b.String())})
	}
	return files, nil
}

var configTemplate = template.Must(template.New("config").Parse(`# {{.Marker}}
# source: {{.Source}}
#
# find_package({{.Name}}) defines the targets
#   {{.Name}}::{{.Name}}   the library and its header
#   {{.Name}}::loaded  the header only, for programs that call load at run time

if(NOT TARGET tvm_ffi::shared)
  find_package(tvm_ffi CONFIG QUIET)
  if(NOT tvm_ffi_FOUND)
    find_package(Python COMPONENTS Interpreter QUIET)
    if(Python_FOUND)
      execute_process(COMMAND "${Python_EXECUTABLE}" -m tvm_ffi.config --cmakedir
        OUTPUT_VARIABLE tvm_ffi_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      find_package(tvm_ffi CONFIG QUIET)
    endif()
  endif()
  if(NOT TARGET tvm_ffi::shared)
    set({{.Name}}_FOUND FALSE)
    set({{.Name}}_NOT_FOUND_MESSAGE "{{.Name}} needs TVM-FFI: pip install apache-tvm-ffi, and set Python_EXECUTABLE to the Python that has it, or tvm_ffi_ROOT to what \"python -m tvm_ffi.config --cmakedir\" prints")
    return()
  endif()
endif()

get_filename_component(_{{.Name}}_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET {{.Name}}::{{.Name}})
  add_library({{.Name}}::{{.Name}} SHARED IMPORTED)
  set_target_properties({{.Name}}::{{.Name}} PROPERTIES
    IMPORTED_LOCATION "${_{{.Name}}_prefix}/lib/${CMAKE_SHARED_LIBRARY_PREFIX}{{.Name}}${CMAKE_SHARED_LIBRARY_SUFFIX}"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_{{.Name}}_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES tvm_ffi::shared)
  add_library({{.Name}}::loaded INTERFACE IMPORTED)
  set_target_properties({{.Name}}::loaded PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_{{.Name}}_prefix}/include"
    INTERFACE_COMPILE_DEFINITIONS {{.Load}}
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES tvm_ffi::shared)
endif()

unset(_{{.Name}}_prefix)
`))

var versionTemplate = template.Must(template.New("version").Parse(`# {{.Marker}}
# source: {{.Source}}
set(PACKAGE_VERSION "{{.Version}}")

if(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
`))

// pkgConfigTemplate names no package of TVM-FFI, which has none: tvm-ffi-config prints its
// flags.
var pkgConfigTemplate = template.Must(template.New("pc").Parse(`# {{.Marker}}
# source: {{.Source}}
prefix=${pcfiledir}/../..
libdir=${prefix}/lib

Name: {{.Name}}
Description: {{.About}}
Version: {{.Version}}
Cflags: -I${prefix}/include
Libs: -L${libdir} -Wl,-rpath,${libdir} -l{{.Name}}
`))
