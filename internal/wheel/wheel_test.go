package wheel

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

type entry struct {
	name string
	body string
	mode fs.FileMode
}

// zipBytes makes an archive by hand, with whatever names and modes the test wants.
func zipBytes(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o644
		}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// wheelBytes makes a wheel: an archive with a RECORD of its files.
func wheelBytes(t *testing.T, entries ...entry) []byte {
	t.Helper()
	record := "sample-1.0.dist-info/RECORD,,\n"
	for _, e := range entries {
		sum := sha256.Sum256([]byte(e.body))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.body))
	}
	return zipBytes(t, append(entries, entry{name: "sample-1.0.dist-info/RECORD", body: record})...)
}

func specFor(b []byte) Spec {
	sum := sha256.Sum256(b)
	return Spec{Package: "sample", Version: "1.0", GOOS: "linux", GOARCH: "amd64", SHA256: hex.EncodeToString(sum[:])}
}

// fetcher hands out b as the wheel and counts how often it was asked.
func fetcher(b []byte, count *atomic.Int32) maker {
	return func(_ context.Context, _ Spec, dir string) (string, error) {
		count.Add(1)
		file := filepath.Join(dir, "sample.whl")
		return file, os.WriteFile(file, b, 0o600)
	}
}

func TestUnpackWritesFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "a.whl")
	b := zipBytes(t, entry{name: "a/", mode: fs.ModeDir | 0o755}, entry{name: "a/b/c.txt", body: "deep"}, entry{name: "top", body: ""})
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpack(file, dir, defaultLimits); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "a", "b", "c.txt"))
	if err != nil || string(got) != "deep" {
		t.Fatalf("a/b/c.txt = %q, %v", got, err)
	}
	if st, err := os.Stat(filepath.Join(dir, "top")); err != nil || st.Size() != 0 {
		t.Fatalf("top: %v, %v", st, err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	small := limits{bytes: 1000, files: 3}
	tests := []struct {
		name    string
		entries []entry
		want    string
	}{
		{"parent", []entry{{name: "../evil", body: "x"}}, "leads out"},
		{"parent inside", []entry{{name: "a/../../evil", body: "x"}}, "leads out"},
		{"absolute", []entry{{name: "/etc/evil", body: "x"}}, "leads out"},
		{"backslash", []entry{{name: `..\evil`, body: "x"}}, "not portable"},
		{"drive", []entry{{name: "C:evil", body: "x"}}, "not portable"},
		{"empty", []entry{{name: "", body: "x"}}, "leads out"},
		{"dot", []entry{{name: "./a", body: "x"}}, "leads out"},
		{"symlink", []entry{{name: "a", body: "/etc/passwd", mode: fs.ModeSymlink | 0o777}}, "not a plain file"},
		{"symlink then through it", []entry{{name: "a", body: "..", mode: fs.ModeSymlink | 0o777}, {name: "a/b", body: "x"}}, "not a plain file"},
		{"fifo", []entry{{name: "a", mode: fs.ModeNamedPipe | 0o644}}, "not a plain file"},
		{"twice", []entry{{name: "a", body: "x"}, {name: "a", body: "y"}}, "exists"},
		{"file then folder", []entry{{name: "a", body: "x"}, {name: "a/b", body: "y"}}, "a/b"},
		{"one too large", []entry{{name: "a", body: strings.Repeat("x", 1001)}}, "larger than the limit"},
		{"together too large", []entry{{name: "a", body: strings.Repeat("x", 600)}, {name: "b", body: strings.Repeat("x", 600)}}, "larger than the limit"},
		{"too many", []entry{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}, "4 entries"},
		{"marker", []entry{{name: find.Marker, body: "x"}}, "reserved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "in", "dst")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "a.whl")
			if err := os.WriteFile(file, zipBytes(t, tt.entries...), 0o600); err != nil {
				t.Fatal(err)
			}
			err := unpack(file, dir, small)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("err = %v, want it to say %q", err, tt.want)
			}
			if _, err := os.Lstat(filepath.Join(top, "in", "evil")); err == nil {
				t.Error("a file was written outside the folder")
			}
			if _, err := os.Lstat(filepath.Join(top, "evil")); err == nil {
				t.Error("a file was written outside the folder")
			}
		})
	}
}

