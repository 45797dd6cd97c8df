package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const positions = `package: g
functions:
  garden.water:
    doc: x
  'garden.*': {doc: y}
  "function:garden.area":
    types: {a: int, 'b c': 3}
  garden[0]:
    doc: x
    returns: int
  it's: {}
libraries:
  - file: a.so
`

func TestLocate(t *testing.T) {
	for path, want := range map[string]string{
		"$.'functions'.'garden.water'":                       "3:3",
		"$.'functions'.'garden.water'.'doc'":                 "4:10",
		"$.'functions'.'garden.*'":                           "5:3",
		"$.'functions'.'function:garden.area'":               "6:3",
		"$.'functions'.'function:garden.area'.'types'":       "7:5",
		"$.'functions'.'function:garden.area'.'types'.'b c'": "7:28",
		"$.'functions'.'garden[0]'":                          "8:3",
		"$.'functions'.'garden[0]'.'returns'":                "10:14",
		"$.'functions'.'it\\'s'":                             "11:3",
		"$.'functions'.'missing'":                            "2:1",
		"$.functions":                                        "2:1",
		"$.libraries[0]":                                     "13:5",
		"$":                                                  "1:1",
	} {
		if got := locate("f", []byte(positions), path); got != "f:"+want {
			t.Errorf("%s is at %s, want f:%s", path, got, want)
		}
	}
}

// TestUnknownKey has a key under functions that an entry does not have.
func TestUnknownKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), ConfigName)
	text := "package: g\nout: ./g\nlibraries:\n  - file: a.so\nfunctions:\n  garden.water:\n    parms: [rose]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadConfig(file)
	if err == nil || !strings.HasSuffix(err.Error(), `:7:5: unknown field "parms"; did you mean params?`) {
		t.Errorf("the error is %v", err)
	}
}
