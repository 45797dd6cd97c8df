package find

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// plant fabricates a site-packages folder with an installed apache-tvm-ffi.
func plant(t *testing.T, goos, site, version string) string {
	t.Helper()
	file := filepath.Join(site, filepath.FromSlash(PathOfCore(goos)))
	write(t, file, "library")
	write(t, filepath.Join(site, "apache_tvm_ffi-"+version+".dist-info", "METADATA"),
		"Metadata-Version: 2.4\nName: apache-tvm-ffi\nVersion: "+version+"\n\nVersion: from the description\n")
	write(t, filepath.Join(site, "other-9.dist-info", "METADATA"), "Version: 9\n\n")
	return file
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFindOrderAndVersions(t *testing.T) {
	top := t.TempDir()
	home, root := filepath.Join(top, "home"), filepath.Join(top, "root")
	venv := filepath.Join(top, "a [venv]*") // special characters of patterns in a user's path
	if runtime.GOOS == "windows" {
		venv = filepath.Join(top, "venv")
	}
	path := filepath.Join(top, "tools", "bin")
	write(t, filepath.Join(path, "python3"), "#!/bin/sh\n")
	env := map[string]string{
		"VIRTUAL_ENV":  venv,
		"CONDA_PREFIX": filepath.Join(top, "conda"),
		"PYTHONPATH":   strings.Join([]string{"relative", filepath.Join(top, "extra")}, string(filepath.ListSeparator)),
		"PATH":         strings.Join([]string{"bin", path}, string(filepath.ListSeparator)),
	}
	h := host{goos: "linux", home: home, root: root, env: func(k string) string { return env[k] }}
	want := []string{
		"0.2 VIRTUAL_ENV " + plant(t, "linux", filepath.Join(venv, "lib", "python3.12", "site-packages"), "0.2"),
		"0.3 CONDA_PREFIX " + plant(t, "linux", filepath.Join(top, "conda", "lib", "python3.11", "site-packages"), "0.3"),
		"0.4 PYTHONPATH " + plant(t, "linux", filepath.Join(top, "extra"), "0.4"),
		"0.5 python3 on PATH " + plant(t, "linux", filepath.Join(top, "tools", "lib", "python3.10", "site-packages"), "0.5"),
		"0.6 user site " + plant(t, "linux", filepath.Join(home, ".local", "lib", "python3.11", "site-packages"), "0.6"),
		"0.7 pyenv " + plant(t, "linux", filepath.Join(home, ".pyenv", "versions", "3.12.1", "lib", "python3.12", "site-packages"), "0.7"),
		"0.8 pyenv " + plant(t, "linux", filepath.Join(home, ".pyenv", "versions", "3.9.1", "lib", "python3.9", "site-packages"), "0.8"),
		"0.9 uv " + plant(t, "linux", filepath.Join(home, ".local", "share", "uv", "python", "cpython-3.13", "lib", "python3.13", "site-packages"), "0.9"),
		"1.0 system " + plant(t, "linux", filepath.Join(root, "usr", "local", "lib", "python3.11", "dist-packages"), "1.0"),
		"1.1 system " + plant(t, "linux", filepath.Join(root, "usr", "lib", "python3", "dist-packages"), "1.1"),
	}
	// A site without the library, and one whose library is a folder, are not found.
	write(t, filepath.Join(venv, "lib", "python3.8", "site-packages", "apache_tvm_ffi-7.dist-info", "METADATA"), "Version: 7\n")
	if err := os.MkdirAll(filepath.Join(venv, "lib", "python3.7", "site-packages", filepath.FromSlash(PathOfCore("linux"))), 0o755); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range h.find("apache-tvm-ffi", PathOfCore("linux")) {
		got = append(got, fmt.Sprint(i.Version, " ", i.Source, " ", i.Path))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFindOtherSystems(t *testing.T) {
	for goos, site := range map[string]string{
		"darwin":  filepath.Join("home", "Library", "Python", "3.11", "lib", "python", "site-packages"),
		"windows": filepath.Join("local", "Programs", "Python", "Python312", "Lib", "site-packages"),
	} {
		t.Run(goos, func(t *testing.T) {
			top := t.TempDir()
			file := plant(t, goos, filepath.Join(top, site), "0.1.15.post2")
			h := host{goos: goos, home: filepath.Join(top, "home"), root: filepath.Join(top, "root"), env: func(k string) string {
				if k == "LOCALAPPDATA" {
					return filepath.Join(top, "local")
				}
				return ""
			}}
			got := h.find("apache-tvm-ffi", PathOfCore(goos))
			if len(got) != 1 || got[0].Path != file || got[0].Version != "0.1.15.post2" {
				t.Errorf("got %+v, want %s", got, file)
			}
		})
	}
}

func TestFindOnce(t *testing.T) {
	top := t.TempDir()
	venv := filepath.Join(top, "venv")
	plant(t, "linux", filepath.Join(venv, "lib", "python3.12", "site-packages"), "1")
	if err := os.Symlink("lib", filepath.Join(venv, "lib64")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	h := host{goos: "linux", home: "", root: filepath.Join(top, "root"), env: func(k string) string {
		if k == "VIRTUAL_ENV" || k == "CONDA_PREFIX" {
			return venv
		}
		return ""
	}}
	if got := h.find("apache-tvm-ffi", PathOfCore("linux")); len(got) != 1 {
		t.Errorf("found %d times, want once: %+v", len(got), got)
	}
	if got := h.find("apache-tvm-ffi", "../../../etc/passwd"); got != nil {
		t.Errorf("a path that leads out was found: %+v", got)
	}
}

func TestFindWithoutDistInfo(t *testing.T) {
	top := t.TempDir()
	site := filepath.Join(top, "lib", "python3.12", "site-packages")
	write(t, filepath.Join(site, filepath.FromSlash(PathOfCore("linux"))), "library")
	h := host{goos: "linux", root: filepath.Join(top, "root"), env: func(k string) string {
		if k == "VIRTUAL_ENV" {
			return top
		}
		return ""
	}}
	got := h.find("apache-tvm-ffi", PathOfCore("linux"))
	if len(got) != 1 || got[0].Version != "" || got[0].Where != "Python package" {
		t.Errorf("got %+v, want one without a version", got)
	}
}

// PYENV_ROOT takes the place of ~/.pyenv, and the folders of macOS are not searched on Linux.
func TestFindPyenv(t *testing.T) {
	top := t.TempDir()
	below := filepath.Join("versions", "3.12.1", "lib", "python3.12", "site-packages")
	want := plant(t, "linux", filepath.Join(top, "pyenv", below), "1")
	fallback := plant(t, "linux", filepath.Join(top, ".pyenv", below), "2")
	plant(t, "linux", filepath.Join(top, "Library", "Python", "3.11", "lib", "python", "site-packages"), "3")
	for root, want := range map[string]string{filepath.Join(top, "pyenv"): want, "": fallback} {
		h := host{goos: "linux", home: top, root: filepath.Join(top, "root"), env: func(k string) string {
			if k == "PYENV_ROOT" {
				return root
			}
			return ""
		}}
		if got := h.find("apache-tvm-ffi", PathOfCore("linux")); len(got) != 1 || got[0].Path != want {
			t.Errorf("with PYENV_ROOT=%s: got %+v, want %s", root, got, want)
		}
	}
}

func TestNatural(t *testing.T) {
	got := []string{"python3.9", "python3.12", "python3", "python3.10", "python3.2"}
	slices.SortFunc(got, func(a, b string) int { return cmp.Compare(natural(a), natural(b)) })
	want := []string{"python3", "python3.2", "python3.9", "python3.10", "python3.12"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A relative folder would be one in the working directory, where anybody may have planted a library.
func TestRelativeFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, site := range []string{"lib/python3.12/site-packages", "Lib/site-packages", ".local/lib/python3.12/site-packages",
			"versions/3.12/lib/python3.12/site-packages", "Library/Python/3.12/lib/python/site-packages",
			"Python/Python312/site-packages", "Programs/Python/Python312/Lib/site-packages", "."} {
			plant(t, goos, filepath.Join("planted", filepath.FromSlash(site)), "1")
		}
		write(t, filepath.Join("planted", "python3"), "")
		write(t, filepath.Join("planted", "python.exe"), "")
		for _, relative := range []string{"planted", "./planted", "../" + filepath.Base(must(t)(os.Getwd())) + "/planted"} {
			h := host{goos: goos, home: relative, root: t.TempDir(), env: func(string) string { return relative }}
			if got := h.find("apache-tvm-ffi", PathOfCore(goos)); got != nil {
				t.Errorf("%s, with %s: found %+v", goos, relative, got)
			}
		}
	}
}

func must(t *testing.T) func(string, error) string {
	return func(s string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestThisMachine(t *testing.T) {
	for _, s := range Searched() {
		if !filepath.IsAbs(s) {
			t.Errorf("%s is not absolute", s)
		}
	}
	for _, i := range Installed(Core().Package, Core().PathInPackage) {
		if _, err := os.Stat(i.Path); err != nil {
			t.Error(err)
		}
	}
}
