package find

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestRecord(t *testing.T) {
	const sum = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	for text, want := range map[string]string{
		"a/b.so," + sum + ",0\nx.dist-info/RECORD,,\n": "a/b.so",
		"\"a, \"\"b\"\".so\"," + sum + ",0\r\n":        `a, "b".so`,
	} {
		tree := t.TempDir()
		write(t, filepath.Join(tree, "x.dist-info", "RECORD"), text)
		if got, err := Record(tree); err != nil || len(got) != 1 || got[want] != emptyHash {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x.dist-info/RECORD,,\n", "a\n", "a," + sum + "\n", "a," + sum + ",0,0\n",
		"../a," + sum + ",0\n", "/a," + sum + ",0\n", "\"a," + sum + ",0\n", "a," + sum + ",x\n", strings.Repeat("x", 1<<17)} {
		tree := t.TempDir()
		write(t, filepath.Join(tree, "x.dist-info", "RECORD"), text)
		if got, err := Record(tree); !errors.Is(err, ErrDamaged) {
			t.Errorf("%.50q: %v, %v", text, got, err)
		}
	}
	for _, hash := range []string{"md5=47", "sha256=47", "sha256=" + emptyHash} {
		tree := t.TempDir()
		write(t, filepath.Join(tree, "x.dist-info", "RECORD"), "a,"+hash+",0\n")
		if got, err := Record(tree); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `cannot be checked: the hash of "a" is neither empty nor sha256= and base64: "`+hash) {
			t.Errorf("%s: %v, %v", hash, got, err)
		}
	}
	tree := t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, "x.dist-info", "RECORD"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(tree); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("a RECORD that cannot be read says nothing about the wheel: %v", err)
	}
	if _, err := Record(t.TempDir()); !errors.Is(err, ErrDamaged) {
		t.Errorf("no RECORD: %v", err)
	}
}

func TestDamaged(t *testing.T) {
	tree := t.TempDir()
	write(t, filepath.Join(tree, "x.dist-info", "RECORD"), "a/b.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n")
	file := filepath.Join(tree, "a", "b.so")
	if err := (Candidate{Site: tree, Path: file}).Damaged(emptyHash); err != nil {
		t.Error(err)
	}
	if err := (Candidate{Site: tree, Path: file}).Damaged("00"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), emptyHash) {
		t.Errorf("another hash: %v", err)
	}
	if err := (Candidate{Site: tree, Path: filepath.Join(tree, "other")}).Damaged("00"); err != nil {
		t.Errorf("a file that RECORD does not name: %v", err)
	}
	if err := (Candidate{Site: t.TempDir(), Path: file}).Damaged("00"); err != nil {
		t.Errorf("without RECORD: %v", err)
	}
}

// FuzzRecord: a name never leads out of the folder.
func FuzzRecord(f *testing.F) {
	f.Add("a/b.so,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0")
	f.Add(`"a,""b",,`)
	f.Fuzz(func(t *testing.T, text string) {
		tree := t.TempDir()
		write(t, filepath.Join(tree, "x.dist-info", "RECORD"), text)
		hashes, err := Record(tree)
		for name, hash := range hashes {
			if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) || len(hash) != 64 {
				t.Errorf("%q: %q, %q, %v", text, name, hash, err)
			}
		}
	})
}