// TestUnpackFalseHeader plants headers that claim one byte for an entry that unpacks to many. One
// has a method of compression that nobody knows.
func TestUnpackFalseHeader(t *testing.T) {
	for _, method := range []byte{byte(zip.Deflate), 99} {
		b := zipBytes(t, entry{name: "a", body: strings.Repeat("x", 5000)})
		// The central directory holds the method 10 and the uncompressed size 24 bytes after its signature.
		at := bytes.LastIndex(b, []byte("PK\x01\x02"))
		if at < 0 {
			t.Fatal("no central directory")
		}
		b[at+10] = method
		copy(b[at+24:], []byte{1, 0, 0, 0})
		file := filepath.Join(t.TempDir(), "a.whl")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpack(file, t.TempDir(), limits{bytes: 1000, files: 10}); err == nil {
			t.Errorf("an entry with a false header was unpacked by method %d", method)
		}
	}
}

func TestUnpackNotAZip(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.whl")
	if err := os.WriteFile(file, []byte("<html>not found</html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpack(file, t.TempDir(), defaultLimits); err == nil {
		t.Fatal("no error")
	}
}

func TestGetCaches(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	b := wheelBytes(t, entry{name: "sample/lib.so", body: "library"})
	s := specFor(b)
	if _, ok := Cached(s); ok {
		t.Fatal("found in an empty cache")
	}
	var count atomic.Int32
	for range 3 {
		d, err := get(t.Context(), s, Dir.marked, fetcher(b, &count))
		if err != nil {
			t.Fatal(err)
		}
		want := filepath.Join(cache, "wheels", "sample-1.0-"+s.SHA256[:8])
		if d.Root() != want {
			t.Fatalf("root = %s, want %s", d.Root(), want)
		}
		got, err := os.ReadFile(d.Path("sample/lib.so"))
		if err != nil || string(got) != "library" {
			t.Fatalf("sample/lib.so = %q, %v", got, err)
		}
	}
	if n := count.Load(); n != 1 {
		t.Errorf("downloaded %d times, want 1", n)
	}
	if d, ok := Cached(s); !ok || d.Spec() != s {
		t.Errorf("Cached = %v, %v", d, ok)
	}
	entries, err := os.ReadDir(filepath.Join(cache, "wheels"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s was left", e.Name())
		}
	}
	if runtime.GOOS != "windows" {
		st, err := os.Stat(filepath.Join(cache, "wheels"))
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("mode of the cache = %v, %v, want 0700", st.Mode().Perm(), err)
		}
	}
}

