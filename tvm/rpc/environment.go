package rpc

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/whole"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// folderPrefix begins the names of the folders of sessions.
const folderPrefix = "tvmffi-rpc-"

// A folder has the files of the session that this process serves.
type folder string

// register registers the functions that TVM expects of a server's program.
func (d folder) register() error {
	override := tvmffi.Override()
	return errors.Join(
		tvmffi.Register("tvm.rpc.server.workpath", d.workPath, override, tvmffi.Doc("Returns the path of a file of the session.")),
		tvmffi.Register("tvm.rpc.server.upload", d.upload, override, tvmffi.Doc("Writes a file of the session.")),
		tvmffi.Register(uploadChecked, d.uploadChecked, override, tvmffi.Doc("Writes a file of the session whose content has the SHA-256.")),
		tvmffi.Register("tvm.rpc.server.listdir", d.list, override, tvmffi.Doc("Returns the names in a folder of the session, with commas between them.")),
		tvmffi.Register("tvm.rpc.server.download_linked_module", d.downloadLinked, override, tvmffi.Doc("Returns the shared library that a file of the session is linked to.")),
		tvmffi.Register("tvm.rpc.server.load_module", d.loadModule, override, tvmffi.Doc("Loads a file of the session as a module.")),
	)
}

// file returns the path of a file of the session. The name must stay in the folder.
func (d folder) file(name string) (string, error) {
	if name != "" && !filepath.IsLocal(name) {
		return "", tvmffi.NewError("ValueError", fmt.Sprintf("the name %q leaves the folder of the session: pass a relative name without ..", name))
	}
	return filepath.Join(string(d), name), nil
}

// workPath returns the path of a file of the session, and makes its folder, but not the folder of the session, which may be
// gone because the server is.
func (d folder) workPath(name string) (string, error) {
	file, err := d.file(name)
	if err != nil || filepath.Dir(file) == string(d) || file == string(d) {
		return file, err
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return "", err
	}
	defer root.Close()
	return file, root.MkdirAll(filepath.Dir(name), 0o700)
}

// uploadChecked is the name of the function that a client of this package uploads with: other servers have none.
const uploadChecked = "tvmffi.rpc.upload"

func (d folder) uploadChecked(name string, data, sum []byte) error {
	if own := sha256.Sum256(data); !bytes.Equal(sum, own[:]) {
		return fmt.Errorf("%d bytes of the file %q came, and they are not those that the client has sent: upload it again", len(data), name)
	}
	return d.upload(name, data)
}

// upload writes a file of the session. It is whole, or stays as it was: what it had may be mapped. TVM's own function
// writes into the old file and does not look whether the disk took the data.
func (d folder) upload(name string, data []byte) error {
	file, err := d.workPath(name)
	if err == nil {
		err = whole.Write(file, bytes.NewReader(data), 0o600)
	}
	if err != nil {
		return fmt.Errorf("the server did not write the file %q of %d bytes, and an older one stays as it was: %w", name, len(data), err)
	}
	return nil
}

func (d folder) list(name string) (string, error) {
	dir, err := d.file(name)
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

// linkedFile returns the path of the shared library of a file of the session.
func (d folder) linkedFile(name string) (string, error) {
	file, err := d.file(name)
	if err != nil {
		return "", err
	}
	return linked(file)
}

// downloadLinked returns the shared library of a file of the session.
func (d folder) downloadLinked(name string) ([]byte, error) {
	file, err := d.linkedFile(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// loadModule loads a file of the session as a module.
func (d folder) loadModule(name string) (any, error) {
	file, err := d.linkedFile(name)
	if err != nil {
		return nil, err
	}
	m, err := tvmffi.LoadModule(file)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(m), nil
}
