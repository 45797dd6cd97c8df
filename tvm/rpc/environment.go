package rpc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// folders holds the folder of the session that runs on each thread of the system.
var folders = folderTable{dirs: map[int]folder{}}

type folderTable struct {
	mu   sync.Mutex
	dirs map[int]folder
}

// A folder has the files of a session, and a limit for the archives there.
type folder struct {
	dir        string
	maxArchive int64
}

// enter sets the folder of the session that this thread is about to serve. The result ends that.
func (t *folderTable) enter(f folder) (leave func()) {
	id, _ := threadID()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirs[id] = f
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.dirs, id)
	}
}

// here returns the folder of the session that this thread serves.
func (t *folderTable) here() (f folder, ok bool) {
	id, _ := threadID()
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok = t.dirs[id]
	return f, ok
}

// maxArchive returns how many bytes the files of an archive of the session may have.
func (t *folderTable) maxArchive() int64 {
	f, _ := t.here()
	return f.maxArchive
}

// file returns the path of a file of the session that this thread serves. The name must stay
// in the folder.
func (t *folderTable) file(name string) (string, error) {
	f, ok := t.here()
	dir := f.dir
	if !ok {
		return "", tvmffi.NewError("RuntimeError", "this thread serves no RPC session, so it has no folder")
	}
	if name == "" || name == "." {
		return dir, nil
	}
	if !filepath.IsLocal(name) {
		return "", tvmffi.NewError("ValueError", fmt.Sprintf("the name %q leaves the folder of the session: pass a relative name without ..", name))
	}
	return filepath.Join(dir, name), nil
}

// registerEnvironment registers the functions that TVM expects of a server's program.
var registerEnvironment = sync.OnceValue(func() error {
	override := tvmffi.Override()
	return errors.Join(
		tvmffi.Register("tvm.rpc.server.workpath", workPath, override, tvmffi.Doc("Returns the path of a file of the session.")),
		tvmffi.Register("tvm.rpc.server.listdir", listDir, override, tvmffi.Doc("Returns the names in a folder of the session, with commas between them.")),
		tvmffi.Register("tvm.rpc.server.download_linked_module", downloadLinked, override, tvmffi.Doc("Returns the shared library that a file of the session is linked to.")),
		tvmffi.Register("tvm.rpc.server.load_module", loadModule, override, tvmffi.Doc("Loads a file of the session as a module.")),
	)
})

// workPath returns the path of a file of the session, and makes its folder.
func workPath(name string) (string, error) {
	file, err := folders.file(name)
	if err != nil {
		return "", err
	}
	return file, os.MkdirAll(filepath.Dir(file), 0o700)
}

func listDir(name string) (string, error) {
	dir, err := folders.file(name)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, ","), nil
}
