// Command program has variables of the layout of libraries.Library, as bindings declare them, and some that only resemble them.
package main

import "os"

type file struct {
	Name, SHA256, Package, Version, PathInPackage string
	Dependency                                    bool
}

type library struct {
	Files         []file
	Like          *library
	loading, done bool
	state         error
	options, like *int
	loads         int64
	Paths         []string
}

var first = library{Files: []file{
	{Name: "libtvm_ffi.so", SHA256: "c33ef5349896abfd0c5d6994e028ce3b72a343e3e7a29c1030fe093054b656ea", Package: "apache-tvm-ffi", Version: "1.2", PathInPackage: "tvm_ffi/lib/libtvm_ffi.so", Dependency: true},
	{Name: "libfirst.so"},
}}

var second = library{Files: []file{{Name: "second.dll"}, {Name: "libfirst.so"}}, Like: &first}

var unused = library{Files: []file{{Name: "libunused.so"}}}

var (
	names  = []string{"libnames.so"}
	zeros  [32]int
	single = library{Paths: []string{"libsingle.so"}}
	text   = library{Files: []file{{Name: "no ending"}}}
	path   = library{Files: []file{{Name: "a/libpath.so"}}}
	hashed = library{Files: []file{{Name: "libhashed.so", SHA256: "c33e"}}}
)

func main() {
	for _, l := range []*library{&first, &second, &single, &text, &path, &hashed} {
		os.Stdout.WriteString(l.Files[len(os.Args)].Name)
		l.loading, l.done, l.loads = true, l.state == nil && l.options == l.like, int64(zeros[len(os.Args)])
	}
	names = append(names, "libmore.so")
	zeros[len(names)]++
}
