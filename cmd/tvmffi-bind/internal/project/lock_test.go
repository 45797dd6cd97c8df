package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/schema"
)

func gardenSchema(hash string, functions ...string) schema.Schema {
	s := schema.Schema{
		Format: schema.FormatVersion, ABI: schema.Version{Minor: 1, Patch: 16},
		Libraries: []schema.Library{
			{File: "libtvm_ffi.so", Role: schema.RoleCore, SHA256: "c0", Package: CorePackage, PathInPackage: "tvm_ffi/lib/libtvm_ffi.so"},
			{File: "libgarden.so", Role: schema.RoleBound, SHA256: hash},
		},
	}
	for _, name := range functions {
		s.Functions = append(s.Functions, schema.Function{Name: name, Source: schema.SourceGlobal, Library: "libgarden.so"})
	}
	return s
}

func TestLock_roundTrip(t *testing.T) {
	l := NewLock(gardenSchema("aa", "garden.water"))
	l.Files = []string{"garden.go"}
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !IsLock(data) {
		t.Error("IsLock does not recognize its own output")
	}
	file := filepath.Join(t.TempDir(), LockName)
	if got, err := ReadLock(file); got != nil || err != nil {
		t.Errorf("a missing lock gives %v, %v", got, err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadLock(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.Encode()
	if err != nil || string(again) != string(data) {
		t.Errorf("read and written again (%v):\n%s\nwas:\n%s", err, again, data)
	}
	core := got.library("libtvm_ffi.so")
	if core == nil || core.Version != "0.1.16" || core.Package != "" {
		t.Errorf("libtvm_ffi is locked as %+v, want its version and no package", core)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte(`"format": 1`), []byte(`"format": 7`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(file); err == nil || !strings.Contains(err.Error(), "format is 7") {
		t.Errorf("a lock of another format gives %v", err)
	}
}

func TestLock_keepsOtherPlatformsWhileTheInterfaceStays(t *testing.T) {
	previous := NewLock(gardenSchema("aa", "garden.water"))
	previous.library("libgarden.so").SHA256 = map[string]string{"plan9/mips": "bb", Platform(): "old"}

	for _, c := range []struct{ pkg, want, why string }{
		{"", "old", "what is built on every machine anew keeps the first hash"},
		{"garden", "aa", "a package has one file"},
	} {
		same := NewLock(gardenSchema("aa", "garden.water"))
		same.library("libgarden.so").Package = c.pkg
		same.Adopt(previous)
		hashes := same.library("libgarden.so").SHA256
		if hashes["plan9/mips"] != "bb" || hashes[Platform()] != c.want {
			t.Errorf("package %q: hashes %v, want the hash for plan9 and %q for this platform: %s", c.pkg, hashes, c.want, c.why)
		}
	}

	changed := NewLock(gardenSchema("aa", "garden.water", "garden.weed"))
	changed.Adopt(previous)
	if _, ok := changed.library("libgarden.so").SHA256["plan9/mips"]; ok {
		t.Error("the hash of another platform outlived a change of the interface")
	}
}

// TestLock_otherSystem: a library has another name and another hash on another system, and the lock and the bindings stay as
// they are.
func TestLock_otherSystem(t *testing.T) {
	const elsewhere = "plan9/mips"
	there := gardenSchema("dd", "garden.water")
	there.Libraries = append(there.Libraries, schema.Library{File: "plot.dll", Role: schema.RoleBound, SHA256: "ee", Package: "plot", PackageVersion: "1", PathInPackage: "plot/lib/plot.dll"})
	there.Functions[0].Library, there.Libraries[1].File = "garden.dll", "garden.dll"
	there.Libraries[1].Needs = []string{"libtvm_ffi.so", "plot.dll"}
	there.Types = []schema.Type{{Key: "plot.Plot", Library: "plot.dll"}}
	there.Flaws = []schema.Flaw{{Kind: "type", Name: "plot.Bed", Library: "plot.dll"}}
	previous := NewLock(there)
	for i := range previous.Libraries {
		hash := &previous.Libraries[i].SHA256
		*hash = map[string]string{elsewhere: (*hash)[Platform()]}
	}
	here := gardenSchema("aa", "garden.water")
	here.Libraries = append(here.Libraries, schema.Library{File: "libplot.so", Role: schema.RoleBound, SHA256: "bb", Package: "plot", PackageVersion: "1", PathInPackage: "plot/lib/libplot.so"})
	here.Libraries[1].Needs = []string{"libtvm_ffi.so", "libplot.so"}
	here.Types = []schema.Type{{Key: "plot.Plot", Library: "libplot.so"}}
	here.Flaws = []schema.Flaw{{Kind: "type", Name: "plot.Bed", Library: "libplot.so"}}
	before, err := json.Marshal(here)
	if err != nil {
		t.Fatal(err)
	}

	now := NewLock(here)
	now.Adopt(previous)
	if !reflect.DeepEqual(now, previous) {
		t.Errorf("the lock becomes %+v, was %+v", now, previous)
	}
	if notes := now.Changed(previous); notes != nil {
		t.Errorf("changed says %q", notes)
	}
	named := now.Named(here)
	there.Libraries[1].SHA256 = "aa" // of a file that every machine builds anew
	if !reflect.DeepEqual(named, there) {
		t.Errorf("the bindings are of %+v, were of %+v", named, there)
	}
	if after, err := json.Marshal(here); err != nil || string(after) != string(before) {
		t.Errorf("%v: the schema has changed to %s", err, after)
	}

	here.Libraries[2].PackageVersion = "2"
	now = NewLock(here)
	now.Adopt(previous)
	if plot := now.Libraries[2]; plot.File != "plot.dll" || plot.PathInPackage != "plot/lib/plot.dll" || plot.SHA256[Platform()] != "bb" || len(plot.SHA256) != 1 {
		t.Errorf("another version is %+v", plot)
	}
	if plot := now.Named(here).Libraries[2]; plot.SHA256 != "bb" || plot.File != "plot.dll" {
		t.Errorf("the bindings are of %+v", plot)
	}
	here.Libraries[2].Package = "other"
	now = NewLock(here)
	now.Adopt(previous)
	if now.Libraries[2].File != "libplot.so" || len(now.Changed(previous)) != 2 {
		t.Errorf("a library of another package is %+v: %q", now.Libraries[2], now.Changed(previous))
	}
}

func TestLock_changedSaysWhat(t *testing.T) {
	before := NewLock(gardenSchema("aa", "garden.water"))
	for _, c := range []struct {
		now  schema.Schema
		want []string
	}{
		{gardenSchema("aa", "garden.water"), nil},
		{gardenSchema("bb", "garden.water"), []string{"libgarden.so is another build with the same interface"}},
		{gardenSchema("bb", "garden.weed"), []string{"libgarden.so changed its interface since the bindings were generated"}},
	} {
		if got := NewLock(c.now).Changed(before); !slices.Equal(got, c.want) {
			t.Errorf("changed says %q, want %q", got, c.want)
		}
	}
}

// TestReadLock_refused: a lock that another version of the tool wrote, or that somebody has
// changed, is refused with the file and the remedy.
func TestReadLock_refused(t *testing.T) {
	data, err := NewLock(gardenSchema("aa")).Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), LockName)
	for name, c := range map[string]struct{ text, want string }{
		"unknown field":   {strings.Replace(string(data), `"format"`, `"extra": 1, "format"`, 1), `unknown field "extra"`},
		"unknown library": {strings.Replace(string(data), `"role"`, `"colour": "red", "role"`, 1), `unknown field "colour"`},
		"two locks":       {string(data) + string(data), "it has text behind the JSON object"},
		"a key twice":     {strings.Replace(string(data), `"role"`, `"interface": "bb", "role"`, 1), `the key "interface" occurs twice in libraries.0`},
		"two cases":       {strings.Replace(string(data), `"role"`, `"Role": "bb", "role"`, 1), `the keys "Role" and "role" in libraries.0 are one key`},
		"not JSON":        {"lock", "invalid character"},
		"empty":           {"", "EOF"},
		"no format":       {"{}", "its format is 0, not 1"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLock(file)
		if l != nil || err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "remove it and run gen again") {
			t.Errorf("%s: %v, %v, want %q and the remedy", name, l, err, c.want)
		}
	}
}

// TestReadLock_conflict: gen can write a lock again in which a merge has left its marks.
func TestReadLock_conflict(t *testing.T) {
	data, err := NewLock(gardenSchema("aa")).Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "\n  \"interface\"", "\n<<<<<<< HEAD\n  \"interface\": \"x\",\n=======\n>>>>>>> other\n  \"interface\"", 1)
	file := filepath.Join(t.TempDir(), LockName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLock(file)
	if err != nil || !IsLock([]byte(text)) {
		t.Fatal(l, err, "it is not a lock that may be replaced")
	}
	now := NewLock(gardenSchema("aa"))
	now.Adopt(l)
	if notes := now.Changed(l); len(notes) != 1 || !strings.Contains(notes[0], "merge conflict") {
		t.Errorf("%q", notes)
	}
}

// TestLock_adoptsBesideNewLibraries: a library that the previous lock does not have, or that has
// changed, does not keep the others from taking their hashes over.
func TestLock_adoptsBesideNewLibraries(t *testing.T) {
	previous := NewLock(gardenSchema("aa", "garden.water"))
	previous.library("libgarden.so").SHA256 = map[string]string{"plan9/mips": "bb"}
	s := gardenSchema("aa", "garden.water")
	s.Libraries = slices.Insert(s.Libraries, 1, schema.Library{File: "libnew.so", Role: schema.RoleDependency, SHA256: "cc"})
	s.ABI.Patch++ // another libtvm_ffi
	now := NewLock(s)
	now.Adopt(previous)
	if got := now.library("libgarden.so").SHA256["plan9/mips"]; got != "bb" {
		t.Errorf("the hash of another platform is %q, want bb", got)
	}
	if core := now.library("libtvm_ffi.so"); core.PathInPackage != "" || core.Version != "0.1.17" {
		t.Errorf("libtvm_ffi is locked as %+v", core)
	}
	if want := []string{"libnew.so is new"}; !slices.Equal(now.Changed(previous), want) {
		t.Errorf("changed says %q, want %q", now.Changed(previous), want)
	}
	now.library("libgarden.so").SHA256 = nil
	if want := []string{"libnew.so is gone"}; !slices.Equal(previous.Changed(now), want) {
		t.Errorf("changed says %q, want %q", previous.Changed(now), want)
	}
}

// TestLock_wheels: a machine knows the wheels for its platform, and keeps those for others until
// the configuration asks for another version.
func TestLock_wheels(t *testing.T) {
	c := &Config{Libraries: []LibrarySpec{{Package: "garden", Version: "1.2", Path: "a.so"}, {Package: "garden", Version: "1.2", Path: "b.so"}, {File: "c.so"}}}
	previous := &Lock{Wheels: []lockedWheel{
		{"garden==1.2", map[string]WheelFile{"plan9/mips": {"t", "1"}, Platform(): {"t", "2"}}},
		{"garden==1.1", map[string]WheelFile{Platform(): {"t", "3"}}},
	}}
	for _, here := range []map[string]WheelFile{{"garden==1.2": {"u", "4"}, "other==1": {"u", "5"}}, nil} {
		l := &Lock{}
		l.SetWheels(c, here, previous)
		want := WheelFile{"t", "2"} // of the lock, where the library is installed
		if here != nil {
			want = WheelFile{"u", "4"}
		}
		if len(l.Wheels) != 1 || l.Wheels[0].Requirement != "garden==1.2" || l.Wheels[0].Files["plan9/mips"].SHA256 != "1" || l.WheelsHere()["garden==1.2"] != want {
			t.Errorf("%v: %+v", here, l.Wheels)
		}
	}
	l := &Lock{}
	if l.SetWheels(c, nil, nil); l.Wheels != nil || len((*Lock)(nil).WheelsHere()) != 0 {
		t.Errorf("%+v of nothing", l.Wheels)
	}
}

// TestLock_mergedNames reads the Go names from a lock with the marks of a merge.
func TestLock_mergedNames(t *testing.T) {
	l := NewLock(gardenSchema("aa", "garden.water"))
	l.GoNames = &config.GoNames{Root: "garden", Packages: map[string]map[string]string{
		".":    {"Water": "function:garden.water"},
		"soil": {"Dig": "function:garden.soil.dig"},
	}}
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	water := `        "Water": "function:garden.water"` + "\n"
	merged := "<<<<<<< ours\n" + `        "AB": "function:garden.a_b",` + "\n" + water +
		"=======\n" + `        "AB": "function:garden.aB",` + "\n" + `        "AB2": "function:garden.a_b",` + "\n" + water + ">>>>>>> theirs\n"
	l.GoNames.Packages["."]["AB"] = "function:garden.a_b" // the first counts
	data = bytes.Replace(data, []byte(water), []byte(merged), 1)
	for _, data := range [][]byte{data, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))} {
		file := filepath.Join(t.TempDir(), LockName)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := ReadLock(file)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.GoNames, l.GoNames) {
			t.Errorf("the names are %+v, want %+v", got.GoNames, l.GoNames)
		}
	}
}

