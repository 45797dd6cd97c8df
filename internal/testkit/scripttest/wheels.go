package scripttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// environment is "environment FOLDER". A file .pth adds the packages of the Python of the tests, so that pip finds
// what wheels require without a network. Pip itself is one of them: to install it takes 5 s of CPU time.
func environment(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: environment folder")
	}
	python := nativetest.Python(t)
	dir := ts.MkAbs(args[0])
	ts.Check(ts.Exec(python, "-m", "venv", "--without-pip", dir))
	ts.Check(os.WriteFile(filepath.Join(dir, "bin", "pip"), []byte("#!/bin/sh\nexec python -m pip \"$@\"\n"), 0o755))
	const paths = "import sysconfig; print(sysconfig.get_path('purelib'), end='')"
	packages, err := exec.Command(python, "-c", paths).Output()
	ts.Check(err)
	site, err := exec.Command(filepath.Join(dir, "bin", "python"), "-c", paths).Output()
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(string(site), "tvm_ffi_of_tests.pth"), append(packages, '\n'), 0o644))
	ts.Setenv("VIRTUAL_ENV", dir)
	ts.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+ts.Getenv("PATH"))
}

// metadataCheck reads the metadata of a wheel, and fails for what package indexes refuse.
const metadataCheck = `
import sys, zipfile
from packaging.metadata import Metadata
from packaging.utils import canonicalize_name, parse_wheel_filename
name, version, _, tags = parse_wheel_filename(sys.argv[1].rsplit("/", 1)[-1])
wheel = zipfile.ZipFile(sys.argv[1])
assert wheel.testzip() is None
info, = {n.split("/")[0] for n in wheel.namelist() if n.split("/")[0].endswith(".dist-info")}
meta = Metadata.from_email(wheel.read(info + "/METADATA"), validate=True)
assert (canonicalize_name(meta.name), meta.version) == (name, version), (meta.name, meta.version, name, version)
for license in meta.license_files:
    assert wheel.read(f"{info}/licenses/{license}"), license
`

// auditwheel is "auditwheel PATTERN".
func auditwheel(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: auditwheel pattern")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(found) != 1 {
		ts.Fatalf("%d files match %s, want one: %v", len(found), args[0], found)
	}
	python, file := nativetest.Auditwheel(t), found[0]
	ts.Check(ts.Exec(python, "-c", metadataCheck, file))
	out, err := exec.Command(python, "-m", "auditwheel", "show", file).CombinedOutput()
	if err != nil {
		ts.Fatalf("auditwheel show: %v\n%s", err, out)
	}
	tag := glibc.FindString(filepath.Base(file))
	_, said, _ := strings.Cut(strings.Join(strings.Fields(string(out)), " "), "platform tag: ")
	// The oldest glibc that this tool names is 2.17.
	if computed := glibc.FindString(said); tag != computed && (tag != "manylinux_2_17_" || !slices.Contains(olderTags, computed)) {
		ts.Fatalf("the tag of %s is not the one that auditwheel computes:\n%s", filepath.Base(file), out)
	}
}

var glibc = regexp.MustCompile(`manylinux_\d+_\d+_`)

// olderTags are the tags of auditwheel before 2.17.
var olderTags = []string{"manylinux_2_5_", "manylinux_2_12_"}