// TestGetRepairs removes the marker, as a killed process would leave a tree, and expects a fresh one.
func TestGetRepairs(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	b := wheelBytes(t, entry{name: "f", body: "good"})
	s := specFor(b)
	var count atomic.Int32
	d, err := get(t.Context(), s, Dir.marked, fetcher(b, &count))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.Path(find.Marker)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path("f"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	leftover := filepath.Join(cache, "wheels", strings.Replace(whole.Pattern, "*", "1", 1))
	if err := os.Mkdir(leftover, 0o700); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" { // without a lock only the age says that the process has ended
		yesterday := time.Now().Add(-25 * time.Hour)
		if err := os.Chtimes(leftover, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	if d, err = get(t.Context(), s, Dir.marked, fetcher(b, &count)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(d.Path("f")); err != nil || string(got) != "good" {
		t.Fatalf("f = %q, %v", got, err)
	}
	if _, err := os.Stat(leftover); err == nil {
		t.Error("the leftover of a killed process is still there")
	}
}

func TestGetWrongHash(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	b := wheelBytes(t, entry{name: "f", body: "x"})
	s := specFor(b)
	s.SHA256 = strings.Repeat("0", 64)
	var count atomic.Int32
	_, err := get(t.Context(), s, Dir.marked, fetcher(b, &count))
	if err == nil {
		t.Fatal("a wheel with another hash was accepted")
	}
	for _, want := range []string{"sample 1.0", "sha256", s.SHA256, specFor(b).SHA256, "not unpacked"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if _, ok := Cached(s); ok {
		t.Error("the refused wheel is in the cache")
	}
}

func TestGetRefusesSpecs(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	good := specFor([]byte("x"))
	for name, change := range map[string]func(*Spec){
		"no hash":           func(s *Spec) { s.SHA256 = "" },
		"short hash":        func(s *Spec) { s.SHA256 = "abc" },
		"upper case hash":   func(s *Spec) { s.SHA256 = strings.Repeat("A", 64) },
		"package escapes":   func(s *Spec) { s.Package = "../x" },
		"package an option": func(s *Spec) { s.Package = "--index-url" },
		"version escapes":   func(s *Spec) { s.Version = "1/../.." },
		"no version":        func(s *Spec) { s.Version = "" },
		"platform spaces":   func(s *Spec) { s.Platform = "a b" },
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			change(&s)
			_, err := get(t.Context(), s, Dir.marked, func(context.Context, Spec, string) (string, error) {
				t.Error("downloaded")
				return "", errors.New("unreachable")
			})
			if err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestGetLocks(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	b := wheelBytes(t, entry{name: "f", body: "x"})
	s := specFor(b)
	var count, inside atomic.Int32
	slow := func(ctx context.Context, s Spec, dir string) (string, error) {
		if inside.Add(1) > 1 {
			t.Error("two downloads at once")
		}
		defer inside.Add(-1)
		time.Sleep(100 * time.Millisecond)
		return fetcher(b, &count)(ctx, s, dir)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if d, err := get(context.Background(), s, Dir.marked, slow); err != nil {
				t.Error(err)
			} else if _, err := os.Stat(d.Path("f")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count.Load(); n != 1 {
		t.Errorf("downloaded %d times, want 1", n)
	}
}

func TestGetLockGivesUp(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	b := wheelBytes(t, entry{name: "f", body: "x"})
	s := specFor(b)
	held, done := make(chan struct{}), make(chan struct{})
	result := make(chan error)
	go func() {
		_, err := get(context.Background(), s, Dir.marked, func(ctx context.Context, s Spec, dir string) (string, error) {
			close(held)
			<-done
			return fetcher(b, new(atomic.Int32))(ctx, s, dir)
		})
		result <- err
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := get(ctx, s, Dir.marked, fetcher(b, new(atomic.Int32)))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ".lock") {
		t.Errorf("err = %v, want the deadline and the lock's name", err)
	}
	close(done)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestGetRefusesWritableCache(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes do not say who may write on Windows")
	}
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	dir := filepath.Join(cache, "wheels")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b := wheelBytes(t, entry{name: "f", body: "x"})
	_, err := get(t.Context(), specFor(b), Dir.marked, fetcher(b, new(atomic.Int32)))
	if err == nil || !strings.Contains(err.Error(), "run chmod go-w "+dir) {
		t.Errorf("err = %v, want the remedy chmod go-w", err)
	}
}

func TestRelativeCache(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", "here")
	d, err := Get(t.Context(), specFor([]byte("x")))
	if want := `wheel: TVMFFI_CACHE is the relative path "here"; set it to an absolute path`; err == nil || err.Error() != want {
		t.Errorf("got %s, %v, want %s", d.Root(), err, want)
	}
}

// toolDir makes a PATH of one folder with shell scripts in place of the package tools.
func toolDir(t *testing.T, scripts map[string]string) {
	t.Helper()
	needShell(t)
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in tools are shell scripts")
	}
}

func TestNoTool(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	toolDir(t, map[string]string{
		"python3": `echo "/usr/bin/python3: No module named pip" >&2; exit 1`,
		"pip":     `echo "pyenv: pip: command not found" >&2; exit 127`,
	})
	_, err := Get(t.Context(), specFor([]byte("x")))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"sample 1.0", "python3 -m pip", "pip3", "uv tool run pip", "install pip", "or name the file of a wheel"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestToolFails(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	toolDir(t, map[string]string{
		"python3": `echo "ERROR: No matching distribution found for sample==1.0" >&2; exit 1`,
		"pip3":    `echo "must not be asked"; exit 1`,
	})
	_, err := Get(t.Context(), specFor([]byte("x")))
	if err == nil || !strings.Contains(err.Error(), "No matching distribution") || strings.Contains(err.Error(), "must not be asked") {
		t.Fatalf("err = %v, want what pip printed, and no second tool", err)
	}
}

// TestFailure: what a package tool prints decides what the user is asked to do.
func TestFailure(t *testing.T) {
	retrying := ""
	for i := range 5 {
		retrying += fmt.Sprintf("WARNING: Retrying (Retry(total=%d)) after connection broken by 'NewConnectionError('<pip.C object at 0x7f%da>: no name')'\n", i, i)
	}
	for out, want := range map[string]string{
		retrying + "ERROR: No matching distribution": "pip cannot reach a package index (exit status 1); it printed:\n" +
			"  connection broken by 'NewConnectionError('no name')'\n  ERROR: No matching distribution\n" +
			"connect this machine to the network",
		"ERROR: Could not install: [Errno 28] No space left on device": "pip found the disk full",
		"ERROR: Could not install: [Errno 30] Read-only file system":   "set TVMFFI_CACHE and TMPDIR to folders that you can write to",
		"ERROR: No matching distribution found for sample==1.0":        "pip found no wheel (exit status 1)",
		"Could not find a version that satisfies the requirement sample-kit==9 (from versions: 0.0.1, 4.0.0b3, 4.0.0b36)\nERROR: No matching distribution found":                "pre-releases, which are taken only by their version: sample-kit==4.0.0b36",
		"Could not find a version that satisfies the requirement sample (from versions: 1.0, 2.0)\nERROR: No matching distribution found":                                       "such as sample==2.0",
		"Ignored the following versions that require a different python version: 0.1 Requires-Python >=3.12; 0.2 Requires-Python >=3.13\nERROR: No matching distribution found": "another version of Python (Requires-Python >=3.12)",
		"a\nb\nc\nd\ne\nf\ng": "printed:\n  b\n  c\n",
	} {
		if err := Failure("pip", out, errors.New("exit status 1")); !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n%v\nwant %q", out, err, want)
		}
	}
}

// TestGet_unpack: what is wrong with an archive is not what is wrong with the machine.
func TestGet_unpack(t *testing.T) {
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	for what, c := range map[string]struct {
		file     []byte
		distrust bool
	}{
		"not an archive":                    {[]byte("<html>not found</html>"), true},
		"a path out of the tree":            {wheelBytes(t, entry{name: "../evil"}), true},
		"a name that no file can have here": {wheelBytes(t, entry{name: strings.Repeat("x", 300)}), false},
	} {
		_, err := get(t.Context(), specFor(c.file), Dir.marked, fetcher(c.file, new(atomic.Int32)))
		if err == nil || strings.HasSuffix(err.Error(), "; do not trust this wheel") != c.distrust {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestGet_noCache has a cache that cannot be made.
func TestGet_noCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TVMFFI_CACHE", filepath.Join(file, "cache"))
	_, err := Get(t.Context(), specFor(wheelBytes(t, entry{name: "f", body: "x"})))
	if err == nil || !strings.HasSuffix(err.Error(), "; set TVMFFI_CACHE to a folder that you can write to") || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want the folder and what to do", err)
	}
}

// TestSecondTool has a Python without pip and a pip3 that works, and checks the command line.
func TestSecondTool(t *testing.T) {
	needShell(t)
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	b := wheelBytes(t, entry{name: "f", body: "x"})
	source := filepath.Join(t.TempDir(), "source.whl")
	if err := os.WriteFile(source, b, 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	cp, err := exec.LookPath("cp")
	if err != nil {
		t.Fatal(err)
	}
	mkdir, err := exec.LookPath("mkdir")
	if err != nil {
		t.Fatal(err)
	}
	toolDir(t, map[string]string{
		"python3": `echo "No module named pip" >&2; exit 1`,
		"pip3": `echo "$@" > "` + log + `"; while [ "$1" != --dest ]; do shift; done; ` +
			mkdir + ` -p "$2" && ` + cp + ` "` + source + `" "$2/sample-1.0.whl"`,
	})
	s := specFor(b)
	s.Platform, s.Python = "manylinux_2_28_x86_64", "3.12"
	d, err := Get(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Path("f")); err != nil {
		t.Error(err)
	}
	line, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"download ", "--no-deps", "--only-binary=:all:", "--platform manylinux_2_28_x86_64",
		"--python-version 3.12", "sample==1.0"} {
		if !strings.Contains(string(line), want) {
			t.Errorf("pip was called with %q, want %q in it", line, want)
		}
	}
}

func TestToolStopped(t *testing.T) {
	needShell(t)
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	toolDir(t, map[string]string{"python3": "exec " + sleep + " 60"})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := Get(ctx, specFor([]byte("x"))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the deadline", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("stopped after %v", d)
	}
}

// TestToolStopped_children: the package tool may be a script that runs the real one.
func TestToolStopped_children(t *testing.T) {
	needShell(t)
	t.Setenv("TVMFFI_CACHE", t.TempDir())
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	marks := t.TempDir()
	toolDir(t, map[string]string{"python3": "(while echo >> " + marks + "/lives; do " + sleep + " 0.02; done) & wait"})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(marks, "lives")); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := Get(ctx, specFor([]byte("x"))); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want that it was canceled", err)
	}
	before, _ := os.ReadFile(filepath.Join(marks, "lives"))
	time.Sleep(300 * time.Millisecond)
	if after, err := os.ReadFile(filepath.Join(marks, "lives")); err != nil || len(after) > len(before) {
		t.Errorf("what the tool had started goes on: %v", err)
	}
}

// TestDownloading: the size that pip announces, and what has arrived.
func TestDownloading(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("TVMFFI_CACHE", cache)
	if got := Downloading(); got != "" {
		t.Errorf("nothing: %q", got)
	}
	dir := filepath.Join(cache, "wheels", strings.Replace(whole.Pattern, "*", "1", 1))
	for name, text := range map[string]string{
		"log":            "Collecting sample==1.0\n  Downloading sample-1.0-py3-none-any.whl (51.0 MB)\n",
		"pip/part":       strings.Repeat("x", 1_500_000),
		"tree/sample.so": strings.Repeat("x", 9_000_000),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := Downloading(); got != "1.5 MB of 51.0 MB" {
		t.Errorf("got %q", got)
	}
}

func TestPinned(t *testing.T) {
	seen := map[string]string{}
	for _, s := range Pinned() {
		d, err := place(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		}
		if other, ok := seen[d.Root()]; ok {
			t.Errorf("%s and %s share a folder", s, other)
		}
		seen[d.Root()] = s.String()
	}
	s, err := TVMFFI("", "linux", "amd64")
	if err != nil || s.Version != DefaultVersion {
		t.Errorf("TVMFFI(\"\") = %v, %v", s, err)
	}
	for _, p := range [][2]string{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		if _, err := TVMFFI(DefaultVersion, p[0], p[1]); err != nil {
			t.Error(err)
		}
	}
	_, err = TVMFFI("9.9", "plan9", "mips")
	if err == nil || !strings.Contains(err.Error(), DefaultVersion) || !strings.Contains(err.Error(), "plan9/mips") {
		t.Errorf("err = %v, want the platform and the known versions", err)
	}
}

// TestReal gets the default wheel through the package tool of this machine.
func TestReal(t *testing.T) {
	s, err := TVMFFI(DefaultVersion, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Skip("no pinned wheel for this platform: ", err)
	}
	if os.Getenv("TVMFFI_ALLOW_SKIP") != "" {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("TVMFFI_ALLOW_SKIP is set and there is no python3: ", err)
		}
	}
	d, err := Get(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{d.Library(), d.TestingLibrary(), filepath.Join(d.Include()[0], "tvm", "ffi", "c_api.h")}
	files = append(files, filepath.Join(d.Include()[len(d.Include())-1], "dlpack", "dlpack.h"))
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
}
