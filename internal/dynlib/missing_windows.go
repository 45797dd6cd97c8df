package dynlib

import (
	"debug/pe"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/tvmffi-go/tvmffi/internal/advice"
)

// notFound adds to the error of Windows, which does not say which library was not found, those that the library at path needs
// and that none of the folders has.
func notFound(path string, folders []string, err error) error {
	missing := missingFrom(path, folders)
	if len(missing) == 0 {
		return err
	}
	do := "put it beside " + filepath.Base(path) + ", or load it first"
	if slices.ContainsFunc(missing, ofVisualC) {
		do = "install the Microsoft Visual C++ Redistributable"
	}
	return advice.Add(err, fmt.Sprintf("it needs %s, which Windows does not find in its folder, in the folder NAME.libs of its wheel, in the folder of the program or in the system's; %s", strings.Join(missing, ", "), do))
}

// ofVisualC reports whether a library is one of Microsoft's C++ runtime.
func ofVisualC(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "msvcp1") || strings.HasPrefix(name, "vcruntime1") || strings.HasPrefix(name, "concrt1")
}

// missingFrom lists the libraries that the one at path imports and that are neither loaded nor in one of the folders.
func missingFrom(path string, folders []string) (missing []string) {
	f, err := pe.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols() // SYMBOL:LIBRARY
	if err != nil {
		return nil
	}
	folders = append(slices.Clone(folders), filepath.Dir(path))
	if program, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(program))
	}
	if system, err := windows.GetSystemDirectory(); err == nil {
		folders = append(folders, system)
	}
	for _, symbol := range symbols {
		name := symbol[strings.LastIndexByte(symbol, ':')+1:]
		lower := strings.ToLower(name)
		if slices.Contains(missing, name) || strings.HasPrefix(lower, "api-ms-") || strings.HasPrefix(lower, "ext-ms-") {
			continue // the latter have no file
		}
		if _, err := loaded(name); err == nil {
			continue
		}
		if !slices.ContainsFunc(folders, func(dir string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }) {
			missing = append(missing, name)
		}
	}
	return missing
}
