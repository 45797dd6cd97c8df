package project

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"
)

// unknown matches settings of the go command with which other files count than those that are listed here.
var unknown = regexp.MustCompile(`-modfile|-overlay|-toolexec|GOPACKAGESDRIVER=.`)

// Settings returns the files that say what the go command makes of the packages in dir, a folder of the module or below:
// the module, its workspace, the settings of the user, and the release of Go. There may be nothing at a path; a file there would
// count. It reports false if others may count, too.
func (m *Module) Settings(dir string) (files []string, known bool) {
	for at := dir; at != m.dir; at = filepath.Dir(at) { // a module of its own would end this one
		if at == filepath.Dir(at) {
			return nil, false
		}
		files = append(files, filepath.Join(at, "go.mod"))
	}
	release, ok := goRelease()
	user, ok2 := userSettings()
	if !ok || !ok2 {
		return nil, false
	}
	work, ok := m.workspaceFiles()
	files = slices.Concat(files, release, user, work, inModule(m.dir), replacedBy(m.dir, m.file.Replace))
	return files, ok
}

// inModule returns the files of the go command in the folder of a module.
func inModule(dir string) []string {
	return []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"), filepath.Join(dir, "vendor", "modules.txt")}
}

// replacedBy returns the files of the modules in folders that replace others.
func replacedBy(dir string, all []*modfile.Replace) (files []string) {
	for _, r := range all {
		if r.New.Version == "" {
			files = append(files, filepath.Join(rooted(dir, r.New.Path), "go.mod"))
		}
	}
	return files
}

func rooted(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// userSettings returns the file of go env -w.
func userSettings() (files []string, known bool) {
	file := os.Getenv("GOENV")
	if file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, false
		}
		file = filepath.Join(dir, "go", "env")
	}
	text := []byte("GOFLAGS=" + os.Getenv("GOFLAGS") + "\nGOPACKAGESDRIVER=" + os.Getenv("GOPACKAGESDRIVER") + "\n")
	if file != "off" {
		own, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return nil, false
		}
		text, files = append(text, own...), []string{file}
		if bytes.Contains(own, []byte("GOWORK=")) {
			return nil, false
		}
	}
	return files, !unknown.Match(text)
}

// goRelease returns the go command and the files that say its version. A script may start any of several.
func goRelease() (files []string, known bool) {
	command, err := exec.LookPath("go")
	if err != nil {
		return nil, false
	}
	if command, err = filepath.EvalSymlinks(command); err != nil {
		return nil, false
	}
	f, err := elf.Open(command)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	root := filepath.Dir(filepath.Dir(command))
	version := filepath.Join(root, "VERSION")
	if _, err := os.Stat(version); err != nil {
		return nil, false
	}
	return []string{command, version, filepath.Join(root, "go.env")}, true
}

// workspaceFiles returns the places of go.work, the nearest of which counts, and the files of the workspace.
func (m *Module) workspaceFiles() (files []string, known bool) {
	named := os.Getenv("GOWORK")
	if named == "off" {
		return nil, true
	}
	for dir := m.dir; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "go.work")
		if named != "" {
			file = named
		}
		files = append(files, file)
		data, err := os.ReadFile(file)
		switch {
		case err == nil:
			work, err := modfile.ParseWork(file, data, nil)
			if err != nil {
				return nil, false
			}
			dir = filepath.Dir(file)
			files = append(files, filepath.Join(dir, "go.work.sum"), filepath.Join(dir, "vendor", "modules.txt"))
			for _, use := range work.Use {
				files = append(files, inModule(rooted(dir, use.Path))...)
			}
			return append(files, replacedBy(dir, work.Replace)...), true
		case !os.IsNotExist(err):
			return nil, false
		case named != "" || dir == filepath.Dir(dir):
			return files, true
		}
	}
}