// TestNewWidths: another width breaks the callers of an item that exists in both runs.
func TestNewWidths(t *testing.T) {
	names := &config.GoNames{Packages: map[string]map[string]string{".": {"A": "function:a.a", "B": "function:a.b", "C": "function:a.c", "D": "function:a.d"}}}
	was := &Lock{GoNames: names, Widths: map[string]string{"function:a.a": "(int32) -> None", "function:a.b": "(int8) -> None", "function:a.c": "(uint8) -> int", "function:a.gone": "(int8) -> None"}}
	now := &Lock{GoNames: names, Widths: map[string]string{"function:a.a": "(int32) -> None", "function:a.b": "(int16) -> None", "function:a.d": "() -> uint32", "function:a.new": "(int8) -> None"}}
	want := "breaking: function:a.b has ints of other widths: (int16) -> None, was (int8) -> None\n" +
		"breaking: function:a.c has ints of other widths: int64, was (uint8) -> int\n" +
		"breaking: function:a.d has ints of other widths: () -> uint32, was int64"
	if got := strings.Join(now.NewWidths(was), "\n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, before := range map[string]*Lock{"a first run": nil, "an older lock": {Widths: was.Widths}, "the same": now} {
		if got := now.NewWidths(before); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	many := &Lock{GoNames: &config.GoNames{Packages: map[string]map[string]string{".": {}}}, Widths: map[string]string{}}
	for i := range 100 {
		item := fmt.Sprintf("function:a.f%02d", i)
		many.GoNames.Packages["."][item], many.Widths[item] = item, "(int8) -> None"
	}
	if got := many.NewWidths(&Lock{GoNames: many.GoNames}); len(got) != 21 || got[20] != "breaking: so have 80 more: widths in the lock has all" {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
}
